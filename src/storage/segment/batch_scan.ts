/**
 * Walking over the batches in a segment file. Batches of formats 0 and 1, which old Kafka wrote, are told apart here
 * as far as the log needs it: each message, or each compressed set of them, counts as a batch.
 */

import { crc32 } from "node:zlib";
import { checkBatch } from "../../codec/batch.ts";
import {
  ATTRIBUTES_AT,
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  Compression,
  COMPRESSION_MASK,
  LAST_OFFSET_DELTA_AT,
  LOG_OVERHEAD,
  MAGIC_AT,
  MAX_TIMESTAMP_AT,
  PARTITION_LEADER_EPOCH_AT,
  RECORD_COUNT_AT,
} from "../../codec/batch_format.ts";
import { readInt32, readInt64, readUint32 } from "../../codec/big_endian.ts";
import type { PooledFile } from "../files/handles.ts";

/** A message of format 0 without key and value: offset, length, CRC, magic, attributes and two lengths. */
const MIN_LEGACY_BYTES = LOG_OVERHEAD + 14;
const LEGACY_CRC_AT = 12;
const LEGACY_TIMESTAMP_AT = 18;
/** Reading begins small, since many a search ends soon, and grows. */
const FIRST_CHUNK_BYTES = 64 << 10;
const MAX_CHUNK_BYTES = 1 << 20;

/** Bytes to look at before anything can be said about a batch. */
export const PEEK_BYTES = BATCH_OVERHEAD;

/** The size that the batch at `at` claims, or 0 when it cannot be one. At least 17 bytes must be there. */
export function sizeAt(bytes: Uint8Array, at: number): number {
  const size = readInt32(bytes, at + BATCH_LENGTH_AT) + LOG_OVERHEAD;
  const magic = bytes[at + MAGIC_AT];
  if (magic > 2 || size < (magic === 2 ? BATCH_OVERHEAD : MIN_LEGACY_BYTES)) return 0;
  return size;
}

export function baseOffsetAt(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at);
}

/** A compressed set in the old formats carries the offset of its last message. */
export function lastOffsetAt(bytes: Uint8Array, at: number): number {
  const offset = readInt64(bytes, at);
  return bytes[at + MAGIC_AT] === 2 ? offset + readInt32(bytes, at + LAST_OFFSET_DELTA_AT) : offset;
}

export function maxTimestampAt(bytes: Uint8Array, at: number): number {
  const magic = bytes[at + MAGIC_AT];
  return magic === 0 ? -1 : readInt64(bytes, at + (magic === 2 ? MAX_TIMESTAMP_AT : LEGACY_TIMESTAMP_AT));
}

/** -1 in the old formats. */
export function leaderEpochAt(bytes: Uint8Array, at: number): number {
  return bytes[at + MAGIC_AT] === 2 ? readInt32(bytes, at + PARTITION_LEADER_EPOCH_AT) : -1;
}

/** Whether the whole batch at `at`, of `size` bytes, is what its writer wrote: the checksum and the header agree. */
export function isIntact(bytes: Uint8Array, at: number, size: number): boolean {
  if (bytes[at + MAGIC_AT] === 2) return checkBatch(bytes, at, at + size) === null;
  const sum = crc32(bytes.subarray(at + MAGIC_AT, at + size)) >>> 0;
  return sum === readUint32(bytes, at + LEGACY_CRC_AT);
}

/**
 * Whether the 61 bytes at `at` may be the header of a batch of format 2: no more than {@link isIntact} asks for, at a
 * fraction of its cost.
 */
export function isPlausibleHeader(bytes: Uint8Array, at: number): boolean {
  if (bytes[at + MAGIC_AT] !== 2) return false;
  const payload = sizeAt(bytes, at) - BATCH_OVERHEAD;
  const lastOffsetDelta = readInt32(bytes, at + LAST_OFFSET_DELTA_AT);
  const recordCount = readInt32(bytes, at + RECORD_COUNT_AT);
  if (payload < 0 || lastOffsetDelta < 0 || recordCount < 0 || recordCount > lastOffsetDelta + 1) {
    return false;
  }
  const compression = bytes[at + ATTRIBUTES_AT + 1] & COMPRESSION_MASK;
  return compression <= Compression.ZSTD && (recordCount > 0 || payload === 0);
}

/** What a walk sees: the whole batch is `bytes[at, at + size)`, and in the file at `position`. True goes on. */
export type Visit = (bytes: Uint8Array, at: number, size: number, position: number) => boolean;

/**
 * Visits the batches of `file` from `from` (where one must begin) to `to`. Gives the position after the last batch
 * for which `visit` returned true: `to`, unless it stopped or the bytes there are not a whole batch, or one that claims
 * more than `maxBatchBytes`, for which no memory is taken then. Reads `chunkBytes` at once, or a batch if that is larger.
 * Throws `IoError`.
 */
export function scanBatches(
  file: PooledFile,
  from: number,
  to: number,
  visit: Visit,
  maxBatchBytes = Infinity,
  chunkBytes = MAX_CHUNK_BYTES,
): number {
  let chunk = new Uint8Array(Math.min(FIRST_CHUNK_BYTES, chunkBytes, to - from));
  let position = from;
  while (position < to) {
    const wanted = Math.min(chunk.length, to - position);
    const held = file.get().readAt(chunk.subarray(0, wanted), position);
    let at = 0;
    let size = 0;
    while (held - at >= MIN_LEGACY_BYTES) {
      size = sizeAt(chunk, at);
      if (size === 0 || size > held - at) break;
      if (!visit(chunk, at, size, position + at)) return position + at;
      at += size;
    }
    position += at;
    if (at > 0 && held === wanted) {
      const more = Math.min(chunk.length * 4, chunkBytes, to - position);
      if (more > chunk.length) chunk = new Uint8Array(more);
      continue;
    }
    // Not one whole batch in the chunk: a larger one, if the file can hold it, else damage or a torn end.
    if (held < wanted || size === 0 || size > to - position || size <= chunk.length) return position;
    if (size > maxBatchBytes) return position;
    chunk = new Uint8Array(size);
  }
  return position;
}
