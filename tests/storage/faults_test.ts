/**
 * The disk fails, and the machine dies, at every point there is. What holds afterwards, always: every acknowledged
 * record is there exactly once, in order, and nothing half-written can be read.
 */

import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import { ManualClock } from "../../src/base/clock.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { DataDirectoryError } from "../../src/storage/directory/data_directory.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { append, batch, openManager, random, readAll, START, TOPIC_ID } from "./helpers.ts";

const CONFIG = { segmentBytes: 700, indexIntervalBytes: 150 };
const LIMITS = { maxBytes: 1 << 20, maxOffset: Infinity, minOneMessage: true };

/** What the scenario knows to be acknowledged, in order. */
interface Acknowledged {
  values: string[];
  /** So many of them before the last flush that succeeded. */
  flushed: number;
  /** A batch that got an error: it may be there after all, or not. Each value is sent once. */
  inDoubt: Set<string>;
}

const value = (sequence: number) => `value ${sequence}`;

/** Sends record `sequence` as an idempotent producer, again until it is taken or `tries` are used up. */
function send(log: Log, sequence: number, acknowledged: Acknowledged, tries: number): boolean {
  for (let i = 0; i < tries; i++) {
    const o = {
      producerId: 1,
      producerEpoch: 0,
      baseSequence: sequence,
      first: sequence,
      timestamp: START + sequence,
    };
    const result = append(log, batch(1, o), { leaderEpoch: sequence >> 3 });
    if (result.errorCode === ErrorCode.NONE) {
      acknowledged.values.push(value(sequence));
      acknowledged.inDoubt.delete(value(sequence));
      return true;
    }
    assertEquals(result.errorCode, ErrorCode.KAFKA_STORAGE_ERROR, result.errorText);
    acknowledged.inDoubt.add(value(sequence));
  }
  return false;
}

function check(log: Log, acknowledged: Acknowledged, atLeast = acknowledged.values.length): void {
  assertEquals(log.offline, null);
  const records = readAll(log, 0);
  assertEquals(records.map((record) => record.offset), records.map((_, i) => i));
  const values = records.map((record) => record.value);
  assert(values.length >= atLeast, `${values.length} records are left of ${atLeast} acknowledged ones`);
  const expected = acknowledged.values.slice(0, values.length);
  assertEquals(values.slice(0, expected.length), expected);
  // At most the record that was under way may be there beyond.
  for (const extra of values.slice(expected.length)) {
    assert(acknowledged.inDoubt.has(extra), `${extra} was never sent`);
  }
}

/** Appends, rolls, reads, flushes, cuts off old segments, closes and opens, for 40 records. True if it got to the end. */
async function scenario(files: FaultyFiles, acknowledged: Acknowledged): Promise<boolean> {
  try {
    const clock = new ManualClock();
    let { manager } = await openManager(CONFIG, files, clock);
    let log = manager.create("t", 0, TOPIC_ID);
    for (let sequence = 0; sequence < 40; sequence++) {
      if (!send(log, sequence, acknowledged, 3)) return false;
      if (sequence % 10 === 5) {
        const known = acknowledged.values.length;
        await log.flush();
        acknowledged.flushed = known;
      }
      if (sequence % 10 === 7) {
        clock.advance(600_000);
        await manager.tick();
      }
      if (sequence % 8 === 3) log.read(sequence >> 1, LIMITS);
      if (sequence === 20) {
        await manager.close();
        ({ manager } = await openManager(CONFIG, files, clock));
        log = manager.get("t", 0)!;
      }
    }
    await manager.close();
    return true;
  } catch (error) {
    // What may reject because of the disk: opening, creating, flushing.
    if (!(error instanceof IoError) && !(error instanceof DataDirectoryError)) throw error;
    return false;
  }
}

for (
  const [what, times, tornShare] of [["once", 1, 0], ["once, tearing the write", 1, 0.6], [
    "for good",
    Infinity,
    0.3,
  ]] as const
) {
  Deno.test(`whichever operation fails ${what}, no acknowledged record is lost or doubled`, async () => {
    let completed = 0;
    for (let nth = 1;; nth++) {
      const memory = new MemoryFiles(() => START);
      const files = new FaultyFiles(memory);
      files.fail(nth, times, tornShare);
      const acknowledged: Acknowledged = { values: [], flushed: 0, inDoubt: new Set() };
      const finished = await scenario(files, acknowledged);
      if (finished && files.operations < nth) {
        assert(nth > 100, `only ${nth} operations were tried`);
        assert(times !== 1 || completed > nth / 2, `only ${completed} of ${nth} runs got over one failure`);
        return;
      }
      if (finished) completed++;
      const { manager } = await openManager(CONFIG, memory.crashed("killed"));
      const log = manager.get("t", 0);
      if (log !== undefined) {
        check(log, acknowledged);
        // The producer goes on where it was, and the log goes on where it ended.
        const next = log.nextOffset;
        assert(send(log, next, acknowledged, 1), `record ${next} was not taken after run ${nth}`);
        assertEquals(readAll(log, 0).length, next + 1);
      } else {
        assertEquals(acknowledged.values, []);
      }
    }
  });
}

Deno.test("after a kill at any operation every acknowledged record is there", async () => {
  for (let nth = 1;; nth++) {
    const memory = new MemoryFiles(() => START);
    const files = new FaultyFiles(memory);
    // Everything fails from here on, and the process dies: whatever it does afterwards does not reach the disk.
    files.fail(nth, Infinity, (nth % 5) / 5);
    const acknowledged: Acknowledged = { values: [], flushed: 0, inDoubt: new Set() };
    const finished = await scenario(files, acknowledged);
    const { manager } = await openManager(CONFIG, memory.crashed("killed"));
    const log = manager.get("t", 0);
    if (log !== undefined) check(log, acknowledged);
    if (finished) return;
  }
});

Deno.test("after a power failure at any operation every flushed record is there", async () => {
  for (let nth = 1;; nth++) {
    const memory = new MemoryFiles(() => START);
    const files = new FaultyFiles(memory);
    files.fail(nth, Infinity);
    const acknowledged: Acknowledged = { values: [], flushed: 0, inDoubt: new Set() };
    const finished = await scenario(files, acknowledged);
    const { manager } = await openManager(CONFIG, memory.crashed("power"));
    const log = manager.get("t", 0);
    if (log !== undefined) check(log, acknowledged, acknowledged.flushed);
    else assertEquals(acknowledged.flushed, 0);
    if (finished) return;
  }
});

Deno.test("after a power failure that kept some unsynced writes, flushed records are there and any gap is reported", async () => {
  let offline = 0;
  for (let seed = 0; seed < 300; seed++) {
    const chance = random(seed);
    const memory = new MemoryFiles(() => START);
    const files = new FaultyFiles(memory);
    files.fail(Math.floor(chance() * 400) + 20, Infinity, chance());
    const acknowledged: Acknowledged = { values: [], flushed: 0, inDoubt: new Set() };
    await scenario(files, acknowledged);
    const { manager, warnings } = await openManager(CONFIG, memory.crashed(chance));
    const log = manager.get("t", 0);
    if (log === undefined) {
      assertEquals(acknowledged.flushed, 0);
      continue;
    }
    if (log.offline !== null) {
      // A later segment reached the disk and an earlier one ends in half a batch.
      offline++;
      continue;
    }
    const records = readAll(log, 0);
    // Each was sent once, so that its value tells its offset.
    for (const record of records) assertEquals(record.value, value(record.offset));
    assertEquals(
      records.slice(0, acknowledged.flushed).map((record) => record.value),
      acknowledged.values.slice(0, acknowledged.flushed),
    );
    const gap = records.length < log.nextOffset;
    assertEquals(warnings.some((warning) => warning.includes("are missing")), gap);
  }
  assert(offline < 150, `${offline} of 300 logs went offline`);
});
