/**
 * Record compression by Kafka's numbers. Everything is synchronous and every decompressor is told how much it may give:
 * a few bytes from the network must not become gigabytes.
 */

import { assert } from "../../base/assert.ts";
import { Compression } from "../batch_format.ts";
import { DEFAULT_MAX_DECOMPRESSED_BYTES } from "../allowance.ts";
import { MalformedFrame } from "../malformed.ts";
import { gunzip, gzip } from "./gzip.ts";
import { compressLz4, decompressLz4 } from "./lz4.ts";
import { compressSnappy, decompressSnappy } from "./snappy.ts";
import { compressZstd, decompressZstd } from "./zstd.ts";

export { DEFAULT_MAX_DECOMPRESSED_BYTES };

/** `name` as `compression.type` has it, for each of {@link Compression}. */
export const compressionNames: readonly string[] = ["none", "gzip", "snappy", "lz4", "zstd"];

/** `level` as `compression.gzip.level` and `compression.zstd.level` count it; snappy and lz4 have none here. */
export function compress(type: number, bytes: Uint8Array, level?: number): Uint8Array {
  switch (type) {
    case Compression.NONE:
      return bytes;
    case Compression.GZIP:
      return gzip(bytes, level);
    case Compression.SNAPPY:
      return compressSnappy(bytes);
    case Compression.LZ4:
      return compressLz4(bytes);
    case Compression.ZSTD:
      return compressZstd(bytes, level);
    default:
      assert(false, `compress(): type ${type}`);
  }
}

/**
 * Throws {@link MalformedFrame} for an unknown type and for bytes that are not of that type, and `TooCostly`, which
 * is one of these, above `maxBytes`.
 */
export function decompress(
  type: number,
  bytes: Uint8Array,
  maxBytes: number = DEFAULT_MAX_DECOMPRESSED_BYTES,
): Uint8Array {
  switch (type) {
    case Compression.NONE:
      return bytes;
    case Compression.GZIP:
      return gunzip(bytes, maxBytes);
    case Compression.SNAPPY:
      return decompressSnappy(bytes, maxBytes);
    case Compression.LZ4:
      return decompressLz4(bytes, maxBytes);
    case Compression.ZSTD:
      return decompressZstd(bytes, maxBytes);
    default:
      throw new MalformedFrame(`Cannot decompress: compression type ${type} is unknown`);
  }
}
