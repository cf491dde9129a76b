/**
 * Which brokers hold a partition. Leaders go round the brokers from a random start, and the followers of a partition
 * stand a shift apart from it that grows by one each time the leaders come round, so that no two brokers share all of
 * their partitions. Racks are not looked at yet.
 */
import { assert } from "../base/assert.ts";

/** Where randomness comes from; a `Prng` will do in tests. */
export interface Random {
  /** An integer in [0, boundExclusive). */
  int(boundExclusive: number): number;
  bytes(length: number): Uint8Array;
}

/** The machine's randomness. */
export const systemRandom: Random = {
  int: (boundExclusive) => Math.floor(Math.random() * boundExclusive),
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

/** The replicas of `count` partitions, the preferred leader first. `brokers` must be at least `replicationFactor`. */
export function placeReplicas(
  brokers: readonly number[],
  count: number,
  replicationFactor: number,
  random: Random,
): number[][] {
  assert(
    replicationFactor >= 1 && replicationFactor <= brokers.length,
    `${replicationFactor} replicas on ${brokers.length} brokers`,
  );
  const sorted = brokers.toSorted((a, b) => a - b);
  const start = random.int(sorted.length);
  const firstShift = random.int(sorted.length);
  const placed: number[][] = [];
  for (let i = 0; i < count; i++) {
    const leader = (start + i) % sorted.length;
    const shift = firstShift + Math.floor(i / sorted.length);
    const replicas = [sorted[leader]];
    for (let follower = 0; follower < replicationFactor - 1; follower++) {
      const distance = 1 + (shift + follower) % (sorted.length - 1);
      replicas.push(sorted[(leader + distance) % sorted.length]);
    }
    placed.push(replicas);
  }
  return placed;
}
