import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Reader } from "../../src/codec/reader.ts";
import { offsetCommitValue } from "../../src/codec/records/offsets.ts";
import type { FileSlice } from "../../src/base/file_slice.ts";
import { concatChunks, Writer } from "../../src/codec/writer.ts";

/** Every kind of write, so that each is the one that makes the writer grow at some size. */
const writes: [string, (w: Writer) => void, (r: Reader) => unknown, unknown][] = [
  ["int8", (w) => w.int8(-5), (r) => r.int8(), -5],
  ["int16", (w) => w.int16(-500), (r) => r.int16(), -500],
  ["uint16", (w) => w.uint16(50_000), (r) => r.uint16(), 50_000],
  ["int32", (w) => w.int32(-70_000), (r) => r.int32(), -70_000],
  ["int64 from a bigint", (w) => w.int64(-(2n ** 60n)), (r) => r.int64(), -(2n ** 60n)],
  ["int64 from a number", (w) => w.int64(-(2 ** 40) - 3), (r) => r.int64(), -(2n ** 40n) - 3n],
  ["float64", (w) => w.float64(1.5), (r) => r.float64(), 1.5],
  ["bool", (w) => w.bool(true), (r) => r.bool(), true],
  ["unsignedVarint", (w) => w.unsignedVarint(0xffffffff), (r) => r.unsignedVarint(), 0xffffffff],
  ["short string", (w) => w.string("abc", true), (r) => r.text(r.length(true, 16)), "abc"],
  [
    "long string",
    (w) => w.string("ž".repeat(100), false),
    (r) => r.text(r.length(false, 16)),
    "ž".repeat(100),
  ],
  ["raw", (w) => w.raw(new Uint8Array([1, 2, 3])), (r) => [...r.view8(3)], [1, 2, 3]],
  ["uuid", (w) => w.uuid("AAECAwQFBgcICQoLDA0ODw"), (r) => r.uuid(), "AAECAwQFBgcICQoLDA0ODw"],
];

for (const [name, write, read, value] of writes) {
  Deno.test(`Writer keeps what was written when ${name} makes it grow`, () => {
    for (const filler of [0, 500, 1023, 65_500, 65_520, 65_530, 65_535, 65_536]) {
      const other = new Writer();
      other.int32(0x01020304);
      const earlier = other.finish();
      const writer = new Writer();
      for (let i = 0; i < filler; i++) writer.int8(i & 0x7f);
      for (let i = 0; i < 20; i++) write(writer);
      const reader = new Reader(concatChunks(writer.finish()));
      for (let i = 0; i < filler; i++) assertEquals(reader.int8(), i & 0x7f);
      for (let i = 0; i < 20; i++) assertEquals(read(reader), value);
      reader.expectEnd();
      assertEquals([...concatChunks(earlier)], [1, 2, 3, 4]);
    }
  });
}

Deno.test("Writer.attach() refers to large bytes and keeps the order", () => {
  const large = new Uint8Array(5000).fill(7);
  const writer = new Writer();
  writer.int32(0);
  writer.int8(1);
  writer.attach(large);
  writer.int8(2);
  const chunks = writer.finishFrame();
  assert(chunks.includes(large), "the bytes were copied");
  const all = concatChunks(chunks);
  assertEquals(new Reader(all).int32(), 5002);
  assertEquals([all[4], all[5], all[5004], all[5005]], [1, 7, 7, 2]);
});

Deno.test("Writers that are open at the same time do not share bytes", () => {
  const a = new Writer(), b = new Writer();
  for (let i = 0; i < 1000; i++) {
    a.int8(1);
    b.int8(2);
  }
  assert(concatChunks(a.finish()).every((byte) => byte === 1));
  assert(concatChunks(b.finish()).every((byte) => byte === 2));
});

Deno.test("Messages with tagged fields share slabs: a thousand of them do not take a thousand slabs", () => {
  const value = { offset: 1n, metadata: "", commitTimestamp: 0n, topicId: "AAECAwQFBgcICQoLDA0ODw" };
  const buffers = new Set<ArrayBufferLike>();
  for (let i = 0; i < 1000; i++) buffers.add(offsetCommitValue.encode(4, value).buffer);
  assert(buffers.size <= 3, `${buffers.size} buffers`);
});

Deno.test("Writer.attach() leaves what is in a file there, however little it is", () => {
  const slice: FileSlice = {
    length: 3,
    read: (into, from) => into.set([7, 8, 9].slice(from)),
    through: () => null,
  };
  const writer = new Writer();
  writer.int32(0);
  writer.attach(slice);
  writer.int8(2);
  const chunks = writer.finishFrame();
  assertEquals(chunks[1], slice);
  assertEquals([...concatChunks(chunks)], [0, 0, 0, 4, 7, 8, 9, 2]);
});
