/**
 * Making a log whole after an unclean stop. Everything from the recovery point on is checked; what lies before was
 * synced and is believed. A torn end is cut off. Damage with intact batches behind it is another matter: cutting there
 * would drop acknowledged data, so the log is left as it is and reported.
 *
 * Where the machine itself stopped, such damage is no surprise: of what was not synced a device has any part, in any
 * order. A sync covers all that was written before it, so what is behind a hole was never synced, nor promised to outlast
 * the machine: there the log is cut at the hole, later segments with it, and what is lost are its last records.
 */

import { MAGIC_AT } from "../../codec/batch_format.ts";
import { BatchView } from "../../codec/batch.ts";
import { readBigInt64, writeInt64 } from "../../codec/big_endian.ts";
import {
  baseOffsetAt,
  isIntact,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  PEEK_BYTES,
  scanBatches,
  sizeAt,
} from "../segment/batch_scan.ts";
import { IoError } from "../files/files.ts";
import { endsFit, startFor } from "../segment/index_lookup.ts";
import { IntactSearch } from "./intact_search.ts";
import { type LeaderEpochs, RisingEpochs } from "../epochs/leader_epochs.ts";
import { abortedTransaction } from "../producers/aborted.ts";
import { type CompletedTransaction, ProducerState } from "../producers/producer_state.ts";
import { floorSegment, type Segment } from "../segment/segment.ts";
import type { AbortedTransaction } from "../segment/transaction_index.ts";
import type { Snapshots } from "../producers/snapshots.ts";
import { isZeroFrom, reasonNotToCut } from "./torn_end.ts";

export interface RecoveryInput {
  /** At least one, by base offset. */
  segments: Segment[];
  recoveryPoint: number;
  snapshots: Snapshots;
  /** Gets the epochs found in the batches. */
  epochs: LeaderEpochs;
  indexIntervalBytes: number;
  now: number;
  /** The machine stopped since the log was last written to. */
  machineStopped: boolean;
  /** No offset may be missing inside of a segment: no compactor has been here. */
  dense: boolean;
  /** The same of what lies behind the recovery point: no compactor has come so far. */
  denseAtEnd: boolean;
  /** Where the log ended when it was closed in order: then nothing before it was cut short by the stop. */
  closedAt: number | null;
  onWarning(text: string): void;
}

export interface Recovery {
  nextOffset: number;
  producers: ProducerState;
  /** What was cut off: from where, and all its bytes. More than one only where the machine stopped. */
  cuts: Cut[];
  /** So many segments at the end have no place in the log: they hold no record, or come after a loss. They are still there. */
  droppedAtEnd: number;
  /** Offsets missing between two segments, as [from, to): not damage where a compactor works. */
  gaps: [number, number][];
  /** Damage in the middle: no record was touched, and the log must not be used. `reason` tells why not to cut there. */
  damage: { path: string; position: number; reason: string } | null;
  /**
   * A segment that begins before the one before it ends, with nothing intact in it: it is no part of this log. To be
   * set aside before the log is checked anew; nothing else was done.
   */
  stray: Segment | null;
}

export interface Cut {
  segment: Segment;
  position: number;
  offset: number;
  bytes: number;
  /** All that was cut off is one batch, whole in length, but not with the content that its checksum is of. */
  checksumFails: boolean;
}

/** What it takes to find out about producers. */
export type ProducersInput = Pick<
  RecoveryInput,
  "segments" | "snapshots" | "now" | "indexIntervalBytes" | "onWarning"
>;

/** Checks and mends. Throws `IoError`. */
export function recover(i: RecoveryInput): Recovery {
  const first = floorSegment(i.segments, i.recoveryPoint);
  const start = i.segments[first];
  const from = beginIn(i, start);
  const { producers: found, upTo } = producersAt(i, Math.max(i.recoveryPoint, start.baseOffset));
  for (const [index, segment] of i.segments.entries()) {
    segment.syncedSize = index < first ? segment.size : index === first ? from : 0;
  }
  let producersUpTo = upTo;
  let nextOffset = Math.max(
    start.baseOffset,
    first === 0 ? 0 : endOfSegment(i, i.segments[first - 1], start),
  );
  const gaps: [number, number][] = [];
  const cuts: Cut[] = [];
  const rising = new RisingEpochs(i.epochs, ({ epoch, startOffset }) => {
    i.onWarning(
      `the batch at offset ${startOffset} has leader epoch ${epoch}, which cannot be: the next one has less`,
    );
  });
  const outcome = (o: Partial<Recovery>): Recovery => {
    rising.finish();
    // A snapshot may be of an end that the log has lost, or of one that was cut off.
    const producers = producersUpTo > nextOffset ? producersAt(i, nextOffset).producers : found;
    return { nextOffset, producers, cuts, droppedAtEnd: 0, gaps, damage: null, stray: null, ...o };
  };

  for (let index = first; index < i.segments.length; index++) {
    const segment = i.segments[index];
    const begin = index === first ? from : 0;
    if (segment.baseOffset < nextOffset && index > 0) {
      // To go on in it would give offsets out again that records have.
      const found = new IntactSearch().within([segment], 0);
      if (found === null) return outcome({ stray: segment });
      return outcome({ damage: { path: segment.log.path, position: 0, reason: found } });
    }
    const isDense = i.dense || (i.denseAtEnd && nextOffset >= i.recoveryPoint);
    const isTorn = cuts.length > 0 || (isDense && segment.baseOffset > nextOffset);
    if (i.machineStopped && index > first && isTorn) {
      for (const later of i.segments.slice(index).filter(({ size }) => size > 0)) {
        cuts.push({
          segment: later,
          position: 0,
          offset: nextOffset,
          bytes: later.size,
          checksumFails: false,
        });
      }
      return outcome({ droppedAtEnd: i.segments.length - index });
    }
    // Of what lies before the recovery point the indexes are on the device, and stay as they are.
    if (index > first || i.recoveryPoint <= segment.baseOffset) segment.resetIndexes();
    else {
      segment.transactions.truncateTo(i.recoveryPoint);
      if (!segment.transactions.isSound(segment.baseOffset)) remakeTransactions(i, segment, i.recoveryPoint);
    }
    const gap: [number, number] | null = segment.baseOffset > nextOffset
      ? [nextOffset, segment.baseOffset]
      : null;
    if (gap !== null) nextOffset = segment.baseOffset;
    // Where it begins inside of the segment, the first batch tells by itself what comes before it.
    let isKnown = begin === 0;
    const end = scanBatches(segment.log, begin, segment.size, (bytes, at, size, position) => {
      const baseOffset = baseOffsetAt(bytes, at);
      const lastOffset = lastOffsetAt(bytes, at);
      const inOrder = baseOffset >= nextOffset && lastOffset >= baseOffset && segment.canHold(lastOffset);
      const inPlace = baseOffset === nextOffset || !isKnown || !i.dense || bytes[at + MAGIC_AT] !== 2;
      if (!inOrder || !inPlace || !isIntact(bytes, at, size)) return false;
      isKnown = true;
      const intervalBytes = lastOffset < i.recoveryPoint ? Infinity : i.indexIntervalBytes;
      segment.index(position, size, lastOffset, maxTimestampAt(bytes, at), intervalBytes);
      rising.note(leaderEpochAt(bytes, at), baseOffset);
      if (lastOffset >= producersUpTo) {
        noteBatch(found, bytes, at, i.now, (each) => segment.transactions.add(each));
        producersUpTo = lastOffset + 1;
      }
      nextOffset = lastOffset + 1;
      return true;
    });
    if (end < segment.size && isPreallocation(i, segment, end)) {
      segment.trimmedBytes = segment.size - end;
      segment.log.get().truncate(end);
      segment.size = end;
    }
    if (end < segment.size) {
      const laterSegments = i.segments.slice(index + 1);
      const found = i.machineStopped || cuts.length > 0
        ? null
        : misplaced(segment, end, nextOffset) ?? damagedSince(i, segment, end, nextOffset) ??
          reasonNotToCut([segment, ...laterSegments], end);
      if (found !== null) {
        return outcome({ damage: { path: segment.log.path, position: end, reason: found } });
      }
      const checksumFails = isWholeButWrong(segment, end);
      cuts.push({ segment, position: end, offset: nextOffset, bytes: segment.size - end, checksumFails });
      segment.log.get().truncate(end);
      segment.size = end;
    }
    // What the indexes say of records that are lost must not be taken for what comes in their place.
    if (index === first && nextOffset < i.recoveryPoint) {
      segment.rebuildIndexes(i.indexIntervalBytes);
      segment.transactions.truncateTo(nextOffset);
    }
    // Below the recovery point an entry that is missing was damaged. If the machine stopped, the next stop may tear it.
    if (!i.machineStopped || segment.offsetOfMaxTimestamp >= i.recoveryPoint) finishIndexes(segment, i);
    if (gap === null) continue;
    if (segment.size > 0) gaps.push(gap);
    else nextOffset = gap[0];
  }
  // An end that no record leads up to would have readers wait for it for ever.
  const last = i.segments.findLastIndex(({ size, baseOffset }) => size > 0 || baseOffset <= nextOffset);
  return outcome({ droppedAtEnd: i.segments.length - 1 - last });
}

/**
 * Whether what is in the last segment from `position` on is room that nothing was written to (`preallocate`). A process that
 * is killed leaves no more zeros than a batch begins with; a machine that stops may, where it has lost what was written.
 */
function isPreallocation(i: RecoveryInput, segment: Segment, position: number): boolean {
  if (i.machineStopped || segment.size - position < PEEK_BYTES) return false;
  return segment === i.segments.at(-1) && isZeroFrom(segment, position);
}

/** Whether a batch goes from `position` to the segment's end whose checksum does not fit. */
function isWholeButWrong(segment: Segment, position: number): boolean {
  let found = false;
  scanBatches(segment.log, position, segment.size, (bytes, at, size) => {
    found = position + size === segment.size && !isIntact(bytes, at, size);
    return false;
  });
  return found;
}

/**
 * Why what is at `position` must not be cut off in a log that was closed in order behind it: it was whole then. Null where
 * it was not, and where the file has been cut short since: nothing is left then that could be mended.
 */
function damagedSince(
  { closedAt }: RecoveryInput,
  segment: Segment,
  position: number,
  offset: number,
): string | null {
  if (closedAt === null || offset >= closedAt) return null;
  const header = new Uint8Array(PEEK_BYTES);
  const held = segment.log.get().readAt(header, position);
  if (held < PEEK_BYTES || sizeAt(header, 0) > segment.size - position) return null;
  return `the log was closed in order at offset ${closedAt}: what is there was whole then`;
}

/**
 * Why the batch at `position`, behind which nothing may follow, must not be cut off although its offset cannot be: it is
 * intact, and a single bit of its offset, which no checksum covers, makes the difference. Null when that is not so.
 */
function misplaced(segment: Segment, position: number, expected: number): string | null {
  const peek = new Uint8Array(PEEK_BYTES);
  const held = segment.log.get().readAt(peek, position);
  const size = held < PEEK_BYTES ? 0 : sizeAt(peek, 0);
  if (size === 0 || size > segment.size - position || peek[MAGIC_AT] !== 2) return null;
  const wrong = BigInt.asUintN(64, readBigInt64(peek, 0) ^ BigInt(expected));
  if (wrong === 0n || (wrong & (wrong - 1n)) !== 0n) return null;
  const batch = new Uint8Array(size);
  segment.log.get().readAt(batch, position);
  writeInt64(batch, 0, expected);
  if (!isIntact(batch, 0, size)) return null;
  return `the batch there is intact but for a bit of its offset, which is ${baseOffsetAt(peek, 0)}`;
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
  const { position, nextOffset } = lastBatch(segment);
  return position === segment.size ? nextOffset : null;
}

/** Where the last whole batch of a segment ends that can be come to. The indexes must be open. */
function lastBatch(segment: Segment): { position: number; nextOffset: number } {
  let nextOffset = segment.baseOffset;
  const from = segment.positionBefore(Number.MAX_SAFE_INTEGER);
  const position = scanBatches(segment.log, from, segment.size, (bytes, at) => {
    nextOffset = lastOffsetAt(bytes, at) + 1;
    return true;
  });
  return { position, nextOffset };
}

/**
 * Where a segment ends that lies before what is checked; 0, which says nothing, when it is damaged. What a failed append, or
 * the machine's stop, has left behind its last batch is cut off: nothing is missing before the next segment.
 */
function endOfSegment(i: RecoveryInput, segment: Segment, next: Segment): number {
  openIndexes(segment, i.indexIntervalBytes);
  const { position, nextOffset } = lastBatch(segment);
  if (position === segment.size) return nextOffset;
  if (nextOffset !== next.baseOffset) return 0;
  if (!i.machineStopped && reasonNotToCut([segment], position) !== null) return 0;
  i.onWarning(
    `cut ${segment.size - position} bytes off the end of ${segment.log.path}: they follow its last batch`,
  );
  segment.log.get().truncate(position);
  segment.size = position;
  return nextOffset;
}

/** Opens the indexes, making them anew where they do not fit the batches. Throws `IoError`. */
function openIndexes(segment: Segment, indexIntervalBytes: number): void {
  if (segment.offsets.isOpen && segment.times.isOpen) return;
  if (!segment.openIndexes() || !endsFit(segment)) segment.rebuildIndexes(indexIntervalBytes);
}

/**
 * The producer state as of `offset`: the latest snapshot, and the batch headers from there on. `upTo` is the offset
 * after the last batch that went in. Throws `IoError`.
 */
export function producersAt(
  i: ProducersInput,
  offset: number,
): { producers: ProducerState; upTo: number } {
  const loaded = i.snapshots.load(offset, i.now, i.onWarning);
  // What lies between one that is older and the first batch is gone: a producer would be held to a sequence that it has left
  // behind, where one that nobody knows may go on (KIP-360).
  const snapshot = loaded !== null && loaded.offset >= (i.segments[0]?.baseOffset ?? offset) ? loaded : null;
  const producers = snapshot?.state ?? new ProducerState();
  let upTo = snapshot?.offset ?? 0;
  if (i.segments.length === 0) return { producers, upTo };
  for (let index = floorSegment(i.segments, upTo); index < i.segments.length && upTo < offset; index++) {
    const segment = i.segments[index];
    if (segment.baseOffset >= offset) break;
    openIndexes(segment, i.indexIntervalBytes);
    const from = startFor(segment, upTo, () => segment.rebuildIndexes(i.indexIntervalBytes));
    scanBatches(segment.log, from, segment.size, (bytes, at, size) => {
      if (baseOffsetAt(bytes, at) >= offset) return false;
      if (lastOffsetAt(bytes, at) < upTo) return true;
      // What is damaged says nothing of its producer.
      if (isIntact(bytes, at, size)) noteProducer(producers, bytes, at, i.now);
      upTo = lastOffsetAt(bytes, at) + 1;
      return true;
    });
  }
  return { producers, upTo };
}

function noteProducer(
  producers: ProducerState,
  bytes: Uint8Array,
  at: number,
  now: number,
): CompletedTransaction | null {
  return bytes[at + MAGIC_AT] === 2 ? producers.update(new BatchView(bytes, at), now) : null;
}

/** As {@link noteProducer}; gives `aborted` a transaction that is aborted there. */
function noteBatch(
  producers: ProducerState,
  bytes: Uint8Array,
  at: number,
  now: number,
  aborted: (transaction: AbortedTransaction) => void,
): void {
  const completed = noteProducer(producers, bytes, at, now);
  if (completed?.isAborted === true) aborted(abortedTransaction(producers, completed));
}

/** Makes a segment's index of transactions anew from the batches before `upTo`. Throws `IoError`. */
export function remakeTransactions(i: ProducersInput, segment: Segment, upTo = Infinity): void {
  i.onWarning(`making ${segment.transactions.file.path} anew, which does not fit its segment`);
  const entries: AbortedTransaction[] = [];
  const { producers } = producersAt(i, segment.baseOffset);
  if (segment !== i.segments[0]) {
    // Without one, the next segment's index would be made from all that lies before it once more.
    i.snapshots.write(segment.baseOffset, producers, i.segments.map(({ baseOffset }) => baseOffset));
  }
  scanBatches(segment.log, 0, segment.size, (bytes, at, size) => {
    if (lastOffsetAt(bytes, at) >= upTo) return false;
    if (isIntact(bytes, at, size)) noteBatch(producers, bytes, at, i.now, (each) => entries.push(each));
    return true;
  });
  segment.transactions.replace(entries);
}

/**
 * Where in the recovery point's segment to begin: at the last indexed batch before it. Of the indexes only the entries
 * for what lies before it are believed, and only they are left. Throws `IoError`.
 */
function beginIn(i: RecoveryInput, segment: Segment): number {
  const { recoveryPoint, indexIntervalBytes } = i;
  if (recoveryPoint <= segment.baseOffset) return 0;
  const areThere = segment.openIndexesBelow(recoveryPoint);
  if (areThere && endsFit(segment, recoveryPoint)) {
    const position = segment.positionBefore(recoveryPoint);
    const peek = new Uint8Array(PEEK_BYTES);
    if (position === 0) return 0;
    const held = segment.log.get().readAt(peek, position);
    if (held === PEEK_BYTES && sizeAt(peek, 0) > 0 && lastOffsetAt(peek, 0) === segment.offsets.lastOffset) {
      return position;
    }
  }
  // A compactor makes them anew, and need not have made an entry where the recovery point was.
  if (areThere && i.dense) {
    i.onWarning(`building the indexes of ${segment.log.path} anew, which do not fit it`);
  }
  segment.rebuildIndexes(indexIntervalBytes);
  segment.openIndexesBelow(recoveryPoint);
  return segment.positionBefore(recoveryPoint);
}
