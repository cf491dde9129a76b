/**
 * Reading one log across its segments. It remembers where recent reads ended: a reader that goes on there needs no
 * index, which is nearly every fetch.
 */

import type { Allowance } from "../codec/allowance.ts";
import type { LogSegments } from "./log_segments.ts";
import { type BatchesRead, readBatches, type ReadLimits } from "./read.ts";
import type { Segment } from "./segment.ts";
import {
  firstRecordSince,
  lookupAllowance,
  recordOfMaxTimestamp,
  type TimestampedOffset,
} from "./time_lookup.ts";

const CURSORS_KEPT = 8;

interface Cursor {
  offset: number;
  segment: Segment;
  position: number;
}

export class LogReader {
  private cursors: Cursor[] = [];
  private nextCursor = 0;

  constructor(private readonly segments: LogSegments) {}

  /** Batches from `fetchOffset` on, which must be in the log. Throws `IoError`. */
  read(fetchOffset: number, limits: ReadLimits, indexIntervalBytes: number): BatchesRead {
    const { list } = this.segments;
    const cursor = this.cursors.find((cursor) => cursor.offset === fetchOffset);
    let index = cursor === undefined ? this.segments.indexFor(fetchOffset) : list.indexOf(cursor.segment);
    let position = cursor?.position;
    for (;; index++) {
      const segment = list[index];
      const exact = position !== undefined;
      if (position === undefined) {
        this.segments.openIndexes(segment, indexIntervalBytes);
        position = segment.positionBefore(fetchOffset);
      }
      const read = readBatches(segment, position, exact, fetchOffset, limits);
      // A segment may end before the next one begins: the compactor leaves gaps.
      if (read.atEnd && index + 1 < list.length) {
        position = 0;
        continue;
      }
      if (read.nextOffset > fetchOffset) this.remember(read.nextOffset, segment, read.nextPosition);
      return read;
    }
  }

  /** Notes that the batch at `offset` begins, or will begin, at `position`. */
  remember(offset: number, segment: Segment, position: number): void {
    if (this.cursors.some((cursor) => cursor.offset === offset)) return;
    if (this.cursors.length < CURSORS_KEPT) {
      this.cursors.push({ offset, segment, position });
      return;
    }
    const cursor = this.cursors[this.nextCursor];
    this.nextCursor = (this.nextCursor + 1) % CURSORS_KEPT;
    cursor.offset = offset;
    cursor.segment = segment;
    cursor.position = position;
  }

  /** To be called when segments went, or positions changed. */
  forget(): void {
    this.cursors = [];
    this.nextCursor = 0;
  }

  /** The first record from `startOffset` on whose timestamp is at least `timestamp`. Throws `IoError`. */
  offsetForTime(
    timestamp: number,
    startOffset: number,
    indexIntervalBytes: number,
    allowance: Allowance = lookupAllowance(),
  ): TimestampedOffset | null {
    for (const segment of this.segments.list) {
      this.segments.openIndexes(segment, indexIntervalBytes);
      if (segment.maxTimestamp < timestamp) continue;
      const found = firstRecordSince(segment, timestamp, startOffset, allowance);
      if (found !== null) return found;
    }
    return null;
  }

  /** The first record that has the largest timestamp of all. Throws `IoError`. */
  offsetOfMaxTimestamp(indexIntervalBytes: number, allowance?: Allowance): TimestampedOffset | null {
    let latest: Segment | null = null;
    for (const segment of this.segments.list) {
      this.segments.openIndexes(segment, indexIntervalBytes);
      if (latest === null || segment.maxTimestamp > latest.maxTimestamp) latest = segment;
    }
    return latest === null ? null : recordOfMaxTimestamp(latest, allowance);
  }
}
