/** SipHash-2-4-128 against the results that its authors published. */
import { assertEquals } from "@std/assert/equals";
import { encodeHex } from "../../src/base/hex.ts";
import { SipHash } from "../../src/base/sip_hash.ts";

const counting = (length: number) => Uint8Array.from({ length }, (_, i) => i);

/** Of the first `length` bytes 00 01 02 …, under the key 00 … 0f. */
const published: [number, string][] = [
  [0, "a3817f04ba25a8e66df67214c7550293"],
  [1, "da87c1d86b99af44347659119b22fc45"],
  [15, "5493e99933b0a8117e08ec0f97cfc3d9"],
];

for (const [length, expected] of published) {
  Deno.test(`SipHash.hash() of ${length} bytes is what its authors say`, () => {
    const digest = new Int32Array(4);
    const bytes = Uint8Array.from([9, 9, 9, ...counting(length), 9]);
    new SipHash(counting(16)).hash(bytes, 3, length, digest);
    assertEquals(encodeHex(new Uint8Array(digest.buffer)), expected);
  });
}
