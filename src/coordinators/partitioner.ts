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
  // The sign bit is cleared, not the sign changed: that is how Kafka makes the hash positive.
  return (javaStringHash(key) & 0x7fffffff) % count;
}
