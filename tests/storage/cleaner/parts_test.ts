/** The parts of compaction by themselves: the map of keys, transactions, groups, pace, old messages, the checkpoint. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { BatchView, buildBatch, Compression } from "../../../src/codec/batch.ts";
import { buildMessageSet } from "../../../src/codec/legacy.ts";
import { CleanerCheckpoint } from "../../../src/storage/cleaner/checkpoint.ts";
import { clean } from "../../../src/storage/cleaner/clean.ts";
import { groupSegments } from "../../../src/storage/cleaner/groups.ts";
import type { CleanedGroup, CleaningJob } from "../../../src/storage/cleaner/job.ts";
import { KeyMap, keysIn } from "../../../src/storage/cleaner/key_map.ts";
import { Interrupted, Throttle } from "../../../src/storage/cleaner/pace.ts";
import { CleanedTransactions } from "../../../src/storage/cleaner/transactions.ts";
import { IoError, readText } from "../../../src/storage/files/files.ts";
import { FaultyFiles } from "../../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../../src/storage/files/memory.ts";
import {
  readTransactionIndex,
  writeTransactionIndex,
} from "../../../src/storage/segment/transaction_index.ts";
import { contentOf, START, text } from "../helpers.ts";

// ------------------------------------------------------------------------------------------------------ map of keys

Deno.test("KeyMap keeps the last offset of as many keys as it was made for, whatever their lengths", () => {
  const count = 5000;
  const map = new KeyMap(count, 0.9, new Uint8Array(16));
  const keys = Array.from({ length: count }, (_, i) => text(`${"k".repeat(i % 40)}${i}`));
  for (let round = 0; round < 2; round++) {
    for (const [i, key] of keys.entries()) map.put(key, 0, key.length, round * count + i);
  }
  assertEquals([map.size, map.isFull, map.latestOffset], [count, true, 2 * count - 1]);
  assert(keys.every((key, i) => map.get(key, 0, key.length) === count + i));
  const strange = text("nobody's");
  assertEquals(map.get(strange, 0, strange.length), -1);
  assert(map.sizeInBytes <= Math.ceil(count / 0.9) * 24);
});

Deno.test("KeyMap tells apart keys that are the beginning of each other, and the empty one", () => {
  const map = new KeyMap(4, 0.9, new Uint8Array(16).fill(7));
  const bytes = new Uint8Array(40);
  for (const [offset, length] of [0, 1, 8, 9].entries()) map.put(bytes, 3, length, offset);
  assertEquals([0, 1, 8, 9, 2].map((length) => map.get(bytes, 20, length)), [0, 1, 2, 3, -1]);
});

Deno.test("keysIn() leaves a slot free at any load factor", () => {
  assertEquals([keysIn(2400, 0.9), keysIn(2400, 1), keysIn(0, 0.9)], [90, 99, 1]);
});

// ----------------------------------------------------------------------------------------------------- transactions

const PRODUCER = 5;

/** A transactional batch of one record, or a marker. */
function part(baseOffset: number, kind: "records" | "abort" | "commit", producerId = PRODUCER): BatchView {
  const marker = kind === "records" ? null : new Uint8Array([0, 0, 0, kind === "commit" ? 1 : 0]);
  const record = { timestamp: START, key: marker ?? text("key"), value: new Uint8Array(6) };
  return new BatchView(buildBatch([record], {
    baseOffset,
    producerId,
    producerEpoch: 0,
    baseSequence: marker === null ? baseOffset : -1,
    isTransactional: true,
    isControl: marker !== null,
  }));
}

const aborted = (firstOffset: number, lastOffset: number) => {
  return { producerId: PRODUCER, firstOffset, lastOffset, lastStableOffset: lastOffset };
};

Deno.test("CleanedTransactions: records of aborted transactions are of no use, of others they are", () => {
  const still: number[] = [];
  const transactions = new CleanedTransactions(
    [aborted(10, 12)],
    0,
    ({ firstOffset }) => still.push(firstOffset),
  );
  const needless = [
    part(0, "records"),
    part(1, "commit"),
    part(10, "records"),
    part(11, "records", 6),
    part(12, "abort"),
    part(13, "commit", 6),
    part(14, "records"),
  ].map((batch) => transactions.isNeedless(batch));
  assertEquals(needless, [false, false, true, false, false, false, false]);
  assertEquals(still, [10]);
});

Deno.test("CleanedTransactions: a marker is of no use once no record of its transaction is left", () => {
  const transactions = new CleanedTransactions([aborted(10, 12)], 0);
  assertEquals(transactions.isNeedless(part(2, "commit")), true);
  assertEquals(transactions.isNeedless(part(12, "abort")), true);
  const empty = new BatchView(
    buildBatch([], {
      baseOffset: 13,
      lastOffsetDelta: 0,
      isControl: true,
      isTransactional: true,
      producerId: 5,
    }),
  );
  assertEquals(transactions.isNeedless(empty), true);
});

Deno.test("CleanedTransactions knows nothing of transactions that ended before it begins", () => {
  const transactions = new CleanedTransactions([aborted(1, 5)], 6);
  assertEquals(transactions.isNeedless(part(7, "records")), false);
});

Deno.test("a transaction index is read as it was written, and not behind what is whole", () => {
  const entries = [aborted(1, 5), { ...aborted(2 ** 40, 2 ** 40 + 7), producerId: 9 }];
  const bytes = writeTransactionIndex(entries);
  assertEquals(bytes.length, 68);
  assertEquals(readTransactionIndex(bytes), entries);
  assertEquals(readTransactionIndex(bytes.subarray(0, 67)), entries.slice(0, 1));
});

// ------------------------------------------------------------------------------------------------------ whole jobs

const job: Omit<CleaningJob, "segments" | "upperBound"> = {
  directory: "/t-0",
  laterBases: [],
  firstDirtyOffset: 0,
  producers: [],
  nowMs: START,
  deleteRetentionMs: 1000,
  segmentBytes: 10_000,
  segmentIndexBytes: 10_000,
  indexIntervalBytes: 100,
  compressionLevel: null,
  keyMapBytes: 10_000,
  keyMapLoadFactor: 0.9,
  bufferBytes: 4096,
};

/** Cleans one segment of these bytes from offset 0 on; gives the batches that are left, and the files. */
async function cleanSegment(bytes: Uint8Array, o: Partial<CleaningJob> = {}, index?: Uint8Array) {
  const files = new MemoryFiles(() => START);
  files.makeDirectory("/t-0");
  const write = (name: string, content: Uint8Array) => files.open(`/t-0/${name}`, true).writeAt(content, 0);
  write("00000000000000000000.log", bytes);
  if (index !== undefined) write("00000000000000000000.txnindex", index);
  const groups: CleanedGroup[] = [];
  const segments = [{ baseOffset: 0, size: bytes.length, modifiedMs: START - 5000 }];
  const outcome = await clean({ ...job, segments, upperBound: 100, ...o }, {
    files,
    pace: { moved: () => {} },
    secret: new Uint8Array(16),
    replace: (group) => {
      groups.push(group);
      return Promise.resolve(true);
    },
  });
  assertEquals(outcome.kind, "done");
  const path = "/t-0/00000000000000000000.log.cleaned";
  const left: BatchView[] = [];
  if (groups.length > 0) {
    const cleaned = contentOf(files, path);
    for (let at = 0; at < cleaned.length; at += left.at(-1)!.sizeInBytes) {
      left.push(new BatchView(cleaned, at));
    }
    assertEquals(files.stat(path)!.modifiedMs, START - 5000);
  }
  return { left, files, groups };
}

function joined(...parts: readonly { toBytes(): Uint8Array }[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part.toBytes()]));
}

Deno.test("a cleaning drops what was aborted, keeps its marker until its horizon, and the index of what is left", async () => {
  const log = joined(
    part(0, "records"),
    part(1, "records", 6),
    part(2, "abort"),
    part(3, "commit", 6),
    part(4, "commit", 7),
  );
  const index = writeTransactionIndex([aborted(0, 2)]);
  const first = await cleanSegment(log, {}, index);
  const told = (batches: readonly BatchView[]) =>
    batches.map(({ baseOffset, deleteHorizonMs }) => [baseOffset, deleteHorizonMs]);
  assertEquals(told(first.left), [[1, null], [2, null], [3, null], [4, START + 1000]]);
  assertEquals(first.groups[0].hasTransactions, true);
  const kept = contentOf(first.files, "/t-0/00000000000000000000.txnindex.cleaned");
  assertEquals(readTransactionIndex(kept), [aborted(0, 2)]);

  const second = await cleanSegment(joined(...first.left), { nowMs: START + 999 }, kept);
  assertEquals(told(second.left), [[1, null], [2, START + 1999], [3, null], [4, START + 1000]]);
  assertEquals(second.groups[0].hasTransactions, false);
  const third = await cleanSegment(joined(...second.left), { nowMs: START + 5000 });
  assertEquals(told(third.left), [[1, null], [3, null]]);
});

for (const magic of [0, 1] as const) {
  for (const compression of [Compression.NONE, Compression.GZIP]) {
    Deno.test(`messages of format ${magic}, compression ${compression}, are cleaned like any others`, async () => {
      const records = ["a", "b", "a", "c"].map((key, offset) => ({
        offset,
        timestamp: magic === 0 ? -1 : START + offset,
        key: text(key),
        value: key === "b" ? null : text(`value ${offset}`),
      }));
      const { left } = await cleanSegment(buildMessageSet(records, { magic, compression }));
      const found = left.flatMap((batch) => [...batch.records()]);
      assertEquals(found.map(({ offset, timestamp }) => [offset, timestamp]), [
        [1, records[1].timestamp],
        [2, records[2].timestamp],
        [3, records[3].timestamp],
      ]);
      assert(left.every((batch) => batch.magic === 2 && batch.compression === compression));
      assert(left.some(({ deleteHorizonMs }) => deleteHorizonMs === START + 1000));
    });
  }
}

// ------------------------------------------------------------------------------------------------- groups and pace

Deno.test("groupSegments() puts neighbours together as long as one segment and its indexes hold them", () => {
  const segment = (baseOffset: number, size: number, indexBytes = 1, length = 10) => {
    return { baseOffset, endOffset: baseOffset + length, size, indexBytes };
  };
  const limits = { segmentBytes: 100, segmentIndexBytes: 10 };
  const grouped = (...segments: ReturnType<typeof segment>[]) =>
    groupSegments(segments, limits).map((group) => group.map(({ baseOffset }) => baseOffset));
  assertEquals(grouped(segment(0, 50), segment(10, 50), segment(20, 1)), [[0, 10], [20]]);
  assertEquals(grouped(segment(0, 1, 6), segment(10, 1, 4), segment(20, 1, 1)), [[0, 10], [20]]);
  assertEquals(grouped(segment(0, 200), segment(10, 200)), [[0], [10]]);
  assertEquals(grouped(segment(0, 1), segment(10, 1, 1, 2 ** 31)), [[0], [10]]);
  const many = Array.from({ length: 70 }, (_, i) => segment(i * 10, 1, 0));
  assertEquals(grouped(...many).map(({ length }) => length), [16, 16, 16, 16, 6]);
});

Deno.test("Throttle waits for as long as the bytes are ahead of the rate, and ends when it is interrupted", () => {
  let now = 0;
  let isInterrupted = false;
  const waits: number[] = [];
  const throttle = new Throttle(1 << 20, {
    now: () => now,
    isInterrupted: () => isInterrupted,
    wait: (ms) => {
      waits.push(ms);
      now += ms;
    },
  });
  for (let i = 0; i < 4; i++) throttle.moved(1 << 19);
  assertEquals(waits, [500, 500, 500, 500]);
  now += 10_000;
  throttle.moved(1 << 20);
  assertEquals(waits.at(-1), 1000, "time in which nothing was moved is no credit");
  isInterrupted = true;
  assertThrows(() => throttle.moved(1 << 20), Interrupted);
});

// ------------------------------------------------------------------------------------------------------ checkpoint

Deno.test("CleanerCheckpoint: what is written blocking is not overwritten by what was on its way", async () => {
  const files = new MemoryFiles(() => START);
  files.makeDirectory("/data");
  const checkpoint = new CleanerCheckpoint(files, "/data", new Map());
  checkpoint.set("t-0", 10);
  const saving = checkpoint.save();
  checkpoint.set("t-0", 5);
  checkpoint.saveNow();
  await saving;
  assertEquals(readText(files, "/data/cleaner-offset-checkpoint"), "0\n1\nt 0 5\n");
  await checkpoint.save();
  checkpoint.forgetNow("t-0");
  assertEquals(readText(files, "/data/cleaner-offset-checkpoint"), "0\n0\n");
});

Deno.test("CleanerCheckpoint tries again to save what it could not", async () => {
  const faulty = new FaultyFiles(new MemoryFiles(() => START));
  faulty.makeDirectory("/data");
  const checkpoint = new CleanerCheckpoint(faulty, "/data", new Map());
  checkpoint.set("t-0", 10);
  faulty.fail(1);
  await assertRejects(() => checkpoint.save(), IoError);
  await checkpoint.save();
  assertEquals(readText(faulty, "/data/cleaner-offset-checkpoint"), "0\n1\nt 0 10\n");
});
