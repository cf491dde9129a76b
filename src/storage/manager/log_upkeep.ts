/**
 * What the logs of a data directory need now and then: flushes by `flush.ms`, retention, checkpoints, the removal of what
 * was deleted. A caller's timer asks for it. All of it may come late, and none of it may hold up requests: where there are
 * many logs, they are looked at in slices.
 */

import type { Clock } from "../../base/clock.ts";
import { SettledTime } from "../../base/settled_time.ts";
import { Slices } from "../../base/slices.ts";
import { attempt } from "../files/files.ts";
import type { HandlePool } from "../files/handles.ts";
import type { Log } from "../log/log.ts";
import {
  highWatermarks,
  logStarts,
  type OffsetCheckpoints,
  recoveryPoints,
} from "../directory/offset_checkpoints.ts";
import type { Trash } from "../directory/trash.ts";

export interface UpkeepOptions {
  clock: Clock;
  /** Gets one line for people about each thing that went wrong. */
  onWarning(text: string): void;
  /** How often old segments are looked for (`log.retention.check.interval.ms`). */
  retentionCheckIntervalMs?: number;
  /** About how many bytes of logs a start after a crash may have to read; of one log, a sixteenth of it. */
  recoveryBytesMax?: number;
  /** How often offsets are checkpointed (`log.flush.offset.checkpoint.interval.ms`). */
  checkpointIntervalMs?: number;
}

const DEFAULT_RETENTION_CHECK_INTERVAL_MS = 300_000;
const DEFAULT_CHECKPOINT_INTERVAL_MS = 60_000;
/** High watermarks move all the time; a stale one costs a follower some truncation. */
const HIGH_WATERMARK_INTERVAL_MS = 5_000;
/** A log with more than this to be read again after a crash is flushed at the next checkpoint. */
const FLUSHED_FROM_BYTES = 64 << 20;
/** A few seconds of reading. */
const DEFAULT_RECOVERY_BYTES_MAX = 4 * 2 ** 30;
/** So many logs may have as much of that as one of them may. */
const RECOVERY_LOGS = 16;
const SYNCED_AT_ONCE = 32;
/** What a log that is being synced keeps open: its active segment, both indexes, and for a moment a file or a directory. */
const FILES_OF_ONE = 4;
/** What looking through the logs may hold up others for, each second. */
const VISIT_MS = 4;

export class LogUpkeep {
  // By the monotonic clock: intervals have to pass although the wall clock is set back.
  private lastCheckpointMs: number;
  private lastHighWatermarkMs: number;
  private lastRetentionMs: number;
  private startsDirty = false;
  /** What could not be done when it was last tried. */
  private readonly failing = new Set<string>();
  /** The logs that the present round of retention has still to visit. */
  private round: Log[] = [];
  /** Those that were being compacted when their turn came. */
  private readonly postponed = new Set<Log>();
  /** What retention holds records' timestamps against. */
  private readonly settledTime: SettledTime;
  /** The wall clock's time as of the last {@link tick}, as far as it is believed. */
  settledMs: number;

  constructor(
    private readonly o: UpkeepOptions,
    private readonly logs: ReadonlyMap<string, Log>,
    private readonly checkpoints: OffsetCheckpoints,
    private readonly trash: Trash,
    private readonly pool: HandlePool,
  ) {
    this.lastCheckpointMs = this.lastHighWatermarkMs = this.lastRetentionMs = o.clock.monotonic();
    this.settledMs = o.clock.now();
    this.settledTime = new SettledTime(this.settledMs, o.clock.monotonic());
  }

  /** A log begins elsewhere than the checkpoint says, or is gone: the next {@link tick} writes it. */
  startMoved(): void {
    this.startsDirty = true;
  }

  /** Writes where logs begin, if that has moved. False when the disk fails: then the next {@link tick} tries again. */
  commitStarts(): boolean {
    if (!this.startsDirty) return true;
    const done = this.attempt("write log start offsets", () => this.checkpoints.write(logStarts, false));
    this.startsDirty = !done;
    return done;
  }

  /** Does what is due. Not to be called again before it has resolved. Never rejects because of the disk. */
  async tick(): Promise<void> {
    const now = this.o.clock.monotonic();
    const due: Log[] = [];
    for (const log of this.logs.values()) {
      log.retry();
      if (log.flushIsDue(now)) due.push(log);
    }
    await manyAtOnce(due, this.pool, (log) => log.flushNow());
    if (
      now - this.lastRetentionMs >= (this.o.retentionCheckIntervalMs ?? DEFAULT_RETENTION_CHECK_INTERVAL_MS)
    ) {
      this.lastRetentionMs = now;
      // One that is not over yet goes on: those at its end must have their turn.
      if (this.round.length === 0) this.round = [...this.logs.values()];
    }
    this.visitLogs(now);
    await this.trash.empty();
    if (now - this.lastHighWatermarkMs >= HIGH_WATERMARK_INTERVAL_MS) {
      this.lastHighWatermarkMs = now;
      this.attempt("write high watermarks", () => this.checkpoints.write(highWatermarks, false));
    }
    this.commitStarts();
    await this.boundRecovery();
    if (now - this.lastCheckpointMs >= (this.o.checkpointIntervalMs ?? DEFAULT_CHECKPOINT_INTERVAL_MS)) {
      this.lastCheckpointMs = now;
      await this.checkpoint();
      this.pool.closeIdle();
    }
  }

  private visitLogs(now: number): void {
    const { clock } = this.o;
    const settledMs = this.settledMs = this.settledTime.at(clock.now(), now);
    const slice = new Slices(clock, VISIT_MS);
    for (const log of this.postponed) {
      if (!log.isBeingCleaned && this.postponed.delete(log)) this.round.push(log);
    }
    while (this.round.length > 0 && !slice.isOver) {
      const log = this.round.pop()!;
      if (this.logs.get(log.name) !== log) continue;
      log.expireProducers(now);
      if (log.isBeingCleaned) {
        this.postponed.add(log);
        continue;
      }
      if (log.applyRetention(settledMs, log.highWatermark) > 0) this.startsDirty = true;
    }
  }

  private async checkpoint(): Promise<void> {
    const slices = new Slices(this.o.clock, VISIT_MS);
    for (const log of [...this.logs.values()]) {
      if (log.bytesToRecover > FLUSHED_FROM_BYTES || log.lacksIndexes) await log.shortenRecovery();
      log.rest();
      if (slices.isOver) await slices.next();
    }
    this.attempt("write recovery points", () => this.checkpoints.write(recoveryPoints, false));
  }

  /**
   * Bounds what a start after a crash would have to read. Where much is written, a checkpoint now and then does not: this
   * comes between.
   */
  private async boundRecovery(): Promise<void> {
    const due = withMuchToRecover(this.logs, this.o.recoveryBytesMax ?? DEFAULT_RECOVERY_BYTES_MAX);
    if (due.length === 0) return;
    await manyAtOnce(due, this.pool, (log) => log.shortenRecovery());
    this.attempt("write recovery points", () => this.checkpoints.write(recoveryPoints, false));
  }

  /** Tells of the first failure in a row, and when it is over. */
  private attempt(action: string, work: () => void): boolean {
    const wasFailing = this.failing.has(action);
    const done = attempt(action, work, wasFailing ? () => {} : this.o.onWarning);
    if (!done) this.failing.add(action);
    else if (this.failing.delete(action)) this.o.onWarning(`Can ${action} again`);
    return done;
  }
}

/**
 * The logs to flush when there is more to recover than `bytesMax`, or more in one log than its share: those with the most,
 * until half of that is left.
 */
function withMuchToRecover(logs: ReadonlyMap<string, Log>, bytesMax: number): Log[] {
  const perLog = bytesMax / RECOVERY_LOGS;
  let total = 0;
  let largest = 0;
  for (const { bytesToRecover } of logs.values()) {
    total += bytesToRecover;
    largest = Math.max(largest, bytesToRecover);
  }
  if (total <= bytesMax && largest <= perLog) return [];
  const due: Log[] = [];
  for (const log of [...logs.values()].sort((a, b) => b.bytesToRecover - a.bytesToRecover)) {
    if (log.bytesToRecover <= perLog && (total <= bytesMax / 2 || log.bytesToRecover === 0)) break;
    due.push(log);
    total -= log.bytesToRecover;
  }
  return due;
}

/**
 * Does something that syncs each log, of many at once: the device takes their syncs together. Of no more than `pool` has
 * room for: a file that is being synced cannot be closed, and without a descriptor the next log could not be synced at all.
 */
export async function manyAtOnce(
  logs: readonly Log[],
  pool: HandlePool,
  work: (log: Log) => Promise<void>,
): Promise<void> {
  const atOnce = Math.max(1, Math.min(SYNCED_AT_ONCE, Math.floor(pool.capacity / FILES_OF_ONE)));
  const left = [...logs];
  const worker = async () => {
    for (let log = left.pop(); log !== undefined; log = left.pop()) await work(log);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, logs.length) }, worker));
}
