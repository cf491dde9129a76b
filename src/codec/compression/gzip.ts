/** gzip through node:zlib. */

import { constants, gunzipSync, gzipSync } from "node:zlib";
import { MalformedFrame, TooCostly } from "../malformed.ts";
import { isTooLarge } from "./zlib_error.ts";
import { asPlainArray } from "./plain_array.ts";

/** zlib's own, which is Kafka's default for `compression.gzip.level` too. */
export const DEFAULT_GZIP_LEVEL = constants.Z_DEFAULT_COMPRESSION;

/** `level` is 1–9, or -1 for zlib's own default. */
export function gzip(bytes: Uint8Array, level: number = DEFAULT_GZIP_LEVEL): Uint8Array {
  return asPlainArray(gzipSync(bytes, { level }));
}

/** Throws {@link MalformedFrame} for bytes that are not gzip, or are cut short, and {@link TooCostly} above `maxBytes`. */
export function gunzip(bytes: Uint8Array, maxBytes: number): Uint8Array {
  let out: Uint8Array;
  try {
    out = asPlainArray(gunzipSync(bytes, { maxOutputLength: Math.max(maxBytes, 1) })); // 0 is not allowed
  } catch (error) {
    if (isTooLarge(error)) throw tooCostly(maxBytes);
    throw new MalformedFrame(`Cannot decompress gzip: ${(error as Error).message}`);
  }
  if (out.length > maxBytes) throw tooCostly(maxBytes);
  return out;
}

function tooCostly(maxBytes: number): TooCostly {
  return new TooCostly(`Cannot decompress gzip: more than the ${maxBytes} bytes allowed`);
}
