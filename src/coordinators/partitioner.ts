/**
 * Which partition of an internal topic holds a group or a transactional id. FindCoordinator, the coordinators and
 * every tool that looks into those topics have to agree with Java's hash of the id, so the arithmetic is Java's.
 */
import { assert } from "../base/assert.ts";

/** Java's `String.hashCode`: 32 bits, signed, over UTF-16 code units. */
export function javaStringHash(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}

/** The partition, of `count`, of the internal topic that holds `key`. */
export function coordinatorPartition(key: string, count: number): number {
  assert(count > 0, `an internal topic of ${count} partitions`);
  const hash = javaStringHash(key);
  // Kafka takes the absolute value (producers, for their keys, clear the sign bit instead); the one number that has
  // none in 32 bits counts as 0.
  return hash === -0x80000000 ? 0 : Math.abs(hash) % count;
}
