/** What batches of a few kilobytes may cost at append and in a search by time. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { zstdCompressSync } from "node:zlib";
import { Allowance } from "../../src/codec/allowance.ts";
import { BATCH_OVERHEAD, type BatchView, buildBatch, Compression } from "../../src/codec/batch.ts";
import { frameRecords, writeBatchHeader } from "../../src/codec/batch_builder.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { TooCostly } from "../../src/codec/malformed.ts";
import { writeVarint } from "../../src/codec/record.ts";
import { type AppendOptions, prepareBatch, Refusal } from "../../src/storage/log/append.ts";
import { defaultLogConfig, type LogConfig } from "../../src/storage/log/config.ts";
import { append, batch, openLog, START, text } from "./helpers.ts";

function prepare(bytes: Uint8Array, config: Partial<LogConfig>, o: Partial<AppendOptions> = {}) {
  const options: AppendOptions = { leaderEpoch: 0, origin: "client", now: START, ...o };
  return prepareBatch(bytes, { ...defaultLogConfig, ...config }, options);
}

/** The error's name, or what is stored. */
function outcome(result: BatchView | Refusal): string {
  return result instanceof Refusal ? errorName(result.errorCode) : "NONE";
}

interface Header {
  recordCount: number;
  compression?: number;
  lastOffsetDelta?: number;
  maxTimestamp?: number;
}

/** A batch of these record bytes, under a header that says what it likes. */
function batchOfBytes(records: Uint8Array, header: Header): Uint8Array {
  const plain = new Uint8Array(BATCH_OVERHEAD + records.length);
  plain.set(records, BATCH_OVERHEAD);
  const compression = header.compression ?? Compression.ZSTD;
  const bytes = frameRecords(plain, compression);
  writeBatchHeader(bytes, {
    baseOffset: 0,
    compression,
    lastOffsetDelta: header.lastOffsetDelta ?? header.recordCount - 1,
    baseTimestamp: START,
    maxTimestamp: header.maxTimestamp ?? START,
    recordCount: header.recordCount,
  });
  return bytes;
}

/** The smallest records there are, with the offset deltas given, each less than 64. */
function tinyRecords(deltas: readonly number[]): Uint8Array {
  return new Uint8Array(deltas.flatMap((delta) => [12, 0, 0, 2 * delta, 1, 1, 0]));
}

/** One record with so many headers of two bytes. */
function recordOfHeaders(count: number): Uint8Array {
  const out = new Uint8Array(20 + 2 * count);
  const body = [0, 0, 0, 1, 1];
  const counted = new Uint8Array(5);
  const countSize = writeVarint(counted, 0, count);
  let at = writeVarint(out, 0, body.length + countSize + 2 * count);
  out.set(body, at);
  at += body.length;
  out.set(counted.subarray(0, countSize), at);
  return out.subarray(0, at + countSize + 2 * count);
}

const gzip = { compressionType: "gzip" } as const;

Deno.test("prepareBatch() copies records as bytes when it recompresses, headers that are not UTF-8 among them", () => {
  const header = [4, 0xff, 0xfe, 2, 0x41];
  const body = [0, 0, 0, 1, 1, 2, ...header];
  const records = new Uint8Array([2 * body.length, ...body]);
  const stored = prepare(batchOfBytes(records, { recordCount: 1 }), gzip);
  if (stored instanceof Refusal) throw new Error(stored.errorText);
  assertEquals(stored.compression, Compression.GZIP);
  assertEquals(stored.crc, stored.computeCrc());
  assertEquals(stored.cursor().allBytes, records);
});

Deno.test("prepareBatch() keeps producer, sequence and timestamps when it recompresses, and sets the largest", () => {
  const records = [START + 5, START - 3, START].map((timestamp) => ({
    timestamp,
    key: null,
    value: text("v"),
  }));
  const bytes = buildBatch(records, { producerId: 7, producerEpoch: 2, baseSequence: 4 });
  const stored = prepare(bytes, gzip);
  if (stored instanceof Refusal) throw new Error(stored.errorText);
  assertEquals(
    [...stored.records()].map(({ timestamp }) => timestamp),
    records.map(({ timestamp }) => timestamp),
  );
  assertEquals([stored.producerId, stored.producerEpoch, stored.baseSequence], [7, 2, 4]);
  assertEquals([stored.baseTimestamp, stored.maxTimestamp, stored.recordCount], [START + 5, START + 5, 3]);
});

Deno.test("prepareBatch() refuses opened batches whose offsets or counts are not right with INVALID_RECORD", () => {
  const cases: [string, number[], number][] = [
    ["same offset twice", [0, 0], 2],
    ["descending", [1, 0], 2],
    ["a gap", [0, 2], 2],
    ["fewer records", [0], 2],
    ["more records", [0, 1, 2], 2],
  ];
  for (const [what, deltas, recordCount] of cases) {
    for (const compression of [Compression.NONE, Compression.ZSTD]) {
      const bytes = batchOfBytes(tinyRecords(deltas), { recordCount, compression });
      assertEquals([what, outcome(prepare(bytes, gzip))], [what, "INVALID_RECORD"]);
    }
  }
});

Deno.test("prepareBatch() answers MESSAGE_TOO_LARGE where records, headers or bytes are beyond the allowance", () => {
  const cases: [string, Uint8Array][] = [
    ["records", batchOfBytes(new Uint8Array(7 * 20_000), { recordCount: 20_000 })],
    ["headers", batchOfBytes(recordOfHeaders(20_000), { recordCount: 1 })],
    ["bytes", batchOfBytes(new Uint8Array(2_000_000), { recordCount: 1 })],
  ];
  for (const [what, bytes] of cases) {
    const allowance = new Allowance(1_000_000, 10_000);
    assertEquals([what, outcome(prepare(bytes, gzip, { allowance }))], [what, "MESSAGE_TOO_LARGE"]);
  }
  const allowance = new Allowance(1_000_000, 10_000);
  const three = () => batchOfBytes(tinyRecords([0, 1, 2]), { recordCount: 3 });
  assertEquals(outcome(prepare(three(), gzip, { allowance })), "NONE");
  assertEquals([allowance.bytes, allowance.items], [1_000_000 - 21, 9_997]);
});

Deno.test("prepareBatch() obeys max.decompressed.message.bytes where it opens a batch, and only there", () => {
  const bytes = () =>
    buildBatch([{ timestamp: START, key: null, value: new Uint8Array(5000) }], { compression: 4 });
  assertEquals(outcome(prepare(bytes(), gzip, { maxDecompressedBytes: 5000 })), "MESSAGE_TOO_LARGE");
  assertEquals(outcome(prepare(bytes(), gzip, { maxDecompressedBytes: 6000 })), "NONE");
  assertEquals(outcome(prepare(bytes(), {}, { maxDecompressedBytes: 5000 })), "NONE");
});

Deno.test("prepareBatch() spends nothing on batches that need not be opened, or are not compressed", () => {
  const allowance = new Allowance(0, 0);
  assertEquals(outcome(prepare(batch(3, { compression: Compression.GZIP }), {}, { allowance })), "NONE");
  const compact = { cleanupPolicy: { delete: false, compact: true } };
  assertEquals(outcome(prepare(batch(3), compact, { allowance })), "NONE");
});

Deno.test("prepareBatch() believes no client that claims more records than the batch can hold", () => {
  const empty = zstdCompressSync(new Uint8Array(0));
  const claiming = (recordCount: number) => {
    const bytes = new Uint8Array(BATCH_OVERHEAD + empty.length);
    bytes.set(empty, BATCH_OVERHEAD);
    writeBatchHeader(bytes, {
      baseOffset: 0,
      compression: Compression.ZSTD,
      lastOffsetDelta: recordCount - 1,
      baseTimestamp: START,
      maxTimestamp: START,
      recordCount,
    });
    return bytes;
  };
  assertEquals(outcome(prepare(claiming(0x7fffffff), {})), "INVALID_RECORD");
  assertEquals(outcome(prepare(claiming(10_001), {})), "INVALID_RECORD");
  assertEquals(outcome(prepare(claiming(10_001), {}, { origin: "coordinator" })), "NONE");
  const records = new Uint8Array(7 * 60).map((_, i) => tinyRecords([Math.floor(i / 7)])[i % 7]);
  assertEquals(outcome(prepare(batchOfBytes(records, { recordCount: 60 }), {})), "NONE");
});

Deno.test("prepareBatch() names a thousand of the records that are wrong, and counts all", () => {
  const records = Array.from({ length: 3000 }, () => ({ timestamp: START, key: null, value: null }));
  const result = prepare(buildBatch(records), { cleanupPolicy: { delete: false, compact: true } });
  if (!(result instanceof Refusal)) throw new Error("was taken");
  assertEquals([result.errorCode, result.recordErrors.length], [ErrorCode.INVALID_RECORD, 1000]);
  assertEquals(result.errorText.includes("3000 records"), true);
});

Deno.test("a search by time has one allowance for all batches that it is misled into, over segments too", async () => {
  const { log } = await openLog({ segmentBytes: 1000 });
  const record = tinyRecords([0]);
  const count = 300_000;
  const records = new Uint8Array(count * record.length);
  for (let i = 0; i < count; i++) records.set(record, i * record.length);
  const misleading = () => batchOfBytes(records, { recordCount: count, maxTimestamp: START + 1000 });
  const search = () => log.offsetForTime(START + 500, log.nextOffset);
  for (let i = 0; i < 6; i++) {
    assertEquals(append(log, misleading(), { origin: "coordinator" }).errorCode, ErrorCode.NONE);
  }
  append(log, batch(1, { timestamp: START + 600 }));
  assertEquals(search()?.offset, 6 * count);
  log.truncateTo(6 * count);
  append(log, misleading(), { origin: "coordinator" });
  append(log, batch(1, { timestamp: START + 600 }));
  assertThrows(search, TooCostly);
});
