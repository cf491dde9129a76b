import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { placeReplicas, systemRandom } from "../../src/cluster/placement.ts";

function timesOf(values: readonly number[]): number[] {
  return [...Map.groupBy(values, (value) => value).values()].map((same) => same.length);
}

Deno.test("placeReplicas() gives the one broker everything", () => {
  assertEquals(placeReplicas([5], 3, 1, new Prng(1)), [[5], [5], [5]]);
});

Deno.test("placeReplicas() gives every broker as many leaders and replicas as the others, whatever the start", () => {
  for (let seed = 0; seed < 50; seed++) {
    const placed = placeReplicas([4, 1, 3, 2, 7], 100, 3, new Prng(seed));
    assertEquals(timesOf(placed.map(([leader]) => leader)), [20, 20, 20, 20, 20]);
    assertEquals(timesOf(placed.flat()), [60, 60, 60, 60, 60]);
    for (const replicas of placed) assertEquals(new Set(replicas).size, 3);
  }
});

Deno.test("placeReplicas() spreads the followers of one broker's partitions over all others", () => {
  const placed = placeReplicas([1, 2, 3, 4, 5], 100, 2, new Prng(3));
  const followersOf1 = placed.filter(([leader]) => leader === 1).map(([, follower]) => follower);
  assertEquals(timesOf(followersOf1), [5, 5, 5, 5]);
});

Deno.test("placeReplicas() starts at random brokers, and gives the same for the same seed", () => {
  const starts = new Set<number>();
  for (let seed = 0; seed < 50; seed++) {
    const placed = placeReplicas([1, 2, 3], 2, 2, new Prng(seed));
    assertEquals(placed, placeReplicas([3, 2, 1], 2, 2, new Prng(seed)));
    starts.add(placed[0][0]);
  }
  assertEquals([...starts].sort(), [1, 2, 3]);
});

Deno.test("systemRandom.int() stays below its bound", () => {
  for (let i = 0; i < 1000; i++) {
    const n = systemRandom.int(3);
    assert(Number.isInteger(n) && n >= 0 && n < 3, `${n} of 3`);
  }
  assertEquals(systemRandom.bytes(16).length, 16);
});
