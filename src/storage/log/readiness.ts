/**
 * Opening a log at its first use, and again after a truncation that failed halfway. Here is when that happens and what
 * the log takes over from it; how a log is opened and checked is in `opening.ts`.
 */

import { IoError } from "../files/files.ts";
import {
  openClosedLog,
  openCrashedLog,
  type OpenedLog,
  type OpeningInput,
  remakeTransactionsOf,
} from "./opening.ts";
import type { LogState } from "./state.ts";
import type { Segment } from "../segment/segment.ts";
import type { TransactionIndex } from "../segment/transaction_index.ts";

/** Opens the log if it is not open yet. False (reported) when the disk fails or the log is offline. */
export function isReady(log: LogState): boolean {
  if (log.unopened === null) return true;
  if (log.offline !== null || !listSegments(log)) return false;
  const { how, closedAt } = log.unopened;
  log.attempt("open", () => {
    let opened: OpenedLog | string | null = null;
    if (how === "closed") {
      opened = openClosedLog(openingInput(log), closedAt);
      // What was noted is not so: the segment that was written last is in doubt.
      if (opened === null) {
        log.flushedOffset = Math.min(log.flushedOffset, log.segments.active?.baseOffset ?? 0);
      }
    }
    if (opened === null) {
      log.unopened!.how = "crashed";
      const sizeBefore = log.segments.sizeInBytes;
      opened = openCrashedLog(openingInput(log));
      if (typeof opened !== "string") {
        const { sizeInBytes, list } = log.segments;
        const cutBytes = sizeBefore - sizeInBytes - list.reduce((sum, each) => sum + each.trimmedBytes, 0);
        log.recovered = { readBytes: log.segments.unsyncedBytes + cutBytes, cutBytes };
      }
    }
    if (typeof opened !== "string") return take(log, opened);
    log.offline = opened;
    log.onWarning(opened);
  });
  return log.unopened === null;
}

/** As {@link isReady}, for who has no error code to give: throws `IoError`. */
export function needReady(log: LogState): void {
  if (!isReady(log)) throw new IoError("open", log.segments.place.path, log.offline ?? "the disk failed");
}

/**
 * Looks at the names of a log's files, and opens the log only if it has to be: when it was not closed in order, or when
 * the checkpoints and those names do not agree.
 */
export function findLog(log: LogState): void {
  listSegments(log);
  const closedAt = log.unopened?.closedAt ?? null;
  if (closedAt === null || closedAt < log.startOffset || closedAt < log.reachedBefore) isReady(log);
  else if (closedAt > 0 && log.segments.active === undefined) isReady(log);
}

/** What opening, or reading the producers anew, needs to know of the log. */
export function openingInput(log: LogState): OpeningInput {
  return {
    name: log.name,
    segments: log.segments,
    startOffset: log.startOffset,
    recoveryPoint: Math.min(log.flushedOffset, log.indexedOffset),
    config: log.config,
    now: log.clock.monotonic(),
    machineStopped: log.machineStopped,
    dense: log.isDense,
    denseAtEnd: log.compactedBelowRecoveryPoint,
    closedAt: log.unopened?.closedAt ?? null,
    onWarning: log.onWarning,
  };
}

/** A segment's index of transactions, made anew from the batches where it cannot be right. Throws `IoError`. */
export function transactionsOf(log: LogState, segment: Segment): TransactionIndex {
  const { transactions, baseOffset } = segment;
  if (!transactions.isSound(baseOffset)) remakeTransactionsOf(openingInput(log), segment);
  return transactions;
}

/** Finds out which segments there are. False (reported) when the disk fails. */
function listSegments(log: LogState): boolean {
  if (log.unopened === null || log.unopened.listed) return true;
  let orphans: string[] = [];
  const listed = log.attempt("list the files of", () => {
    orphans = log.segments.load();
  });
  if (!listed) return false;
  if (orphans.length > 0) {
    log.onWarning(
      `${log.name}: ${
        orphans.join(", ")
      } was there, but not the log file beside it: its records are lost, unless that ` +
        `file is put back before the broker starts`,
    );
  }
  log.unopened.listed = true;
  log.startOffset = Math.max(log.startOffset, log.segments.list[0]?.baseOffset ?? 0);
  log.endOffset = Math.max(log.endOffset, log.startOffset);
  return true;
}

function take(log: LogState, opened: OpenedLog): void {
  const { endOffset, startOffset } = opened;
  tellOfLosses(log, opened);
  log.checkpointsBehind ||= startOffset < log.startOffset || opened.flushedOffset < log.flushedOffset ||
    endOffset < log.highWatermark;
  // Where the disk kept the end from being known, whoever put the high watermark to it meant this one.
  const stoodAtEnd = log.unopened?.how === "crashed" && log.highWatermark >= log.endOffset;
  log.endOffset = endOffset;
  log.startOffset = startOffset;
  log.highWatermark = stoodAtEnd ? endOffset : Math.min(log.highWatermark, endOffset);
  log.flushedOffset = log.indexedOffset = opened.flushedOffset;
  log.bytesToRecover = log.segments.unsyncedBytes;
  log.epochFile.open(opened.epochs, opened.epochsChanged, log.unopened?.how === "crashed");
  log.producers = opened.producers;
  log.producers.committedTo(log.highWatermark);
  log.snapshotOffset = log.segments.snapshots.latest ?? -1;
  if (log.checkpointsBehind) log.onTakenBack();
  log.checkpointsBehind = false;
  log.unopened = null;
  // The next flush writes what cannot be written now.
  log.attempt("write leader epochs of", () => log.epochFile.write());
}

/** Checkpoints remember more than what is there: told aloud, since the offsets will be given to other records. */
function tellOfLosses(log: LogState, { endOffset, startOffset }: OpenedLog): void {
  const { path } = log.segments.place;
  if (endOffset < log.reachedBefore) {
    log.onWarning(
      `${log.name}: the checkpoints say that the log reached offset ${log.reachedBefore}, but what is in ${path} ends ` +
        `at ${endOffset}: the records between are lost, and their offsets will be given to new ones. To get them back, ` +
        `stop the broker and restore the directory from a copy`,
    );
  }
  if (startOffset < log.startOffset && startOffset === endOffset) {
    log.onWarning(
      `${log.name}: the log start ${log.startOffset} of log-start-offset-checkpoint lies past the log's end: the log ` +
        `now starts at its end, ${startOffset}. If the records before it are wanted, stop the broker, and remove the ` +
        `partition's line from that file`,
    );
  }
  log.reachedBefore = 0;
}
