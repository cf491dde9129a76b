/**
 * What may be asked of a log, none of which changes it: batches from an offset on, offsets by time, and what it knows
 * of epochs and producers. Bounds are judged here; finding the place in the segments is `reader.ts`.
 */

import type { Allowance } from "../../codec/allowance.ts";
import { ErrorCode } from "../../codec/errors.ts";
import { isReady, needReady } from "./readiness.ts";
import type { SliceLimits, SliceRead } from "./reader.ts";
import type { LogState } from "./state.ts";
import type { ProducerEntry } from "../producers/producer_state.ts";
import type { ReadLimits } from "../segment/read.ts";
import type { TimestampedOffset } from "../segment/time_lookup.ts";

export interface ReadResult {
  errorCode: number;
  /** Whole batches. The first may begin before the offset asked for. */
  bytes: Uint8Array;
  /** Where the next read goes on. */
  nextOffset: number;
}

const nothing = new Uint8Array(0);

/** Whole batches from the one that holds `fetchOffset` on. OFFSET_OUT_OF_RANGE before the start or past the end. */
export function read(log: LogState, fetchOffset: number, limits: ReadLimits): ReadResult {
  const empty = (errorCode: number) => ({ errorCode, bytes: nothing, nextOffset: fetchOffset });
  if (log.unopened !== null && !isReady(log)) return empty(ErrorCode.KAFKA_STORAGE_ERROR);
  if (fetchOffset < log.startOffset || fetchOffset > log.endOffset) {
    return empty(ErrorCode.OFFSET_OUT_OF_RANGE);
  }
  if (fetchOffset === log.endOffset) {
    const { active } = log.segments;
    if (active !== undefined) log.reader.remember(fetchOffset, active, active.size);
    return empty(ErrorCode.NONE);
  }
  const wantsNothing = limits.maxBytes <= 0 && !limits.minOneMessage;
  if (fetchOffset >= limits.maxOffset || wantsNothing) return empty(ErrorCode.NONE);
  try {
    const { indexIntervalBytes } = log.config;
    const { bytes, nextOffset } = log.reader.read(fetchOffset, limits, indexIntervalBytes, log.isDense);
    return { errorCode: ErrorCode.NONE, bytes, nextOffset };
  } catch (error) {
    log.report("read", error);
    return empty(ErrorCode.KAFKA_STORAGE_ERROR);
  }
}

/** What of {@link read} can be sent from the file; null when it has to be read, which also tells of every problem. */
export function slice(log: LogState, fetchOffset: number, limits: SliceLimits): SliceRead | null {
  if (log.unopened !== null || fetchOffset < log.startOffset || fetchOffset >= log.endOffset) return null;
  try {
    return log.reader.slice(fetchOffset, limits, log.endOffset, log.config.indexIntervalBytes);
  } catch (error) {
    log.report("read", error);
    return null;
  }
}

/**
 * Resolves when a read of `maxBytes` bytes from `fetchOffset` on need not wait for the disk any more; null when it may be
 * done at once, which is nearly always.
 */
export function readAhead(log: LogState, fetchOffset: number, maxBytes: number): Promise<void> | null {
  if (log.unopened !== null || fetchOffset < log.startOffset || fetchOffset >= log.endOffset) return null;
  try {
    return log.reader.readAhead(fetchOffset, maxBytes, log.config.indexIntervalBytes);
  } catch (error) {
    log.report("read", error);
    return null;
  }
}

/** The first record from `timestamp` on, if it lies below `maxOffset`. Throws `IoError`. */
export function offsetForTime(
  log: LogState,
  timestamp: number,
  maxOffset: number,
  allowance?: Allowance,
): TimestampedOffset | null {
  const { startOffset, config: { indexIntervalBytes }, isDense } = log;
  const found = searched(
    log,
    () => log.reader.offsetForTime(timestamp, startOffset, indexIntervalBytes, isDense, allowance),
  );
  return found !== null && found.offset < maxOffset ? found : null;
}

/** The first record that has the largest timestamp of all, if it lies below `maxOffset`. Throws `IoError`. */
export function offsetOfMaxTimestamp(
  log: LogState,
  maxOffset: number,
  allowance?: Allowance,
): TimestampedOffset | null {
  const { config: { indexIntervalBytes }, isDense } = log;
  const found = searched(log, () => log.reader.offsetOfMaxTimestamp(indexIntervalBytes, isDense, allowance));
  return found !== null && found.offset < maxOffset && found.offset >= log.startOffset ? found : null;
}

/** Reports the failure of a search: who asked hears only that there was one. */
function searched<T>(log: LogState, search: () => T): T {
  needReady(log);
  try {
    return search();
  } catch (error) {
    log.report("search", error);
    throw error;
  }
}

/** The epoch that `requested` ended in, and where. Throws `IoError`. */
export function endOffsetForEpoch(
  log: LogState,
  requested: number,
  currentLeaderEpoch: number,
): { leaderEpoch: number; endOffset: number } {
  needReady(log);
  return log.epochFile.epochs.endOffset(requested, currentLeaderEpoch, log.endOffset);
}

/** The leader epoch under which the record at `offset` was written; -1 when not known. Throws `IoError`. */
export function leaderEpochAt(log: LogState, offset: number): number {
  needReady(log);
  return log.epochFile.epochs.at(offset);
}

/** Where the oldest transaction under way began; null without one. Throws `IoError`. */
export function firstUnstableOffset(log: LogState): number | null {
  needReady(log);
  return log.producers.firstUnstableOffset();
}

/** The idempotent producers that the log remembers. Throws `IoError`. */
export function activeProducers(log: LogState): ProducerEntry[] {
  needReady(log);
  return [...log.producers.entries()];
}
