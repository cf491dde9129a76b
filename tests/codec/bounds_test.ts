/** What a frame may become: a few bytes from the network must not take memory or time out of proportion. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { Allowance } from "../../src/codec/allowance.ts";
import { BatchView, buildBatch, Compression } from "../../src/codec/batch.ts";
import { BATCH_OVERHEAD } from "../../src/codec/batch_format.ts";
import { frameRecords, writeBatchHeader } from "../../src/codec/batch_builder.ts";
import { compress, decompress } from "../../src/codec/compression/index.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeResponse } from "../../src/codec/framing.ts";
import { requestHeader } from "../../src/codec/headers.ts";
import { buildMessageSet, downConvert, upConvert } from "../../src/codec/legacy.ts";
import { MalformedFrame, TooCostly, Unwritable } from "../../src/codec/malformed.ts";
import { describeGroups } from "../../src/codec/messages/describe_groups.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { listGroups } from "../../src/codec/messages/list_groups.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { FREE_ELEMENTS, MAX_ELEMENTS, Reader } from "../../src/codec/reader.ts";
import { array, int32, int8, message, string } from "../../src/codec/schema.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks, MAX_FRAME_BYTES, Writer } from "../../src/codec/writer.ts";

/** A DescribeGroups request of version 0 that names `count` groups by nothing. */
function emptyNames(count: number): Uint8Array {
  const bytes = new Uint8Array(4 + 2 * count);
  new DataView(bytes.buffer).setInt32(0, count);
  return bytes;
}

Deno.test("a frame of the smallest elements is refused beyond what any frame may have", () => {
  assertEquals(describeGroups.request.decode(emptyNames(FREE_ELEMENTS), 0).groups.length, FREE_ELEMENTS);
  assertThrows(
    () => describeGroups.request.decode(emptyNames(FREE_ELEMENTS + 1), 0),
    MalformedFrame,
    "elements",
  );
  assertThrows(() => describeGroups.request.decode(emptyNames(5_000_000), 0), MalformedFrame, "elements");
});

Deno.test("elements count over all arrays of a frame, and those of nested arrays too", () => {
  const nested = message({
    name: "Nested",
    versions: [0, 0],
    flexible: null,
    fromClients: true,
    fields: { outer: array({ inner: array(string) }) },
  });
  const value = (outer: number, inner: number) => ({
    outer: Array.from({ length: outer }, () => ({ inner: new Array<string>(inner).fill("") })),
  });
  assertEquals(nested.decode(nested.encode(0, value(100, 98)), 0).outer.length, 100);
  assertThrows(() => nested.decode(nested.encode(0, value(100, 101)), 0), MalformedFrame, "elements");
});

Deno.test("numbers of a byte are not counted, larger ones are up to the bound of any frame", () => {
  const numbers = message({
    name: "Numbers",
    versions: [0, 0],
    flexible: null,
    fromClients: true,
    fields: { small: array(int8), large: array(int32) },
  });
  const value = (small: number, large: number) => ({
    small: new Array<number>(small).fill(1),
    large: new Array<number>(large).fill(1),
  });
  assertEquals(numbers.decode(numbers.encode(0, value(300_000, MAX_ELEMENTS)), 0).large.length, MAX_ELEMENTS);
  assertThrows(
    () => numbers.decode(numbers.encode(0, value(0, MAX_ELEMENTS + 1)), 0),
    MalformedFrame,
    "elements",
  );
});

Deno.test("unknown tagged fields are elements too", () => {
  const header = (tags: number) => {
    const writer = new Writer();
    writer.int16(18);
    writer.int16(3);
    writer.int32(1);
    writer.int16(-1);
    writer.unsignedVarint(tags);
    for (let tag = 0; tag < tags; tag++) {
      writer.unsignedVarint(tag);
      writer.unsignedVarint(0);
    }
    return new Reader(concatChunks(writer.finish()));
  };
  assertEquals(requestHeader.read(header(FREE_ELEMENTS), 2).correlationId, 1);
  assertThrows(() => requestHeader.read(header(FREE_ELEMENTS + 5_000), 2), MalformedFrame, "elements");
});

Deno.test("a client with 100,000 partitions in as many topics passes in Metadata, OffsetCommit and Fetch", () => {
  const names = Array.from({ length: 100_000 }, (_, i) => `t${i}`);
  const asked = metadata.request.encode(9, {
    topics: names.map((name) => ({ topicId: ZERO_UUID, name })),
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  assertEquals(metadata.request.decode(asked, 9).topics?.length, names.length);
  const partitions = [{ partitionIndex: 0, committedOffset: 1n, committedMetadata: "" }];
  const committed = offsetCommit.request.encode(8, {
    groupId: "g",
    memberId: "",
    topics: names.map((name) => ({ name, topicId: ZERO_UUID, partitions })),
  });
  assertEquals(offsetCommit.request.decode(committed, 8).topics.length, names.length);
  const fetched = fetch.request.encode(4, {
    maxWaitMs: 0,
    minBytes: 0,
    topics: names.map((topic) => ({
      topic,
      topicId: ZERO_UUID,
      partitions: [{ partition: 0, fetchOffset: 0n, partitionMaxBytes: 1 }],
    })),
    forgottenTopicsData: [],
  });
  assertEquals(fetch.request.decode(fetched, 4).topics.length, names.length);
});

Deno.test("Writer refuses a string that the version has no room for, and a frame that nobody could take", () => {
  const writer = new Writer();
  writer.string("\u{fffd}".repeat(10_922), false);
  assertThrows(() => writer.string("\u{fffd}".repeat(10_923), false), Unwritable, "32769 bytes");
  writer.string("\u{fffd}".repeat(10_923), true);
  writer.finish();
  const part = new Uint8Array(1 << 20);
  const large = new Writer();
  for (let bytes = 0; bytes < MAX_FRAME_BYTES; bytes += part.length) large.attach(part);
  assertThrows(() => large.attach(part), Unwritable, `${MAX_FRAME_BYTES}`);
});

Deno.test("an answer that no frame holds is not encoded with a broken size", () => {
  const memberMetadata = new Uint8Array(32 << 20);
  const group = {
    groupId: "g",
    groupState: "Stable",
    protocolType: "",
    protocolData: "",
    errorCode: 0,
    members: Array.from({ length: 40 }, () => ({
      memberId: "m",
      clientId: "",
      clientHost: "",
      memberMetadata,
      memberAssignment: new Uint8Array(0),
    })),
  };
  assertThrows(() => encodeResponse(describeGroups, 0, 1, { groups: [group] }), Unwritable);
});

Deno.test("what a broker answers is not held to the bounds of requests", () => {
  const groups = Array.from({ length: MAX_ELEMENTS + 1 }, () => ({
    groupId: "",
    protocolType: "",
    groupState: "",
    groupType: "",
  }));
  const bytes = listGroups.response.encode(0, { errorCode: 0, groups });
  assertEquals(listGroups.response.decode(bytes, 0).groups.length, groups.length);
});

const codecs = [["gzip", 1], ["snappy", 2], ["lz4", 3], ["zstd", 4]] as const;

for (const [name, compression] of codecs) {
  Deno.test(`decompress() tells ${name} that is too large from ${name} that is damaged`, () => {
    const bytes = compress(compression, new Uint8Array(1 << 20));
    assertThrows(() => decompress(compression, bytes, 1 << 19), TooCostly);
    const damage = assertThrows(
      () => decompress(compression, bytes.subarray(0, bytes.length - 9)),
      MalformedFrame,
    );
    assertEquals(damage instanceof TooCostly, false);
  });
}

Deno.test("decompress() refuses zstd of more frames than any client sends", () => {
  const frame = compress(Compression.ZSTD, new Uint8Array(1));
  const frames = (count: number) => {
    const bytes = new Uint8Array(count * frame.length);
    for (let i = 0; i < count; i++) bytes.set(frame, i * frame.length);
    return bytes;
  };
  assertEquals(decompress(Compression.ZSTD, frames(1000)).length, 1000);
  assertThrows(() => decompress(Compression.ZSTD, frames(1001)), TooCostly);
});

const record = { timestamp: 1, key: null, value: null };

Deno.test("BatchView.cursor() is paid for out of one allowance, records and headers before they are looked at", () => {
  const headers = [{ key: "a", value: null }, { key: "b", value: null }];
  const bytes = buildBatch([record, { ...record, headers }], { compression: Compression.ZSTD });
  const size = new BatchView(bytes).cursor().allBytes.length;
  const allowance = new Allowance(2 * size + 1, 7);
  const cursor = new BatchView(bytes).cursor(allowance);
  assertEquals(allowance.bytes, size + 1);
  while (cursor.next());
  assertEquals(allowance.items, 3);
  const second = new BatchView(bytes).cursor(allowance);
  assertEquals(second.next(), true);
  assertThrows(() => second.next(), TooCostly, "1 more");
  assertThrows(() => new BatchView(bytes).cursor(allowance), TooCostly, "2 records");
});

Deno.test("a batch whose records are too many is not even decompressed", () => {
  const plain = new Uint8Array(BATCH_OVERHEAD + 100);
  const bytes = frameRecords(plain, Compression.GZIP);
  const fields = { baseOffset: 0, compression: Compression.GZIP, baseTimestamp: 1, maxTimestamp: 1 };
  writeBatchHeader(bytes, { ...fields, lastOffsetDelta: 1_000_000, recordCount: 1_000_001 });
  const allowance = new Allowance(1 << 20, 1_000_000);
  assertThrows(() => new BatchView(bytes).cursor(allowance), TooCostly);
  assertEquals(allowance.bytes, 1 << 20);
});

Deno.test("an allowance is spent by what cannot be decompressed, for it may have cost as much", () => {
  const bytes = buildBatch([{ ...record, value: new Uint8Array(2000) }], { compression: Compression.ZSTD });
  const allowance = new Allowance(1000);
  assertThrows(() => new BatchView(bytes).cursor(allowance), TooCostly);
  assertEquals(allowance.bytes, 0);
});

Deno.test("upConvert() counts the messages in wrappers, whatever their size", () => {
  const records = Array.from({ length: 10 }, (_, offset) => ({ ...record, offset }));
  const wrapper = buildMessageSet(records, { magic: 1, compression: Compression.GZIP });
  const allowance = new Allowance(1 << 20, 15);
  assertEquals(upConvert(wrapper, allowance).problem, null);
  assertEquals(allowance.items, 5);
  assertEquals(upConvert(wrapper, allowance).problem?.errorCode, ErrorCode.MESSAGE_TOO_LARGE);
});

Deno.test("downConvert() ends where the allowance does, and refuses what it does not suffice for alone", () => {
  const batch = (baseOffset: number) =>
    buildBatch([{ ...record, value: new Uint8Array(1000) }], { baseOffset, compression: Compression.GZIP });
  const three = new Uint8Array([...batch(0), ...batch(1), ...batch(2)]);
  const end = (allowance: Allowance) => {
    const converted = downConvert(three, 1, 0, allowance);
    return converted.problem === null ? converted.nextOffset : converted.problem.errorCode;
  };
  assertEquals(end(new Allowance()), 3);
  assertEquals(end(new Allowance(2500)), 2);
  assertEquals(end(new Allowance(1 << 20, 1)), 1);
  assertEquals(end(new Allowance(900)), ErrorCode.MESSAGE_TOO_LARGE);
});
