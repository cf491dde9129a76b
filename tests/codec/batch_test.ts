/** Record batches: the view, the checks and their order, building and thinning out. Bytes are in the vectors' test. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import {
  BATCH_OVERHEAD,
  batchesIn,
  type BatchOptions,
  BatchView,
  buildBatch,
  checkBatch,
  checkProducedBatch,
  checkRecords,
  Compression,
  magicAt,
  type NewRecord,
  TimestampType,
} from "../../src/codec/batch.ts";
import { retainRecords } from "../../src/codec/batch_filter.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from "../../src/codec/record.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const time = 1_700_000_000_000;

const three: NewRecord[] = [
  { timestamp: time, key: bytesOf("a"), value: bytesOf("1"), headers: [{ key: "h", value: bytesOf("x") }] },
  { timestamp: time + 50, key: null, value: bytesOf("2") },
  { timestamp: time + 20, key: bytesOf("c"), value: null, headers: [{ key: "", value: null }] },
];

function batchOf(records: readonly NewRecord[] = three, options: BatchOptions = {}): BatchView {
  return new BatchView(buildBatch(records, options));
}

/** A batch with one field overwritten and the CRC made right again. */
function withField(at: number, hex: string, options: BatchOptions = {}): Uint8Array {
  const batch = batchOf(three, options);
  batch.bytes.set(Uint8Array.fromHex(hex), at);
  batch.updateCrc();
  return batch.bytes;
}

// The view

Deno.test("BatchView sets base offset and leader epoch in place, under the same CRC", () => {
  const batch = batchOf();
  const crc = batch.crc;
  batch.baseOffset = 2 ** 40 + 7;
  batch.partitionLeaderEpoch = 12;
  assertEquals([batch.baseOffset, batch.lastOffset, batch.nextOffset], [
    2 ** 40 + 7,
    2 ** 40 + 9,
    2 ** 40 + 10,
  ]);
  assertEquals(batch.partitionLeaderEpoch, 12);
  assertEquals([batch.crc, batch.computeCrc()], [crc, crc]);
  assertEquals([...batch.records()].map((record) => record.offset), [2 ** 40 + 7, 2 ** 40 + 8, 2 ** 40 + 9]);
});

Deno.test("BatchView reads a batch in the middle of other bytes", () => {
  const bytes = new Uint8Array([1, 2, 3, ...buildBatch(three, { baseOffset: 5 }), 4, 5]);
  const batch = new BatchView(bytes, 3);
  assertEquals(batch.baseOffset, 5);
  assertEquals([...batch.records()].length, 3);
  assertEquals(batch.toBytes().toHex(), bytes.subarray(3, -2).toHex());
});

Deno.test("BatchView.setLogAppendTime() gives every record the broker's time and a right CRC", () => {
  for (const compression of [Compression.NONE, Compression.LZ4]) {
    const batch = batchOf(three, { compression });
    batch.setLogAppendTime(time + 999);
    assertEquals([batch.timestampType, batch.maxTimestamp], [TimestampType.LOG_APPEND_TIME, time + 999]);
    assertEquals(batch.compression, compression);
    assertEquals(checkBatch(batch.bytes, 0, batch.bytes.length), null);
    assertEquals([...batch.records()].map((r) => r.timestamp), [time + 999, time + 999, time + 999]);
    // And back, as a broker does when a producer claims what only the broker may say.
    batch.setMaxTimestamp(TimestampType.CREATE_TIME, time + 50);
    assertEquals([...batch.records()].map((r) => r.timestamp), [time, time + 50, time + 20]);
    assertEquals(checkBatch(batch.bytes, 0, batch.bytes.length), null);
  }
});

Deno.test("BatchView.setMaxTimestamp() leaves a batch alone that has the values already", () => {
  const batch = batchOf();
  batch.bytes[17] ^= 0xff; // a wrong CRC would be mended by any change
  const before = batch.bytes.toHex();
  batch.setMaxTimestamp(TimestampType.CREATE_TIME, time + 50);
  assertEquals(batch.bytes.toHex(), before);
});

Deno.test("BatchView.lastSequence wraps after 2^31-1 and is -1 without sequence numbers", () => {
  const lastSequence = (baseSequence: number) => batchOf(three, { producerId: 1, baseSequence }).lastSequence;
  assertEquals([-1, 0, 0x7ffffffd, 0x7ffffffe, 0x7fffffff].map(lastSequence), [-1, 2, 0x7fffffff, 0, 1]);
});

Deno.test("BatchView.records() decodes lazily, so that taking the first does not read a damaged last", () => {
  const batch = batchOf();
  batch.bytes[batch.bytes.length - 1] = 0x7e; // a header value of 63 bytes
  const records = batch.records();
  assertEquals(records.next().value?.offset, 0);
  assertThrows(() => [...records], MalformedFrame);
});

Deno.test("BatchView.records() and checkRecords() stop at their bound when a batch expands beyond it", () => {
  const records = [{ timestamp: time, key: null, value: new Uint8Array(100_000) }];
  for (const compression of [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]) {
    const batch = batchOf(records, { compression });
    assertEquals(checkRecords(batch, 100_100), null);
    assertEquals(checkRecords(batch, 99_000)?.errorCode, ErrorCode.INVALID_RECORD);
    assertThrows(() => [...batch.records(99_000)], MalformedFrame);
  }
});

Deno.test("batchesIn() gives whole batches and stops at an incomplete one", () => {
  const one = buildBatch(three), two = buildBatch(three, { baseOffset: 3 });
  const both = new Uint8Array([...one, ...two]);
  const offsets = (end: number) => [...batchesIn(both, 0, end)].map((batch) => batch.baseOffset);
  assertEquals(offsets(both.length), [0, 3]);
  for (let cut = one.length; cut < both.length; cut++) assertEquals(offsets(cut), [0], `cut at ${cut}`);
  for (let cut = 0; cut < one.length; cut++) assertEquals(offsets(cut), [], `cut at ${cut}`);
});

Deno.test("magicAt() reads the byte that all formats share, signed", () => {
  const bytes = batchOf().bytes;
  assertEquals(magicAt(bytes, 0), 2);
  bytes[16] = 0xff;
  assertEquals(magicAt(bytes, 0), -1);
});

// Checks

const good = batchOf().bytes;

/** Each is wrong in one way more than the ones below it could notice: the order is part of the contract. */
const checks: [string, Uint8Array, number, string][] = [
  ["fewer bytes than reach to the magic", good.subarray(0, 16), ErrorCode.CORRUPT_MESSAGE, "holds 16 bytes"],
  ["a size below every format", withField(8, "00000001"), ErrorCode.CORRUPT_MESSAGE, "size is 13"],
  ["an unknown magic", withField(16, "03"), ErrorCode.CORRUPT_MESSAGE, "magic is 3"],
  ["an old magic", withField(16, "01"), ErrorCode.INVALID_RECORD, "magic is 1, expected 2"],
  ["a size below a header", withField(8, "00000030"), ErrorCode.CORRUPT_MESSAGE, "size is 60"],
  [
    "a batch cut short",
    good.subarray(0, -1),
    ErrorCode.CORRUPT_MESSAGE,
    `the frame holds ${good.length - 1}`,
  ],
  [
    "a wrong CRC",
    Uint8Array.from(good, (b, i) => i === 70 ? b ^ 1 : b),
    ErrorCode.CORRUPT_MESSAGE,
    "computed",
  ],
  ["compression type 5", withField(21, "0005"), ErrorCode.INVALID_RECORD, "compression type 5"],
  ["a negative offset delta", withField(23, "ffffffff"), ErrorCode.INVALID_RECORD, "lastOffsetDelta is -1"],
  ["a negative count", withField(57, "ffffffff"), ErrorCode.INVALID_RECORD, "-1 records"],
  [
    "more records than offsets",
    withField(57, "00000004"),
    ErrorCode.INVALID_RECORD,
    "4 records in 3 offsets",
  ],
  ["a base offset above 2^53", withField(0, "0020000000000000"), ErrorCode.INVALID_RECORD, "base offset"],
  ["a last offset above 2^53", withField(0, "001fffffffffffff"), ErrorCode.INVALID_RECORD, "base offset"],
  ["a producer id above 2^53", withField(43, "0020000000000001"), ErrorCode.INVALID_RECORD, "producer id"],
  ["a timestamp above 2^53", withField(35, "7fffffffffffffff"), ErrorCode.INVALID_TIMESTAMP, "timestamps"],
  ["unknown attribute bits, as Kafka does not judge them", withField(21, "ff00"), ErrorCode.NONE, ""],
];

for (const [what, bytes, code, text] of checks) {
  Deno.test(`checkBatch() answers ${errorName(code)} to ${what}`, () => {
    const problem = checkBatch(bytes, 0, bytes.length);
    assertEquals(problem?.errorCode ?? ErrorCode.NONE, code, problem?.text);
    assert((problem?.text ?? "").includes(text), `${problem?.text} does not say ${text}`);
  });
}

Deno.test("checkBatch() refuses more records than the bytes can hold, before anyone counts on them", () => {
  const bytes = withField(23, "00ffffff");
  bytes.set(Uint8Array.fromHex("00ffffff"), 57);
  new BatchView(bytes).updateCrc();
  assertEquals(checkBatch(bytes, 0, bytes.length)?.errorCode, ErrorCode.INVALID_RECORD);
});

Deno.test("checkBatch() looks at its own range only", () => {
  const bytes = new Uint8Array([9, 9, ...good, ...good]);
  assertEquals(checkBatch(bytes, 2, bytes.length), null);
  assertEquals(checkBatch(bytes, 2, 2 + good.length), null);
  assertEquals(checkBatch(bytes, 2, 1 + good.length)?.errorCode, ErrorCode.CORRUPT_MESSAGE);
});

Deno.test("checkProducedBatch() asks for a record at every offset, which checkBatch() does not", () => {
  const thinned = batchOf(three, { lastOffsetDelta: 5 });
  assertEquals(checkBatch(thinned.bytes, 0, thinned.bytes.length), null);
  assertEquals(checkProducedBatch(thinned)?.errorCode, ErrorCode.INVALID_RECORD);
  const empty = batchOf([], { lastOffsetDelta: 0 });
  assertEquals(checkBatch(empty.bytes, 0, empty.bytes.length), null);
  assertEquals(checkProducedBatch(empty)?.errorCode, ErrorCode.INVALID_RECORD);
  assertEquals(checkProducedBatch(batchOf()), null);
});

Deno.test("checkProducedBatch() refuses control batches and producer ids without sequence numbers", () => {
  assertEquals(checkProducedBatch(batchOf(three, { isControl: true }))?.errorCode, ErrorCode.INVALID_RECORD);
  const unnumbered = batchOf(three, { producerId: 9, producerEpoch: 0 });
  assertEquals(checkProducedBatch(unnumbered)?.text.includes("producer 9"), true);
  assertEquals(
    checkProducedBatch(batchOf(three, { producerId: 9, producerEpoch: 0, baseSequence: 0 })),
    null,
  );
});

// Building

Deno.test("buildBatch() makes a plain producer's batch when nothing else is said", () => {
  const batch = batchOf();
  assertEquals([batch.magic, batch.attributes, batch.partitionLeaderEpoch], [2, 0, -1]);
  assertEquals([batch.producerId, batch.producerEpoch, batch.baseSequence, batch.hasProducerId], [
    -1,
    -1,
    -1,
    false,
  ]);
  assertEquals([batch.baseTimestamp, batch.maxTimestamp, batch.recordCount], [time, time + 50, 3]);
  assertEquals(batch.sizeInBytes, batch.bytes.length);
});

for (const compression of Object.values(Compression)) {
  Deno.test(`buildBatch() and records() are inverse for compression ${compression}`, () => {
    const batch = batchOf(three, {
      baseOffset: 40,
      compression,
      producerId: 2 ** 33 + 1,
      producerEpoch: 7,
      baseSequence: 5,
      isTransactional: true,
    });
    assertEquals(checkBatch(batch.bytes, 0, batch.bytes.length), null);
    assertEquals([batch.compression, batch.isTransactional, batch.isControl], [compression, true, false]);
    assertEquals([batch.producerId, batch.producerEpoch, batch.lastSequence], [2 ** 33 + 1, 7, 7]);
    const expected = three.map((record, i) => ({ ...record, offset: 40 + i, headers: record.headers ?? [] }));
    assertEquals([...batch.records()], expected);
  });
}

Deno.test("buildBatch() keeps the gaps of a compacted batch", () => {
  const records = [{ ...three[0], offset: 101 }, { ...three[1], offset: 70_000 }];
  const batch = batchOf(records, { baseOffset: 100, lastOffsetDelta: 80_000 });
  assertEquals([...batch.records()].map((record) => record.offset), [101, 70_000]);
  assertEquals([batch.baseOffset, batch.lastOffset], [100, 80_100]);
});

Deno.test("buildBatch() puts the delete horizon into the base timestamp and keeps the records' times", () => {
  const batch = batchOf(three, { deleteHorizonMs: time + 86_400_000 });
  assertEquals([batch.deleteHorizonMs, batch.baseTimestamp], [time + 86_400_000, time + 86_400_000]);
  assertEquals([...batch.records()].map((record) => record.timestamp), [time, time + 50, time + 20]);
  assertEquals(batchOf().deleteHorizonMs, null);
});

Deno.test("buildBatch() asserts what only a bug could ask for", () => {
  assertThrows(() => buildBatch([]), AssertionError, "no records");
  assertThrows(
    () => batchOf([{ ...three[0], offset: 5 }, { ...three[1], offset: 5 }]),
    AssertionError,
    "ascending",
  );
  assertThrows(() => batchOf(three, { compression: 5 }), AssertionError, "type 5");
});

Deno.test("records keep timestamps, headers and lengths at every step of the variable-length numbers", () => {
  const prng = new Prng(5);
  // deno-fmt-ignore
  const times = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 42, 2 ** 52 + 1,
    -(2 ** 52) - 1];
  const records = times.map((delta, i) => ({
    timestamp: delta,
    key: prng.bytes([0, 63, 64, 127, 128, 8191, 8192][i % 7]),
    value: i % 3 === 0 ? null : prng.bytes(i),
    headers: Array.from(
      { length: i % 4 },
      (_, j) => ({ key: "k".repeat(j * 40), value: prng.bytes(j * 70) }),
    ),
  }));
  const batch = batchOf(records);
  assertEquals(checkRecords(batch), null);
  assertEquals([...batch.records()], records.map((record, offset) => ({ ...record, offset })));
});

Deno.test("varints take the size that is announced and the bytes of the protocol", () => {
  for (
    const [value, hex] of [[0, "00"], [-1, "01"], [1, "02"], [63, "7e"], [64, "8001"], [-65, "8101"]] as const
  ) {
    const out = new Uint8Array(10);
    assertEquals(out.subarray(0, writeVarint(out, 0, value)).toHex(), hex);
    assertEquals(sizeOfVarint(value), hex.length / 2);
  }
  for (let power = 0; power < 53; power++) {
    for (const value of [2 ** power - 1, 2 ** power, -(2 ** power), -(2 ** power) - 1]) {
      if (!Number.isSafeInteger(value)) continue;
      const out = new Uint8Array(10);
      const end = writeVarlong(out, 0, value);
      assertEquals(end, sizeOfVarlong(value), `size of ${value}`);
      let raw = 0n;
      for (let i = end - 1; i >= 0; i--) raw = (raw << 7n) | BigInt(out[i] & 0x7f);
      assertEquals((raw >> 1n) ^ -(raw & 1n), BigInt(value));
    }
  }
});

Deno.test("header keys keep a byte order mark and characters outside the first plane", () => {
  const headers = [{ key: "\ufeffkey", value: null }, { key: "žluť😀", value: bytesOf("v") }];
  const [record] = batchOf([{ timestamp: 1, key: null, value: null, headers }]).records();
  assertEquals(record.headers, headers);
});

Deno.test("RecordCursor decodes nothing that is not asked for, and the same record as often as it is", () => {
  const cursor = batchOf().cursor();
  assertEquals(cursor.next(), true);
  assertEquals([cursor.keyLength, cursor.valueLength, cursor.headerCount], [1, 1, 1]);
  assertEquals(cursor.headers, cursor.headers);
  assertEquals(cursor.next(), true); // reading headers did not move it
  assertEquals([cursor.offset, cursor.key, cursor.keyLength], [1, null, -1]);
  assertEquals(cursor.next(), true);
  assertEquals([cursor.value, cursor.valueLength], [null, -1]);
  assertEquals([cursor.next(), cursor.next()], [false, false]);
});

// Thinning out

for (const compression of [Compression.NONE, Compression.ZSTD]) {
  Deno.test(`retainRecords() keeps offsets, sequence numbers and bytes, compression ${compression}`, () => {
    const batch = batchOf(three, {
      baseOffset: 10,
      compression,
      producerId: 1,
      producerEpoch: 2,
      baseSequence: 3,
    });
    batch.partitionLeaderEpoch = 4;
    const thinned = new BatchView(retainRecords(batch, (record) => record.offset !== 11));
    assertEquals(checkBatch(thinned.bytes, 0, thinned.bytes.length), null);
    const all = [...batch.records()];
    assertEquals([...thinned.records()], [all[0], all[2]]);
    assertEquals([thinned.baseOffset, thinned.lastOffset, thinned.lastSequence], [10, 12, 5]);
    assertEquals([thinned.partitionLeaderEpoch, thinned.compression], [4, compression]);
    assertEquals(thinned.maxTimestamp, time + 20);
  });
}

Deno.test("retainRecords() gives the batch itself when nothing is dropped", () => {
  const batch = batchOf();
  assertEquals(retainRecords(batch, () => true).buffer, batch.bytes.buffer);
});

Deno.test("retainRecords() leaves an empty batch that still covers its offsets", () => {
  const batch = batchOf(three, {
    baseOffset: 10,
    compression: Compression.GZIP,
    producerId: 1,
    baseSequence: 0,
  });
  const empty = new BatchView(retainRecords(batch, () => false));
  assertEquals(empty.sizeInBytes, BATCH_OVERHEAD);
  assertEquals(checkBatch(empty.bytes, 0, empty.bytes.length), null);
  assertEquals([...empty.records()], []);
  assertEquals([empty.lastOffset, empty.lastSequence, empty.maxTimestamp], [12, 2, time + 50]);
});

Deno.test("retainRecords() sets a delete horizon without moving the records' times, and keeps it afterwards", () => {
  const marked = new BatchView(retainRecords(batchOf(), () => true, { deleteHorizonMs: time + 5000 }));
  assertEquals(marked.deleteHorizonMs, time + 5000);
  assertEquals([...marked.records()], [...batchOf().records()]);
  const thinned = new BatchView(retainRecords(marked, (record) => record.offset > 0));
  assertEquals(thinned.deleteHorizonMs, time + 5000);
  assertEquals([...thinned.records()], [...batchOf().records()].slice(1));
});

Deno.test("retainRecords() copies header keys that are not UTF-8", () => {
  const batch = batchOf();
  const at = batch.bytes.indexOf("h".charCodeAt(0), BATCH_OVERHEAD);
  batch.bytes[at] = 0xff;
  batch.updateCrc();
  const thinned = retainRecords(batch, (record) => record.offset === 0);
  assertEquals(thinned.includes(0xff, BATCH_OVERHEAD), true);
});
