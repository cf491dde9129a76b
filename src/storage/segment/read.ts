/**
 * Reading batches for a fetch: from the position that the index knows, past the batches before the offset asked for,
 * as many whole batches as the limits allow. Usually one positioned read.
 */

import { MAGIC_AT } from "../../codec/batch_format.ts";
import { baseOffsetAt, isIntact, lastOffsetAt, PEEK_BYTES, sizeAt } from "./batch_scan.ts";
import { IoError } from "../files/files.ts";
import type { Segment } from "./segment.ts";

/** A read of more than this is not made in vain: whether the first batch fits is looked at before. */
const READ_AT_ONCE_BYTES = 32 * 1024;
/** Read beyond what was asked for when the position is only near: about what lies between two index entries. */
const SLACK_BYTES = 8192;

export interface ReadLimits {
  maxBytes: number;
  /** Exclusive: high watermark or last stable offset. */
  maxOffset: number;
  /** Whether the first batch comes whole even if it is larger than `maxBytes` (KIP-74). */
  minOneMessage: boolean;
  /** Gives the buffer to read into, of the size asked for or more; a fresh one without it. */
  allocate?: (bytes: number) => Uint8Array;
}

export interface BatchesRead {
  bytes: Uint8Array;
  /** After the last batch read: where the next read goes on. */
  nextOffset: number;
  /** Where that is in the segment's file. */
  nextPosition: number;
  /** The segment has nothing from the offset on: the next one may. */
  atEnd: boolean;
}

const nothing = new Uint8Array(0);

/**
 * Batches of `segment` from `fetchOffset` on. `position` is where a batch begins that is at or before it; `exact` says
 * that it is the one. Where the log is `dense`, no offset may be missing: no checksum covers a batch's offset, so this is
 * what keeps a damaged one from being given out. Throws `IoError`, also when the file does not hold batches any more.
 */
export function readBatches(
  segment: Segment,
  position: number,
  exact: boolean,
  fetchOffset: number,
  limits: ReadLimits,
  dense: boolean,
): BatchesRead {
  let wanted = Math.max(limits.maxBytes + (exact ? 0 : SLACK_BYTES), PEEK_BYTES);
  /** The offset that the next batch must have; -1 when not known. */
  let expected = exact ? fetchOffset : position === 0 ? segment.baseOffset : -1;
  while (position < segment.size) {
    const length = Math.min(wanted, segment.size - position);
    // A fetch over many partitions that is full would read what is left of its limit from each, and throw it away.
    if (
      expected === fetchOffset && !limits.minOneMessage && length > READ_AT_ONCE_BYTES &&
      !fits(segment, position, limits.maxBytes)
    ) {
      return { bytes: nothing, nextOffset: fetchOffset, nextPosition: position, atEnd: false };
    }
    const buffer = limits.allocate === undefined
      ? new Uint8Array(length)
      : limits.allocate(length).subarray(0, length);
    const held = segment.log.get().readAt(buffer, position);
    if (held < length) throw damaged(segment, position + held);

    let at = 0;
    let from = -1; // where the result begins in the buffer
    let nextOffset = fetchOffset;
    let missing = 0;
    // At the very end there may be less to look at: a message of an old format.
    while (held - at >= Math.min(PEEK_BYTES, segment.size - position - at) && held > at) {
      const size = sizeAt(buffer, at);
      if (size === 0 || size > segment.size - position - at) {
        if (from >= 0) return finish(buffer, from, at, nextOffset, position, false);
        throw damaged(segment, position + at);
      }
      const lastOffset = lastOffsetAt(buffer, at);
      const isLegacy = buffer[at + MAGIC_AT] !== 2;
      // A batch with a damaged magic byte looks like one of the old formats, which are rare.
      if (isLegacy && size <= held - at && !isIntact(buffer, at, size)) {
        if (from >= 0) return finish(buffer, from, at, nextOffset, position, false);
        throw damaged(segment, position + at);
      }
      // A compressed set of the old formats tells its last offset only.
      if (dense && !isLegacy) {
        const baseOffset = baseOffsetAt(buffer, at);
        const fits = expected < 0 ? baseOffset <= fetchOffset : baseOffset === expected;
        if (!fits || lastOffset < baseOffset) {
          if (from >= 0) return finish(buffer, from, at, nextOffset, position, false);
          throw misplaced(segment, position + at, baseOffset, expected < 0 ? fetchOffset : expected);
        }
      }
      if (lastOffset >= fetchOffset) {
        if (lastOffset >= limits.maxOffset) {
          return finish(buffer, from, at, nextOffset, position, false);
        }
        const first = from < 0;
        const total = first ? size : at + size - from;
        if (total > limits.maxBytes && !(first && limits.minOneMessage)) {
          return finish(buffer, from, at, nextOffset, position, false);
        }
        if (size > held - at) {
          if (!first) return finish(buffer, from, at, nextOffset, position, false);
          missing = size;
          break;
        }
        if (first) from = at;
        nextOffset = lastOffset + 1;
      }
      const isWhole = size <= held - at;
      at += size;
      expected = lastOffset + 1;
      // Skipped without being read.
      if (!isWhole) break;
    }
    if (from >= 0) return finish(buffer, from, at, nextOffset, position, false);
    position += at;
    wanted = Math.max(missing, limits.maxBytes + (missing > 0 ? 0 : SLACK_BYTES), PEEK_BYTES);
  }
  return { bytes: nothing, nextOffset: fetchOffset, nextPosition: position, atEnd: true };
}

const header = new Uint8Array(PEEK_BYTES);

/** Whether the batch at `position` is no larger than `maxBytes`; also true of what cannot be one, for that is to be told. */
function fits(segment: Segment, position: number, maxBytes: number): boolean {
  if (segment.log.get().readAt(header, position) < PEEK_BYTES) return true;
  const size = sizeAt(header, 0);
  return size <= maxBytes || size > segment.size - position;
}

/** What an operator can do about a file that does not go on at the position that was named. */
export const WAYS_OUT =
  "the file is restored from a copy, or cut at this position if what follows is not needed, or the partition is deleted " +
  "(trackway check, with the broker stopped, tells all that is damaged)";

const UNTIL = `reads that come here get KAFKA_STORAGE_ERROR until ${WAYS_OUT}`;

/** What is told of a place where the batches do not go on. */
export function damaged(segment: Segment, position: number): IoError {
  return new IoError("read", segment.log.path, `there is no record batch at position ${position}; ${UNTIL}`);
}

/** What is told of a batch whose offset cannot be. */
export function misplaced(segment: Segment, position: number, offset: number, expected: number): IoError {
  const problem = `the record batch at position ${position} has offset ${offset}, expected ${expected}`;
  return new IoError("read", segment.log.path, `${problem}; ${UNTIL}`);
}

function finish(
  buffer: Uint8Array,
  from: number,
  to: number,
  nextOffset: number,
  position: number,
  atEnd: boolean,
): BatchesRead {
  return {
    bytes: from < 0 ? nothing : buffer.subarray(from, to),
    nextOffset,
    nextPosition: position + to,
    atEnd,
  };
}
