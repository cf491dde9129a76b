/**
 * Cutting a log: its end off, where a follower's history parts from the leader's; its beginning off, by DeleteRecords
 * and retention. Which segments are over is judged in `retention.ts`.
 */

import { ErrorCode } from "../../codec/errors.ts";
import { producersOf } from "./opening.ts";
import { isReady, openingInput } from "./readiness.ts";
import { roll } from "./rolling.ts";
import type { LogState } from "./state.ts";
import { expiredSegments } from "./retention.ts";

/** Drops the records from `offset` on. Gives an error code. */
export function truncateTo(log: LogState, offset: number): number {
  if (!isReady(log)) return ErrorCode.KAFKA_STORAGE_ERROR;
  if (offset >= log.endOffset) return ErrorCode.NONE;
  log.truncations++;
  log.reader.forget();
  const truncated = log.attempt("truncate", () => {
    const { segments } = log;
    segments.cutUnsynced = true;
    // From the end, so that whatever stops this leaves a log without a gap.
    const segmentsBefore = segments.list.length;
    while (segments.list.length > 0 && segments.list[segments.list.length - 1].baseOffset >= offset) {
      segments.removeLast();
    }
    if (segments.list.length < segmentsBefore) segments.syncNames();
    if (segments.active !== undefined) {
      segments.openIndexes(segments.active, log.config.indexIntervalBytes);
      segments.active.truncateTo(offset);
    }
    segments.syncCut();
    log.endOffset = offset;
    log.flushedOffset = Math.min(log.flushedOffset, offset);
    log.indexedOffset = Math.min(log.indexedOffset, offset);
    log.startOffset = Math.min(log.startOffset, offset);
    log.epochFile.changed(log.epochFile.epochs.truncateFromEnd(offset));
    log.epochFile.write();
    segments.snapshots.removeAfter(offset);
    segments.directoryUnsynced = true;
    log.snapshotOffset = segments.snapshots.latest ?? -1;
    log.producers = producersOf(openingInput(log), offset);
    log.producers.committedTo(log.highWatermark);
  });
  // Halfway, what is on disk and in memory may differ: it is read again before anything else.
  if (!truncated) log.unopened = { listed: false, how: "crashed", closedAt: null };
  return truncated ? ErrorCode.NONE : ErrorCode.KAFKA_STORAGE_ERROR;
}

/** Moves the log's start to `offset`, forward only. OFFSET_OUT_OF_RANGE past the end. */
export function deleteRecordsBefore(log: LogState, offset: number): number {
  if (!isReady(log)) return ErrorCode.KAFKA_STORAGE_ERROR;
  if (offset > log.endOffset) return ErrorCode.OFFSET_OUT_OF_RANGE;
  if (offset > log.startOffset) {
    moveStart(log, offset);
    // Before the checkpoint of log starts: one that is ahead of the epochs is damaged. A flush tries again what fails.
    log.attempt("write leader epochs of", () => log.epochFile.write());
  }
  return ErrorCode.NONE;
}

function moveStart(log: LogState, offset: number): void {
  log.startOffset = offset;
  log.epochFile.changed(log.epochFile.epochs.truncateFromStart(offset));
}

/** Removes the segments that are over, as far as they lie below `highWatermark`. Gives their number. */
export function applyRetention(log: LogState, now: number, highWatermark: number): number {
  if (log.isBeingCleaned || !isReady(log)) return 0;
  let removed = 0;
  log.attempt("remove old segments of", () => {
    const { segments, config, startOffset, endOffset } = log;
    const expirable = segments.list.map((segment) => ({
      baseOffset: segment.baseOffset,
      size: segment.size,
      newestMs: () => {
        segments.openIndexes(segment, config.indexIntervalBytes);
        return segment.newestMs;
      },
    }));
    const count = expiredSegments(expirable, config, startOffset, endOffset, highWatermark, now);
    if (count > 0 && count === segments.list.length) roll(log, segments.active!, endOffset, now);
    for (; removed < count; removed++) {
      segments.discardFirst(config.fileDeleteDelayMs);
    }
  });
  if (removed > 0) {
    const first = log.segments.list[0].baseOffset;
    log.reader.forget();
    if (first > log.startOffset) moveStart(log, first);
    log.attempt("clear up after old segments of", () => {
      log.segments.snapshots.removeBefore(first);
      log.epochFile.write();
    });
  }
  return removed;
}
