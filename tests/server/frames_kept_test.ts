import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { FrameCutter, KeptChunks } from "../../src/server/frames.ts";
import { frame, joined } from "./fakes.ts";

const KB = 1024;

/** Reads all of `stream`, in pieces of at most `most` bytes, and gives the frames. */
function read(cutter: FrameCutter, stream: Uint8Array, most = Infinity): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < stream.length;) {
    const space = cutter.space();
    assert(space.length > 0, "there is always room");
    const bytes = Math.min(space.length, stream.length - at, most);
    space.set(stream.subarray(at, at + bytes));
    cutter.filled(bytes);
    at += bytes;
    for (let next = cutter.next(); next !== null; next = cutter.next()) {
      frames.push(next.slice());
      cutter.giveBack(next);
    }
  }
  return frames;
}

/** What the read that waits for more bytes holds. */
function held(cutter: FrameCutter): number {
  return cutter.space().buffer.byteLength;
}

Deno.test("FrameCutters keep their chunks for the next frame as long as all of them keep little", () => {
  const kept = new KeptChunks(1000 * KB);
  const cutter = new FrameCutter(10_000 * KB, kept);
  read(cutter, frame(new Uint8Array(300 * KB)));
  assert(held(cutter) > 300 * KB, `${held(cutter)} bytes`);
  assertEquals(kept.bytes, held(cutter) - 2 * KB);
});

Deno.test("a thousand FrameCutters that read large frames and fall quiet keep no more than all may", () => {
  const kept = new KeptChunks(4000 * KB);
  const cutters = Array.from({ length: 1000 }, () => new FrameCutter(10_000 * KB, kept));
  const large = frame(new Uint8Array(400 * KB).fill(1));
  for (const cutter of cutters) {
    assertEquals(read(cutter, large)[0].length, 400 * KB);
    held(cutter);
  }
  const inAll = cutters.reduce((sum, cutter) => sum + held(cutter), 0);
  assertEquals(kept.bytes, inAll - 1000 * 2 * KB);
  assert(kept.bytes <= 4000 * KB + 512 * KB, `${kept.bytes} bytes`);
  assertEquals(held(cutters.at(-1)!), 2 * KB, "the last ones keep what every connection has");
});

Deno.test("FrameCutters that may keep nothing cut every stream as others do, whatever its pieces", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const prng = new Prng(seed);
    const bodies = Array.from(
      { length: 60 },
      () => prng.bytes(prng.pick([0, 1, 10, 3000, 2044, 2048, 60_000, 70_000])),
    );
    const cutter = new FrameCutter(1 << 20, new KeptChunks(-1));
    const frames = read(cutter, joined(bodies.map(frame)), prng.pick([1000, 2048, 5000, Infinity]));
    assertEquals(frames.length, bodies.length, `seed ${seed}`);
    frames.forEach((cut, i) => assertEquals(cut.length, bodies[i].length, `seed ${seed}, frame ${i}`));
    assert(
      frames.every((cut, i) => cut.every((byte, at) => byte === bodies[i][at])),
      `seed ${seed}: bytes changed`,
    );
  }
});

Deno.test("a frame of 64 KB that was only announced takes no memory when others keep all of it", () => {
  const kept = new KeptChunks(0);
  const hog = new FrameCutter(1 << 20, kept);
  read(hog, frame(new Uint8Array(60 * KB)).subarray(0, 50 * KB));
  const cutter = new FrameCutter(1 << 20, kept);
  read(cutter, frame(new Uint8Array(60 * KB)).subarray(0, 100));
  assertEquals(held(cutter), 2 * KB);
  read(cutter, new Uint8Array(20 * KB));
  assert(held(cutter) <= 50 * KB, `${held(cutter)} bytes for 20 KB that came`);
});

Deno.test("FrameCutter.close() gives back what it kept, once, and stands what comes afterwards", () => {
  const kept = new KeptChunks(1000 * KB);
  const [one, other] = [new FrameCutter(1 << 20, kept), new FrameCutter(1 << 20, kept)];
  read(one, frame(new Uint8Array(200 * KB)));
  read(other, frame(new Uint8Array(100 * KB)));
  const others = held(other) - 2 * KB;
  one.close();
  assertEquals(kept.bytes, others);
  one.filled(100);
  assertEquals([one.next(), one.space().length > 0], [null, true]);
  one.close();
  assertEquals(kept.bytes, others);
});
