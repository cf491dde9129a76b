/**
 * What a log has to find out before its first use: where it ends, its epochs and its producers. After an orderly stop
 * that is a look at the last few batches; after any other, everything from the recovery point on is checked.
 */

import { baseOffsetAt, leaderEpochAt, scanBatches } from "./batch_scan.ts";
import { CorruptCheckpoint, type EpochEntry, readEpochs } from "./checkpoints.ts";
import { LeaderEpochs } from "./leader_epochs.ts";
import type { LogConfig } from "./log_config.ts";
import type { LogSegments } from "./log_segments.ts";
import { LEADER_EPOCH_FILE } from "./names.ts";
import { ProducerState } from "./producer_state.ts";
import { endOfClosedLog, producersAt, recover, type Recovery } from "./recovery.ts";

export interface OpeningInput {
  name: string;
  segments: LogSegments;
  startOffset: number;
  recoveryPoint: number;
  config: LogConfig;
  now: number;
  onWarning(text: string): void;
}

export interface OpenedLog {
  endOffset: number;
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
  const { segments, startOffset } = i;
  let endOffset = startOffset;
  if (segments.active !== undefined) {
    segments.openIndexes(segments.active, i.config.indexIntervalBytes);
    const end = endOfClosedLog(segments.active);
    if (end !== null) endOffset = Math.max(end, startOffset);
    if (end === null || (expected !== null && endOffset !== expected)) {
      i.onWarning(
        `${i.name}: closed in order at offset ${expected ?? "unknown"}, but the log ends at ` +
          `${end ?? "a damaged batch"}; checking it`,
      );
      return null;
    }
  }
  const { epochs, changed } = loadEpochs(i);
  // Without any snapshot nothing is known of producers: whoever closes a log writes one.
  const producers = segments.snapshots.latest === null ? new ProducerState() : producersOf(i, endOffset);
  return { endOffset, flushedOffset: endOffset, epochs, epochsChanged: changed, producers };
}

/**
 * Checks and mends a log that was not closed in order. Gives a text when it is damaged in a way that must not be mended
 * by cutting: nothing was removed then. Throws `IoError`.
 */
export function openCrashedLog(i: OpeningInput): OpenedLog | string {
  const { segments } = i;
  const { epochs, changed } = loadEpochs(i);
  const found = epochs.all;
  if (segments.active === undefined) {
    const endOffset = i.startOffset;
    const flushedOffset = Math.min(i.recoveryPoint, endOffset);
    const epochsChanged = epochs.truncateFromEnd(endOffset) || changed;
    return { endOffset, flushedOffset, epochs, epochsChanged, producers: new ProducerState() };
  }
  const recovery = recover({
    ...recoveryParts(i),
    recoveryPoint: i.recoveryPoint,
    epochs,
    onWarning: i.onWarning,
  });
  const { nextOffset, producers, torn, damage } = recovery;
  if (damage !== null) {
    return `The log of ${i.name} is damaged: ${damage.path} does not go on at position ${damage.position} (offset ` +
      `${nextOffset}), but there are intact batches from ${damage.intactAt} on. Nothing was removed; the partition ` +
      `is offline until the file is restored from a copy or the partition is deleted`;
  }
  reportLosses(i, recovery);
  for (let left = torn?.laterSegments ?? 0; left > 0; left--) segments.removeLast();
  // Whatever reaches past the recovery point may be in memory only.
  const flushedOffset = Math.min(i.recoveryPoint, nextOffset);
  for (const segment of segments.list.slice(segments.indexFor(flushedOffset))) segment.unsynced = true;
  segments.snapshots.removeAfter(nextOffset);
  const endOffset = Math.max(nextOffset, i.startOffset);
  epochs.truncateFromEnd(endOffset);
  // Writing the file again takes longer than all the rest of a log that is whole.
  return { endOffset, flushedOffset, epochs, epochsChanged: changed || !same(found, epochs.all), producers };
}

function same(a: readonly EpochEntry[], b: readonly EpochEntry[]): boolean {
  return a.length === b.length &&
    a.every(({ epoch, startOffset }, i) => epoch === b[i].epoch && startOffset === b[i].startOffset);
}

/** The producers as of `offset`. Throws `IoError`. */
export function producersOf(i: OpeningInput, offset: number): ProducerState {
  return producersAt(recoveryParts(i), offset).producers;
}

function recoveryParts({ segments, now, config }: OpeningInput) {
  const { list, snapshots } = segments;
  return { segments: list, snapshots, now, indexIntervalBytes: config.indexIntervalBytes };
}

function reportLosses(i: OpeningInput, { torn, gaps, nextOffset }: Recovery): void {
  if (torn !== null) {
    i.onWarning(
      `${i.name}: cut ${torn.bytes} bytes off the end of ${torn.segment.log.path} at position ${torn.position} ` +
        `(offset ${nextOffset}): an append that was not finished`,
    );
  }
  // A compactor leaves gaps; without one, a segment's end did not reach the disk and a later segment did.
  for (const [from, to] of i.config.cleanupPolicy.compact ? [] : gaps) {
    i.onWarning(
      `${i.name}: the records from offset ${from} to ${to - 1} are missing: they never reached the disk`,
    );
  }
  if (nextOffset < i.recoveryPoint) {
    i.onWarning(`${i.name}: ${i.recoveryPoint} was synced, but the log ends at ${nextOffset}`);
  }
}

function loadEpochs(i: OpeningInput): { epochs: LeaderEpochs; changed: boolean } {
  const { segments } = i;
  let epochs: LeaderEpochs;
  let changed = false;
  try {
    epochs = new LeaderEpochs(
      segments.hadEpochs ? readEpochs(segments.files, segments.pathOf(LEADER_EPOCH_FILE)) : [],
    );
  } catch (error) {
    if (!(error instanceof CorruptCheckpoint)) throw error;
    i.onWarning(`${i.name}: ${error.message}; reading the epochs from the batches`);
    epochs = new LeaderEpochs();
    changed = true;
    for (const segment of segments.list) {
      scanBatches(segment.log, 0, segment.size, (bytes, at) => {
        const epoch = leaderEpochAt(bytes, at);
        if (epoch > epochs.latest) epochs.assign(epoch, baseOffsetAt(bytes, at));
        return true;
      });
    }
  }
  return { epochs, changed: epochs.truncateFromStart(i.startOffset) || changed };
}
