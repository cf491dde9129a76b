/**
 * Conversion between message formats, held against what Kafka's own code makes of the same bytes
 * (conversion_vectors/), and the rules that no vector shows.
 */

import { Allowance } from "../../src/codec/allowance.ts";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { assert } from "../../src/base/assert.ts";
import { BatchView, buildBatch, Compression, TimestampType } from "../../src/codec/batch.ts";
import { compress, decompress } from "../../src/codec/compression/index.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import {
  buildMessageSet,
  checkMessage,
  downConvert,
  type LegacyRecord,
  messagesIn,
  MessageView,
  offsetOfRecords,
  readMessage,
  upConvert,
} from "../../src/codec/legacy.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { fromHex } from "./record_batch_vectors.ts";

function readLines(path: string) {
  const text = Deno.readTextFileSync(new URL(path, import.meta.url));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

const inputs = new Map<string, Uint8Array>(
  readLines("../vectors/RecordBatch.jsonl").map((line) => [line.case, fromHex(line.hex)]),
);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Where Kafka answers UNKNOWN_SERVER_ERROR, or drops the end of a set and acknowledges it all the same. */
const stricterThanKafka: { [name: string]: number } = {
  "truncated-body": ErrorCode.CORRUPT_MESSAGE,
  "truncated-header": ErrorCode.CORRUPT_MESSAGE,
  "size-too-large": ErrorCode.CORRUPT_MESSAGE,
  "wrapper-inner-truncated": ErrorCode.CORRUPT_MESSAGE,
  "unknown-compression": ErrorCode.INVALID_RECORD,
  "key-length-too-large": ErrorCode.INVALID_RECORD,
  "key-length-below-minus-one": ErrorCode.INVALID_RECORD,
};

for (const expected of readLines("conversion_vectors/UpConversion.jsonl")) {
  Deno.test(`upConvert() makes of ${expected.case} what Kafka's broker does, or is stricter`, () => {
    const { batch, problem } = upConvert(inputs.get(expected.case)!);
    const code = stricterThanKafka[expected.case.slice("magic0-".length)] ?? expected.errorCode;
    assertEquals(problem?.errorCode ?? ErrorCode.NONE, code, problem?.text);
    if (problem === null) assertSameBatch(batch, fromHex(expected.hex));
  });
}

/** Equal bytes; compressed, equal but for how well it was compressed. */
function assertSameBatch(actual: Uint8Array, expected: Uint8Array) {
  const { compression } = new BatchView(expected);
  if (compression === Compression.NONE) return assertEquals(actual.toHex(), expected.toHex());
  const headerOf = (bytes: Uint8Array) => bytes.subarray(0, 8).toHex() + bytes.subarray(21, 61).toHex();
  const payloadOf = (bytes: Uint8Array) => decompress(compression, bytes.subarray(61)).toHex();
  assertEquals(headerOf(actual), headerOf(expected));
  assertEquals(payloadOf(actual), payloadOf(expected));
  assertEquals(new BatchView(actual).computeCrc(), new BatchView(actual).crc);
}

for (const expected of readLines("conversion_vectors/DownConversion.jsonl")) {
  const { toMagic, fetchOffset } = expected;
  Deno.test(`downConvert() of ${expected.case} to ${toMagic} from ${fetchOffset} gives what Kafka gives`, () => {
    const { bytes, problem } = downConvert(inputs.get(expected.case)!, toMagic, Number(fetchOffset));
    assertEquals(problem?.errorCode ?? ErrorCode.NONE, expected.errorCode, problem?.text);
    if (problem === null) assertSameMessages(bytes, fromHex(expected.hex));
  });
}

function assertSameMessages(actual: Uint8Array, expected: Uint8Array) {
  const messages = [...messagesIn(actual)];
  const wanted = [...messagesIn(expected)];
  assertEquals(messages.length, wanted.length);
  wanted.forEach((message, i) => {
    assertEquals(checkMessage(actual, messages[i].start, actual.length), null);
    if (message.compression === Compression.NONE) {
      return assertEquals(messages[i].toBytes().toHex(), message.toBytes().toHex());
    }
    const outside = (
      { offset, attributes, timestamp, key }: MessageView,
    ) => [offset, attributes, timestamp, key];
    assertEquals(outside(messages[i]), outside(message));
    assertEquals(readMessage(messages[i]), readMessage(message));
  });
}

const records: LegacyRecord[] = [10, 11, 12].map((offset) => ({
  offset,
  timestamp: 1_700_000_000_000 + offset,
  key: bytesOf(`k${offset}`),
  value: offset === 11 ? null : bytesOf(`v${offset}`),
}));

Deno.test("upConvert() takes several compressed messages in one set, which old producers send", () => {
  const one = buildMessageSet(records, { magic: 1, compression: Compression.GZIP });
  const two = buildMessageSet(records, { magic: 1, compression: Compression.LZ4 });
  const { batch } = upConvert(new Uint8Array([...one, ...two]));
  assert(batch !== null, "the set was refused");
  const view = new BatchView(batch);
  assertEquals(view.compression, Compression.LZ4);
  assertEquals([...view.records()].map((record) => record.offset), [0, 1, 2, 3, 4, 5]);
});

Deno.test("upConvert() refuses a damaged message inside a wrapper with CORRUPT_MESSAGE", () => {
  const inner = buildMessageSet(records, { magic: 1 });
  inner[inner.length - 1] ^= 1;
  const wrapper = wrap(inner, Compression.GZIP);
  assertEquals(checkMessage(wrapper, 0, wrapper.length), null);
  assertEquals(upConvert(wrapper).problem?.errorCode, ErrorCode.CORRUPT_MESSAGE);
});

Deno.test("upConvert() refuses zstd with UNSUPPORTED_COMPRESSION_TYPE", () => {
  const wrapper = wrap(buildMessageSet(records, { magic: 1 }), Compression.ZSTD);
  assertEquals(upConvert(wrapper).problem?.errorCode, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE);
});

Deno.test("upConvert() refuses an empty set with INVALID_RECORD", () => {
  assertEquals(upConvert(new Uint8Array(0)).problem?.errorCode, ErrorCode.INVALID_RECORD);
});

Deno.test("upConvert() bounds what all wrappers of a set decompress to", () => {
  const big = [{ offset: 0, timestamp: 0, key: null, value: new Uint8Array(100_000) }];
  const wrapper = buildMessageSet(big, { magic: 1, compression: Compression.GZIP });
  assertEquals(upConvert(wrapper, new Allowance(150_000)).problem, null);
  assertEquals(upConvert(wrapper, new Allowance(50_000)).problem?.errorCode, ErrorCode.MESSAGE_TOO_LARGE);
  const twice = new Uint8Array([...wrapper, ...wrapper]);
  assertEquals(upConvert(twice, new Allowance(150_000)).problem?.errorCode, ErrorCode.MESSAGE_TOO_LARGE);
});

/** A message of format 1 that holds a set, even one that {@link buildMessageSet} would not put there. */
function wrap(set: Uint8Array, compression: number): Uint8Array {
  const value = compress(compression, set);
  const wrapper = buildMessageSet([{ offset: 12, timestamp: 0, key: null, value }], { magic: 1 });
  wrapper[17] = compression;
  const crc = new MessageView(wrapper).computeCrc();
  new DataView(wrapper.buffer, wrapper.byteOffset).setUint32(12, crc);
  return wrapper;
}

function controlBatch(baseOffset: number): Uint8Array {
  return buildBatch([{ timestamp: 1, key: fromHex("00000001"), value: fromHex("000000000000") }], {
    baseOffset,
    isControl: true,
    isTransactional: true,
    producerId: 1,
    producerEpoch: 0,
  });
}

Deno.test("downConvert() drops control batches and says where to read on", () => {
  const { bytes, nextOffset } = succeeded(downConvert(controlBatch(7), 1, 7));
  assertEquals([bytes.length, nextOffset], [0, 8]);
});

Deno.test("downConvert() ends where the allowance for control batches does", () => {
  const controls = new Uint8Array([7, 8, 9].flatMap((offset) => [...controlBatch(offset)]));
  const allowance = new Allowance(Infinity, 2);
  const { bytes, nextOffset } = succeeded(downConvert(controls, 1, 7, allowance));
  assertEquals([bytes.length, nextOffset, allowance.items], [0, 9, 0]);
  assertEquals(downConvert(controls, 1, 7, allowance).problem?.errorCode, ErrorCode.MESSAGE_TOO_LARGE);
});

Deno.test("offsetOfRecords() passes control batches and batches without records, as far as they are whole", () => {
  const empty = buildBatch([{ timestamp: 1, key: null, value: null }], { baseOffset: 9 });
  new DataView(empty.buffer, empty.byteOffset).setInt32(57, 0);
  const data = buildBatch([{ timestamp: 1, key: null, value: null }], { baseOffset: 10 });
  const bytes = new Uint8Array([...controlBatch(7), ...controlBatch(8), ...empty, ...data]);
  assertEquals(offsetOfRecords(bytes, 7), 10);
  assertEquals(offsetOfRecords(bytes.subarray(0, controlBatch(7).length * 2 - 1), 7), 8);
  assertEquals(offsetOfRecords(data, 10), 10);
  assertEquals(offsetOfRecords(bytes.subarray(0, 0), 7), 7);
});

function succeeded(result: ReturnType<typeof downConvert>) {
  assert(result.problem === null, `refused: ${result.problem?.text}`);
  return result;
}

Deno.test("downConvert() leaves out an incomplete batch at the end", () => {
  const whole = buildBatch([{
    timestamp: 5,
    key: null,
    value: bytesOf("a"),
    headers: [{ key: "h", value: null }],
  }]);
  const cut = buildBatch([{ timestamp: 6, key: null, value: bytesOf("b") }], { baseOffset: 1 });
  const { bytes, nextOffset } = succeeded(
    downConvert(new Uint8Array([...whole, ...cut.subarray(0, cut.length - 1)]), 1, 0),
  );
  assertEquals(nextOffset, 1);
  assertEquals([...messagesIn(bytes)].map((message) => message.timestamp), [5]);
});

Deno.test("downConvert() gives messages of an old log as they are", () => {
  const old = buildMessageSet(records, { magic: 0, compression: Compression.SNAPPY });
  assertEquals(succeeded(downConvert(old, 1, 10)).bytes.toHex(), old.toHex());
  assertEquals(succeeded(downConvert(old, 1, 10)).nextOffset, 13);
});

Deno.test("downConvert() answers CORRUPT_MESSAGE for records that cannot be read", () => {
  const batch = buildBatch([{ timestamp: 5, key: null, value: bytesOf("abc") }]);
  batch[61] = 0x7e;
  assertEquals(downConvert(batch, 0, 0).problem?.errorCode, ErrorCode.CORRUPT_MESSAGE);
});

for (const magic of [0, 1] as const) {
  for (const compression of [Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4]) {
    Deno.test(`buildMessageSet() of format ${magic}, compression ${compression} is read back`, () => {
      const set = buildMessageSet(records, { magic, compression });
      const read = [...messagesIn(set)].flatMap((message) => {
        assertEquals(checkMessage(set, message.start, set.length), null);
        return readMessage(message).records ?? [];
      });
      assertEquals(read, magic === 0 ? records.map((record) => ({ ...record, timestamp: -1 })) : records);
    });
  }
}

Deno.test("readMessage() gives every record of a wrapper its log append time", () => {
  const set = buildMessageSet(records, {
    magic: 1,
    compression: Compression.GZIP,
    timestampType: TimestampType.LOG_APPEND_TIME,
    logAppendTime: 99,
  });
  assertEquals(readMessage(new MessageView(set)).records?.map((record) => record.timestamp), [99, 99, 99]);
});

Deno.test("checkMessage() refuses format 2 as INVALID_RECORD and an unknown one as CORRUPT_MESSAGE", () => {
  const batch = buildBatch([{ timestamp: 5, key: null, value: null }]);
  assertEquals(checkMessage(batch, 0, batch.length)?.errorCode, ErrorCode.INVALID_RECORD);
  batch[16] = 9;
  assertEquals(checkMessage(batch, 0, batch.length)?.errorCode, ErrorCode.CORRUPT_MESSAGE);
});

Deno.test("messagesIn() throws MalformedFrame where nothing tells the next message's place", () => {
  const set = buildMessageSet(records, { magic: 1 });
  set[16] = 2;
  assertThrows(() => [...messagesIn(set)], MalformedFrame, "magic is 2");
  set.set([1, 0, 0, 0, 5], 7); // size 5
  set[16] = 1;
  assertThrows(() => [...messagesIn(set)], MalformedFrame, "size is 5");
});
