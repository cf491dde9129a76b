/**
 * What compaction asks of a log and does to it. Which of its segments may be cleaned, and how much of them is new, is told
 * here; a thread of its own does the work over the files; and the exchange of segments is here again, in one synchronous
 * go, so that a read or an append sees the old ones or the new.
 */

import type { CleanedGroup, ProducersLast } from "../cleaner/job.ts";
import { lastStableOffset } from "./queries.ts";
import { isReady, transactionsOf } from "./readiness.ts";
import type { LogState } from "./state.ts";
import { NO_LIMIT } from "./config.ts";
import type { Segment } from "../segment/segment.ts";

/** A log that there is something to clean in. */
export interface Cleanable {
  /** From the first to the last that may be cleaned; the log must have them still when they are replaced. */
  readonly segments: readonly Segment[];
  /** The segments after those, by their base offsets. */
  readonly laterBases: readonly number[];
  readonly firstDirtyOffset: number;
  /** Where the first segment begins that may not be cleaned. */
  readonly upperBound: number;
  readonly dirtyBytes: number;
  /** Of all bytes that may be cleaned, the share that was not yet. */
  readonly dirtyRatio: number;
  /** How often the log's end was cut off before. */
  readonly truncations: number;
}

/**
 * What may be cleaned, if that is due by the topic's settings at wall-clock time `now`; null else. `cleanedUpTo` is where
 * the last cleaning came to, undefined without one. A log that was not used yet is opened only if it looks due.
 */
export function cleanable(log: LogState, cleanedUpTo: number | undefined, now: number): Cleanable | null {
  const { config } = log;
  if (!config.cleanupPolicy.compact || log.offline !== null || log.copiesUnderWay > 0) return null;
  if (log.segments.list.length < 2) return null;
  // Without the times, which have to be read from the files: only less is due by them.
  if (log.unopened !== null && config.maxCompactionLagMs === NO_LIMIT) {
    const { dirtyRatio } = measured(log, cleanedUpTo, log.endOffset);
    if (dirtyRatio <= config.minCleanableDirtyRatio) return null;
  }
  if (!isReady(log)) return null;
  let found: Cleanable | null = null;
  log.attempt("look for what to clean in", () => {
    const measure = measured(log, cleanedUpTo, cleanableEnd(log, cleanedUpTo, now));
    const isDue = measure.dirtyBytes > 0 &&
      (measure.dirtyRatio > config.minCleanableDirtyRatio || isOverdue(log, measure.firstDirtyOffset, now));
    if (!isDue) return;
    // The compactor reads them from the files: of what it does not find there, it would take the records for committed.
    for (const segment of log.segments.list) transactionsOf(log, segment).write();
    found = measure;
  });
  return found;
}

/** Where the first offset is that must not be cleaned: what is not committed, not on the device, or too young. */
function cleanableEnd(log: LogState, cleanedUpTo: number | undefined, now: number): number {
  const { config, segments } = log;
  // A key's former record must not be gone for sure while its last one is only in memory.
  const end = Math.min(lastStableOffset(log), log.flushedOffset);
  if (config.minCompactionLagMs <= 0) return end;
  const from = segments.indexFor(firstDirty(log, cleanedUpTo));
  const young = segments.list.slice(from, -1).find((segment) => {
    segments.openIndexes(segment, config.indexIntervalBytes);
    return segment.newestMs > now - config.minCompactionLagMs;
  });
  return Math.min(end, young?.baseOffset ?? Infinity);
}

/** What is to be cleaned up to `end`, the active segment apart. */
function measured(log: LogState, cleanedUpTo: number | undefined, end: number): Cleanable {
  const { segments } = log;
  const closed = segments.list.slice(0, -1);
  const firstDirtyOffset = firstDirty(log, cleanedUpTo);
  const whole = Math.max(end, firstDirtyOffset) >= segments.active!.baseOffset
    ? closed.length
    : segments.indexFor(Math.max(end, firstDirtyOffset));
  const doubtful = closed.findIndex((segment) =>
    segment.unsynced || segment.mustRewrite || segment.indexesDoubtful
  );
  const count = doubtful < 0 ? whole : Math.min(whole, doubtful);
  const upperBound = segments.list[count].baseOffset;
  const list = closed.slice(0, count);
  const dirtyFrom = segments.indexFor(Math.min(firstDirtyOffset, upperBound));
  const sizeOf = (part: readonly Segment[]) => part.reduce((sum, { size }) => sum + size, 0);
  const dirtyBytes = firstDirtyOffset >= upperBound ? 0 : sizeOf(list.slice(dirtyFrom));
  const cleanBytes = sizeOf(list.filter(({ baseOffset }) => baseOffset < firstDirtyOffset));
  const total = cleanBytes + dirtyBytes;
  const dirtyRatio = total === 0 ? 0 : dirtyBytes / total;
  const laterBases = segments.list.slice(count).map(({ baseOffset }) => baseOffset);
  const { truncations } = log;
  return { segments: list, laterBases, firstDirtyOffset, upperBound, dirtyBytes, dirtyRatio, truncations };
}

function firstDirty(log: LogState, cleanedUpTo = log.startOffset): number {
  // One that cannot be, after a truncation or a deletion of records, has all of the log looked at again.
  return cleanedUpTo < log.startOffset || cleanedUpTo > log.endOffset ? log.startOffset : cleanedUpTo;
}

/** Whether a record that was not cleaned is older than `max.compaction.lag.ms` (KIP-354). */
function isOverdue({ config, segments }: LogState, firstDirtyOffset: number, now: number): boolean {
  if (config.maxCompactionLagMs === NO_LIMIT) return false;
  return segments.list.slice(segments.indexFor(firstDirtyOffset), -1).some((segment) => {
    const first = segment.size === 0 ? -1 : segment.firstBatchTimestamp();
    return first > 0 && first < now - config.maxCompactionLagMs;
  });
}

/** The last batches of each idempotent producer that the log remembers. */
export function producersLast(log: LogState): ProducersLast[] {
  return [...log.producers.entries()].map(({ producerId, producerEpoch, batches }) => {
    const ends = batches.map(({ lastOffset }) => lastOffset);
    const flushed = ends.filter((end) => end < log.flushedOffset);
    return { producerId, producerEpoch, lastOffsets: [...ends.slice(-1), ...flushed.slice(-1)] };
  });
}

/**
 * Puts a cleaned segment in the place of those of `found` with the base offsets that it names. False when that is not
 * wanted any more (`found` is null), when the log does not have those segments as they were, or when the disk fails on the
 * way: then the log is read again before it is used, and what is on disk by then decides.
 */
export function replaceSegments(log: LogState, found: Cleanable | null, by: CleanedGroup): boolean {
  const { segments, config } = log;
  // What was cleaned for nothing is removed when the log is read, or is gone with it.
  if (log.unopened !== null || log.offline !== null || segments.gone) return false;
  const replaced = found?.segments.filter(({ baseOffset }) => by.replaced.includes(baseOffset)) ?? [];
  const first = segments.list.indexOf(replaced[0]);
  const isThere = first >= 0 && log.copiesUnderWay === 0 && log.truncations === found?.truncations &&
    replaced.every((segment, i) => segments.list[first + i] === segment);
  if (!isThere) {
    log.attempt("remove what was cleaned in vain of", () => segments.removeCleaned(by.replaced[0]));
    return false;
  }
  log.wasCompacted = true;
  const done = log.attempt("put cleaned segments in place in", () => {
    segments.exchange(first, replaced.length, by, config.fileDeleteDelayMs);
  });
  log.reader.forget();
  if (!done) log.unopened = { listed: false, how: "crashed", closedAt: null };
  return done;
}
