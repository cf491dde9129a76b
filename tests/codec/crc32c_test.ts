import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { crc32c, crc32cImplementation, crc32cTypeScript, extendCrc32c } from "../../src/codec/crc32c.ts";

Deno.test("crc32c() gives the check values of RFC 3720, appendix B.4", () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  for (const sum of [crc32c, crc32cTypeScript]) {
    assertEquals(sum(new TextEncoder().encode("123456789")), 0xe3069283);
    assertEquals(sum(new Uint8Array(32)), 0x8a9136aa);
    assertEquals(sum(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
    assertEquals(sum(ascending), 0x46dd794e);
    assertEquals(sum(ascending.toReversed()), 0x113fdb5c);
    assertEquals(sum(new Uint8Array(0)), 0);
  }
});

Deno.test("crc32c() runs natively where the addon is installed", () => {
  assertEquals(crc32cImplementation, "native");
});

Deno.test("crc32c() and its TypeScript version agree on every length and range", () => {
  const prng = new Prng(32);
  const bytes = prng.bytes(5000);
  for (let length = 0; length < 400; length++) {
    assertEquals(crc32c(bytes, 3, 3 + length), crc32cTypeScript(bytes, 3, 3 + length), `length ${length}`);
  }
  for (let round = 0; round < 300; round++) {
    const start = prng.int(2500);
    const end = start + prng.int(2500);
    const expected = crc32cTypeScript(bytes.slice(start, end));
    assertEquals(crc32c(bytes, start, end), expected, `range ${start}–${end}`);
    // A view that does not begin at its buffer's start, as every batch in a frame is.
    assertEquals(crc32c(bytes.subarray(start, end)), expected, `view ${start}–${end}`);
  }
});

Deno.test("extendCrc32c() gives the checksum of two parts as of the whole, and so does its TypeScript version", () => {
  const prng = new Prng(33);
  const bytes = prng.bytes(5000);
  for (let round = 0; round < 300; round++) {
    const [from, middle, to] = [prng.int(5000), prng.int(5000), prng.int(5000)].sort((a, b) => a - b);
    const expected = crc32c(bytes, from, to);
    assertEquals(extendCrc32c(crc32c(bytes, from, middle), bytes, middle, to), expected);
    assertEquals(crc32cTypeScript(bytes, middle, to, crc32cTypeScript(bytes, from, middle)), expected);
  }
  assertEquals(extendCrc32c(0, bytes, 0, 5000), crc32c(bytes));
});
