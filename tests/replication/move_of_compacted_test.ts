/** Partitions of compacted topics that move: what compaction takes out of a log must not stay in its copy alone. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { LogMover } from "../../src/replication/log_mover.ts";
import { Partition } from "../../src/replication/partition.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import { CLEANER_FILE } from "../../src/storage/log/compacted.ts";
import { readOffsets } from "../../src/storage/directory/checkpoints.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogConfig } from "../../src/storage/log/config.ts";
import { batchesOf, compacted, inlineThread, recordsOf, settings } from "../storage/cleaner/helpers.ts";
import { DIRECTORIES, openDirectories, START, text, TOPIC_ID } from "../storage/helpers.ts";

const [, TWO] = DIRECTORIES;
/** What is copied in one go, and a bit more. */
const PADDING = 1_200_000;

async function stage(config: Partial<LogConfig> = {}) {
  const clock = new ManualClock();
  const files = new MemoryFiles(() => clock.now());
  const whole = {
    ...compacted,
    maxMessageBytes: 2_000_000,
    segmentBytes: 2_000_000,
    deleteRetentionMs: 0,
    fileDeleteDelayMs: 0,
    ...config,
  };
  const { logs, warnings } = await openDirectories(files, {
    clock,
    configOf: () => whole,
    cleaner: { settings: () => settings, makeThread: () => inlineThread(files) },
  });
  const partition = new Partition(logs.create("t", 0, TOPIC_ID), TOPIC_ID, 1, 0, [1]);
  const replicas = new Replicas();
  replicas.add(partition);
  const report = (text: string) => warnings.push(text);
  const mover = new LogMover({ logs, replicas, clock, report });
  const target = logs.directories.find(({ path }) => path === TWO)!.manager!;
  return {
    clock,
    files,
    logs,
    mover,
    partition,
    warnings,
    put(key: string, value: string | null, padding = 0) {
      const records = [{
        timestamp: clock.now(),
        key: text(key),
        value: value === null ? null : text(value.padEnd(padding)),
      }];
      assertEquals(partition.append(buildBatch(records), "client", START).errorCode, ErrorCode.NONE);
    },
    move: () => assertEquals(mover.move(partition, target), ErrorCode.NONE),
    copy: () => target.futures.get("t", 0)!,
    /** As often as it takes for tombstones to go. */
    async compact() {
      for (let i = 0; i < 3; i++) {
        await partition.log.flush();
        await logs.tick();
        for (const { manager } of logs.directories) await manager!.compactionSettled();
        clock.advance(10);
      }
    },
    keys: () => recordsOf(partition.log).map(([, key, value]) => [key, value?.trim() ?? null]),
  };
}

/** Lets the move go on until its copy has something, but not all. */
async function begun({ copy, partition }: Awaited<ReturnType<typeof stage>>): Promise<void> {
  while (copy().nextOffset === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(copy().nextOffset < partition.log.nextOffset, true, "all was copied at once");
}

Deno.test("a key that was deleted does not come back when its tombstone is compacted away while the partition moves", async () => {
  const it = await stage();
  it.put("gone", "old");
  for (let i = 0; i < 3; i++) it.put(`first ${i}`, "x", PADDING);
  it.put("gone", null);
  for (let i = 0; i < 5; i++) it.put(`second ${i}`, "x", PADDING);
  it.move();
  await begun(it);
  await it.compact();
  for (let i = 0; i < 3; i++) {
    it.put(`third ${i}`, "x", PADDING);
    await it.compact();
  }
  await it.mover.idle();
  assertEquals(it.logs.managerOf(it.partition.log)!.directory, TWO);
  await it.compact();
  assertEquals(it.keys().filter(([key, value]) => key === "gone" && value !== null), []);
  assertEquals(it.warnings, []);
  await it.mover.close();
  await it.logs.close();
});

Deno.test("compaction goes on in the new directory, and in the old one when the move was given up", async () => {
  const it = await stage();
  for (let i = 0; i < 6; i++) it.put("k", `${i}`, PADDING);
  it.move();
  await begun(it);
  const one = it.logs.managerOf(it.partition.log)!;
  assertEquals(it.mover.move(it.partition, one), ErrorCode.NONE);
  await it.mover.idle();
  await it.compact();
  assertEquals(it.keys().length < 6, true);
  for (let i = 0; i < 6; i++) it.put("k", `${i}`, PADDING);
  it.move();
  await it.mover.idle();
  await it.compact();
  assertEquals(it.keys().length < 6, true);
  await it.mover.close();
  await it.logs.close();
});

Deno.test("a log that was compacted since its copy was begun, and is not any more, is still known to have gaps", async () => {
  const it = await stage();
  const { log } = it.partition;
  const compacts = log.config;
  const keepsAll = { ...compacts, cleanupPolicy: { compact: false, delete: true } };
  log.config = keepsAll;
  for (let i = 0; i < 6; i++) it.put("k", `${i}`, PADDING);
  const target = it.logs.directories[1].manager!;
  const copy = target.futures.create(log, 0);
  log.config = compacts;
  await it.compact();
  log.config = keepsAll;
  while (copy.nextOffset < log.nextOffset) {
    const limits = { maxBytes: PADDING, maxOffset: log.nextOffset, minOneMessage: true };
    const { bytes } = log.read(copy.nextOffset, limits);
    assertEquals(copy.appendAsFollower(bytes, START).errorCode, ErrorCode.NONE);
  }
  copy.takeOver(log);
  target.promote(copy);
  assertEquals(readOffsets(it.files, `${TWO}/${CLEANER_FILE}`), new Map([["t-0", 0]]));
  await it.logs.close();
});

Deno.test("a compacted log begins after a move where it did before, for the next start too, although its first records are gone", async () => {
  const it = await stage({ segmentBytes: 1000 });
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 60; i++) it.put("k", `${i}`);
    await it.compact();
  }
  assertEquals(it.partition.log.logStartOffset, 0);
  assertEquals(batchesOf(it.partition.log)[0].baseOffset > 0, true, "the first batch is still there");
  it.move();
  await it.mover.idle();
  assertEquals([it.partition.log.logStartOffset, it.logs.managerOf(it.partition.log)!.directory], [0, TWO]);
  await it.mover.close();
  const killed = await openDirectories(it.files.crashed("killed"), { configOf: () => compacted });
  assertEquals([killed.logs.get("t", 0)!.logStartOffset, killed.warnings], [0, []]);
  assertEquals(recordsOf(killed.logs.get("t", 0)!), recordsOf(it.partition.log));
  await killed.logs.close();
  await it.logs.close();
});
