/**
 * Which offset each key has last: what compaction goes by. A table of a fixed number of slots that holds keys' hashes in
 * place of the keys, 24 bytes each whatever the keys are, so its memory is known beforehand; when it is full, compaction
 * goes as far as it has read. 128 bits under a key that is drawn anew each time: no two of a log's keys have the same.
 *
 *     slot: hash 4 × int32 | offset + 1 float64, 0 in a free one
 */

import { assert } from "../../base/assert.ts";
import { SipHash } from "../../base/sip_hash.ts";

const SLOT_BYTES = 24;
const HASH_WORDS = 4;

export class KeyMap {
  /** Keys in it. */
  size = 0;
  /** Everything up to here was read; -1 before anything was. */
  latestOffset = -1;
  private readonly slots: number;
  private readonly hashes: Int32Array;
  /** One more than the offset. */
  private readonly offsets: Float64Array;
  private readonly sipHash: SipHash;
  private readonly digest = new Int32Array(HASH_WORDS);

  /** Room for `capacity` keys, at the cost of a slot more for each `loadFactor` (0–1). `secret` has 16 random bytes. */
  constructor(readonly capacity: number, loadFactor: number, secret: Uint8Array) {
    assert(capacity > 0, "a map without room");
    this.slots = slotsFor(capacity, loadFactor);
    this.hashes = new Int32Array(this.slots * HASH_WORDS);
    this.offsets = new Float64Array(this.slots);
    this.sipHash = new SipHash(secret);
  }

  get isFull(): boolean {
    return this.size >= this.capacity;
  }

  get sizeInBytes(): number {
    return this.slots * SLOT_BYTES;
  }

  /** Notes that the key `bytes[start, start + length)` is at `offset`, which only rises. There must be room. */
  put(bytes: Uint8Array, start: number, length: number, offset: number): void {
    const slot = this.find(bytes, start, length);
    if (this.offsets[slot] === 0) {
      assert(!this.isFull, "the map of keys is full");
      this.size++;
      this.hashes.set(this.digest, slot * HASH_WORDS);
    }
    this.offsets[slot] = offset + 1;
    this.latestOffset = offset;
  }

  /** The last offset of the key, -1 where it was not seen. */
  get(bytes: Uint8Array, start: number, length: number): number {
    return this.offsets[this.find(bytes, start, length)] - 1;
  }

  /** The slot of the key, or the free one where it would be; its hash is in `digest`. */
  private find(bytes: Uint8Array, start: number, length: number): number {
    const { digest, hashes, offsets, slots } = this;
    this.sipHash.hash(bytes, start, length, digest);
    const [a, b, c, d] = [digest[0], digest[1], digest[2], digest[3]];
    // The hash scaled to the slots: no division, and every slot is as likely.
    let slot = Math.floor(((a >>> 0) / 0x1_0000_0000) * slots);
    while (offsets[slot] !== 0) {
      const at = slot * HASH_WORDS;
      if (hashes[at] === a && hashes[at + 1] === b && hashes[at + 2] === c && hashes[at + 3] === d) break;
      if (++slot === slots) slot = 0;
    }
    return slot;
  }
}

function slotsFor(capacity: number, loadFactor: number): number {
  // One stays free, or a search for a key that is not there would not end.
  return Math.max(Math.ceil(capacity / loadFactor), capacity + 1);
}

/** How many keys fit into `bytes` of memory. */
export function keysIn(bytes: number, loadFactor: number): number {
  const slots = Math.floor(bytes / SLOT_BYTES);
  return Math.max(1, Math.min(Math.floor(slots * loadFactor), slots - 1));
}
