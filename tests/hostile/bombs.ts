/**
 * Small payloads that stand for much: the bytes that a client of a few lines sends to make a broker take gigabytes. All
 * decompress to zeros without an end to their liking.
 */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { Compression } from "../../src/codec/batch.ts";
import { compress } from "../../src/codec/compression/index.ts";
import { ByteSink } from "./byte_sink.ts";

const MEGABYTE = 1024 * 1024;

/** The largest block of zstd. */
const ZSTD_BLOCK_BYTES = 128 * 1024;

/**
 * zstd that stands for `bytes` zeros: each block is "this byte, so many times" (RFC 8878, 3.1.1.2), four bytes for
 * 128 KiB. 10 GiB are 320 KiB.
 */
function zstdBomb(bytes: number): Uint8Array<ArrayBuffer> {
  const sink = new ByteSink();
  // Magic, and a descriptor that promises no size and has a window of 1 MiB.
  sink.raw(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50));
  const blocks = Math.ceil(bytes / ZSTD_BLOCK_BYTES);
  for (let i = 1; i <= blocks; i++) {
    const header = (i === blocks ? 1 : 0) | 1 << 1 | ZSTD_BLOCK_BYTES << 3;
    sink.raw(Uint8Array.of(header & 0xff, header >>> 8 & 0xff, header >>> 16 & 0xff, 0));
  }
  return sink.take();
}

/** gzip that stands for `bytes` zeros, a thousandth as large: members behind each other count as one stream. */
function gzipBomb(bytes: number): Uint8Array<ArrayBuffer> {
  const member = new Uint8Array(gzipSync(new Uint8Array(Math.min(bytes, 16 * MEGABYTE)), { level: 9 }));
  const sink = new ByteSink();
  for (let left = bytes; left > 0; left -= 16 * MEGABYTE) sink.raw(member);
  return sink.take();
}

/** Bombs by their codec, the larger ones of a few hundred KiB. */
export const bombs: readonly { readonly compression: number; readonly bytes: Uint8Array }[] = [
  { compression: Compression.GZIP, bytes: gzipBomb(48 * MEGABYTE) },
  { compression: Compression.GZIP, bytes: gzipBomb(256 * MEGABYTE) },
  { compression: Compression.SNAPPY, bytes: compress(Compression.SNAPPY, new Uint8Array(8 * MEGABYTE)) },
  // A raw block that says that it will be 4 GB.
  { compression: Compression.SNAPPY, bytes: Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 0xfe, 1, 0) },
  { compression: Compression.LZ4, bytes: compress(Compression.LZ4, new Uint8Array(64 * MEGABYTE)) },
  { compression: Compression.ZSTD, bytes: new Uint8Array(zstdCompressSync(new Uint8Array(64 * MEGABYTE))) },
  { compression: Compression.ZSTD, bytes: zstdBomb(1024 * MEGABYTE) },
  { compression: Compression.ZSTD, bytes: zstdBomb(10 * 1024 * MEGABYTE) },
];
