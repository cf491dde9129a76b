/** Each codec alone: round trips over every awkward size, foreign frames, damage, and bombs. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { LazyAddon } from "../../src/codec/addon.ts";
import { Prng } from "../../src/base/prng.ts";
import { Compression } from "../../src/codec/batch.ts";
import { compress, decompress } from "../../src/codec/compression/index.ts";
import { compressLz4, decompressLz4, lz4Library } from "../../src/codec/compression/lz4.ts";
import { decompressSnappy, snappyLibrary, storeBlock } from "../../src/codec/compression/snappy.ts";
import { xxhash32 } from "../../src/codec/compression/xxhash32.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { fromHex } from "./record_batch_vectors.ts";

const codecs = {
  gzip: Compression.GZIP,
  snappy: Compression.SNAPPY,
  lz4: Compression.LZ4,
  zstd: Compression.ZSTD,
};
const limit = 1 << 20;

/** Bytes that compress by about the given share: runs, repeats at all distances, and noise. */
function makeBytes(prng: Prng, length: number, noise: number): Uint8Array {
  const out = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const run = Math.min(prng.between(1, 200), length - at);
    if (at === 0 || prng.chance(noise)) out.set(prng.bytes(run), at);
    else {
      const from = at - prng.between(1, Math.min(at, 70_000));
      for (let i = 0; i < run; i++) out[at + i] = out[from + i];
    }
    at += run;
  }
  return out;
}

for (const [name, type] of Object.entries(codecs)) {
  Deno.test(`decompress(compress(x)) is x for ${name}, whatever the size and content`, () => {
    const prng = new Prng(type);
    const sizes = [
      0,
      1,
      2,
      3,
      5,
      15,
      16,
      17,
      59,
      60,
      61,
      255,
      256,
      257,
      32767,
      32768,
      32769,
      65535,
      65536,
      65537,
    ];
    for (const size of [...sizes, 200_000, 300_001]) {
      for (const noise of [0, 0.2, 1]) {
        const bytes = makeBytes(prng, size, noise);
        const packed = compress(type, bytes);
        assertEquals(packed.constructor, Uint8Array);
        const unpacked = decompress(type, packed, size);
        assertEquals(unpacked.constructor, Uint8Array);
        assert(unpacked.toHex() === bytes.toHex(), `${size} bytes, noise ${noise}`);
      }
    }
  });

  Deno.test(`decompress() of ${name} stops above its bound`, () => {
    const bytes = makeBytes(new Prng(1), 100_000, 0.1);
    const packed = compress(type, bytes);
    assertEquals(decompress(type, packed, 100_000).length, 100_000);
    assertThrows(() => decompress(type, packed, 99_999), MalformedFrame);
    assertThrows(() => decompress(type, packed, 0), MalformedFrame);
  });

  Deno.test(`decompress() of ${name} spends no memory on a bomb`, () => {
    const bomb = compress(type, new Uint8Array(64 << 20));
    const before = Deno.memoryUsage();
    assertThrows(() => decompress(type, bomb, limit), MalformedFrame);
    const after = Deno.memoryUsage();
    assert(after.external - before.external < 8 << 20, `external memory grew to ${after.external}`);
  });

  Deno.test(`decompress() of ${name} refuses every cut`, () => {
    const bytes = makeBytes(new Prng(2), 3000, 0.3);
    const packed = compress(type, bytes);
    for (let length = 0; length < packed.length; length += length < 64 ? 1 : 13) {
      const cut = packed.subarray(0, length);
      // An xerial stream may end after any block, also after none.
      if (type === Compression.SNAPPY && length === 16) continue;
      assertThrows(() => decompress(type, cut, limit), MalformedFrame, undefined, `cut to ${length}`);
    }
  });

  Deno.test(`decompress() of ${name} gives bytes or MalformedFrame for 3,000 mutations`, () => {
    const prng = new Prng(3);
    const packed = compress(type, makeBytes(prng, 2000, 0.3));
    let refused = 0;
    for (let round = 0; round < 3000; round++) {
      const mutated = packed.slice();
      for (let i = prng.between(1, 4); i > 0; i--) mutated[prng.int(mutated.length)] = prng.int(256);
      try {
        assert(decompress(type, mutated, limit).length <= limit);
      } catch (error) {
        if (!(error instanceof MalformedFrame)) throw error;
        refused++;
      }
    }
    assert(refused > 0, "not one of the mutations was noticed");
  });
}

Deno.test("decompress() refuses a compression type that no one has defined", () => {
  for (const type of [5, 6, 7]) {
    assertThrows(() => decompress(type, new Uint8Array(8), limit), MalformedFrame, `type ${type}`);
  }
});

Deno.test("snappy and lz4 are compressed natively where their addons are installed", () => {
  assert(snappyLibrary.get() !== null && lz4Library.get() !== null);
});

Deno.test("an addon that cannot be required is imported instead, for the next use", async () => {
  const library = new LazyAddon("no-such-package", () => Promise.resolve({ answer: 42 }));
  assertEquals(library.get(), null);
  await Promise.resolve().then(() => {});
  assertEquals(library.get(), { answer: 42 });
});

Deno.test("an addon that cannot be had says why, once", async () => {
  const library = new LazyAddon(
    "no-such-package",
    () => Promise.reject(new Error("not for this machine\nstack")),
  );
  const said = new Promise((resolve) => library.onMissing = resolve);
  assertEquals(library.get(), null);
  assertEquals(await said, "not for this machine");
  assertEquals(library.get(), null);
});

// Snappy

const text = new TextEncoder().encode("snappy or not, here it comes");

Deno.test("snappy writes Java's framing in blocks of 32 KiB", () => {
  const packed = compress(Compression.SNAPPY, new Uint8Array(32768 + 1));
  assertEquals(packed.subarray(0, 16).toHex(), "82534e41505059000000000100000001");
  const first = new DataView(packed.buffer, packed.byteOffset).getInt32(16);
  assertEquals(packed.subarray(20, 23).toHex(), "808002"); // a block of 32768 bytes
  assertEquals(packed.subarray(20 + first).toHex(), "00000003010000"); // one byte more: a literal
});

Deno.test("snappy without its library stores blocks that read back", () => {
  for (const length of [1, 60, 61, 256, 257, 32768]) {
    const bytes = new Prng(length).bytes(length);
    assertEquals(decompressSnappy(storeBlock(bytes), length).toHex(), bytes.toHex());
  }
});

Deno.test("snappy reads streams that follow one another, as Java's library does", () => {
  const stream = compress(Compression.SNAPPY, text);
  const twice = decompressSnappy(new Uint8Array([...stream, ...stream]), limit);
  assertEquals(new TextDecoder().decode(twice), "snappy or not, here it comes".repeat(2));
});

Deno.test("snappy refuses a block that claims more than its bytes can give", () => {
  // 4 GiB - 1 in a block of nine bytes.
  assertThrows(() => decompressSnappy(fromHex("ffffffff0f00000000"), 2 ** 32), MalformedFrame, "cannot hold");
});

Deno.test("snappy refuses copies from before the block and elements that run past it", () => {
  for (
    const [block, why] of [
      ["0800610502", "copy"], // one literal, then a copy from two bytes back
      ["0800610500", "copy"], // from no distance at all
      ["0104616161", "literal"], // a literal longer than the block
      ["02006100", "literal"], // a literal tag with nothing behind it
      ["030061", "short"], // a block that ends before it is full
    ] as const
  ) {
    assertThrows(() => decompressSnappy(fromHex(block), limit), MalformedFrame, why);
  }
});

// LZ4

Deno.test("xxhash32() gives the check values of its specification", () => {
  const bytes = new TextEncoder().encode("Nobody inspects the spammish repetition");
  assertEquals(xxhash32(bytes), 0xe2293b2f);
  assertEquals(xxhash32(new Uint8Array(0)), 0x02cc5d05);
  assertEquals(xxhash32(new TextEncoder().encode("a")), 0x550d7456);
  assertEquals(xxhash32(new TextEncoder().encode("abc")), 0x32d153ff);
});

Deno.test("lz4 writes frames with the header of Java's producer", () => {
  assertEquals(compressLz4(text).subarray(0, 7).toHex(), "04224d18604082");
  assertEquals(compressLz4(text, { brokenChecksum: true }).subarray(0, 7).toHex(), "04224d1860401a");
});

Deno.test("lz4 reads the broken header checksum in format 0 only", () => {
  const broken = compressLz4(text, { brokenChecksum: true });
  assertEquals(decompressLz4(broken, limit, { brokenChecksum: true }), text);
  assertThrows(() => decompressLz4(broken, limit), MalformedFrame, "header checksum");
  // Clients of that time that got it right are read as well.
  assertEquals(decompressLz4(compressLz4(text), limit, { brokenChecksum: true }), text);
});

/** A frame with one stored block of `text` and the given flags, as other encoders write them. */
function frame(flags: number, descriptor: number, contentSize: number | null): number[] {
  const size = contentSize === null ? [] : [contentSize, 0, 0, 0, 0, 0, 0, 0];
  const header = [flags, descriptor, ...size];
  const checksum = (xxhash32(Uint8Array.from(header)) >>> 8) & 0xff;
  const hash = littleEndian(xxhash32(text));
  const blockChecksum = flags & 0x10 ? hash : [];
  const contentChecksum = flags & 0x04 ? hash : [];
  // deno-fmt-ignore
  return [0x04, 0x22, 0x4d, 0x18, ...header, checksum, text.length, 0, 0, 0x80, ...text, ...blockChecksum, 0, 0, 0, 0,
    ...contentChecksum];
}

function littleEndian(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24];
}

Deno.test("lz4 reads block sizes, checksums and content size of other encoders", () => {
  for (const descriptor of [0x40, 0x50, 0x60, 0x70]) {
    for (const flags of [0x60, 0x70, 0x64, 0x74]) {
      assertEquals(decompressLz4(Uint8Array.from(frame(flags, descriptor, null)), limit), text);
      assertEquals(decompressLz4(Uint8Array.from(frame(flags | 8, descriptor, text.length)), limit), text);
    }
  }
});

Deno.test("lz4 refuses wrong checksums, a wrong content size and what Kafka does not support", () => {
  const refuse = (bytes: number[], why: string) =>
    assertThrows(() => decompressLz4(Uint8Array.from(bytes), limit), MalformedFrame, why);
  const blockDamage = frame(0x70, 0x40, null);
  blockDamage[15] ^= 1;
  refuse(blockDamage, "block checksum");
  const contentDamage = frame(0x64, 0x40, null);
  contentDamage[contentDamage.length - 1] ^= 1;
  refuse(contentDamage, "content checksum");
  refuse(frame(0x68, 0x40, text.length + 1), "holds 28");
  refuse(frame(0x40, 0x40, null), "not supported"); // linked blocks
  refuse(frame(0xa0, 0x40, null), "not supported"); // version 2
  refuse(frame(0x61, 0x40, null), "not supported"); // a dictionary
  refuse(frame(0x60, 0x30, null), "not supported"); // block size 3
  refuse([...frame(0x60, 0x40, null), 0], "after the frame");
});

// zstd

Deno.test("zstd writes one frame, with nothing behind it", () => {
  for (const size of [0, 1, 100_000, 131_072, 200_000]) {
    const packed = compress(Compression.ZSTD, new Prng(size).bytes(size));
    assertEquals(decompress(Compression.ZSTD, packed, size).length, size);
    assertEquals(packed.toHex().split("28b52ffd").length, 2, `frames of ${size} bytes`);
  }
});

Deno.test("zstd is told how much it has to compress: else it makes tables for an input without an end", () => {
  for (const level of [-7, 3, 22]) {
    // RFC 8878: a frame's header says whether it holds the size of the content.
    const [, , , , descriptor] = compress(Compression.ZSTD, new Uint8Array(1000), level);
    assertEquals((descriptor & 0b11100000) !== 0, true, `level ${level}: descriptor ${descriptor}`);
  }
});

Deno.test("zstd reads frames that follow one another and passes over skippable ones", () => {
  const packed = compress(Compression.ZSTD, text);
  const skippable = fromHex("502a4d1803000000aabbcc");
  const bytes = decompress(Compression.ZSTD, new Uint8Array([...packed, ...skippable, ...packed]), limit);
  assertEquals(new TextDecoder().decode(bytes), "snappy or not, here it comes".repeat(2));
  assertThrows(
    () => decompress(Compression.ZSTD, new Uint8Array([...packed, ...packed]), text.length * 2 - 1),
    MalformedFrame,
  );
});

Deno.test("compress() takes the level of gzip and zstd", () => {
  const bytes = makeBytes(new Prng(4), 100_000, 0.05);
  assert(compress(Compression.GZIP, bytes, 9).length < compress(Compression.GZIP, bytes, 1).length);
  assert(compress(Compression.ZSTD, bytes, 19).length < compress(Compression.ZSTD, bytes, -5).length);
});
