/**
 * CRC-32C (Castagnoli), the checksum of a record batch. A native addon does the work where it can be loaded; a plain
 * TypeScript version stands behind it, because a missing addon must cost speed, not the broker.
 * `crc32cImplementation` says which one runs: log it at start-up.
 */

import { loadAddon } from "./addon.ts";

const library = await loadAddon(() => import("@node-rs/crc32"));
// The check value of the CRC catalogue: an addon that loads but answers wrongly would damage every batch.
const isNative = library.addon !== null && nativeSum(new TextEncoder().encode("123456789")) === 0xe3069283;

/** "native" or, where the addon cannot be used, "typescript (…why…)". */
export const crc32cImplementation: string = isNative
  ? "native"
  : `typescript (${library.reason ?? "the addon gives a wrong check value"})`;

// Below this the call into the addon (0.2 µs) costs more than it saves: both take 0.24 µs at about 300 bytes.
const NATIVE_FROM_BYTES = 300;

/** The CRC-32C of `bytes[start, end)` as an unsigned 32-bit number. */
export function crc32c(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  if (!isNative || end - start < NATIVE_FROM_BYTES) return crc32cTypeScript(bytes, start, end);
  return nativeSum(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
}

/** The CRC-32C of what `sum` is the CRC-32C of (0 of nothing), followed by `bytes[start, end)`. */
export function extendCrc32c(sum: number, bytes: Uint8Array, start: number, end: number): number {
  if (!isNative || end - start < NATIVE_FROM_BYTES) return crc32cTypeScript(bytes, start, end, sum);
  return nativeSum(bytes.subarray(start, end), sum);
}

function nativeSum(bytes: Uint8Array, before = 0): number {
  const { crc32c } = library.addon!;
  return crc32c(bytes as Parameters<typeof crc32c>[0], before) >>> 0; // typed for Buffers, takes any Uint8Array
}

const POLYNOMIAL = 0x82f63b78; // Castagnoli, bits reversed

/** Eight tables of 256 entries in a row: table k is the CRC of a byte followed by k zero bytes ("slicing by 8"). */
const tables = (() => {
  const t = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    t[byte] = crc;
  }
  for (let i = 256; i < t.length; i++) t[i] = (t[i - 256] >>> 8) ^ t[t[i - 256] & 0xff];
  return t;
})();

/** The same sums without the addon; exported so that a test can hold the two against each other. */
export function crc32cTypeScript(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
  before = 0,
): number {
  const t = tables;
  let crc = ~before;
  let i = start;
  for (const last = end - 7; i < last; i += 8) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc = t[1792 + (crc & 0xff)] ^ t[1536 + ((crc >>> 8) & 0xff)] ^ t[1280 + ((crc >>> 16) & 0xff)] ^
      t[1024 + (crc >>> 24)] ^ t[768 + bytes[i + 4]] ^ t[512 + bytes[i + 5]] ^ t[256 + bytes[i + 6]] ^
      t[bytes[i + 7]];
  }
  for (; i < end; i++) crc = (crc >>> 8) ^ t[(crc ^ bytes[i]) & 0xff];
  return ~crc >>> 0;
}
