import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { batchesIn, buildBatch, checkBatch, Compression } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import {
  append,
  batch,
  contentOf,
  damage,
  mustAppend,
  offsetEntries,
  offsetsIn,
  openLog,
  openManager,
  readAll,
  START,
} from "./helpers.ts";

const LIMITS = { maxBytes: 1 << 20, maxOffset: Infinity, minOneMessage: true };
/** Small enough that a few batches make several segments and several index entries. */
const SMALL = { segmentBytes: 1000, indexIntervalBytes: 200 };

Deno.test("Log.append() gives rising offsets, and sets offset and leader epoch in the stored batch", async () => {
  const { log } = await openLog();
  assertEquals(mustAppend(log, batch(3)), 0);
  const { baseOffset, lastOffset, logAppendTimeMs, logStartOffset, duplicate } = append(log, batch(2), {
    leaderEpoch: 4,
  });
  assertEquals([baseOffset, lastOffset, logAppendTimeMs, logStartOffset, duplicate], [3, 4, -1, 0, false]);
  const { bytes, nextOffset } = log.read(0, LIMITS);
  const stored = [...batchesIn(bytes)];
  assertEquals(stored.map((each) => [each.baseOffset, each.partitionLeaderEpoch]), [[0, 0], [3, 4]]);
  assertEquals(stored.map((each) => checkBatch(each.bytes, each.start, bytes.length)), [null, null]);
  assertEquals([nextOffset, log.nextOffset, log.sizeInBytes], [5, 5, bytes.length]);
});

Deno.test("Log.append() answers a repeated batch with its first offsets", async () => {
  const { log } = await openLog({ messageTimestampType: "LogAppendTime" });
  const send = (now: number) =>
    append(log, batch(2, { producerId: 1, producerEpoch: 0, baseSequence: 0 }), { now });
  mustAppend(log, batch(5));
  send(START + 1);
  const { errorCode, baseOffset, lastOffset, duplicate, logAppendTimeMs } = send(START + 50);
  assertEquals([errorCode, baseOffset, lastOffset, duplicate], [ErrorCode.NONE, 5, 6, true]);
  assertEquals([logAppendTimeMs, log.nextOffset], [START + 1, 7]);
});

Deno.test("Log.append() that is refused changes nothing", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(1, { producerId: 1, producerEpoch: 0, baseSequence: 0 }));
  const size = log.sizeInBytes;
  const result = append(log, batch(1, { producerId: 1, producerEpoch: 0, baseSequence: 5 }));
  assertEquals([result.errorCode, result.baseOffset], [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1]);
  assertEquals([log.nextOffset, log.sizeInBytes], [1, size]);
  mustAppend(log, batch(1, { producerId: 1, producerEpoch: 0, baseSequence: 1 }));
});

Deno.test("Log.append() asks for a flush when flush.messages is reached", async () => {
  const { log } = await openLog({ flushMessages: 3 });
  assertEquals([append(log, batch(2)).mustFlush, append(log, batch(1)).mustFlush], [false, true]);
  await log.flush();
  assertEquals([log.flushedOffset, append(log, batch(2)).mustFlush], [3, false]);
});

Deno.test("Log rolls when the segment is full, and reads go on across segments", async () => {
  const { log } = await openLog(SMALL);
  for (let i = 0; i < 40; i++) mustAppend(log, batch(1, { first: i }));
  const bases = log.segmentBaseOffsets;
  assertEquals([bases.length > 3, bases[0]], [true, 0]);
  assertEquals(
    readAll(log).map((record) => record.value),
    Array.from({ length: 40 }, (_, i) => `value ${i}`),
  );
  for (let from = 0; from < 40; from++) assertEquals(readAll(log, from).length, 40 - from);
});

Deno.test("Log rolls when the first record is older than segment.ms, by record time", async () => {
  const { log } = await openLog({ segmentMs: 1000 });
  mustAppend(log, batch(1, { timestamp: START }));
  mustAppend(log, batch(1, { timestamp: START + 1000 }), { now: START + 999_999 });
  mustAppend(log, batch(1, { timestamp: START + 1001 }));
  assertEquals(log.segmentBaseOffsets, [0, 2]);
});

Deno.test("Log rolls when an index is full", async () => {
  const { log } = await openLog({ segmentIndexBytes: 36, indexIntervalBytes: 0 });
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1, { timestamp: START + i }));
  assertEquals(log.segmentBaseOffsets, [0, 3]);
});

Deno.test("Log rolls before an offset does not fit into the index", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(1));
  for (const baseOffset of [10, 0x8000_0000]) {
    assertEquals(log.appendAsFollower(batch(1, { baseOffset }), START).errorCode, ErrorCode.NONE);
  }
  assertEquals([log.segmentBaseOffsets, log.nextOffset], [[0, 0x8000_0000], 0x8000_0001]);
});

Deno.test("Log.read() gives whole batches within maxBytes, and the first whatever its size", async () => {
  const { log } = await openLog();
  const size = batch(1).length;
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1));
  const read = (offset: number, maxBytes: number, minOneMessage = true) =>
    offsetsIn(log.read(offset, { ...LIMITS, maxBytes, minOneMessage }).bytes);
  assertEquals(read(0, size * 3), [0, 1, 2]);
  assertEquals(read(0, size * 3 - 1), [0, 1]);
  assertEquals(read(2, 1), [2]);
  assertEquals(read(2, 1, false), []);
  assertEquals(read(2, size, false), [2]);
  assertEquals(read(4, size * 9), [4]);
});

Deno.test("Log.read() begins with the batch that holds the offset", async () => {
  const { log } = await openLog();
  for (let i = 0; i < 3; i++) mustAppend(log, batch(10));
  assertEquals(offsetsIn(log.read(15, LIMITS).bytes), [10, 20]);
});

Deno.test("Log.read() stops before maxOffset", async () => {
  const { log } = await openLog();
  for (let i = 0; i < 4; i++) mustAppend(log, batch(1));
  const read = (offset: number, maxOffset: number) =>
    offsetsIn(log.read(offset, { ...LIMITS, maxOffset }).bytes);
  assertEquals([read(0, 2), read(2, 2), read(1, 2), read(3, 2)], [[0, 1], [], [1], []]);
});

Deno.test("Log.read() outside the log is OFFSET_OUT_OF_RANGE, at its end it is empty", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(2));
  log.deleteRecordsBefore(1);
  const code = (offset: number) => log.read(offset, LIMITS).errorCode;
  assertEquals([code(0), code(1), code(2), code(3)], [1, 0, 0, 1]);
  assertEquals(log.read(2, LIMITS).bytes.length, 0);
});

Deno.test("Log.read() goes on where any earlier read ended, whatever comes between", async () => {
  const { log } = await openLog(SMALL);
  const positions = Array.from({ length: 12 }, () => 0);
  for (let i = 0; i < 60; i++) {
    mustAppend(log, batch(1, { first: i }));
    for (const reader of positions.keys()) {
      if ((i + reader) % 3 === 0) continue;
      const read = log.read(positions[reader], { ...LIMITS, maxBytes: 150 });
      for (const each of batchesIn(read.bytes)) assertEquals(each.baseOffset, positions[reader]++);
      assertEquals(read.nextOffset, positions[reader]);
    }
  }
});

Deno.test("Log.read() into the caller's buffer allocates none", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(3));
  const buffer = new Uint8Array(1000);
  const { bytes } = log.read(0, { ...LIMITS, maxBytes: 900, allocate: () => buffer });
  assertEquals([bytes.buffer === buffer.buffer, offsetsIn(bytes)], [true, [0]]);
});

Deno.test("Log reads a batch that is larger than any chunk it reads by", async () => {
  const { log } = await openLog({ maxMessageBytes: 9_000_000 });
  mustAppend(log, batch(1));
  mustAppend(log, batch(1, { bytes: 3_000_000 }));
  mustAppend(log, batch(1));
  assertEquals(offsetsIn(log.read(1, { ...LIMITS, maxBytes: 10 }).bytes), [1]);
  assertEquals(offsetsIn(log.read(2, { ...LIMITS, maxBytes: 10 }).bytes), [2]);
  assertEquals(log.offsetForTime(START, 10)?.offset, 0);
});

Deno.test("Log.offsetForTime() finds the first record at or after a time, inside compressed batches", async () => {
  for (const compression of [Compression.NONE, Compression.ZSTD]) {
    const { log } = await openLog(SMALL);
    const times = Array.from({ length: 120 }, (_, i) => START + ((i * 37) % 50) + i * 10);
    for (let i = 0; i < times.length; i += 4) {
      const records = times.slice(i, i + 4).map((timestamp) => ({
        timestamp,
        key: null,
        value: new Uint8Array(9),
      }));
      mustAppend(log, buildBatch(records, { compression }), { leaderEpoch: 2 });
    }
    for (let time = START - 5; time < START + 1300; time += 3) {
      const offset = times.findIndex((timestamp) => timestamp >= time);
      const expected = offset < 0 ? null : { offset, timestamp: times[offset], leaderEpoch: 2 };
      assertEquals(log.offsetForTime(time, log.nextOffset), expected);
    }
    assertEquals(log.offsetForTime(START, 0), null);
    assertEquals(log.offsetOfMaxTimestamp(120)?.timestamp, Math.max(...times));
    assertEquals(log.offsetOfMaxTimestamp(120)?.offset, times.indexOf(Math.max(...times)));
  }
});

Deno.test("Log.offsetForTime() does not see records before the log's start", async () => {
  const { log } = await openLog(SMALL);
  for (let i = 0; i < 30; i++) mustAppend(log, batch(1, { timestamp: START + i }));
  log.deleteRecordsBefore(17);
  assertEquals(log.offsetForTime(START + 3, 30)?.offset, 17);
});

Deno.test("Log keeps leader epochs, and tells where each ended", async () => {
  const { log } = await openLog();
  log.assignLeaderEpoch(0);
  mustAppend(log, batch(3), { leaderEpoch: 0 });
  log.assignLeaderEpoch(2);
  assertEquals(log.endOffsetForEpoch(2, 2), { leaderEpoch: 2, endOffset: 3 });
  mustAppend(log, batch(2), { leaderEpoch: 2 });
  assertEquals(log.endOffsetForEpoch(0, 2), { leaderEpoch: 0, endOffset: 3 });
  assertEquals([log.leaderEpochAt(2), log.leaderEpochAt(3)], [0, 2]);
});

Deno.test("Log.appendAsFollower() keeps offsets and epochs, gaps too, and refuses what is out of order", async () => {
  const { log } = await openLog({ ...SMALL, cleanupPolicy: { delete: false, compact: true } });
  const bytes = (...bases: number[]) =>
    new Uint8Array(bases.flatMap((baseOffset) => [...batch(1, { baseOffset, partitionLeaderEpoch: 7 })]));
  assertEquals(log.appendAsFollower(bytes(5, 6, 20), START).lastOffset, 20);
  assertEquals([log.nextOffset, log.leaderEpochAt(6)], [21, 7]);
  assertEquals(offsetsIn(log.read(7, LIMITS).bytes), [20]);
  assertEquals(log.appendAsFollower(bytes(20), START).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE);
  assertEquals(log.appendAsFollower(bytes(30, 29), START).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE);
  assertEquals(log.appendAsFollower(bytes(30).subarray(0, 60), START).errorCode, ErrorCode.CORRUPT_MESSAGE);
  assertEquals(log.appendAsFollower(new Uint8Array(0), START).errorCode, ErrorCode.CORRUPT_MESSAGE);
  assertEquals(log.nextOffset, 21);
});

Deno.test("Log.truncateTo() drops the end, and everything that knew of it", async () => {
  for (let to = 0; to <= 40; to += 5) {
    const { log } = await openLog(SMALL);
    for (let i = 0; i < 40; i++) {
      const o = {
        producerId: i % 3,
        producerEpoch: 0,
        baseSequence: Math.floor(i / 3),
        timestamp: START + i,
      };
      mustAppend(log, batch(1, { ...o, first: i }), { leaderEpoch: i < 20 ? 1 : 2 });
    }
    readAll(log);
    assertEquals(log.truncateTo(to), ErrorCode.NONE);
    assertEquals([log.nextOffset, readAll(log).length], [to, to]);
    assertEquals(log.offsetForTime(START + to, 99), null);
    assertEquals(log.offsetOfMaxTimestamp(99)?.offset ?? -1, to - 1);
    assertEquals(log.leaderEpochAt(39), to > 20 ? 2 : to > 0 ? 1 : -1);
    const next = {
      producerId: to % 3,
      producerEpoch: 0,
      baseSequence: Math.floor(to / 3),
      timestamp: START + 99,
    };
    assertEquals(mustAppend(log, batch(1, next)), to);
    assertEquals(readAll(log).length, to + 1);
  }
});

Deno.test("Log.truncateTo() an offset within a batch drops the whole batch", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(10));
  mustAppend(log, batch(10));
  log.truncateTo(15);
  assertEquals([log.nextOffset, offsetsIn(log.read(0, LIMITS).bytes)], [15, [0]]);
});

Deno.test("Log.deleteRecordsBefore() moves the start forward only, and not past the end", async () => {
  const { log } = await openLog();
  mustAppend(log, batch(10));
  assertEquals([log.deleteRecordsBefore(4), log.logStartOffset], [ErrorCode.NONE, 4]);
  assertEquals([log.deleteRecordsBefore(2), log.logStartOffset], [ErrorCode.NONE, 4]);
  assertEquals([log.deleteRecordsBefore(11), log.logStartOffset], [ErrorCode.OFFSET_OUT_OF_RANGE, 4]);
  assertEquals([log.deleteRecordsBefore(10), log.logStartOffset], [ErrorCode.NONE, 10]);
});

Deno.test("Log.applyRetention() by size removes whole segments from the oldest on", async () => {
  const { manager, log, config, files, clock } = await openLog(SMALL);
  for (let i = 0; i < 60; i++) mustAppend(log, batch(1));
  const before = log.segmentBaseOffsets;
  log.config = { ...config, retentionBytes: 2500, fileDeleteDelayMs: 100 };
  const removed = log.applyRetention(START);
  assertEquals(log.segmentBaseOffsets, before.slice(removed));
  assertEquals([log.logStartOffset, log.sizeInBytes >= 2500, log.sizeInBytes < 3500], [
    before[removed],
    true,
    true,
  ]);
  assertEquals(log.read(0, LIMITS).errorCode, ErrorCode.OFFSET_OUT_OF_RANGE);
  assertEquals(readAll(log).length, 60 - before[removed]);
  const deleted = () => files.list("/data/t-0").filter((entry) => entry.name.endsWith(".deleted")).length;
  clock.advance(99);
  await manager.tick();
  assertEquals(deleted(), removed * 3);
  clock.advance(1);
  await manager.tick();
  assertEquals(deleted(), 0);
});

Deno.test("Log.applyRetention() by time goes by record timestamps, and may empty the log", async () => {
  const { log, config } = await openLog({ ...SMALL, retentionMs: 1000 });
  for (let i = 0; i < 40; i++) mustAppend(log, batch(1, { timestamp: START + i * 10 }));
  assertEquals(log.applyRetention(START + 1000), 0);
  log.applyRetention(START + 1200);
  assertEquals([log.logStartOffset > 0, log.logStartOffset <= 20], [true, true]);
  log.applyRetention(START + 99_999);
  assertEquals([log.logStartOffset, log.nextOffset, log.sizeInBytes], [40, 40, 0]);
  assertEquals(mustAppend(log, batch(1)), 40);
  log.config = { ...config, retentionMs: -1 };
  assertEquals(log.applyRetention(START + 999_999_999), 0);
});

Deno.test("Log.applyRetention() keeps what is above the high watermark", async () => {
  const { log } = await openLog({ ...SMALL, retentionMs: 0 });
  for (let i = 0; i < 40; i++) mustAppend(log, batch(1));
  const [, second, third] = log.segmentBaseOffsets;
  assertEquals(log.applyRetention(START + 99_999, third - 1), 1);
  assertEquals(log.logStartOffset, second);
});

Deno.test("Log.applyRetention() of a compacted topic removes only what DeleteRecords ended", async () => {
  const { log } = await openLog({
    ...SMALL,
    retentionMs: 0,
    cleanupPolicy: { delete: false, compact: true },
  });
  for (let i = 0; i < 40; i++) mustAppend(log, batch(1));
  assertEquals(log.applyRetention(START + 99_999), 0);
  const third = log.segmentBaseOffsets[2];
  log.deleteRecordsBefore(third + 1);
  assertEquals([log.applyRetention(START), log.logStartOffset, log.segmentBaseOffsets[0]], [
    2,
    third + 1,
    third,
  ]);
});

Deno.test("Log.flush() makes one sync serve all who wait, and moves the recovery point", async () => {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { log } = await openLog({}, files);
  mustAppend(log, batch(1));
  await log.flush();
  mustAppend(log, batch(1));
  const before = files.operations;
  const waiting = [log.flush()];
  // Of the same turn, and so of the same sync.
  mustAppend(log, batch(1));
  for (let i = 0; i < 50; i++) waiting.push(log.flush());
  await Promise.all(waiting);
  assertEquals(log.flushedOffset, 3);
  assertEquals(files.operations - before, 2);
});

Deno.test("Log.flush() that fails rejects and leaves the recovery point; the next one makes good", async () => {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { log, warnings } = await openLog({}, files);
  mustAppend(log, batch(1));
  files.fail(1);
  let failed: unknown;
  await log.flush().catch((error) => failed = error);
  assertEquals([failed instanceof IoError, log.flushedOffset], [true, 0]);
  await log.flush();
  assertEquals([log.flushedOffset, warnings], [1, []]);
});

Deno.test("Log in a failed state answers KAFKA_STORAGE_ERROR, and works again when the disk does", async () => {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { log, warnings } = await openLog({}, files);
  mustAppend(log, batch(1));
  files.fail(1, Infinity, 0.5);
  for (let i = 0; i < 3; i++) assertEquals(append(log, batch(1)).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals(log.read(0, LIMITS).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
  assertThrows(() => log.offsetForTime(START, 1), IoError);
  assertEquals(warnings.length, 1);
  files.heal();
  assertEquals(mustAppend(log, batch(1)), 1);
  assertEquals([readAll(log).length, warnings.length, warnings[1]], [
    2,
    2,
    "t-0: appends to the log work again",
  ]);
});

Deno.test("Log tells of what goes on failing once, although appends work, and of its end", async () => {
  let broken = true;
  const files = new FaultyFiles(
    new MemoryFiles(() => START),
    ({ kind, path }) => broken && kind === "sync" && path.endsWith(".log") ? { code: "EIO" } : null,
  );
  const { log, warnings } = await openLog({}, files);
  for (let i = 0; i < 5; i++) {
    mustAppend(log, batch(1));
    await log.flushNow();
  }
  assertEquals(warnings.map((line) => line.replace(/: Cannot .*/, "")), ["t-0: cannot flush the log"]);
  broken = false;
  await log.flushNow();
  assertEquals(warnings.slice(1), ["t-0: it can flush the log again"]);
});

Deno.test("Log tells of a damaged place once, although others work", async () => {
  const { log, warnings, files } = await openLog({ indexIntervalBytes: 1 });
  for (let i = 0; i < 3; i++) mustAppend(log, batch(1));
  const path = `${log.path}/00000000000000000000.log`;
  damage(files, path, contentOf(files, path).length / 3 + 8, new Uint8Array(4));
  for (let i = 0; i < 5; i++) {
    assertEquals(log.read(1, LIMITS).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
    mustAppend(log, batch(1));
    assertEquals(log.read(0, LIMITS).errorCode, ErrorCode.NONE);
  }
  assertEquals(warnings.filter((line) => line.includes("cannot read")).length, 1);
});

Deno.test("Log.close() leaves the index entries that Kafka would", async () => {
  const { log, manager, files } = await openLog({ indexIntervalBytes: 100 });
  const size = batch(1).length;
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1, { timestamp: START + i }));
  await manager.close();
  // An entry is due when more than the interval was written since the last: at every second batch from the third on.
  assertEquals(offsetEntries(contentOf(files, "/data/t-0/00000000000000000000.index")), [[2, 2 * size], [
    4,
    4 * size,
  ]]);
  assertEquals(contentOf(files, "/data/t-0/00000000000000000000.timeindex").length, 2 * 12);
  const again = await openManager({}, files);
  assertEquals(readAll(again.manager.get("t", 0)!).length, 5);
});

Deno.test("Log.truncateTo() knows the times of what is left, although no index entry is", async () => {
  const { log } = await openLog({ indexIntervalBytes: 200 });
  for (let i = 0; i < 6; i++) mustAppend(log, batch(1, { timestamp: START + i, bytes: 60 }));
  log.truncateTo(2);
  assertEquals(log.offsetForTime(START + 1, 2)?.offset, 1);
  assertEquals(log.offsetOfMaxTimestamp(2)?.offset, 1);
});

for (
  const [code, told] of [
    [
      "ENOSPC",
      "no space left on the device (ENOSPC); producers get KAFKA_STORAGE_ERROR for what does not fit, and it goes on by " +
      "itself when there is room",
    ],
    [
      "EIO",
      "the device failed (EIO); producers get KAFKA_STORAGE_ERROR, and it goes on by itself when the disk works again",
    ],
  ] as const
) {
  Deno.test(`Log says of ${code} in an append what it means, to whom, and when it is over`, async () => {
    let broken = false;
    const files = new FaultyFiles(
      new MemoryFiles(() => START),
      ({ kind, path }) => broken && kind === "write" && path.endsWith(".log") ? { code } : null,
    );
    const { log, warnings } = await openLog({}, files);
    mustAppend(log, batch(1));
    broken = true;
    assertEquals(append(log, batch(1)).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
    assertEquals(warnings, [
      `t-0: cannot append to the log: Cannot write /data/t-0/00000000000000000000.log: ${told}`,
    ]);
  });
}
