/**
 * Appending to a log, as leader and as follower. All in one synchronous go: a batch is judged, written, and only then
 * taken note of, so that nothing has to be undone when the disk fails.
 */

import { FIRST_PROTOCOL } from "../../codec/transaction_version.ts";
import type { BatchView } from "../../codec/batch.ts";
import { ErrorCode } from "../../codec/errors.ts";
import {
  type AppendOptions,
  type AppendResult,
  leaderBatches,
  prepareBatch,
  Refusal,
  refusedAppend,
} from "./append.ts";
import { isReady, transactionsOf } from "./readiness.ts";
import { segmentFor } from "./rolling.ts";
import { APPEND, type LogState, WRITE_INDEXES } from "./state.ts";
import { abortedTransaction } from "../producers/aborted.ts";
import type { CompletedTransaction, WrittenBatch } from "../producers/producer_state.ts";
import type { Segment } from "../segment/segment.ts";

/** Appends one batch of format 2 as the partition's leader. */
export function append(log: LogState, bytes: Uint8Array, o: AppendOptions): AppendResult {
  if (log.unopened !== null && !isReady(log)) return unavailable(log);
  const batch = prepareBatch(bytes, log.config, o);
  if (batch instanceof Refusal) return refusedAppend(batch, log.startOffset);
  if (batch.hasProducerId) {
    const verdict = o.origin === "client"
      ? log.producers.check(batch, o.verification ?? null)
      : log.producers.checkCoordinators(batch, o.transactionVersion ?? FIRST_PROTOCOL);
    if (verdict.errorCode !== ErrorCode.NONE) {
      const refusal = new Refusal(verdict.errorCode, `Cannot append to ${log.name}: ${verdict.text}`);
      return refusedAppend(refusal, log.startOffset);
    }
    if (verdict.duplicateOf !== null) return duplicateAppend(log, verdict.duplicateOf);
  }
  batch.baseOffset = log.endOffset;
  batch.partitionLeaderEpoch = o.leaderEpoch;
  const stored = batch.bytes.length === batch.sizeInBytes ? batch.bytes : batch.toBytes();
  if (!write(log, stored, [batch], batch.maxTimestamp, o.now)) return unavailable(log);
  if (o.leaderEpoch !== log.epochFile.epochs.latest) noteEpoch(log, o.leaderEpoch, batch.baseOffset);
  const logAppendTimeMs = log.config.messageTimestampType === "LogAppendTime" ? o.now : -1;
  return appended(log, batch.baseOffset, batch.lastOffset, logAppendTimeMs, false);
}

/** Appends batches as the leader wrote them; at the log's end or after it. */
export function appendAsFollower(log: LogState, bytes: Uint8Array, now: number): AppendResult {
  if (log.unopened !== null && !isReady(log)) return unavailable(log);
  const batches = leaderBatches(bytes, log.endOffset);
  if (batches instanceof Refusal) return refusedAppend(batches, log.startOffset);
  const maxTimestamp = batches.reduce((max, batch) => Math.max(max, batch.maxTimestamp), -1);
  if (!write(log, bytes, batches, maxTimestamp, now)) return unavailable(log);
  for (const batch of batches) {
    const epoch = batch.partitionLeaderEpoch;
    if (epoch > log.epochFile.epochs.latest) noteEpoch(log, epoch, batch.baseOffset);
  }
  return appended(log, batches[0].baseOffset, batches[batches.length - 1].lastOffset, -1, false);
}

/** Notes that this broker leads under `epoch` from the log's end on, if that is news. Gives an error code. */
export function assignLeaderEpoch(log: LogState, epoch: number): number {
  if (!isReady(log)) return ErrorCode.KAFKA_STORAGE_ERROR;
  noteEpoch(log, epoch, log.endOffset);
  return ErrorCode.NONE;
}

/** Writes `batches`, which are all of `bytes`, at the log's end. False, and nothing changed, when the disk fails. */
function write(
  log: LogState,
  bytes: Uint8Array,
  batches: BatchView[],
  maxTimestamp: number,
  now: number,
): boolean {
  const { baseOffset } = batches[0];
  const { lastOffset, nextOffset } = batches[batches.length - 1];
  let segment: Segment;
  try {
    segment = segmentFor(log, { bytes: bytes.length, baseOffset, lastOffset, maxTimestamp }, now);
    segment.log.get().writeAt(bytes, segment.size);
  } catch (error) {
    log.report(APPEND, error);
    log.tailDirty = true;
    log.cleanTail();
    return false;
  }
  const seenMs = log.clock.monotonic();
  const { indexIntervalBytes } = log.config;
  for (const batch of batches) {
    const { sizeInBytes } = batch;
    segment.index(segment.size, sizeInBytes, batch.lastOffset, batch.maxTimestamp, indexIntervalBytes);
    segment.learn(segment.size, segment.size + sizeInBytes);
    segment.size += sizeInBytes;
    const completed = log.producers.update(batch, seenMs);
    if (completed !== null) noteCompleted(log, segment, completed);
  }
  segment.unsynced = true;
  log.endOffset = nextOffset;
  log.bytesToRecover += bytes.length;
  log.works(APPEND);
  if (log.segments.syncFailed) log.segments.noteSyncFailed();
  // Entries that cannot be written now are kept, and written with the next ones.
  if (segment.indexesDue) log.attempt(WRITE_INDEXES, () => segment.writeIndexes());
  return true;
}

/** A transaction has ended: an aborted one gets into the index, of which readers and the compactor learn of it. */
function noteCompleted(log: LogState, segment: Segment, completed: CompletedTransaction): void {
  if (!completed.isAborted) return;
  const { transactions } = segment;
  transactions.add(abortedTransaction(log.producers, completed));
  log.segments.directoryUnsynced ||= transactions.isUnmade;
  // One that is made anew has it from the batches.
  log.attempt(WRITE_INDEXES, () => transactionsOf(log, segment).write());
}

function noteEpoch(log: LogState, epoch: number, startOffset: number): void {
  if (epoch < 0) return;
  log.epochFile.changed(log.epochFile.epochs.assign(epoch, startOffset));
  // If it fails, the next flush writes the file, or recovery finds the epochs in the batches.
  log.attempt("write leader epochs of", () => log.epochFile.write());
}

function appended(
  log: LogState,
  baseOffset: number,
  lastOffset: number,
  logAppendTimeMs: number,
  duplicate: boolean,
): AppendResult {
  return {
    errorCode: ErrorCode.NONE,
    baseOffset,
    lastOffset,
    logAppendTimeMs,
    logStartOffset: log.startOffset,
    duplicate,
    mustFlush: log.endOffset - log.flushedOffset >= log.config.flushMessages,
  };
}

function duplicateAppend(log: LogState, written: WrittenBatch): AppendResult {
  // Kafka tells the time of the batch here even where the topic has create time.
  return appended(log, written.lastOffset - written.offsetDelta, written.lastOffset, written.timestamp, true);
}

function unavailable(log: LogState): AppendResult {
  const text = log.offline ?? `The disk under ${log.name} failed`;
  return refusedAppend(new Refusal(ErrorCode.KAFKA_STORAGE_ERROR, text), log.startOffset);
}
