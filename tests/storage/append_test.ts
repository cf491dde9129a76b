import { assertEquals } from "@std/assert/equals";
import { BatchView, buildBatch, Compression, TimestampType } from "../../src/codec/batch.ts";
import { MAX_TIMESTAMP_AT } from "../../src/codec/batch_format.ts";
import { writeInt64 } from "../../src/codec/big_endian.ts";
import { ErrorCode, type ErrorName, errorName } from "../../src/codec/errors.ts";
import { prepareBatch, Refusal } from "../../src/storage/log/append.ts";
import { defaultLogConfig, type LogConfig } from "../../src/storage/log/config.ts";
import { batch, START, text } from "./helpers.ts";

type Options = Partial<Parameters<typeof prepareBatch>[2]>;

function prepare(bytes: Uint8Array, config: Partial<LogConfig> = {}, o: Options = {}): BatchView | Refusal {
  return prepareBatch(bytes, { ...defaultLogConfig, ...config }, {
    leaderEpoch: 0,
    origin: "client",
    now: START,
    ...o,
  });
}

function accepted(bytes: Uint8Array, config: Partial<LogConfig> = {}, o: Options = {}): BatchView {
  const result = prepare(bytes, config, o);
  if (result instanceof Refusal) throw new Error(result.errorText);
  return result;
}

function patched(bytes: Uint8Array, patch: (bytes: Uint8Array) => void): Uint8Array {
  patch(bytes);
  new BatchView(bytes).updateCrc();
  return bytes;
}

const compact = { cleanupPolicy: { delete: false, compact: true } };
const keyless = () =>
  buildBatch([
    { timestamp: START, key: text("k"), value: null },
    { timestamp: START, key: null, value: text("v") },
    { timestamp: START, key: null, value: text("v") },
  ]);
const marker = () =>
  buildBatch([{ timestamp: START, key: new Uint8Array(4), value: new Uint8Array(6) }], {
    isControl: true,
    producerId: 1,
    producerEpoch: 0,
  });

// In Kafka's order: what is checked first comes first.
for (
  const [what, errorCode, bytes, config] of [
    ["nothing", "INVALID_RECORD", new Uint8Array(0), {}],
    ["a header cut short", "CORRUPT_MESSAGE", batch(1).subarray(0, 40), {}],
    ["a batch cut short", "CORRUPT_MESSAGE", batch(1).subarray(0, 70), {}],
    [
      "a batch that is too large, even a damaged one",
      "MESSAGE_TOO_LARGE",
      new Uint8Array([...batch(9).subarray(0, 99), 1, ...batch(9).subarray(100)]),
      { maxMessageBytes: 100 },
    ],
    ["a wrong CRC", "CORRUPT_MESSAGE", batch(1).map((byte, i) => i === 65 ? byte ^ 1 : byte), {}],
    ["two batches", "INVALID_RECORD", new Uint8Array([...batch(1), ...batch(1)]), {}],
    ["a control batch", "INVALID_RECORD", marker(), {}],
    ["a base offset", "INVALID_RECORD", batch(1, { baseOffset: 5 }), {}],
    ["a producer id without a sequence", "INVALID_RECORD", batch(1, { producerId: 1, producerEpoch: 0 }), {}],
    [
      "log append time from a client",
      "INVALID_TIMESTAMP",
      batch(1, { timestampType: TimestampType.LOG_APPEND_TIME, logAppendTime: START }),
      { messageTimestampType: "LogAppendTime" },
    ],
    ["a record without a key on a compacted topic", "INVALID_RECORD", keyless(), compact],
    ["a timestamp too far ahead", "INVALID_TIMESTAMP", batch(1, { timestamp: START + 3_600_001 }), {}],
    ["a timestamp too far back", "INVALID_TIMESTAMP", batch(1, { timestamp: START - 11 }), {
      messageTimestampBeforeMaxMs: 10,
    }],
    ["more than a segment holds", "RECORD_LIST_TOO_LARGE", batch(9), { segmentBytes: 100 }],
  ] as [string, ErrorName, Uint8Array, Partial<LogConfig>][]
) {
  Deno.test(`prepareBatch() refuses ${what} with ${errorCode}`, () => {
    const result = prepare(bytes, config);
    assertEquals(result instanceof Refusal && errorName(result.errorCode), errorCode);
  });
}

Deno.test("prepareBatch() names the records that are not valid (KIP-467)", () => {
  for (const compression of [Compression.NONE, Compression.GZIP]) {
    const records = [START, START + 4_000_000, START, START + 5_000_000]
      .map((timestamp) => ({ timestamp, key: null, value: null }));
    const result = prepare(buildBatch(records, { compression }));
    assertEquals(result instanceof Refusal && result.recordErrors.map((error) => error.index), [1, 3]);
  }
  const result = prepare(keyless(), compact);
  assertEquals(result instanceof Refusal && result.recordErrors.map((error) => error.index), [1, 2]);
});

Deno.test("prepareBatch() leaves a plain batch as it is", () => {
  const bytes = batch(3);
  assertEquals(accepted(bytes.slice()).toBytes(), bytes);
});

Deno.test("prepareBatch() finds out a maxTimestamp that the client left unset, in compressed batches too", () => {
  for (const compression of [Compression.NONE, Compression.LZ4]) {
    for (const unset of [-1, 0]) {
      const bytes = patched(batch(3, { compression }), (bytes) => writeInt64(bytes, MAX_TIMESTAMP_AT, unset));
      const stored = accepted(bytes);
      assertEquals([stored.maxTimestamp, stored.crc === stored.computeCrc()], [START + 2, true]);
    }
  }
});

Deno.test("prepareBatch() takes records without timestamps", () => {
  const stored = accepted(buildBatch([{ timestamp: -1, key: null, value: null }]), {
    messageTimestampBeforeMaxMs: 10,
  });
  assertEquals(stored.maxTimestamp, -1);
});

Deno.test("prepareBatch() sets log append time for all records, whatever the client's timestamps", () => {
  const stored = accepted(batch(3, { timestamp: 5 }), { messageTimestampType: "LogAppendTime" });
  assertEquals([stored.timestampType, stored.maxTimestamp], [TimestampType.LOG_APPEND_TIME, START]);
  assertEquals([...stored.records()].map((record) => record.timestamp), [START, START, START]);
  assertEquals(stored.crc, stored.computeCrc());
});

Deno.test("prepareBatch() takes the client's own log append time as its create time, as Kafka does", () => {
  const o = { timestampType: TimestampType.LOG_APPEND_TIME, logAppendTime: START };
  assertEquals(accepted(batch(1, o)).timestampType, TimestampType.CREATE_TIME);
});

Deno.test("prepareBatch() recompresses to the topic's compression type, and keeps records and sequence", () => {
  const bytes = batch(50, {
    compression: Compression.GZIP,
    producerId: 3,
    producerEpoch: 1,
    baseSequence: 9,
  });
  const before = [...new BatchView(bytes).records()];
  for (const [compressionType, code] of [["uncompressed", 0], ["snappy", 2], ["zstd", 4]] as const) {
    const stored = accepted(bytes.slice(), { compressionType });
    assertEquals([stored.compression, stored.baseSequence, stored.producerId], [code, 9, 3]);
    assertEquals([...stored.records()], before);
    assertEquals(stored.crc, stored.computeCrc());
  }
  assertEquals(accepted(bytes, { compressionType: "gzip" }).bytes, bytes);
});

Deno.test("prepareBatch() judges the size of the batch as it will be stored", () => {
  const bytes = batch(50, { compression: Compression.GZIP });
  const result = prepare(bytes, { compressionType: "uncompressed", maxMessageBytes: bytes.length + 10 });
  assertEquals(result instanceof Refusal && result.errorCode, ErrorCode.MESSAGE_TOO_LARGE);
});

Deno.test("prepareBatch() takes markers from a coordinator, and batches of transactions", () => {
  accepted(marker(), {}, { origin: "coordinator" });
  const transactional = batch(1, { producerId: 1, producerEpoch: 0, baseSequence: 0, isTransactional: true });
  accepted(transactional, {});
});

Deno.test("prepareBatch() refuses a payload that is no compressed data where it has to look inside", () => {
  const bytes = patched(batch(20, { compression: Compression.GZIP }), (bytes) => bytes.fill(7, 61));
  const result = prepare(bytes, compact);
  assertEquals(result instanceof Refusal && result.errorCode, ErrorCode.INVALID_RECORD);
});
