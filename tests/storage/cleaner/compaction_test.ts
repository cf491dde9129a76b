/** What compaction does to a log, as a reader sees it: KIP-534 for tombstones, and Kafka's cleaner for the rest. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { type BatchOptions, buildBatch, Compression } from "../../../src/codec/batch.ts";
import { ErrorCode } from "../../../src/codec/errors.ts";
import { CLEANER_FILE } from "../../../src/storage/log/compacted.ts";
import { readOffsets } from "../../../src/storage/directory/checkpoints.ts";
import { readText } from "../../../src/storage/files/files.ts";
import { FaultyFiles } from "../../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../../src/storage/files/memory.ts";
import { append, DIRECTORY, mustAppend, text, TOPIC_ID } from "../helpers.ts";
import { batchesOf, type Compacting, openCompacting, recordsOf, START, type Told } from "./helpers.ts";

/** Appends a batch of records, each a key and a value; null is a tombstone. Gives its first offset. */
function put(
  { log, clock }: Compacting,
  records: [string | null, string | null][],
  o: BatchOptions & { timestamp?: number } = {},
): number {
  const bytes = buildBatch(
    records.map(([key, value]) => ({
      timestamp: o.timestamp ?? clock.now(),
      key: key === null ? null : text(key),
      value: value === null ? null : text(value),
    })),
    o,
  );
  const offset = mustAppend(log, bytes, { now: clock.now() });
  log.highWatermark = log.nextOffset;
  return offset;
}

/** Fills segments so that what was put before may be cleaned. */
function fill(setup: Compacting, prefix = "fill"): void {
  const segments = setup.log.segmentBaseOffsets.length;
  for (let i = 0; setup.log.segmentBaseOffsets.length < segments + 2; i++) {
    put(setup, [[`${prefix}${i}`, "x".repeat(200)]]);
  }
}

const withoutFill = (records: Told[]) => records.filter(([, key]) => !key.startsWith("fill"));

Deno.test("compaction keeps the last record of each key, at its offset", async () => {
  const setup = await openCompacting();
  put(setup, [["a", "1"], ["b", "1"], ["a", "2"]]);
  put(setup, [["c", "1"], ["b", "2"]]);
  fill(setup);
  const { nextOffset } = setup.log;
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[2, "a", "2"], [3, "c", "1"], [4, "b", "2"]]);
  assertEquals([setup.log.logStartOffset, setup.log.nextOffset], [0, nextOffset]);
  assertEquals(setup.warnings, []);
  assertEquals(setup.outcomes.map(({ kind }) => kind), ["done"]);
});

for (const [name, compression] of Object.entries(Compression)) {
  Deno.test(`compaction reads and writes batches of compression ${name}`, async () => {
    const setup = await openCompacting();
    put(setup, [["a", "1"], ["b", "x".repeat(300)], ["a", "2"]], { compression });
    fill(setup);
    await setup.compact();
    assertEquals(withoutFill(recordsOf(setup.log)).map(([offset]) => offset), [1, 2]);
    assertEquals(batchesOf(setup.log)[0].compression, compression);
  });
}

Deno.test("the active segment, and what is not committed, is not cleaned", async () => {
  const setup = await openCompacting();
  put(setup, [["a", "1"], ["a", "2"]]);
  fill(setup);
  setup.log.highWatermark = 1;
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)).length, 2);
  setup.log.highWatermark = setup.log.nextOffset;
  put(setup, [["a", "3"], ["a", "4"]]);
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)).map(([, , value]) => value), ["2", "3", "4"]);
});

Deno.test("a log is cleaned when more of it is dirty than min.cleanable.dirty.ratio", async () => {
  const setup = await openCompacting({ minCleanableDirtyRatio: 0.5 });
  fill(setup);
  fill(setup, "also");
  await setup.compact();
  assertEquals(setup.outcomes.length, 1, "all of it was dirty");
  fill(setup, "more");
  await setup.compact();
  assertEquals(setup.outcomes.length, 1, "less than half of it is dirty");
  fill(setup, "and more");
  await setup.compact();
  assertEquals(setup.outcomes.length, 2);
});

Deno.test("min.compaction.lag.ms keeps young records, max.compaction.lag.ms has old ones cleaned whatever the ratio", async () => {
  const config = { minCleanableDirtyRatio: 1, minCompactionLagMs: 10_000, maxCompactionLagMs: 60_000 };
  const setup = await openCompacting(config);
  put(setup, [["a", "1"], ["a", "2"]]);
  fill(setup);
  await setup.compact();
  setup.clock.advance(59_000);
  await setup.compact();
  assertEquals(setup.outcomes, []);
  setup.clock.advance(2000);
  await setup.compact();
  assertEquals(setup.outcomes.length, 1);
  assertEquals(withoutFill(recordsOf(setup.log)), [[1, "a", "2"]]);

  const young = await openCompacting({ minCompactionLagMs: 10_000 });
  put(young, [["a", "1"], ["a", "2"]]);
  fill(young);
  await young.compact();
  assertEquals(withoutFill(recordsOf(young.log)).length, 2);
  young.clock.advance(10_001);
  await young.compact();
  assertEquals(withoutFill(recordsOf(young.log)).length, 1);
});

Deno.test("max.compaction.lag.ms rolls the active segment in time", async () => {
  const setup = await openCompacting({ maxCompactionLagMs: 60_000 });
  put(setup, [["a", "1"]]);
  setup.clock.advance(60_001);
  put(setup, [["a", "2"]]);
  assertEquals(setup.log.segmentBaseOffsets, [0, 1]);
});

Deno.test("a tombstone stays for delete.retention.ms from the first cleaning on, and then goes with its key (KIP-534)", async () => {
  const setup = await openCompacting({ deleteRetentionMs: 60_000 });
  put(setup, [["a", "1"], ["b", "1"]]);
  put(setup, [["a", null]]);
  fill(setup);
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[1, "b", "1"], [2, "a", null]]);
  const marked = batchesOf(setup.log).find(({ baseOffset }) => baseOffset === 2)!;
  assertEquals(marked.deleteHorizonMs, START + 60_000);
  assertEquals([...marked.records()][0].timestamp, START);
  setup.clock.advance(59_999);
  fill(setup, "fill more ");
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)).length, 2);
  setup.clock.advance(1);
  fill(setup, "fill even more ");
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[1, "b", "1"]]);
});

Deno.test("a tombstone that is to stay for ever does, in a batch that can be read again", async () => {
  const setup = await openCompacting({ deleteRetentionMs: Number.MAX_SAFE_INTEGER });
  put(setup, [["a", "1"]]);
  put(setup, [["a", null], ["b", "1"]]);
  fill(setup);
  await setup.compact();
  const left = withoutFill(recordsOf(setup.log));
  assertEquals(left, [[1, "a", null], [2, "b", "1"]]);
  setup.clock.advance(1e12);
  fill(setup, "fill more ");
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), left);
  assertEquals(setup.warnings, []);
  const marked = batchesOf(setup.log).find(({ baseOffset }) => baseOffset === 1)!;
  assertEquals([...marked.records()].map(({ timestamp }) => timestamp), [START, START]);
});

Deno.test("records without keys go, as in Kafka, and none is taken from a producer", async () => {
  const setup = await openCompacting({ cleanupPolicy: { compact: false, delete: true } });
  put(setup, [[null, "1"], ["a", "1"], [null, "2"]]);
  fill(setup);
  setup.log.config = { ...setup.log.config, cleanupPolicy: { compact: true, delete: false } };
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[1, "a", "1"]]);
  const refused = append(
    setup.log,
    buildBatch([
      { timestamp: START, key: text("k"), value: null },
      { timestamp: START, key: null, value: text("v") },
    ]),
  );
  assertEquals(refused.errorCode, ErrorCode.INVALID_RECORD);
  assertEquals(refused.recordErrors?.map(({ index }) => index), [1]);
});

Deno.test("the last batch of a producer stays, without records if need be, and so does what comes next of it", async () => {
  const setup = await openCompacting();
  const producer = { producerId: 7, producerEpoch: 1 };
  put(setup, [["a", "1"]], { ...producer, baseSequence: 0 });
  put(setup, [["a", "2"], ["b", "1"]], { ...producer, baseSequence: 1 });
  put(setup, [["a", "3"], ["b", "2"]]);
  fill(setup);
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[3, "a", "3"], [4, "b", "2"]]);
  const [empty] = batchesOf(setup.log);
  assertEquals([empty.baseOffset, empty.lastOffset, empty.recordCount], [1, 2, 0]);
  assertEquals([empty.producerId, empty.producerEpoch, empty.lastSequence], [7, 1, 2]);

  // The producers as the batches tell them, without any snapshot.
  await setup.manager.close();
  for (const { name } of setup.files.list(`${DIRECTORY}/t-0`)) {
    if (name.endsWith(".snapshot")) setup.files.remove(`${DIRECTORY}/t-0/${name}`);
  }
  const again = await openCompacting({}, { files: setup.files });
  const next = buildBatch([{ timestamp: START, key: text("a"), value: text("4") }], {
    ...producer,
    baseSequence: 3,
  });
  assertEquals(append(again.log, next).errorCode, ErrorCode.NONE);
  const wrong = buildBatch([{ timestamp: START, key: text("a"), value: null }], {
    ...producer,
    baseSequence: 9,
  });
  assertEquals(append(again.log, wrong).errorCode, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER);
});

Deno.test("the last offset of what was cleaned stays, as an empty batch, so that the log's end is known", async () => {
  const setup = await openCompacting({ cleanupPolicy: { compact: false, delete: true } });
  put(setup, [["a", "1"]]);
  put(setup, [[null, "x".repeat(600)]]);
  put(setup, [[null, "y".repeat(800)]]);
  put(setup, [["b", "x".repeat(800)]]);
  setup.log.config = { ...setup.log.config, cleanupPolicy: { compact: true, delete: false } };
  await setup.compact();
  const told = batchesOf(setup.log).map(({ baseOffset, recordCount }) => [baseOffset, recordCount]);
  assertEquals(told, [[0, 1], [2, 0], [3, 1]]);
  setup.manager.truncate(setup.log, 3);
  setup.log.highWatermark = 3;
  await setup.manager.close();
  const again = await openCompacting({}, { files: setup.files });
  assertEquals([again.log.logStartOffset, again.log.nextOffset], [0, 3]);
  assertEquals(again.warnings, []);
});

Deno.test("a segment of which nothing stays keeps an empty batch, and the log its start", async () => {
  const setup = await openCompacting({ segmentBytes: 400 });
  for (let i = 0; i < 6; i++) put(setup, [["a", `${i}`.padEnd(200, "x")]]);
  await setup.compact();
  const batches = batchesOf(setup.log);
  assertEquals(batches.map(({ recordCount }) => recordCount), [0, 0, 0, 0, 1, 1]);
  await setup.manager.close();
  const again = await openCompacting({}, { files: setup.files });
  assertEquals([again.log.logStartOffset, again.log.nextOffset, again.warnings], [0, 6, []]);
});

Deno.test("a full map of keys is no bound on a log: it is cleaned in several rounds", async () => {
  const setup = await openCompacting({}, { settings: { dedupeBufferBytes: 0 } });
  const keys = 4000;
  for (let round = 0; round < 3; round++) {
    for (let key = 0; key < keys; key += 20) {
      put(setup, Array.from({ length: 20 }, (_, i) => [`key ${key + i}`, `${round}`]));
    }
  }
  fill(setup);
  await setup.compact();
  assert(setup.outcomes.length > 1, "one round was enough");
  for (const outcome of setup.outcomes) {
    assert(outcome.kind === "done" && outcome.stats.keyMapBytes <= 1 << 16, JSON.stringify(outcome));
  }
  const records = withoutFill(recordsOf(setup.log));
  assertEquals(records.length, keys);
  assert(records.every(([, , value]) => value === "2"));
});

Deno.test("neighbours become one segment as far as they fit into one, and what stays as it is is not written anew", async () => {
  const setup = await openCompacting();
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 5; i++) put(setup, [[`${i}`, "x".repeat(200)]]);
  }
  for (let round = 0; round < 3; round++) {
    await setup.compact();
    fill(setup, `fill ${round} `);
  }
  const before = setup.log.segmentBaseOffsets.length;
  await setup.compact();
  assertEquals(setup.log.segmentBaseOffsets.length, before);
  const [first, ...later] = setup.outcomes.flatMap((outcome) =>
    outcome.kind === "done" ? [outcome.stats] : []
  );
  assert(first.bytesWritten > 0 && first.bytesWritten < 1000, `${first.bytesWritten} bytes`);
  const last = later.at(-1)!;
  assert(last.bytesRead > 0 && last.bytesWritten === 0, JSON.stringify(last));
});

Deno.test("cleaner-offset-checkpoint tells how far a log is clean, in Kafka's format", async () => {
  const setup = await openCompacting();
  fill(setup);
  await setup.compact();
  const path = `${DIRECTORY}/${CLEANER_FILE}`;
  const active = setup.log.segmentBaseOffsets.at(-1)!;
  assertEquals(readText(setup.files, path), `0\n1\nt 0 ${active}\n`);
  setup.manager.remove("t", 0);
  setup.manager.create("t", 0, "AAAAAAAAAAAAAAAAAAAAAg");
  assertEquals(readOffsets(setup.files, path), new Map());
});

Deno.test("a log that was compacted and is not any more has gaps that are no damage, after a crash too", async () => {
  const setup = await openCompacting();
  for (let round = 0; round < 10; round++) {
    put(setup, [["a", "x".repeat(300)], [`${round}`, "x".repeat(100)], ["a", "y".repeat(300)]]);
  }
  await setup.compact();
  const records = recordsOf(setup.log);
  const deleted = { cleanupPolicy: { compact: false, delete: true } };
  const again = await openCompacting(deleted, { files: setup.files.crashed("killed") });
  assertEquals(again.log.offline, null);
  assertEquals(again.warnings, []);
  assertEquals(recordsOf(again.log), records);
});

Deno.test("reads, and searches by time, that begin in a gap go on behind it", async () => {
  const setup = await openCompacting();
  for (let i = 0; i < 30; i++) {
    put(setup, [[i % 10 === 9 ? `${i}` : "a", "x".repeat(100)]], { timestamp: START + i * 1000 });
  }
  await setup.compact();
  const records = recordsOf(setup.log);
  for (let from = 0; from < 30; from++) {
    assertEquals(recordsOf(setup.log, from), records.filter(([offset]) => offset >= from), `from ${from}`);
    const found = setup.log.offsetForTime(START + from * 1000, Infinity);
    assertEquals(found?.offset, records.find(([offset]) => offset >= from)?.[0], `time ${from}`);
  }
});

Deno.test("retention works on a compacted log when both are asked for, and comes back when it is being cleaned", async () => {
  const setup = await openCompacting({
    cleanupPolicy: { compact: true, delete: true },
    retentionMs: 60_000,
    segmentBytes: 300,
  });
  for (let i = 0; i < 6; i++) {
    put(setup, [["a", "x".repeat(200)]]);
    setup.clock.advance(15_000);
  }
  await setup.compact();
  setup.log.isBeingCleaned = true;
  setup.clock.advance(300_000);
  await setup.manager.tick();
  assertEquals(setup.log.logStartOffset, 0);
  setup.log.isBeingCleaned = false;
  await setup.manager.tick();
  assertEquals(setup.log.logStartOffset, setup.log.nextOffset);
});

Deno.test("a damaged batch keeps its log from being compacted, and is told", async () => {
  const setup = await openCompacting();
  put(setup, [["a", "1"], ["a", "2"]]);
  fill(setup);
  const handle = setup.files.open(`${DIRECTORY}/t-0/00000000000000000000.log`, false);
  handle.writeAt(new Uint8Array([1]), 70);
  handle.close();
  await setup.compact();
  await setup.compact();
  assertEquals(setup.outcomes.map(({ kind }) => kind), ["damaged"]);
  assertEquals(setup.warnings.length, 1);
  assert(setup.warnings[0].includes("t-0 is not compacted any more"), setup.warnings[0]);
  assertEquals(setup.files.list(`${DIRECTORY}/t-0`).filter(({ name }) => name.endsWith(".cleaned")), []);
});

Deno.test("a cleaning changes nothing any more once the topic is not compacted, or the log was cut", async () => {
  for (const change of ["policy", "truncation", "deletion"] as const) {
    const setup = await openCompacting();
    put(setup, [["a", "1"], ["a", "2"]]);
    fill(setup);
    fill(setup, "fill more ");
    await setup.log.flush();
    const { log, manager } = setup;
    await manager.tick();
    // The cleaning has begun in the background, and waits for its first sync.
    if (change === "policy") log.config = { ...log.config, cleanupPolicy: { compact: false, delete: true } };
    else if (change === "truncation") manager.truncate(log, log.nextOffset - 1);
    else manager.remove("t", 0);
    await manager.compactionSettled();
    if (change === "deletion") continue;
    assertEquals(withoutFill(recordsOf(log)).length, 2, change);
    const left = setup.files.list(`${DIRECTORY}/t-0`).filter(({ name }) => /cleaned|swap/.test(name));
    assertEquals([left, setup.warnings], [[], []]);
  }
});

Deno.test("a disk that fails is told of once, and compaction goes on when it works again", async () => {
  const memory = new MemoryFiles(() => START);
  let isFull = false;
  const isOutput = (path: string) => path.endsWith(".cleaned");
  const faulty = new FaultyFiles(
    memory,
    ({ kind, path }) => isFull && kind === "write" && isOutput(path) ? { code: "ENOSPC" } : null,
  );
  const setup = await openCompacting({}, { manager: { files: faulty }, cleanerFiles: faulty });
  put(setup, [["a", "1"], ["a", "2"]]);
  fill(setup);
  isFull = true;
  for (let i = 0; i < 3; i++) await setup.compact();
  assertEquals(setup.outcomes.map(({ kind }) => kind), ["failed", "failed", "failed"]);
  assertEquals(setup.warnings.length, 1);
  assert(setup.warnings[0].includes("Cannot compact t-0 now: "), setup.warnings[0]);
  assertEquals(memory.list(`${DIRECTORY}/t-0`).filter(({ name }) => isOutput(name)), []);
  isFull = false;
  await setup.compact();
  assertEquals(withoutFill(recordsOf(setup.log)), [[1, "a", "2"]]);
});

Deno.test("several threads clean several logs, each log once", async () => {
  const setup = await openCompacting({}, { settings: { threads: 3 } });
  const { manager, clock, outcomes } = setup;
  const logs = [setup.log, ...[1, 2, 3, 4].map((partition) => manager.create("t", partition, TOPIC_ID))];
  for (const log of logs) {
    fill({ ...setup, log });
    await log.flush();
  }
  for (let look = 0; look < 3; look++) {
    clock.advance(1);
    await manager.tick();
  }
  await manager.compactionSettled();
  assertEquals(outcomes.map(({ kind }) => kind), ["done", "done", "done", "done", "done"]);
  assert(setup.threads.made > 1, `${setup.threads.made} threads`);
  assertEquals(setup.warnings, []);
});

Deno.test("a thread is made when there is something to clean, kept while more may come, and ended a minute later", async () => {
  const setup = await openCompacting();
  await setup.compact();
  assertEquals(setup.threads, { made: 0, ended: 0 });
  for (let i = 0; i < 3; i++) {
    fill(setup);
    setup.clock.advance(59_000);
    await setup.compact();
  }
  assertEquals(setup.outcomes.length, 3);
  assertEquals(setup.threads, { made: 1, ended: 0 });
  setup.clock.advance(60_000);
  await setup.compact();
  assertEquals(setup.threads, { made: 1, ended: 1 });
  fill(setup);
  await setup.compact();
  await setup.manager.close();
  assertEquals(setup.threads, { made: 2, ended: 2 });
});

Deno.test("what a compaction gave up stays for file.delete.delay.ms, also when there is another one before", async () => {
  const setup = await openCompacting({ fileDeleteDelayMs: 60_000 });
  const deleted = () =>
    setup.files.list(`${DIRECTORY}/t-0`).map(({ name }) => name)
      .filter((name) => /^0{20}\.log.*\.deleted$/.test(name)).sort();
  for (let round = 0; round < 2; round++) {
    put(setup, [["a", `${round}`]]);
    fill(setup);
    fill(setup);
    await setup.compact();
    setup.clock.advance(25_000);
  }
  const [first, second] = ["00000000000000000000.log.2.deleted", "00000000000000000000.log.deleted"];
  assertEquals(deleted(), [first, second]);
  await setup.manager.tick();
  assertEquals(deleted(), [first, second]);
  setup.clock.advance(15_000);
  await setup.manager.tick();
  assertEquals(deleted(), [first]);
});

Deno.test("an answer that is being sent from a segment's file goes on while the segment is replaced", async () => {
  const setup = await openCompacting({ indexIntervalBytes: 1 });
  for (let i = 0; i < 12; i++) put(setup, [["a", "x".repeat(200)]]);
  const { log, manager } = setup;
  log.read(0, { maxBytes: 1, maxOffset: Infinity, minOneMessage: true });
  const slice = log.slice(1, { minBytes: 1, maxBytes: 10_000, maxOffset: 12 })!;
  const bytes = new Uint8Array(slice.bytes.length);
  slice.bytes.read(bytes, 0);
  await setup.compact();
  assertEquals(batchesOf(log)[0].recordCount, 0);
  manager.pool.closeAll();
  const again = new Uint8Array(slice.bytes.length);
  slice.bytes.read(again, 0);
  assertEquals(again, bytes);
});
