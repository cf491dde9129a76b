/**
 * Telling the torn end of a log from damage in its middle. An append that was cut short leaves the beginning of a batch,
 * and what is left of the batch's records is whatever its producer sent: batches too, that fit in with the log and have
 * checksums. So bytes within the length that a sound header claims count for nothing, but for one case, which can be
 * told: a length that is damaged itself. It is not covered by the batch's checksum, which holds over the true length.
 */

import {
  ATTRIBUTES_AT,
  BATCH_OVERHEAD,
  Compression,
  COMPRESSION_MASK,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LOG_OVERHEAD,
  MAGIC_AT,
  RECORD_COUNT_AT,
} from "../../codec/batch_format.ts";
import { readInt32, readUint32 } from "../../codec/big_endian.ts";
import { extendCrc32c } from "../../codec/crc32c.ts";
import {
  baseOffsetAt,
  isIntact,
  isPlausibleHeader,
  lastOffsetAt,
  PEEK_BYTES,
  scanBatches,
  sizeAt,
} from "../segment/batch_scan.ts";
import { IntactSearch } from "./intact_search.ts";
import type { Segment } from "../segment/segment.ts";

const CHUNK_BYTES = 1 << 20;
/** Where the checksum of a batch begins. */
const SUMMED_FROM = CRC_AT + 4;

/**
 * `position` is where the first of `segments` does not go on. Gives why it, and the later ones, must not be cut off there;
 * null when they hold nothing but what a crash left of the last append. Throws `IoError`.
 */
export function reasonNotToCut(segments: readonly Segment[], position: number): string | null {
  const [segment, ...later] = segments;
  return withinSegment(segment, position) ?? new IntactSearch().within(later, 0);
}

function withinSegment(segment: Segment, position: number): string | null {
  const { size } = segment;
  const header = new Uint8Array(PEEK_BYTES);
  if (segment.log.get().readAt(header, position) < PEEK_BYTES) return null;
  const claimed = sizeAt(header, 0);
  const end = position + claimed;
  if (claimed > 0 && end < size && isBatchOf(segment, end)) {
    return `there are intact batches from ${segment.log.path} at position ${end} on`;
  }
  // A crash in an append leaves its first bytes as they were: damage is behind anything else.
  if (!isSoundButForLength(header)) return new IntactSearch().within([segment], position);
  const trueEnd = endByChecksum(segment, position, header);
  if (trueEnd !== null && trueEnd !== end) {
    return `the batch there is intact but for its length, which is ${trueEnd - position - LOG_OVERHEAD}`;
  }
  // What ends at the file's end, or beyond it, is the last append. Anything else was followed by others.
  const isLast = claimed > 0 && (end >= size || isZeroFrom(segment, end));
  return isLast && trueEnd === null ? null : new IntactSearch().within([segment], position);
}

/** Whether nothing but zeros is in a segment from `position` on, as in what was preallocated. Throws `IoError`. */
export function isZeroFrom(segment: Segment, position: number): boolean {
  const words = new Int32Array(CHUNK_BYTES / Int32Array.BYTES_PER_ELEMENT);
  const chunk = new Uint8Array(words.buffer);
  for (let from = position; from < segment.size;) {
    const held = segment.log.get().readAt(
      chunk.subarray(0, Math.min(CHUNK_BYTES, segment.size - from)),
      from,
    );
    if (held === 0) return true;
    chunk.fill(0, held);
    let bits = 0;
    for (let at = 0; at < words.length; at++) bits |= words[at];
    if (bits !== 0) return false;
    from += held;
  }
  return true;
}

function isSoundButForLength(header: Uint8Array): boolean {
  if (header[MAGIC_AT] !== 2) return false;
  const lastOffsetDelta = readInt32(header, LAST_OFFSET_DELTA_AT);
  const recordCount = readInt32(header, RECORD_COUNT_AT);
  const compression = header[ATTRIBUTES_AT + 1] & COMPRESSION_MASK;
  return recordCount >= 0 && recordCount <= lastOffsetDelta + 1 && compression <= Compression.ZSTD;
}

/** Whether an intact batch of this segment begins at `position`. */
function isBatchOf(segment: Segment, position: number): boolean {
  let found = false;
  scanBatches(segment.log, position, segment.size, (bytes, at, size) => {
    const baseOffset = baseOffsetAt(bytes, at);
    found = baseOffset >= segment.baseOffset && segment.canHold(baseOffset) && isIntact(bytes, at, size);
    return false;
  });
  return found;
}

/**
 * Where the batch at `position` ends by its checksum: at the file's end, or where a header follows that goes on with the
 * next offset. Null when the checksum holds nowhere. One pass, however many such headers there are.
 */
function endByChecksum(segment: Segment, position: number, header: Uint8Array): number | null {
  const { size } = segment;
  const wanted = readUint32(header, CRC_AT);
  const nextOffset = lastOffsetAt(header, 0) + 1;
  const chunk = new Uint8Array(CHUNK_BYTES);
  let sum = 0;
  let summedTo = position + SUMMED_FROM;
  for (let from = position + SUMMED_FROM; from < size;) {
    const held = segment.log.get().readAt(chunk.subarray(0, Math.min(CHUNK_BYTES, size - from)), from);
    // Headers that begin in the last bytes of a chunk are looked at with the next one.
    const isLast = from + held >= size;
    const last = held - PEEK_BYTES;
    const sumTo = (end: number) => {
      sum = extendCrc32c(sum, chunk, summedTo - from, end - from);
      summedTo = end;
    };
    for (let at = Math.max(0, position + BATCH_OVERHEAD - from); at <= last; at++) {
      if (chunk[at + MAGIC_AT] !== 2 || baseOffsetAt(chunk, at) !== nextOffset) continue;
      if (!isPlausibleHeader(chunk, at)) continue;
      sumTo(from + at);
      if (sum === wanted) return from + at;
    }
    if (isLast) {
      sumTo(from + held);
      return sum === wanted ? size : null;
    }
    sumTo(from + last + 1);
    from += last + 1;
  }
  return null;
}
