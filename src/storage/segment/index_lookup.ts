/**
 * Looking things up in a segment's indexes without believing them. Nothing protects an index file: a flipped bit in it
 * would lead a reader past records. So what an entry leads to is held against it, which costs one small read, and indexes
 * that are found to be wrong are made anew from the batches.
 */

import { baseOffsetAt, lastOffsetAt, maxTimestampAt, PEEK_BYTES, sizeAt } from "./batch_scan.ts";
import type { Segment } from "./segment.ts";

/** Makes the segment's indexes anew. Throws `IoError`. */
export type Rebuild = (segment: Segment) => void;

/**
 * Where to begin in `segment` so as to come to `offset`: at or before the batch that holds it, the nearest that the index
 * knows. The indexes must be open. Throws `IoError`.
 */
export function startFor(segment: Segment, offset: number, rebuild: Rebuild): number {
  const entry = segment.offsets.floor(offset);
  if (segment.size === 0 || entry === null) return 0;
  if (fits(segment, entry)) return entry.position;
  rebuild(segment);
  return segment.positionBefore(offset);
}

/**
 * An offset in `segment` before which every record is older than `timestamp`, by the time index. The indexes must be open.
 * Throws `IoError`.
 */
export function offsetBefore(segment: Segment, timestamp: number, rebuild: Rebuild): number {
  const entry = segment.times.floor(timestamp);
  if (entry === null) return segment.baseOffset;
  const holder = batchHolding(segment, startFor(segment, entry.offset, rebuild), entry.offset);
  if (holder !== null && maxTimestampAt(holder, 0) === entry.timestamp) return entry.offset;
  rebuild(segment);
  return segment.times.floor(timestamp)?.offset ?? segment.baseOffset;
}

/**
 * The header of the first batch from `position` on that ends at `offset` or after it; null when there is none before the
 * segment's end, or before damage. Throws `IoError`.
 */
export function batchHolding(segment: Segment, position: number, offset: number): Uint8Array | null {
  let holder: Uint8Array | null = null;
  walk(segment, position, (peek) => {
    if (lastOffsetAt(peek, 0) >= offset) holder = peek.slice();
    return holder === null;
  });
  return holder;
}

/** Where the first batch begins that ends at `offset` or after it; the segment's end when none does. Throws `IoError`. */
export function positionOf(segment: Segment, offset: number, rebuild: Rebuild): number {
  let position = startFor(segment, offset, rebuild);
  let isFound = false;
  walk(segment, position, (peek) => {
    isFound = lastOffsetAt(peek, 0) >= offset;
    if (!isFound) position += sizeAt(peek, 0);
    return !isFound;
  });
  return position;
}

/**
 * The last batch that the index knows to begin at or before `position`: where, and its base offset. Null when there is none,
 * or what the index says is not so. The indexes must be open. Throws `IoError`.
 */
export function lastBatchBefore(
  segment: Segment,
  position: number,
): { position: number; offset: number } | null {
  const entry = segment.offsets.floorByPosition(position);
  if (entry === null || entry.position + PEEK_BYTES > segment.size) return null;
  const peek = new Uint8Array(PEEK_BYTES);
  if (segment.log.get().readAt(peek, entry.position) < PEEK_BYTES) return null;
  if (sizeAt(peek, 0) === 0 || lastOffsetAt(peek, 0) !== entry.offset) return null;
  return { position: entry.position, offset: baseOffsetAt(peek, 0) };
}

/** Batches that are looked at behind the last entry; their number is bounded where timestamps do not rise. */
const LOOKED_AT_MAX = 1000;

/**
 * Whether the ends of both indexes fit the segment's batches: the last entries lead where they say, and nothing behind
 * them has a larger timestamp. By the last time, segments expire and are passed over in searches. To be asked when the
 * indexes have just been opened, for the batches that end before `upTo`. Throws `IoError`.
 */
export function endsFit(segment: Segment, upTo = Infinity): boolean {
  if (segment.size === 0) return true;
  const { lastOffset, lastTimestamp } = segment.times;
  const [last, entry] = [segment.offsets.floor(Infinity), segment.offsets.floor(lastOffset)];
  if ([last, entry].some((entry) => entry !== null && !fits(segment, entry))) return false;
  const from = entry?.position ?? 0;
  let isRight = lastTimestamp < 0;
  let looked = 0;
  walk(segment, from, (peek) => {
    if (lastOffsetAt(peek, 0) >= upTo) return false;
    const timestamp = maxTimestampAt(peek, 0);
    const isIndexed = looked === 0 && lastTimestamp >= 0;
    if (isIndexed && lastOffsetAt(peek, 0) < lastOffset) return true;
    looked++;
    isRight = isIndexed ? timestamp === lastTimestamp : timestamp <= Math.max(lastTimestamp, 0);
    return isRight && looked < LOOKED_AT_MAX;
  });
  return isRight;
}

/**
 * Whether a batch begins where the entry says, that ends with its offset. (Kafka before 4.0 indexed several batches that
 * were appended at once by the last offset of all, so it may end before.)
 */
function fits(segment: Segment, { offset, position }: { offset: number; position: number }): boolean {
  if (position <= 0 || position >= segment.size) return false;
  let begins = false;
  walk(segment, position, (peek) => {
    begins = baseOffsetAt(peek, 0) >= segment.baseOffset && lastOffsetAt(peek, 0) <= offset;
    return false;
  });
  return begins;
}

/** Looks at the headers of the batches from `position` on until `visit` gives false, or there is no whole batch. */
function walk(segment: Segment, position: number, visit: (peek: Uint8Array) => boolean): void {
  const peek = new Uint8Array(PEEK_BYTES);
  while (position < segment.size) {
    const held = segment.log.get().readAt(peek, position);
    const size = held < Math.min(PEEK_BYTES, segment.size - position) ? 0 : sizeAt(peek, 0);
    if (size === 0 || size > segment.size - position || !visit(peek)) return;
    position += size;
  }
}
