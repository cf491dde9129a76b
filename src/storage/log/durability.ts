/**
 * What a log does so that nothing is lost and little has to be read again: flushes, producer snapshots, an orderly
 * close. The recovery point moves here and nowhere else; how one sync serves many who wait is in `flusher.ts`.
 */

import { IoError } from "../files/files.ts";
import { needReady } from "./readiness.ts";
import { FLUSH, FLUSH_INDEXES, type LogState, WRITE_INDEXES } from "./state.ts";

/** Whether a restart after a crash would have to read something. */
export function hasUnflushed(log: LogState): boolean {
  return log.unopened === null && log.flushedOffset < log.endOffset;
}

/** Rejects with `IoError`: the recovery point stays then, and whoever waited must not acknowledge anything. */
export function flush(log: LogState): Promise<void> {
  return flushBy(log, FLUSH, () => log.flusher.flush());
}

async function flushBy(log: LogState, action: string, work: () => Promise<void>): Promise<void> {
  if (log.unopened?.how === "closed") return;
  needReady(log);
  const { truncations } = log;
  await work();
  if (truncations !== log.truncations) {
    throw new IoError("sync", log.segments.place.path, "the end of the log was cut off meanwhile");
  }
  log.works(action);
}

/** Flushes, and notes the time for `flush.ms`. Failures are reported, and the promise resolves. */
export function flushNow(log: LogState): Promise<void> {
  log.lastFlushMs = log.clock.monotonic();
  return flush(log).catch((error) => log.report(FLUSH, error));
}

/** Whether a restart after a crash would read something only because its indexes are not on the device. */
export function lacksIndexes(log: LogState): boolean {
  return log.unopened === null && log.indexedOffset < log.flushedOffset;
}

/** Writes the producers as they are at the log's end, unless that was done. Throws `IoError`. */
export function writeSnapshot(log: LogState): void {
  if (log.snapshotOffset === log.endOffset) return;
  log.segments.snapshots.write(log.endOffset, log.producers, log.segments.baseOffsets);
  log.snapshotOffset = log.endOffset;
  log.segments.directoryUnsynced = true;
}

/** Flushes and writes a producer snapshot, so that a crash has to read no further back than here. */
export function shortenRecovery(log: LogState): Promise<void> {
  if (log.unopened !== null) return Promise.resolve();
  log.attempt("write a producer snapshot of", () => writeSnapshot(log));
  log.lastFlushMs = log.clock.monotonic();
  return flushBy(log, FLUSH_INDEXES, () => log.flusher.flushWithIndexes())
    .catch((error) => log.report(FLUSH_INDEXES, error));
}

/** Has the indexes' entries written that wait in memory, if nothing was appended since the last call. */
export function rest(log: LogState): void {
  if (log.unopened !== null) return;
  const { active } = log.segments;
  if (log.endOffset === log.restedAt && active !== undefined) {
    log.attempt(WRITE_INDEXES, () => active.writeIndexes());
  }
  log.restedAt = log.endOffset;
  if (!log.looksUpTransactions) return;
  // Every one has to be told.
  const keep = log.segments.list.map(({ transactions }) => transactions.rest());
  log.looksUpTransactions = keep.includes(true);
}

/** Brings everything to the device and lets go of the files. True when the log is whole on disk. */
export async function close(log: LogState): Promise<boolean> {
  const { segments } = log;
  try {
    if (log.unopened !== null) return log.unopened.how === "closed";
    if (log.tailDirty && !log.cleanTail()) return false;
    const { active } = segments;
    active?.trimLog();
    active?.finishIndexes();
    active?.trimIndexes();
    if (log.endOffset > 0) {
      writeSnapshot(log);
      await segments.snapshots.syncLatest();
    }
    await log.flusher.flushWithIndexes();
    return true;
  } catch (error) {
    log.report("close", error);
    if (segments.syncFailed) segments.noteSyncFailed();
    return false;
  } finally {
    segments.closeAll();
    log.offline ??= `The log of ${log.name} was closed`;
    log.unopened ??= { listed: true, how: "closed", closedAt: null };
  }
}
