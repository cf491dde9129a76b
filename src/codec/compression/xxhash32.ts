/** xxHash32 with seed 0, the checksum of LZ4 frames. */

const PRIME1 = 0x9e3779b1;
const PRIME2 = 0x85ebca77;
const PRIME3 = 0xc2b2ae3d;
const PRIME4 = 0x27d4eb2f;
const PRIME5 = 0x165667b1;

/** The hash of `bytes[start, end)` as an unsigned 32-bit number. */
export function xxhash32(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  let at = start;
  let hash = PRIME5;
  if (end - start >= 16) {
    let a = PRIME1 + PRIME2 | 0, b = PRIME2 | 0, c = 0, d = -PRIME1 | 0;
    for (const last = end - 16; at <= last; at += 16) {
      a = round(a, word(bytes, at));
      b = round(b, word(bytes, at + 4));
      c = round(c, word(bytes, at + 8));
      d = round(d, word(bytes, at + 12));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18) | 0;
  }
  hash = hash + (end - start) | 0;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(rotate(hash + Math.imul(word(bytes, at), PRIME3) | 0, 17), PRIME4);
  }
  for (; at < end; at++) hash = Math.imul(rotate(hash + Math.imul(bytes[at], PRIME5) | 0, 11), PRIME1);
  hash = Math.imul(hash ^ (hash >>> 15), PRIME2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, input: number): number {
  return Math.imul(rotate(lane + Math.imul(input, PRIME2) | 0, 13), PRIME1);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}
