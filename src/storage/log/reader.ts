/**
 * Reading one log across its segments. It remembers where recent reads ended: a reader that goes on there needs no
 * index, which is nearly every fetch.
 */

import type { Clock } from "../../base/clock.ts";
import type { FileSlice } from "../../base/file_slice.ts";
import type { Allowance } from "../../codec/allowance.ts";
import { IoError } from "../files/files.ts";
import { lastBatchBefore, offsetBefore, type Rebuild, startFor } from "../segment/index_lookup.ts";
import type { LogSegments } from "./segments.ts";
import { type BatchesRead, misplaced, readBatches, type ReadLimits } from "../segment/read.ts";
import { ReadAhead } from "../segment/read_ahead.ts";
import type { Segment } from "../segment/segment.ts";
import { SegmentSlice } from "../segment/segment_slice.ts";
import {
  firstRecordSince,
  lookupAllowance,
  recordOfMaxTimestamp,
  type TimestampedOffset,
} from "../segment/time_lookup.ts";

const CURSORS_KEPT = 8;
/** What was written last is in memory. */
const TAIL_BYTES = 4 * 1024 * 1024;

export interface SliceLimits {
  /** Less is read: it costs as much as to have it sent. */
  minBytes: number;
  maxBytes: number;
  /** Exclusive, as {@link ReadLimits.maxOffset}. */
  maxOffset: number;
}

/** What is to be sent from the file, and where the next read goes on. */
export interface SliceRead {
  readonly bytes: FileSlice;
  readonly nextOffset: number;
}

interface Cursor {
  offset: number;
  segment: Segment;
  position: number;
}

export class LogReader {
  private cursors: Cursor[] = [];
  private nextCursor = 0;
  /** Segments behind which records are missing, which was told. */
  private readonly toldOf = new WeakSet<Segment>();

  private readonly ahead: ReadAhead;

  constructor(
    private readonly segments: LogSegments,
    clock: Clock,
    private readonly onWarning: (text: string) => void,
  ) {
    this.ahead = new ReadAhead(clock, () => segments.files.bytesFromDevices?.() ?? null);
  }

  /**
   * Batches from `fetchOffset` on, which must be in the log. In a log that is `dense` no offset may be missing: a segment
   * that ends too early is told of, and passed. Throws `IoError`.
   */
  read(fetchOffset: number, limits: ReadLimits, indexIntervalBytes: number, dense = true): BatchesRead {
    const { list } = this.segments;
    const cursor = this.cursors.find((cursor) => cursor.offset === fetchOffset);
    let index = cursor === undefined ? this.segments.indexFor(fetchOffset) : list.indexOf(cursor.segment);
    let position = cursor?.position;
    const rebuild = this.rebuild(indexIntervalBytes);
    for (;; index++) {
      const segment = list[index];
      const exact = position !== undefined;
      if (position === undefined) {
        this.segments.openIndexes(segment, indexIntervalBytes);
        position = startFor(segment, fetchOffset, rebuild);
      }
      const from = position;
      const read = this.ahead.timed(() => readBatches(segment, from, exact, fetchOffset, limits, dense));
      // A segment may end before the next one begins: the compactor leaves gaps.
      if (read.atEnd && index + 1 < list.length) {
        const next = list[index + 1].baseOffset;
        if (dense && fetchOffset < next) this.tellOfGap(segment, fetchOffset, next);
        fetchOffset = Math.max(fetchOffset, next);
        position = 0;
        continue;
      }
      if (read.nextOffset > fetchOffset) {
        segment.learn(read.nextPosition - read.bytes.length, read.nextPosition);
        this.remember(read.nextOffset, segment, read.nextPosition);
      }
      return read;
    }
  }

  /**
   * Batches from `fetchOffset` on that can be sent from the file as they are; null when they have to be read. That is so
   * where a reader has not come by way of the batch before, and where this process has not seen the batches yet, which may be
   * damaged. Throws `IoError`.
   */
  slice(
    fetchOffset: number,
    limits: SliceLimits,
    endOffset: number,
    indexIntervalBytes: number,
  ): SliceRead | null {
    const cursor = this.cursors.find((cursor) => cursor.offset === fetchOffset);
    if (cursor === undefined) return null;
    const { segment, position } = cursor;
    const known = segment.knownFromOn(position);
    if (known - position < limits.minBytes) return null;
    this.segments.openIndexes(segment, indexIntervalBytes);
    const isRest = known === segment.size && known - position <= limits.maxBytes;
    const end = isRest && segment === this.segments.active && endOffset <= limits.maxOffset
      ? { position: known, offset: endOffset }
      : lastBatchBefore(segment, Math.min(known - 1, position + limits.maxBytes));
    if (end === null || end.position - position < limits.minBytes || end.offset > limits.maxOffset) {
      return null;
    }
    this.remember(end.offset, segment, end.position);
    const bytes = new SegmentSlice(segment, position, end.position - position, this.ahead);
    return { bytes, nextOffset: end.offset };
  }

  /**
   * Has what a read from `fetchOffset` on would look at brought into memory, where that may take long; null when the read
   * may be done at once. Throws `IoError`.
   */
  readAhead(fetchOffset: number, maxBytes: number, indexIntervalBytes: number): Promise<void> | null {
    if (!this.ahead.isDue) return null;
    const cursor = this.cursors.find((cursor) => cursor.offset === fetchOffset);
    const segment = cursor?.segment ?? this.segments.list[this.segments.indexFor(fetchOffset)];
    if (cursor === undefined) this.segments.openIndexes(segment, indexIntervalBytes);
    const position = cursor?.position ?? startFor(segment, fetchOffset, this.rebuild(indexIntervalBytes));
    if (segment === this.segments.active && segment.size - position <= TAIL_BYTES) return null;
    return this.ahead.bring(segment.log, position, Math.min(maxBytes, segment.size - position));
  }

  private tellOfGap(segment: Segment, from: number, to: number): void {
    if (this.toldOf.has(segment)) return;
    this.toldOf.add(segment);
    this.onWarning(
      `${segment.log.path} ends at position ${segment.size}, before offset ${from}, but the next segment begins at ${to}: ` +
        "the records between are lost, and readers are given those after them. To get them back, stop the broker and " +
        "restore the file from a copy",
    );
  }

  private rebuild(indexIntervalBytes: number): Rebuild {
    return (segment) => this.segments.rebuildIndexes(segment, indexIntervalBytes);
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
    dense = true,
    allowance: Allowance = lookupAllowance(),
  ): TimestampedOffset | null {
    const rebuild = this.rebuild(indexIntervalBytes);
    for (const [index, segment] of this.segments.list.entries()) {
      this.segments.openIndexes(segment, indexIntervalBytes);
      if (segment.maxTimestamp < timestamp && !segment.isPartlyIndexed) continue;
      const known = offsetBefore(segment, timestamp, rebuild);
      const from = startFor(segment, Math.max(known, startOffset), rebuild);
      const found = firstRecordSince(segment, from, timestamp, startOffset, dense, allowance);
      if (found === null) continue;
      const end = this.segments.list[index + 1]?.baseOffset ?? Infinity;
      if (found.offset >= end) throw misplaced(segment, from, found.offset, end - 1);
      return found;
    }
    return null;
  }

  /** The first record that has the largest timestamp of all. Throws `IoError`. */
  offsetOfMaxTimestamp(
    indexIntervalBytes: number,
    dense = true,
    allowance?: Allowance,
  ): TimestampedOffset | null {
    let latest: Segment | null = null;
    for (const segment of this.segments.list) {
      this.segments.openIndexes(segment, indexIntervalBytes);
      if (latest === null || segment.maxTimestamp > latest.maxTimestamp) latest = segment;
    }
    const partly = this.segments.list.find((segment) => segment.isPartlyIndexed);
    if (partly !== undefined) throw new IoError("search", partly.log.path, "it is damaged");
    if (latest === null) return null;
    const from = startFor(latest, latest.offsetOfMaxTimestamp, this.rebuild(indexIntervalBytes));
    return recordOfMaxTimestamp(latest, from, dense, allowance);
  }
}
