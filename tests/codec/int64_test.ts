/** Offsets and timestamps of all 64 bits in record batches and messages, and what becomes of them as numbers. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { BatchView, buildBatch, checkBatch, checkRecords, Compression } from "../../src/codec/batch.ts";
import { retainRecords } from "../../src/codec/batch_filter.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { addInt64, subtractInt64 } from "../../src/codec/int64.ts";
import {
  buildMessageSet,
  checkMessage,
  messagesIn,
  MessageView,
  readExactMessage,
  readMessage,
} from "../../src/codec/legacy.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";

const largest = 2n ** 63n - 1n, smallest = -(2n ** 63n);
const edges = [0n, -1n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, largest, smallest];

const plain = { key: null, value: new Uint8Array([7]) };

/** The batch of one record whose timestamp is `base + delta`: the first record, which says the base, is dropped. */
function withDelta(base: number, delta: bigint): BatchView {
  const both = new BatchView(buildBatch([
    { ...plain, timestamp: base },
    { ...plain, timestamp: BigInt(base) + delta },
  ]));
  const cursor = both.cursor();
  cursor.advance();
  const from = cursor.end;
  cursor.advance();
  const bytes = new Uint8Array([...both.bytes.subarray(0, 61), ...both.bytes.subarray(from, cursor.end)]);
  const fields = new DataView(bytes.buffer);
  fields.setInt32(8, bytes.length - 12);
  fields.setBigInt64(35, BigInt(base));
  fields.setInt32(57, 1);
  const batch = new BatchView(bytes);
  batch.updateCrc();
  return batch;
}

Deno.test("addInt64() and subtractInt64() are exact, wrap at 64 bits and give numbers where those are safe", () => {
  for (const a of edges) {
    for (const b of edges) {
      for (const [actual, bits] of [[addInt64(a, b), a + b], [subtractInt64(a, b), a - b]] as const) {
        const expected = BigInt.asIntN(64, bits);
        assertEquals(BigInt(actual), expected);
        assertEquals(typeof actual, Number.isSafeInteger(Number(expected)) ? "number" : "bigint");
      }
    }
  }
  assertEquals(addInt64(Number.MAX_SAFE_INTEGER, 2), 2n ** 53n + 1n);
  assertEquals(subtractInt64(-2, Number.MAX_SAFE_INTEGER), -(2n ** 53n) - 1n);
});

Deno.test("a batch keeps base offset, timestamps and producer id of all 64 bits", () => {
  for (const compression of Object.values(Compression)) {
    for (const bits of edges) {
      // The last of three offsets must not pass the largest.
      const offset = bits === largest ? bits - 2n : bits;
      const records = [bits, smallest, largest].map((timestamp, i) => ({
        ...plain,
        offset: offset + BigInt(i),
        timestamp,
        headers: [],
      }));
      const batch = new BatchView(buildBatch(records, { compression, baseOffset: offset, producerId: bits }));
      assertEquals([...batch.exactRecords()], records);
      assertEquals([batch.baseOffsetBits, batch.lastOffsetBits], [offset, offset + 2n]);
      assertEquals([batch.baseTimestampBits, batch.maxTimestampBits], [bits, largest]);
      assertEquals(batch.producerIdBits, bits);
    }
  }
});

Deno.test("buildBatch() makes the same bytes of numbers and of bigints", () => {
  const make = (of: (value: number) => number | bigint) =>
    buildBatch(
      [5, 1_700_000_000_000, -1].map((timestamp, i) => ({
        ...plain,
        timestamp: of(timestamp),
        offset: of(2 ** 40 + 3 * i),
      })),
      { baseOffset: of(2 ** 40), producerId: of(4000), deleteHorizonMs: of(1_800_000_000_000) },
    ).toHex();
  assertEquals(make(BigInt), make(Number));
});

Deno.test("buildBatch() is exact where safe timestamps are further apart than 2^53", () => {
  const timestamps = [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const batch = new BatchView(buildBatch(timestamps.map((timestamp) => ({ ...plain, timestamp }))));
  assertEquals([...batch.exactRecords()].map((record) => Number(record.timestamp)), timestamps);
});

Deno.test("checkRecords() and records() refuse a delta that leads out of the safe integers under a safe base", () => {
  const deltas: [number, bigint][] = [
    [0, 2n ** 53n],
    [1_700_000_000_000, largest],
    [-1, smallest + 1n],
    // Rounded, this would be a safe sum and a wrong one.
    [-1, 2n ** 53n + 1n],
  ];
  for (const [base, delta] of deltas) {
    const batch = withDelta(base, delta);
    assertEquals(checkBatch(batch.bytes, 0, batch.bytes.length), null);
    const problem = checkRecords(batch);
    assertEquals(problem?.errorCode, ErrorCode.INVALID_RECORD);
    assert(problem?.text.includes("out of range"), problem?.text);
    assertThrows(() => [...batch.records()], MalformedFrame, "out of range");
    assertEquals([...batch.exactRecords()][0].timestamp, BigInt.asIntN(64, BigInt(base) + delta));
  }
});

Deno.test("RecordCursor.advance() says of every record whether its numbers are exact", () => {
  const timestamps = [1, 2n ** 60n, 3];
  const batch = new BatchView(buildBatch(timestamps.map((timestamp) => ({ ...plain, timestamp }))));
  const exact: boolean[] = [], deltas: bigint[] = [];
  for (const cursor = batch.cursor(); cursor.advance();) {
    exact.push(cursor.isExact);
    deltas.push(cursor.timestampDeltaBits);
  }
  assertEquals(exact, [true, false, true]);
  assertEquals(deltas, [0n, 2n ** 60n - 1n, 2n]);
});

Deno.test("log append time makes deltas meaningless: any of them is taken, and kept by the compactor", () => {
  const batch = withDelta(5, 2n ** 60n + 1n);
  batch.setLogAppendTime(9);
  assertEquals(checkRecords(batch), null);
  assertEquals([...batch.records()].map((record) => record.timestamp), [9]);
  const moved = new BatchView(retainRecords(batch, () => true, { deleteHorizonMs: 1000 }));
  const cursor = moved.cursor();
  cursor.advance();
  assertEquals(moved.baseTimestampBits + cursor.timestampDeltaBits, 5n + 2n ** 60n + 1n);
});

for (const magic of [0, 1] as const) {
  for (const compression of [Compression.NONE, Compression.GZIP]) {
    Deno.test(`messages of format ${magic}, compression ${compression} keep offsets and timestamps of 64 bits`, () => {
      for (const bits of edges) {
        const offset = bits === largest ? bits - 1n : bits;
        const records = [bits, largest].map((timestamp, i) => ({
          ...plain,
          offset: offset + BigInt(i),
          timestamp: magic === 0 ? -1n : timestamp,
        }));
        const set = buildMessageSet(records, { magic, compression });
        const read = [...messagesIn(set)].flatMap((message) => readExactMessage(message).records ?? []);
        assertEquals(read, records);
      }
    });
  }
}

Deno.test("checkMessage() refuses offsets and timestamps beyond 2^53, which only the bits hold", () => {
  for (const bits of edges) {
    const isSafe = Number.isSafeInteger(Number(bits));
    const far = buildMessageSet([{ ...plain, offset: bits, timestamp: 1 }], { magic: 1 });
    assertEquals(checkMessage(far, 0, far.length)?.errorCode, isSafe ? undefined : ErrorCode.INVALID_RECORD);
    assertEquals(new MessageView(far).offsetBits, bits);
    const late = buildMessageSet([{ ...plain, offset: 1, timestamp: bits }], { magic: 1 });
    assertEquals(
      checkMessage(late, 0, late.length)?.errorCode,
      isSafe ? undefined : ErrorCode.INVALID_TIMESTAMP,
    );
    assertEquals(new MessageView(late).timestampBits, bits);
  }
});

Deno.test("readMessage() refuses a wrapper whose offsets inside lead out of the safe integers", () => {
  const records = [-(2 ** 53) + 1, 2 ** 53 - 1].map((offset) => ({ ...plain, offset, timestamp: 1 }));
  const wrapper = buildMessageSet(records, { magic: 1, compression: Compression.GZIP });
  assertEquals(checkMessage(wrapper, 0, wrapper.length), null);
  assertEquals(readMessage(new MessageView(wrapper)).problem?.errorCode, ErrorCode.INVALID_RECORD);
  const exact = readExactMessage(new MessageView(wrapper)).records ?? [];
  assertEquals(exact.map((record) => Number(record.offset)), records.map((record) => record.offset));
});
