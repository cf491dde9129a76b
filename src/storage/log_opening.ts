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
  const { segments, startOffset } = i;
  let end: number | null = startOffset;
  if (segments.active !== undefined) {
    segments.openIndexes(segments.active, i.config.indexIntervalBytes);
    end = endOfClosedLog(segments.active);
  }
  if (end === null || end < startOffset || (expected !== null && end !== expected)) {
    i.onWarning(
      `${i.name}: closed in order at offset ${expected ?? "unknown"}, but ` +
        `${
          end === null ? "the log ends at a damaged batch" : `the log goes from ${startOffset} to ${end}`
        }; checking it`,
    );
    return null;
  }
  const { epochs, changed } = loadEpochs(i);
  const epochsChanged = epochs.truncateFromStart(startOffset) || changed;
  // Without any snapshot nothing is known of producers: whoever closes a log writes one.
  const producers = segments.snapshots.latest === null ? new ProducerState() : producersOf(i, end);
  return { endOffset: end, startOffset, flushedOffset: end, epochs, epochsChanged, producers };
}

/**
 * Checks and mends a log that was not closed in order. Gives a text when it is damaged in a way that must not be mended
 * by cutting: no record was removed then. Throws `IoError`.
 */
export function openCrashedLog(i: OpeningInput): OpenedLog | string {
  const { segments } = i;
  const { epochs, changed } = loadEpochs(i);
  const found = epochs.all;
  const opened = (endOffset: number, flushedOffset: number, producers: ProducerState): OpenedLog => {
    const startOffset = Math.min(i.startOffset, endOffset);
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
  const { nextOffset, producers, torn, damage } = recovery;
  if (damage !== null) {
    return `The log of ${i.name} is damaged: ${damage.path} does not go on at position ${damage.position} (offset ` +
      `${nextOffset}), but ${damage.reason}. Nothing was removed; the partition is offline until the file is restored ` +
      `from a copy, or cut at this position if what follows is not needed, or the partition is deleted`;
  }
  reportLosses(i, recovery);
  for (let left = torn?.laterSegments ?? 0; left > 0; left--) segments.removeLast();
  // Whatever reaches past the recovery point may be in memory only.
  const flushedOffset = Math.min(i.recoveryPoint, nextOffset);
  for (const segment of segments.list.slice(segments.indexFor(flushedOffset))) segment.unsynced = true;
  segments.snapshots.removeAfter(nextOffset);
  return opened(nextOffset, flushedOffset, producers);
}

/** Takes out of the log what does not belong to it, and checks the rest. */
function recoverWithoutStrays(i: OpeningInput, epochs: LeaderEpochs): Recovery {
  const { onWarning, segments } = i;
  for (;;) {
    const recovery = recover({ ...recoveryParts(i), recoveryPoint: i.recoveryPoint, epochs, onWarning });
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
  return { epochs, changed };
}
