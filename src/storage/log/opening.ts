/**
 * What a log has to find out before its first use: where it ends, its epochs and its producers. After an orderly stop
 * that is a look at the last few batches; after any other, everything from the recovery point on is checked.
 */

import type { EpochEntry } from "../directory/checkpoints.ts";
import type { LeaderEpochs } from "../epochs/leader_epochs.ts";
import type { LogConfig } from "./config.ts";
import type { LogSegments } from "./segments.ts";
import { agreedStart, loadEpochs } from "./opening_epochs.ts";
import { ProducerState } from "../producers/producer_state.ts";
import { WAYS_OUT } from "../segment/read.ts";
import {
  endOfClosedLog,
  producersAt,
  recover,
  type Recovery,
  remakeTransactions,
} from "../recovery/recovery.ts";
import type { Segment } from "../segment/segment.ts";

export interface OpeningInput {
  name: string;
  segments: LogSegments;
  startOffset: number;
  recoveryPoint: number;
  config: LogConfig;
  now: number;
  /** The machine stopped since the log was last written to. */
  machineStopped: boolean;
  /** No offset may be missing: no compactor has been here. */
  dense: boolean;
  /** None of those behind the recovery point may be. */
  denseAtEnd: boolean;
  /** Where the log ended when it was closed in order; null when it was not, or that is not known. */
  closedAt: number | null;
  onWarning(text: string): void;
}

export interface OpenedLog {
  endOffset: number;
  /** The input's, unless that lay past the log's end. */
  startOffset: number;
  /** Everything before it is on the device. */
  flushedOffset: number;
  epochs: LeaderEpochs;
  /** The epochs are not what their file says. */
  epochsChanged: boolean;
  producers: ProducerState;
}

/**
 * Opens a log that was closed in order at `expected` (null: not known), trusting all but its last few batches. Null,
 * and a warning, when it does not end there: then it has to be checked. Throws `IoError`.
 */
export function openClosedLog(i: OpeningInput, expected: number | null): OpenedLog | null {
  const { segments } = i;
  removeEmpty(i);
  // An empty one before all others, which a failing disk has left, had been taken for the log's beginning.
  let startOffset = Math.max(i.startOffset, segments.list[0]?.baseOffset ?? 0);
  let end: number | null = startOffset;
  if (segments.active !== undefined) {
    segments.openIndexes(segments.active, i.config.indexIntervalBytes);
    end = endOfClosedLog(segments.active);
  }
  for (const segment of segments.list) segment.syncedSize = segment.size;
  if (end === null || end < startOffset || (expected !== null && end !== expected)) {
    i.onWarning(
      `${i.name}: closed in order at offset ${expected ?? "unknown"}, but ` +
        `${
          end === null ? "the log ends at a damaged batch" : `the log goes from ${startOffset} to ${end}`
        }; checking it`,
    );
    return null;
  }
  const { epochs, changed } = loadEpochs(i, Infinity);
  if (!changed) startOffset = agreedStart(i, epochs.all, startOffset);
  const epochsChanged = epochs.truncateFromStart(startOffset) || changed;
  if (end > startOffset && segments.snapshots.latest === null) {
    // Whoever closes a log writes one.
    i.onWarning(
      `${i.name}: there is no producer snapshot in ${segments.place.path}; reading the producers from the batches`,
    );
  }
  const producers = producersOf(i, end);
  return { endOffset: end, startOffset, flushedOffset: end, epochs, epochsChanged, producers };
}

/**
 * Checks and mends a log that was not closed in order. Gives a text when it is damaged in a way that must not be mended
 * by cutting: no record was removed then. Throws `IoError`.
 */
export function openCrashedLog(i: OpeningInput): OpenedLog | string {
  const { segments } = i;
  // Where the machine stopped, what comes after one that had not reached the disk goes with it: recovery sees to that.
  removeEmpty(i, i.machineStopped ? i.recoveryPoint : Infinity);
  // The process before may have died before it brought the names to the device.
  segments.directoryUnsynced = true;
  // Recovery finds those of what it checks.
  const { epochs, changed } = loadEpochs(i, i.recoveryPoint);
  const found = epochs.all;
  const opened = (endOffset: number, flushedOffset: number, producers: ProducerState): OpenedLog => {
    const start = changed || i.startOffset > endOffset ? i.startOffset : agreedStart(i, found, i.startOffset);
    const startOffset = Math.min(Math.max(start, segments.list[0]?.baseOffset ?? 0), endOffset);
    epochs.truncateFromStart(startOffset);
    epochs.truncateFromEnd(endOffset);
    // Writing the file again takes longer than all the rest of a log that is whole.
    const epochsChanged = changed || !same(found, epochs.all);
    return { endOffset, startOffset, flushedOffset, epochs, epochsChanged, producers };
  };
  if (segments.active === undefined) {
    return opened(i.startOffset, Math.min(i.recoveryPoint, i.startOffset), new ProducerState());
  }
  const recovery = recoverWithoutStrays(i, epochs);
  const { nextOffset, producers, droppedAtEnd, damage } = recovery;
  if (damage !== null) {
    return `The log of ${i.name} is damaged: ${damage.path} does not go on at position ${damage.position} (offset ` +
      `${nextOffset}), but ${damage.reason}. Nothing was removed; the partition is offline until ${WAYS_OUT}`;
  }
  reportLosses(i, recovery);
  // A truncation that the process before did not come to the end of is one too.
  if (recovery.cuts.length > 0 || nextOffset < i.recoveryPoint) segments.cutUnsynced = true;
  for (let left = droppedAtEnd; left > 0; left--) segments.removeLast();
  removeEmpty(i);
  // Whatever reaches past the recovery point may be in memory only.
  const flushedOffset = Math.min(i.recoveryPoint, nextOffset);
  for (const segment of segments.list.slice(segments.indexFor(flushedOffset))) {
    segment.unsynced = true;
    segment.mustRewrite = segments.syncFailed;
  }
  segments.snapshots.removeAfter(nextOffset);
  // Here, and after a truncation that failed halfway.
  if (segments.cutUnsynced) segments.syncCut();
  return opened(nextOffset, flushedOffset, producers);
}

/**
 * Removes segments but the last whose content did not reach the device, if there was any. Before the first record they are
 * no part of the log. Kafka's compactor leaves such segments too: there the first one stays, for the log begins with it.
 */
function removeEmpty(
  { name, segments, dense, recoveryPoint, onWarning }: OpeningInput,
  upTo = Infinity,
): void {
  const [, ...ends] = segments.list.map(({ baseOffset }) => baseOffset);
  const isEmpty = ({ size }: Segment, index: number) =>
    size === 0 && ends[index] <= upTo && (dense || index > 0);
  for (const empty of segments.list.filter(isEmpty)) {
    if (dense && empty.baseOffset < recoveryPoint) {
      onWarning(`${name}: ${empty.log.path} is empty, although its records were on the disk: they are lost`);
    }
    segments.removeEmpty(empty);
  }
}

/** Takes out of the log what does not belong to it, and checks the rest. */
function recoverWithoutStrays(i: OpeningInput, epochs: LeaderEpochs): Recovery {
  const { onWarning, segments } = i;
  for (;;) {
    const { machineStopped, recoveryPoint, dense, denseAtEnd, closedAt } = i;
    const parts = { ...recoveryParts(i), recoveryPoint, epochs, machineStopped, dense, denseAtEnd, closedAt };
    const recovery = recover(parts);
    if (recovery.stray === null) return recovery;
    const { path } = recovery.stray.log;
    const kept = segments.setAside(recovery.stray);
    onWarning(
      `${i.name}: ${path} begins before the segment before it ends (offset ${recovery.nextOffset}) and holds no intact ` +
        `batch: it is no part of this log, and is kept as ${kept}`,
    );
  }
}

function same(a: readonly EpochEntry[], b: readonly EpochEntry[]): boolean {
  return a.length === b.length &&
    a.every(({ epoch, startOffset }, i) => epoch === b[i].epoch && startOffset === b[i].startOffset);
}

/** Makes a segment's index of transactions anew. Throws `IoError`. */
export function remakeTransactionsOf(i: OpeningInput, segment: Segment): void {
  remakeTransactions(recoveryParts(i), segment);
}

/** The producers as of `offset`. Throws `IoError`. */
export function producersOf(i: OpeningInput, offset: number): ProducerState {
  return producersAt(recoveryParts(i), offset).producers;
}

function recoveryParts({ name, segments, now, config, onWarning }: OpeningInput) {
  const { list, snapshots } = segments;
  return {
    segments: list,
    snapshots,
    now,
    indexIntervalBytes: config.indexIntervalBytes,
    onWarning: (text: string) => onWarning(`${name}: ${text}`),
  };
}

function reportLosses(i: OpeningInput, { cuts, gaps }: Recovery): void {
  for (const { segment, position, offset, bytes, checksumFails } of cuts) {
    const why = i.machineStopped
      ? "what had not reached the disk when the machine stopped"
      : checksumFails
      ? "an append that was not finished, or damage: its checksum does not fit"
      : "an append that was not finished";
    i.onWarning(
      `${i.name}: cut ${bytes} bytes off the end of ${segment.log.path} at position ${position} (offset ${offset}): ${why}`,
    );
  }
  // A compactor leaves gaps; without one, a segment's end did not reach the disk and a later segment did.
  for (const [from, to] of i.dense ? gaps : []) {
    i.onWarning(
      `${i.name}: the records from offset ${from} to ${to - 1} are missing: they never reached the disk`,
    );
  }
}
