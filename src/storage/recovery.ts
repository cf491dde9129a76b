/**
 * Making a log whole after an unclean stop. Everything from the recovery point on is checked; what lies before was
 * synced and is believed. A torn end is cut off. Damage with intact batches behind it is another matter: cutting there
 * would drop acknowledged data, so the log is left as it is and reported.
 */

import { MAGIC_AT } from "../codec/batch_format.ts";
import { BatchView } from "../codec/batch.ts";
import {
  baseOffsetAt,
  isIntact,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  PEEK_BYTES,
  scanBatches,
  sizeAt,
} from "./batch_scan.ts";
import { IoError } from "./files.ts";
import type { LeaderEpochs } from "./leader_epochs.ts";
import { ProducerState } from "./producer_state.ts";
import { floorSegment, type Segment } from "./segment.ts";
import type { Snapshots } from "./snapshots.ts";

export interface RecoveryInput {
  /** At least one, by base offset. */
  segments: Segment[];
  recoveryPoint: number;
  snapshots: Snapshots;
  /** Gets the epochs found in the batches. */
  epochs: LeaderEpochs;
  indexIntervalBytes: number;
  now: number;
  onWarning(text: string): void;
}

export interface Recovery {
  nextOffset: number;
  producers: ProducerState;
  /**
   * What was cut off the end, if something was: where it begins, all its bytes, and how many segments after that one
   * hold nothing else. Those are still there.
   */
  torn: { segment: Segment; position: number; bytes: number; laterSegments: number } | null;
  /** Offsets missing between two segments, as [from, to): not damage where a compactor works. */
  gaps: [number, number][];
  /** Damage in the middle: no record was touched, and the log must not be used. */
  damage: { path: string; position: number; intactAt: string } | null;
}

/** Checks and mends. Throws `IoError`. */
export function recover(i: RecoveryInput): Recovery {
  const first = floorSegment(i.segments, i.recoveryPoint);
  const start = i.segments[first];
  const from = beginIn(start, i.recoveryPoint);
  const { producers, upTo } = producersAt(i, Math.max(i.recoveryPoint, start.baseOffset));
  let producersUpTo = upTo;
  let nextOffset = start.baseOffset;
  const gaps: [number, number][] = [];

  for (let index = first; index < i.segments.length; index++) {
    const segment = i.segments[index];
    const begin = index === first ? from : 0;
    if (begin === 0) segment.resetIndexes();
    if (segment.baseOffset > nextOffset) {
      gaps.push([nextOffset, segment.baseOffset]);
      nextOffset = segment.baseOffset;
    }
    const end = scanBatches(segment.log, begin, segment.size, (bytes, at, size, position) => {
      const baseOffset = baseOffsetAt(bytes, at);
      const lastOffset = lastOffsetAt(bytes, at);
      const inOrder = baseOffset >= nextOffset && lastOffset >= baseOffset && segment.canHold(lastOffset);
      if (!inOrder || !isIntact(bytes, at, size)) return false;
      segment.index(position, size, lastOffset, maxTimestampAt(bytes, at), i.indexIntervalBytes);
      const epoch = leaderEpochAt(bytes, at);
      if (epoch > i.epochs.latest) i.epochs.assign(epoch, baseOffset);
      if (lastOffset >= producersUpTo) {
        noteProducer(producers, bytes, at, i.now);
        producersUpTo = lastOffset + 1;
      }
      nextOffset = lastOffset + 1;
      return true;
    });
    if (end < segment.size) {
      const laterSegments = i.segments.slice(index + 1);
      const intactAt = findIntact(segment, end) ?? firstFound(laterSegments);
      if (intactAt !== null) {
        const damage = { path: segment.log.path, position: end, intactAt };
        return { nextOffset, producers, torn: null, gaps, damage };
      }
      const bytes = segment.size - end + laterSegments.reduce((sum, later) => sum + later.size, 0);
      segment.log.get().truncate(end);
      segment.size = end;
      finishIndexes(segment, i);
      const torn = { segment, position: end, bytes, laterSegments: laterSegments.length };
      return { nextOffset, producers, torn, gaps, damage: null };
    }
    finishIndexes(segment, i);
  }
  return { nextOffset, producers, torn: null, gaps, damage: null };
}

/**
 * What cannot be written stays in memory for the next flush: on a full disk the log is to be read all the same, and
 * retention, which may make room, needs it open.
 */
function finishIndexes(segment: Segment, i: RecoveryInput): void {
  try {
    segment.finishIndexes();
  } catch (error) {
    if (!(error instanceof IoError)) throw error;
    i.onWarning(`${error.message}; the index stays in memory until it can be written`);
  }
}

/** The end of a log that was closed in order, when it is what the checkpoint says; null when the two disagree. */
export function endOfClosedLog(segment: Segment): number | null {
  let nextOffset = segment.baseOffset;
  const from = segment.positionBefore(Number.MAX_SAFE_INTEGER);
  const end = scanBatches(segment.log, from, segment.size, (bytes, at) => {
    nextOffset = lastOffsetAt(bytes, at) + 1;
    return true;
  });
  return end === segment.size ? nextOffset : null;
}

/**
 * The producer state as of `offset`: the latest snapshot, and the batch headers from there on. `upTo` is the offset
 * after the last batch that went in. Throws `IoError`.
 */
export function producersAt(
  i: { segments: Segment[]; snapshots: Snapshots; now: number; indexIntervalBytes: number },
  offset: number,
): { producers: ProducerState; upTo: number } {
  const snapshot = i.snapshots.load(offset, i.now);
  const producers = snapshot?.state ?? new ProducerState();
  let upTo = snapshot?.offset ?? 0;
  if (i.segments.length === 0) return { producers, upTo };
  for (let index = floorSegment(i.segments, upTo); index < i.segments.length && upTo < offset; index++) {
    const segment = i.segments[index];
    if (segment.baseOffset >= offset) break;
    if (!segment.openIndexes()) segment.rebuildIndexes(i.indexIntervalBytes);
    scanBatches(segment.log, segment.positionBefore(upTo), segment.size, (bytes, at) => {
      if (baseOffsetAt(bytes, at) >= offset) return false;
      if (lastOffsetAt(bytes, at) < upTo) return true;
      noteProducer(producers, bytes, at, i.now);
      upTo = lastOffsetAt(bytes, at) + 1;
      return true;
    });
  }
  return { producers, upTo };
}

function noteProducer(producers: ProducerState, bytes: Uint8Array, at: number, now: number): void {
  if (bytes[at + MAGIC_AT] === 2) producers.update(new BatchView(bytes, at), now);
}

/**
 * Where in the recovery point's segment to begin: at the last indexed batch before it, if the index can be believed
 * that far, else at the segment's start. The index forgets what comes after.
 */
function beginIn(segment: Segment, recoveryPoint: number): number {
  if (recoveryPoint <= segment.baseOffset || !segment.openIndexes()) return 0;
  const position = segment.positionBefore(recoveryPoint);
  const peek = new Uint8Array(PEEK_BYTES);
  if (position === 0 || segment.log.get().readAt(peek, position) < PEEK_BYTES) return 0;
  const baseOffset = baseOffsetAt(peek, 0);
  if (sizeAt(peek, 0) === 0 || baseOffset <= segment.baseOffset || baseOffset > recoveryPoint) return 0;
  segment.truncateIndexes(position, baseOffset);
  return position;
}

function firstFound(segments: Segment[]): string | null {
  for (const segment of segments) {
    const found = findIntact(segment, 0);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Looks at every byte from `from` on for the beginning of an intact batch of this segment. Most positions fall at the
 * first comparison; a checksum is computed only for what looks like a header. Offsets need not continue the log: no
 * checksum covers a batch's offset, so a damaged one may have led the check far ahead, and what follows is intact.
 */
function findIntact(segment: Segment, from: number): string | null {
  const chunk = new Uint8Array(1 << 20);
  for (let position = from; position + PEEK_BYTES <= segment.size;) {
    const length = Math.min(chunk.length, segment.size - position);
    const held = segment.log.get().readAt(chunk.subarray(0, length), position);
    const last = held - PEEK_BYTES;
    for (let at = 0; at <= last; at++) {
      if (chunk[at + MAGIC_AT] !== 2) continue;
      const baseOffset = baseOffsetAt(chunk, at);
      if (!(baseOffset >= segment.baseOffset && segment.canHold(baseOffset))) continue;
      const size = sizeAt(chunk, at);
      if (size === 0 || position + at + size > segment.size) continue;
      const batch = new Uint8Array(size);
      segment.log.get().readAt(batch, position + at);
      if (isIntact(batch, 0, size)) return `${segment.log.path} at position ${position + at}`;
    }
    if (held < PEEK_BYTES) return null;
    position += last + 1;
  }
  return null;
}
