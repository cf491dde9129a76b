import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";

Deno.test("Prng gives the same numbers for the same seed and others for another", () => {
  const take = (seed: number) => Array.from({ length: 20 }, ((p) => () => p.nextU32())(new Prng(seed)));
  assertEquals(take(7), take(7));
  assert(take(7).join() !== take(8).join());
  assert(take(0).some((n) => n !== 0), "seed 0 is not stuck at zero");
});

Deno.test("Prng.int() reaches every value below its bound and none beyond", () => {
  const prng = new Prng(1);
  const counts = new Array(6).fill(0);
  for (let i = 0; i < 6000; i++) counts[prng.int(6)]++;
  assertEquals(counts.length, 6);
  for (const count of counts) assert(count > 800 && count < 1200, `counts ${counts}`);
  assertThrows(() => prng.int(0), AssertionError, "bound 0");
});

Deno.test("Prng.between() includes both ends", () => {
  const prng = new Prng(2);
  const seen = new Set(Array.from({ length: 200 }, () => prng.between(-1, 1)));
  assertEquals([...seen].sort((a, b) => a - b), [-1, 0, 1]);
});

Deno.test("Prng.shuffle() keeps every element", () => {
  const items = Array.from({ length: 50 }, (_, i) => i);
  const shuffled = new Prng(3).shuffle([...items]);
  assert(shuffled.join() !== items.join());
  assertEquals(shuffled.sort((a, b) => a - b), items);
});

Deno.test("Prng.fork() is not disturbed by what its parent gives out later", () => {
  const one = new Prng(4), other = new Prng(4);
  const fork = one.fork();
  const sameFork = other.fork();
  one.bytes(100);
  assertEquals(fork.bytes(16), sameFork.bytes(16));
});
