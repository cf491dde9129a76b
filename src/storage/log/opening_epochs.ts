/**
 * The leader epochs of a log that is being opened. Their file has no checksum, so it is held against the batches, which
 * have their epochs; where it is missing or wrong, the batches alone tell. With them goes the log's start: epochs are cut
 * where the log begins, and so bear the checkpoint of log starts out, or not.
 */

import { baseOffsetAt, lastOffsetAt, leaderEpochAt, PEEK_BYTES, scanBatches } from "../segment/batch_scan.ts";
import { CorruptCheckpoint, type EpochEntry, readEpochs } from "../directory/checkpoints.ts";
import { batchHolding, startFor } from "../segment/index_lookup.ts";
import { LeaderEpochs, RisingEpochs } from "../epochs/leader_epochs.ts";
import type { OpeningInput } from "./opening.ts";
import { LEADER_EPOCH_FILE } from "../directory/names.ts";
import type { Segment } from "../segment/segment.ts";

/**
 * The epochs, and whether they are not what the file says; `upTo` is how far the batches can be believed, should it not tell.
 * Throws `IoError`.
 */
export function loadEpochs(i: OpeningInput, upTo: number): { epochs: LeaderEpochs; changed: boolean } {
  const { segments } = i;
  const path = segments.pathOf(LEADER_EPOCH_FILE);
  let problem: string | null = null;
  try {
    const entries = segments.hadEpochs ? readEpochs(segments.files, path) : [];
    // A file that is replaced as the power fails may be there without what was written into it.
    const isEmpty = segments.list.every(({ size }) => size === 0);
    if (entries.length > 0) checkEpochs(i, entries, path, upTo);
    if (entries.length > 0 || isEmpty) return { epochs: new LeaderEpochs(entries), changed: false };
  } catch (error) {
    if (!(error instanceof CorruptCheckpoint)) throw error;
    problem = error.message;
  }
  const epochs = epochsInBatches(segments.list.filter(({ baseOffset }) => baseOffset < upTo), upTo);
  const changed = epochs.all.length > 0;
  // Batches of old formats have none, and need no file.
  if (problem === null && changed) problem = `${path} is missing or empty`;
  if (problem !== null) i.onWarning(`${i.name}: ${problem}; the epochs are read from the batches`);
  return { epochs, changed };
}

interface EpochsFound {
  readonly epoch: number;
  readonly lastOffset: number;
}

/**
 * Throws `CorruptCheckpoint` when the batches do not bear out what the file says. That can be told only of what was on the
 * device before the last stop, and where no compactor took batches out. An epoch is looked at by the batches at both its
 * ends; when one of them has an epoch that comes from nowhere, it is the batch that is damaged.
 */
function checkEpochs(i: OpeningInput, entries: readonly EpochEntry[], path: string, upTo: number): void {
  if (!i.dense) return;
  for (const [index, { epoch, startOffset }] of entries.entries()) {
    const [before, next] = [entries[index - 1], entries[index + 1]];
    if (next !== undefined && (next.epoch <= epoch || next.startOffset <= startOffset)) {
      throw new CorruptCheckpoint(`Cannot read ${path}: epoch ${next.epoch} comes after ${epoch}`);
    }
    if (index === 0 && startOffset > i.startOffset && found(i, i.startOffset, upTo) !== null) {
      throw new CorruptCheckpoint(
        `Cannot read ${path}: it begins at offset ${startOffset}, the log at ${i.startOffset}. Either it is damaged, or ` +
          "log-start-offset-checkpoint is, and records that were deleted are there again",
      );
    }
    const from = Math.max(startOffset, i.startOffset);
    const to = Math.min(next?.startOffset ?? Infinity, i.recoveryPoint) - 1;
    if (from > to) continue;
    const [first, last] = [found(i, from, upTo), found(i, to, upTo)];
    const isCrossed = to + 1 === next?.startOffset && last !== null && last.lastOffset > to;
    const isOthers = (before !== undefined && first?.epoch === before.epoch) ||
      (next !== undefined && last?.epoch === next.epoch);
    const isNowhere = [first, last].every((batch) => batch !== null && batch.epoch !== epoch);
    if (isCrossed || isOthers || isNowhere) {
      const range = `epoch ${epoch} from offset ${from} to ${to}`;
      throw new CorruptCheckpoint(`Cannot read ${path}: the batches do not have ${range}`);
    }
    for (const batch of [first, last]) {
      if (batch === null || batch.epoch === epoch) continue;
      const text =
        `the batch that ends at offset ${batch.lastOffset} in ${i.segments.place.path} has leader epoch ` +
        `${batch.epoch}, which cannot be: it should be ${epoch}`;
      i.onWarning(`${i.name}: ${text}`);
    }
  }
}

/** What the batch that holds `offset` says; null where there is none that can be believed, or one without epochs. */
function found(i: OpeningInput, offset: number, upTo: number): EpochsFound | null {
  const header = headerAt(i, offset, upTo);
  if (header === null || baseOffsetAt(header, 0) > offset || leaderEpochAt(header, 0) < 0) return null;
  return { epoch: leaderEpochAt(header, 0), lastOffset: lastOffsetAt(header, 0) };
}

/**
 * Where a log begins whose file of epochs has these. When they begin before the log start of the checkpoint, one of the two
 * is damaged: they are cut first. Then no record is hidden.
 */
export function agreedStart(i: OpeningInput, inFile: readonly EpochEntry[], startOffset: number): number {
  // Nothing is left that could begin earlier.
  if (i.segments.active === undefined) return startOffset;
  tellOfEarlierEpochs(i, inFile, startOffset, Infinity);
  const first = inFile[0]?.startOffset ?? startOffset;
  const agreed = Math.max(first, i.segments.list[0]?.baseOffset ?? 0);
  if (agreed >= startOffset) return startOffset;
  i.onWarning(
    `${i.name}: the log start ${startOffset} of log-start-offset-checkpoint is not the offset ${first} that ` +
      `${
        i.segments.pathOf(LEADER_EPOCH_FILE)
      } begins with: one of them is damaged. The log starts at ${agreed}`,
  );
  return agreed;
}

/** Deleted records that are there again: the epochs, which are cut with the log's start, remember it when nothing else does. */
function tellOfEarlierEpochs(
  i: OpeningInput,
  inFile: readonly EpochEntry[],
  startOffset: number,
  upTo: number,
): void {
  const first = inFile[0];
  if (first === undefined || first.startOffset <= startOffset) return;
  const batch = headerAt(i, startOffset, upTo);
  if (batch === null || leaderEpochAt(batch, 0) < 0) return;
  i.onWarning(
    `${i.name}: ${
      i.segments.pathOf(LEADER_EPOCH_FILE)
    } begins at offset ${first.startOffset}, the log at ${startOffset}: ` +
      "the records before were deleted, but log-start-offset-checkpoint does not say so any more, and they are there again",
  );
}

/** The header of the batch that holds `offset`; null when there is none. Throws `IoError`. */
function headerAt({ segments, config }: OpeningInput, offset: number, upTo: number): Uint8Array | null {
  const segment = segments.list[segments.indexFor(offset)];
  if (segment === undefined || segment.size === 0) return null;
  const { indexIntervalBytes } = config;
  // Most often it is the first, for which no index has to be opened.
  const first = batchHolding(segment, 0, segment.baseOffset);
  if (first === null || lastOffsetAt(first, 0) >= offset) return first;
  if (segments.indexFor(upTo) === segments.indexFor(offset) && upTo < Infinity) {
    // Of its indexes no more than this is on the device, and making them anew would read what recovery is to check.
    if (!segment.openIndexesBelow(upTo)) return null;
    return batchHolding(segment, segment.positionBefore(offset), offset);
  }
  segments.openIndexes(segment, indexIntervalBytes);
  const from = startFor(segment, offset, () => segments.rebuildIndexes(segment, indexIntervalBytes));
  return batchHolding(segment, from, offset);
}

/** Epochs only rise: where the next segment begins with the same one as this, there is no need to look between. */
function epochsInBatches(list: readonly Segment[], upTo: number): LeaderEpochs {
  const rising = new RisingEpochs(new LeaderEpochs());
  const note = (bytes: Uint8Array, at: number) => {
    rising.note(leaderEpochAt(bytes, at), baseOffsetAt(bytes, at));
    return leaderEpochAt(bytes, at);
  };
  const filled = list.filter(({ size }) => size >= PEEK_BYTES);
  const peeks = filled.map((segment) => {
    const peek = new Uint8Array(PEEK_BYTES);
    segment.log.get().readAt(peek, 0);
    return peek;
  });
  for (const [index, segment] of filled.entries()) {
    const first = note(peeks[index], 0);
    if (index + 1 < filled.length && leaderEpochAt(peeks[index + 1], 0) === first) continue;
    scanBatches(segment.log, 0, segment.size, (bytes, at) => {
      note(bytes, at);
      // What comes next may be anything.
      return lastOffsetAt(bytes, at) + 1 < upTo;
    });
  }
  rising.finish();
  return rising.epochs;
}
