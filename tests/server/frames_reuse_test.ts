import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { FrameCutter } from "../../src/server/frames.ts";
import { frame, joined } from "./fakes.ts";

/** Reads all of `stream` and calls `each` with every frame; true from it gives the frame back. */
function read(cutter: FrameCutter, stream: Uint8Array, each: (frame: Uint8Array) => boolean): void {
  for (let at = 0; at < stream.length;) {
    const space = cutter.space();
    const bytes = Math.min(space.length, stream.length - at);
    space.set(stream.subarray(at, at + bytes));
    cutter.filled(bytes);
    at += bytes;
    for (let next = cutter.next(); next !== null; next = cutter.next()) if (each(next)) cutter.giveBack(next);
  }
}

Deno.test("a frame that was not given back keeps its bytes, whatever is read after it", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const prng = new Prng(seed);
    const frames = Array.from({ length: 300 }, () => prng.bytes(prng.pick([0, 1, 10, 200, 3000, 70_000])));
    const cutter = new FrameCutter(1 << 20);
    const held: { frame: Uint8Array; expected: Uint8Array }[] = [];
    let count = 0;
    read(cutter, joined(frames.map(frame)), (cut) => {
      const expected = frames[count++];
      assertEquals(cut.length, expected.length);
      const giveBack = prng.chance(0.8);
      if (!giveBack) held.push({ frame: cut, expected });
      return giveBack;
    });
    assertEquals(count, frames.length);
    for (const { frame, expected } of held) {
      assert(
        frame.every((byte, i) => byte === expected[i]),
        `seed ${seed}: a frame of ${frame.length} bytes changed`,
      );
    }
  }
});

Deno.test("a frame keeps its bytes also where more is read before another one is given back", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const prng = new Prng(seed);
    const frames = Array.from({ length: 300 }, () => prng.bytes(prng.pick([0, 1, 10, 200, 3000, 20_000])));
    const stream = joined(frames.map(frame));
    const cutter = new FrameCutter(1 << 20);
    let at = 0;
    const readOn = () => {
      const space = cutter.space();
      const bytes = Math.min(space.length, stream.length - at);
      space.set(stream.subarray(at, at + bytes));
      cutter.filled(bytes);
      at += bytes;
    };
    const held: { frame: Uint8Array; expected: Uint8Array }[] = [];
    for (let count = 0; count < frames.length;) {
      const cut = cutter.next();
      if (cut === null) {
        readOn();
        continue;
      }
      const expected = frames[count++];
      // A request that waits for those before it, or is muted, while the socket is read ahead.
      while (prng.chance(0.3) && at < stream.length && cutter.canReadAhead()) readOn();
      if (prng.chance(0.7)) cutter.giveBack(cut);
      else held.push({ frame: cut, expected });
    }
    for (const { frame, expected } of held) {
      assert(
        frame.every((byte, i) => byte === expected[i]),
        `seed ${seed}: a frame of ${frame.length} bytes changed`,
      );
    }
  }
});

Deno.test("a connection whose frames are all given back reads into the same chunk again", () => {
  const cutter = new FrameCutter(1 << 20);
  const buffers = new Set<ArrayBufferLike>();
  const large = joined(Array.from({ length: 50 }, () => frame(new Uint8Array(300_000).fill(5))));
  read(cutter, large, (cut) => {
    buffers.add(cut.buffer);
    return true;
  });
  assert(buffers.size <= 5, `${buffers.size} chunks for 50 frames`);
});
