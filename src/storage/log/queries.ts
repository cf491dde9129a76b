/**
 * What may be asked of a log, none of which changes it: batches from an offset on, offsets by time, and what it knows
 * of epochs and producers. Bounds are judged here; finding the place in the segments is `reader.ts`.
 */

import type { Allowance } from "../../codec/allowance.ts";
import { ErrorCode } from "../../codec/errors.ts";
import { offsetOfRecords } from "../../codec/legacy.ts";
import { isReady, needReady, transactionsOf } from "./readiness.ts";
import type { SliceLimits, SliceRead } from "./reader.ts";
import type { LogState } from "./state.ts";
import type { ProducerEntry } from "../producers/producer_state.ts";
import { positionOf } from "../segment/index_lookup.ts";
import type { ReadLimits } from "../segment/read.ts";
import type { TimestampedOffset } from "../segment/time_lookup.ts";
import type { AbortedTransaction } from "../segment/transaction_index.ts";

export interface ReadResult {
  errorCode: number;
  /** Whole batches. The first may begin before the offset asked for. */
  bytes: Uint8Array;
  /** Where the next read goes on. */
  nextOffset: number;
}

const nothing = new Uint8Array(0);

/** Read at once on the way to the next record. */
const PASSED_AT_ONCE_BYTES = 256 * 1024;

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
    log.reportRead("read", error);
    return empty(ErrorCode.KAFKA_STORAGE_ERROR);
  }
}

/** What of {@link read} can be sent from the file; null when it has to be read, which also tells of every problem. */
export function slice(log: LogState, fetchOffset: number, limits: SliceLimits): SliceRead | null {
  if (log.unopened !== null || fetchOffset < log.startOffset || fetchOffset >= log.endOffset) return null;
  try {
    return log.reader.slice(fetchOffset, limits, log.endOffset, log.config.indexIntervalBytes);
  } catch (error) {
    log.reportRead("read", error);
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
    log.reportRead("read", error);
    return null;
  }
}

/**
 * Where the first batch begins, at or behind `offset`, that has records: for readers of versions that have no markers, and
 * who could not be told of another way to go on. `allowance` pays for the bytes on the way; where it or the log ends, so
 * does the way. The log remembers how far somebody came, so that who asks again goes on there; `from` is where the stretch
 * began, if the caller has seen so.
 */
export function recordsFrom(
  log: LogState,
  offset: number,
  maxOffset: number,
  allowance: Allowance,
  from = offset,
): number {
  const { recordless, truncations } = log;
  if (offset < log.startOffset) return offset;
  for (;;) {
    const known = recordless.at(offset, truncations);
    if (known !== null) {
      from = Math.min(from, known.from);
      offset = known.to;
    }
    if (allowance.bytes <= 0 || offset >= maxOffset) break;
    const maxBytes = Math.min(PASSED_AT_ONCE_BYTES, allowance.bytes);
    const { bytes, nextOffset } = read(log, offset, { maxBytes, maxOffset, minOneMessage: true });
    allowance.bytes -= bytes.length;
    const next = offsetOfRecords(bytes, offset);
    const isThrough = next < nextOffset || next === offset;
    offset = next;
    if (isThrough) break;
  }
  if (offset > from) recordless.add({ from, to: offset });
  return offset;
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
    log.reportRead("search", error);
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

/** The end of what is committed and belongs to no transaction that is still undecided. Throws `IoError`. */
export function lastStableOffset(log: LogState): number {
  if (log.unopened !== null) needReady(log);
  const { highWatermark, startOffset, producers: { firstUnstableOffset } } = log;
  if (firstUnstableOffset === null) return highWatermark;
  // Where the log begins behind a transaction's first record, its readers do too.
  return Math.min(highWatermark, Math.max(firstUnstableOffset, startOffset));
}

/**
 * The aborted transactions that who reads from `fetchOffset` up to `nextOffset` has to know of: all with a marker in or behind
 * that, which began before the next batch that the index has. In the order of their markers. Throws `IoError`.
 */
export function abortedTransactions(
  log: LogState,
  fetchOffset: number,
  nextOffset: number,
): AbortedTransaction[] {
  needReady(log);
  const { segments } = log;
  const found: AbortedTransaction[] = [];
  log.looksUpTransactions = true;
  const first = segments.indexFor(fetchOffset);
  let upTo = -1;
  for (let index = first; index < segments.list.length; index++) {
    const transactions = transactionsOf(log, segments.list[index]);
    if (transactions.count === 0) continue;
    if (upTo < 0) upTo = upperBound(log, first, nextOffset);
    if (transactions.collect(fetchOffset, upTo, (each) => found.push(each))) break;
  }
  return found;
}

/** Where the first batch ends that is behind `nextOffset` and that the index of segment `first` knows; else that segment. */
function upperBound({ segments, config, endOffset }: LogState, first: number, nextOffset: number): number {
  const segment = segments.list[first];
  segments.openIndexes(segment, config.indexIntervalBytes);
  const indexed = segment.offsets.ceiling(nextOffset);
  return Math.max(nextOffset, indexed ?? segments.list[first + 1]?.baseOffset ?? endOffset);
}

/**
 * Bytes of the batches from `from` up to `to`, where a batch begins or the log ends; Infinity where they are in several
 * segments, for then there is something to be read in any case. Throws `IoError`.
 */
export function bytesBetween(log: LogState, from: number, to: number): number {
  if (from >= to) return 0;
  needReady(log);
  const { segments, config: { indexIntervalBytes } } = log;
  const index = segments.indexFor(from);
  if (index !== segments.indexFor(to - 1)) return Infinity;
  const segment = segments.list[index];
  segments.openIndexes(segment, indexIntervalBytes);
  const rebuild = () => segments.rebuildIndexes(segment, indexIntervalBytes);
  return positionOf(segment, to, rebuild) - positionOf(segment, from, rebuild);
}

/** The idempotent producers that the log remembers. Throws `IoError`. */
export function activeProducers(log: LogState): ProducerEntry[] {
  needReady(log);
  return [...log.producers.entries()];
}
