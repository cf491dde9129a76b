/** Faults in bytes of which nobody asks what they mean: flips, numbers, cuts, repetitions, pieces of other frames. */
import type { Prng } from "../../src/base/prng.ts";
import { joined } from "./byte_sink.ts";

const EXTREMES = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 0x7fff, 0xffff, 0x10000, 100_000_000];

/** Some changes to a frame, and its size in front made right again. `other` is a frame that pieces may come from. */
export function mutatedFrame(original: Uint8Array, other: Uint8Array, prng: Prng): Uint8Array<ArrayBuffer> {
  let bytes = original.slice();
  for (let changes = prng.between(1, 4); changes > 0; changes--) bytes = changed(bytes, other, prng);
  if (bytes.length < 4) return joined(new Uint8Array(4));
  new DataView(bytes.buffer).setInt32(0, bytes.length - 4);
  return bytes;
}

function changed(bytes: Uint8Array<ArrayBuffer>, other: Uint8Array, prng: Prng): Uint8Array<ArrayBuffer> {
  const body = bytes.length - 4;
  if (body < 1) return joined(bytes, prng.bytes(10));
  // Mostly behind the header, which would else be all that is ever looked at.
  const at = 4 + (prng.chance(0.8) && body > 12 ? prng.between(12, body - 1) : prng.int(body));
  const view = new DataView(bytes.buffer);
  switch (prng.int(11)) {
    case 0: // A bit.
      bytes[at] ^= 1 << prng.int(8);
      return bytes;
    case 1: // A byte: the ends of varints, small lengths, nulls.
      bytes[at] = prng.pick([0, 1, 2, 0x7f, 0x80, 0xff]);
      return bytes;
    case 2: // A number: lengths, counts, times.
      if (at + 4 <= bytes.length) view.setInt32(at, prng.pick(EXTREMES));
      return bytes;
    case 3:
      if (at + 2 <= bytes.length) view.setInt16(at, prng.pick(EXTREMES));
      return bytes;
    case 4: // Cut off.
      return bytes.slice(0, Math.max(5, at));
    case 5: // Longer.
      return joined(bytes, prng.bytes(prng.between(1, 40)));
    case 6: // A piece of it once more.
      return joined(bytes.slice(0, at), bytes.slice(Math.max(4, at - prng.int(30))));
    case 7: // Bytes in between.
      return joined(bytes.slice(0, at), prng.bytes(prng.between(1, 8)), bytes.slice(at));
    case 8: // A piece left out.
      return joined(bytes.slice(0, at), bytes.slice(at + prng.between(1, 8)));
    case 9: // The beginning of one, the end of the other.
      return joined(bytes.slice(0, at), other.slice(4 + prng.int(Math.max(1, other.length - 4))));
    default: // Another version, or another API, of the same bytes.
      if (bytes.length >= 8) view.setInt16(prng.chance() ? 4 : 6, prng.between(0, 95));
      return bytes;
  }
}
