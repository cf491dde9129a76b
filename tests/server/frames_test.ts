import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { Prng } from "../../src/base/prng.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";
import { FrameCutter } from "../../src/server/frames.ts";
import { frame, joined, sizePrefix } from "./fakes.ts";

/** Gives `stream` to the cutter in reads of at most `readBytes(left)`, and everything that it cuts. */
function cut(cutter: FrameCutter, stream: Uint8Array, readBytes: (left: number) => number): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < stream.length;) {
    const space = cutter.space();
    assert(space.length > 0, "no space to read into");
    const bytes = Math.min(space.length, stream.length - at, readBytes(stream.length - at));
    space.set(stream.subarray(at, at + bytes));
    cutter.filled(bytes);
    at += bytes;
    for (let next = cutter.next(); next !== null; next = cutter.next()) frames.push(next);
  }
  return frames;
}

/** Frames of these sizes, each filled with bytes of its own. */
function framesOf(sizes: readonly number[], prng = new Prng(1)): Uint8Array[] {
  return sizes.map((size) => prng.bytes(size));
}

function streamOf(frames: readonly Uint8Array[]): Uint8Array {
  return joined(frames.map(frame));
}

/** Holds lists of frames against each other; far quicker than assertEquals() on bytes. */
function assertFrames(actual: readonly Uint8Array[], expected: readonly Uint8Array[], where: string): void {
  const same = (a: Uint8Array, e: Uint8Array) => a.length === e.length && a.every((byte, i) => byte === e[i]);
  assertEquals(actual.map((frame) => frame.length), expected.map((frame) => frame.length), where);
  const wrong = actual.findIndex((frame, i) => !same(frame, expected[i]));
  assertEquals(wrong, -1, `${where}: the bytes of frame ${wrong} are others`);
}

/** What the connection has to hold on to while it waits for more. */
function heldBytes(cutter: FrameCutter): number {
  return cutter.space().buffer.byteLength;
}

Deno.test("FrameCutter cuts a stream at every place into the same frames", () => {
  const frames = framesOf([0, 1, 5, 300, 2, 0, 40]);
  const stream = streamOf(frames);
  for (let at = 0; at <= stream.length; at++) {
    const reads = [at, stream.length - at];
    assertFrames(
      cut(new FrameCutter(1000), stream, () => reads.shift() || stream.length),
      frames,
      `cut at ${at}`,
    );
  }
});

Deno.test("FrameCutter gives the same frames whatever the sizes of frames and reads are", () => {
  for (let seed = 0; seed < 40; seed++) {
    const prng = new Prng(seed);
    const largest = prng.pick([10, 3000, 200_000]);
    const frames = framesOf(
      Array.from({ length: prng.between(1, largest > 10_000 ? 8 : 40) }, () => prng.int(largest)),
      prng,
    );
    const readMost = prng.pick([1, 7, 1500, 70_000, 1e9]);
    const cutter = new FrameCutter(largest);
    // Compared only at the end: a frame that was overwritten by what came later would show.
    assertFrames(cut(cutter, streamOf(frames), () => prng.between(1, readMost)), frames, `seed ${seed}`);
    assertEquals(cutter.heldBytes, 0);
  }
});

Deno.test("FrameCutter takes one byte at a time", () => {
  const frames = framesOf([3, 0, 5000]);
  assertEquals(cut(new FrameCutter(5000), streamOf(frames), () => 1), frames);
});

for (
  const [name, size] of [["a negative size", -1], ["the lowest size", -(2 ** 31)], [
    "a size above the maximum",
    1001,
  ], ["a size of 2 GB", 2 ** 31 - 1]] as const
) {
  Deno.test(`FrameCutter refuses ${name} before it makes room for it`, () => {
    const cutter = new FrameCutter(1000);
    cutter.space().set(sizePrefix(size));
    cutter.filled(4);
    const error = assertThrows(() => cutter.next(), MalformedFrame);
    assertEquals(error.message, `frame size ${size} is not between 0 and socket.request.max.bytes (1000)`);
    assertThrows(() => cutter.missingBytes(), MalformedFrame);
    assertThrows(() => cutter.space(), MalformedFrame);
  });
}

Deno.test("FrameCutter takes a frame of exactly the maximum", () => {
  const frames = framesOf([1000]);
  assertEquals(cut(new FrameCutter(1000), streamOf(frames), (left) => left), frames);
});

Deno.test("FrameCutter refuses the frame behind a good one only after the good one was given", () => {
  const cutter = new FrameCutter(1000);
  const stream = joined([frame("good"), sizePrefix(-5)]);
  cutter.space().set(stream);
  cutter.filled(stream.length);
  assertEquals(cutter.next()?.length, 4);
  assertThrows(() => cutter.next(), MalformedFrame);
});

Deno.test("FrameCutter of a connection that never sent anything holds 2 KiB", () => {
  assertEquals(heldBytes(new FrameCutter(1000)), 2048);
});

Deno.test("FrameCutter grows to reads of 64 KiB while they are filled, and no further", () => {
  const cutter = new FrameCutter(1000);
  const stream = streamOf(framesOf(new Array(2000).fill(996)));
  let most = 0;
  cut(cutter, stream, () => {
    most = Math.max(most, heldBytes(cutter));
    return Infinity;
  });
  assertEquals(most, 64 * 1024);
});

Deno.test("FrameCutter shrinks again to 4 KiB or less after ten small reads", () => {
  const cutter = new FrameCutter(1000);
  cut(cutter, streamOf(framesOf(new Array(2000).fill(996))), () => Infinity);
  for (let i = 0; i < 10; i++) cut(cutter, frame("heartbeat"), () => Infinity);
  assert(heldBytes(cutter) <= 4096, `${heldBytes(cutter)} bytes are held`);
});

Deno.test("FrameCutter lets go of the memory of a large frame when it reads on", () => {
  const cutter = new FrameCutter(10_000_000);
  cut(cutter, streamOf(framesOf([5_000_000])), () => Infinity);
  assert(heldBytes(cutter) <= 64 * 1024, `${heldBytes(cutter)} bytes are held after the frame`);
});

Deno.test("FrameCutter makes room for a large frame in steps of what has come of it", () => {
  const cutter = new FrameCutter(10_000_000);
  const size = 1_000_000;
  assertEquals(cutter.missingBytes(), 0);
  cutter.space().set(sizePrefix(size));
  cutter.filled(4);
  const rooms: number[] = [];
  for (let left = size; left > 0;) {
    const missing = cutter.missingBytes();
    const room = cutter.space().length;
    if (missing > 0) rooms.push(missing);
    assertEquals(cutter.missingBytes(), 0, "room was made, so nothing is missing");
    cutter.filled(Math.min(room, left));
    left -= Math.min(room, left);
  }
  assertEquals(rooms, [256 * 1024, size + 4]);
  assertEquals(cutter.next()?.length, size);
});

Deno.test("FrameCutter makes room at once for a frame no larger than one that came in full, up to a megabyte", () => {
  const cutter = new FrameCutter(100_000_000);
  const next = (size: number) => {
    cutter.space().set(sizePrefix(size));
    cutter.filled(4);
    return cutter.missingBytes();
  };
  cut(cutter, streamOf(framesOf([700_000])), () => Infinity);
  assertEquals(next(690_000), 690_004);
  cut(cutter, new Uint8Array(690_000), () => Infinity);
  assertEquals(next(700_001), 700_004, "not for more than that");
  cut(cutter, new Uint8Array(700_001), () => Infinity);
  cut(cutter, streamOf(framesOf([9_000_000])), () => Infinity);
  assertEquals(next(9_000_000), 1024 * 1024 + 64 * 1024);
});

Deno.test("FrameCutter.missingBytes() counts no frame that its ordinary reads have room for", () => {
  for (const size of [0, 100, 2044, 2045, 30_000, 64 * 1024]) {
    const cutter = new FrameCutter(10_000_000);
    cutter.space().set(sizePrefix(size));
    cutter.filled(4);
    assertEquals(cutter.missingBytes(), 0, `size ${size}`);
    assert(cutter.space().length >= size, `no room for a frame of ${size} bytes`);
  }
});

Deno.test("FrameCutter makes room for a large frame that is like the one before it once, and copies nothing", () => {
  const cutter = new FrameCutter(10_000_000);
  cut(cutter, streamOf(framesOf([300_000])), () => Infinity);
  cutter.space().set(sizePrefix(300_000));
  cutter.filled(4);
  const memory = cutter.space().buffer;
  for (let read = 0; read < 300_000; read += 1000) {
    assert(cutter.space().buffer === memory, `copied after ${read} bytes`);
    cutter.filled(1000);
  }
  assertEquals(cutter.next()?.length, 300_000);
});
