/**
 * All logs of a data directory: opening and recovering them, making and deleting them, and what has to be done now and
 * then, which a caller's timer asks for with {@link LogManager.tick}.
 */

import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { SettledTime } from "../base/settled_time.ts";
import { Slices } from "../base/slices.ts";
import { ErrorCode } from "../codec/errors.ts";
import { newUuid, ZERO_UUID } from "../codec/uuid.ts";
import {
  BOOT_ID_FILE,
  CLEAN_SHUTDOWN_FILE,
  type CleanShutdown,
  CorruptCheckpoint,
  type MetaProperties,
  readTopicId,
  writeCleanShutdown,
  writeTopicId,
} from "./checkpoints.ts";
import { CLEANER_FILE, isStateTopic } from "./compacted.ts";
import { type Claimant, claimDirectory, unusable } from "./data_directory.ts";
import { type Files, IoError, readText, replaceFile, type Unlock } from "./files.ts";
import { HandlePool } from "./handles.ts";
import { Log, type LogOptions } from "./log.ts";
import type { LogConfig } from "./log_config.ts";
import {
  DELETED_DIRECTORY_SUFFIX,
  deletedDirectory,
  METADATA_TOPIC,
  parsePartitionDirectory,
  PARTITION_METADATA_FILE,
  partitionDirectory,
  strayDirectory,
} from "./names.ts";
import {
  highWatermarks,
  logStarts,
  OffsetCheckpoints,
  readOffsetFile,
  recoveryPoints,
} from "./offset_checkpoints.ts";
import { Trash } from "./trash.ts";

export interface LogManagerOptions extends Claimant {
  files: Files;
  directory: string;
  clock: Clock;
  configOf(topic: string): LogConfig;
  /** Gets one line for people about each thing that went wrong. */
  onWarning(text: string): void;
  /** How many files may be open at once. */
  maxOpenFiles?: number;
  /** How often old segments are looked for (`log.retention.check.interval.ms`). */
  retentionCheckIntervalMs?: number;
  /**
   * Names the time since the machine started; null where it cannot tell. One that differs from the last start's says that
   * what was not on the device may be lost, in any part.
   */
  bootId?: string | null;
  /** About how many bytes of logs a start after a crash may have to read; of one log, a sixteenth of it. */
  recoveryBytesMax?: number;
  /** How often offsets are checkpointed (`log.flush.offset.checkpoint.interval.ms`). */
  checkpointIntervalMs?: number;
}

const DEFAULT_MAX_OPEN_FILES = 1000;
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
/** What looking through the logs may hold up others for, each second. */
const VISIT_MS = 4;

export class LogManager {
  private readonly logs = new Map<string, Log>();
  private readonly checkpoints: OffsetCheckpoints;
  /** What was deleted, and is renamed only so far. */
  private readonly trash: Trash;
  /** What the checkpoints say of partitions whose directory was not there at start. */
  private readonly vanished = new Map<string, number>();
  // By the monotonic clock: intervals have to pass although the wall clock is set back.
  private lastCheckpointMs: number;
  private lastHighWatermarkMs: number;
  private lastRetentionMs: number;
  private startsDirty = false;
  /** Names that directories had which were moved away: the device may not know it yet. */
  private readonly movedAway = new Set<string>();
  /** The logs that the present round of retention has still to visit. */
  private round: Log[] = [];
  /** What retention holds records' timestamps against. */
  private readonly settledTime: SettledTime;
  private closed = false;
  private loaded = false;
  /** A log ended, or began, before what the checkpoints said. */
  private takenBack = false;

  private constructor(
    private readonly o: LogManagerOptions,
    readonly pool: HandlePool,
    /** Whose directory it is. */
    readonly meta: MetaProperties,
    private readonly unlock: Unlock,
  ) {
    this.checkpoints = new OffsetCheckpoints(o, this.logs);
    this.trash = new Trash(o.files, o.clock, o.onWarning);
    this.lastCheckpointMs = this.lastHighWatermarkMs = this.lastRetentionMs = o.clock.monotonic();
    this.settledTime = new SettledTime(o.clock.now(), o.clock.monotonic());
  }

  /**
   * Takes hold of the directory and of every partition in it. After a clean stop no file of a log is read; after any
   * other, logs are read from their recovery points on. A log that cannot be opened is there, but offline. Throws
   * `DataDirectoryError` when the directory is not ours to use.
   */
  static async open(o: LogManagerOptions): Promise<LogManager> {
    const { files, directory } = o;
    const { meta, cleanShutdown, problem, unlock } = await claimDirectory(files, directory, o);
    if (problem !== null) o.onWarning(problem);
    try {
      const pool = new HandlePool(files, o.maxOpenFiles ?? DEFAULT_MAX_OPEN_FILES);
      const manager = new LogManager(o, pool, meta, unlock);
      const bootBefore = readText(files, `${directory}/${BOOT_ID_FILE}`);
      await manager.loadAll(cleanShutdown, bootBefore);
      manager.loaded = true;
      if (manager.takenBack) manager.lowerCheckpoints();
      manager.noteBoot(bootBefore);
      return manager;
    } catch (error) {
      unlock();
      throw unusable(directory, error);
    }
  }

  get(topic: string, partition: number): Log | undefined {
    return this.logs.get(partitionDirectory(topic, partition));
  }

  all(): Iterable<Log> {
    return this.logs.values();
  }

  /** Makes the log of a new partition. Throws `IoError`. */
  create(topic: string, partition: number, topicId: string): Log {
    const name = partitionDirectory(topic, partition);
    assert(!this.logs.has(name), `log ${name} exists`);
    if (this.movedAway.has(name)) {
      // Else the former one could come back under the name, after a power failure, in the place of this.
      this.o.files.syncDirectoryNow(this.o.directory);
      this.movedAway.clear();
    }
    this.forgetFormer(name);
    this.makePartitionDirectory(`${this.o.directory}/${name}`, topicId);
    const log = this.load(topic, partition, {
      topicId,
      recoveryPoint: undefined,
      logStartOffset: undefined,
      origin: "new",
    });
    this.logs.set(name, log);
    return log;
  }

  /** All of it or, as far as the disk allows, nothing: what is half made would stay when its topic is deleted first. */
  private makePartitionDirectory(path: string, topicId: string): void {
    const { files } = this.o;
    const wasThere = files.stat(path) !== null;
    try {
      files.makeDirectory(path);
      writeTopicId(files, `${path}/${PARTITION_METADATA_FILE}`, topicId);
    } catch (error) {
      try {
        if (!wasThere) files.removeDirectory(path);
      } catch (again) {
        // Of a disk that fails altogether the first failure is what is told.
        if (!(again instanceof IoError)) throw again;
      }
      throw error;
    }
  }

  /** How far a partition had come, by the checkpoints, whose directory was not there at start; null when none names it. */
  reachedBefore(topic: string, partition: number): number | null {
    return this.vanished.get(partitionDirectory(topic, partition)) ?? null;
  }

  /**
   * Sees to it that a new log does not inherit the offsets that checkpoints still have of a deleted one with its name:
   * should the broker die before the next checkpoint, records that nobody checked would be believed, and records
   * before the former start would be lost.
   */
  private forgetFormer(name: string): void {
    for (const checkpoint of [recoveryPoints, logStarts, highWatermarks]) {
      if ((this.checkpoints.of(checkpoint).get(name) ?? 0) > 0) this.checkpoints.write(checkpoint, true);
    }
  }

  /**
   * Takes the partition's log away. Its directory is renamed at once and removed after `file.delete.delay.ms`. Throws
   * `IoError`, and then the log is still there.
   */
  remove(topic: string, partition: number): void {
    const name = partitionDirectory(topic, partition);
    const log = this.logs.get(name);
    if (log === undefined) return;
    const path = `${this.o.directory}/${deletedDirectory(topic, partition, uniquePart())}`;
    this.moveAway(log, path, `The partition ${name} was deleted`);
    this.trash.add(path, log.config.fileDeleteDelayMs);
  }

  /**
   * Takes away a log that nobody knows. Its directory gets a name of its own, which comes back, and is kept for an operator
   * to decide on. Throws `IoError`, and then the log is still there.
   */
  setAside(log: Log): string {
    const directory = strayDirectory(log.topic, log.partition, uniquePart());
    this.moveAway(log, `${this.o.directory}/${directory}`, `The metadata does not know ${log.name}`);
    return directory;
  }

  private moveAway(log: Log, path: string, why: string): void {
    log.moveAway(path, why);
    this.logs.delete(log.name);
    this.movedAway.add(log.name);
    this.startsDirty = true;
  }

  /** Brings the names of directories that were made, renamed and removed to the device. Rejects with `IoError`. */
  async syncDirectory(): Promise<void> {
    const covered = [...this.movedAway];
    await this.o.files.syncDirectory(this.o.directory);
    for (const name of covered) this.movedAway.delete(name);
  }

  /** Gives a log the id of its topic, where its directory did not tell. Throws `IoError`. */
  setTopicId(log: Log, topicId: string): void {
    writeTopicId(this.o.files, `${this.o.directory}/${log.name}/${PARTITION_METADATA_FILE}`, topicId);
    log.topicId = topicId;
  }

  /** Moves a log's start (DeleteRecords), durably with the next tick. Gives an error code. */
  deleteRecordsBefore(log: Log, offset: number): number {
    const before = log.logStartOffset;
    const errorCode = log.deleteRecordsBefore(offset);
    if (log.logStartOffset !== before) this.startsDirty = true;
    return errorCode;
  }

  /**
   * Drops the records of a log from `offset` on (`Log.truncateTo`). Gives an error code. The recovery points on disk follow
   * at once: an older one would have what is written there next believed unread after a crash.
   */
  truncate(log: Log, offset: number): number {
    const errorCode = log.truncateTo(offset);
    if (errorCode !== ErrorCode.NONE) return errorCode;
    const known = this.checkpoints.of(recoveryPoints).get(log.name) ?? 0;
    if (known <= offset) return ErrorCode.NONE;
    const lowered = this.attempt("write recovery points", () => this.checkpoints.write(recoveryPoints, true));
    return lowered ? ErrorCode.NONE : ErrorCode.KAFKA_STORAGE_ERROR;
  }

  /**
   * Does what is due: flushes by `flush.ms`, retention, checkpoints, delayed deletions, idle files. To be called about
   * once a second, and not again before it has resolved. Never rejects because of the disk.
   */
  async tick(): Promise<void> {
    if (this.closed) return;
    const now = this.o.clock.monotonic();
    const due: Log[] = [];
    for (const log of this.logs.values()) {
      log.retryNotes();
      if (log.flushIsDue(now)) due.push(log);
    }
    await manyAtOnce(due, (log) => log.flushNow());
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
    if (this.startsDirty) {
      this.startsDirty = !this.attempt(
        "write log start offsets",
        () => this.checkpoints.write(logStarts, false),
      );
    }
    await this.boundRecovery();
    if (now - this.lastCheckpointMs >= (this.o.checkpointIntervalMs ?? DEFAULT_CHECKPOINT_INTERVAL_MS)) {
      this.lastCheckpointMs = now;
      await this.checkpoint();
      this.pool.closeIdle();
    }
  }

  /**
   * Flushes and closes every log and leaves the marker of a clean stop, unless the disk failed on the way: then the
   * next start recovers. The manager and its logs must not be used any more.
   */
  async close(brokerEpoch = -1): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    let clean = true;
    await manyAtOnce([...this.logs.values()], async (log) => {
      if (!await log.close()) clean = false;
    });
    clean = this.attempt("write checkpoints", () => {
      this.checkpoints.writeAll();
      if (clean) {
        const path = `${this.o.directory}/${CLEAN_SHUTDOWN_FILE}`;
        writeCleanShutdown(this.o.files, path, brokerEpoch, this.checkpoints.sum);
      }
    }) && clean;
    if (!clean) {
      this.o.onWarning(
        `${this.o.directory} could not be closed in order: the next start will check its logs`,
      );
    }
    this.pool.closeAll();
    this.unlock();
  }

  // -------------------------------------------------------------------------------------------------------- opening

  private async loadAll(cleanShutdown: CleanShutdown | null, bootBefore: string | null): Promise<void> {
    const { files, directory, clock, bootId } = this.o;
    const closedCleanly = cleanShutdown !== null;
    const machineStopped = !closedCleanly && bootBefore !== null && bootId != null && bootBefore !== bootId;
    const sum = cleanShutdown?.checkpointsSum ?? null;
    const endsAreKnown = closedCleanly && sum === this.checkpoints.sum;
    const areDamaged = sum !== null && !endsAreKnown;
    if (areDamaged) {
      this.o.onWarning(
        `The checkpoints in ${directory} are not what the last stop has left; looking into every log for its end`,
      );
    }
    const points = this.checkpoints.of(recoveryPoints);
    const starts = this.checkpoints.of(logStarts);
    const marks = this.checkpoints.of(highWatermarks);
    const compacted = readOffsetFile(
      this.o,
      CLEANER_FILE,
      "what Kafka's compactor took out of a topic may then be taken for lost",
    );
    const slices = new Slices(clock);
    const deleted = new Set<string>();
    for (const { name, isDirectory } of files.list(directory)) {
      if (!isDirectory) continue;
      const path = `${directory}/${name}`;
      if (name.endsWith(DELETED_DIRECTORY_SUFFIX)) {
        deleted.add(name.slice(0, Math.max(0, name.lastIndexOf("."))));
        this.trash.add(path, 0);
        continue;
      }
      const place = parsePartitionDirectory(name);
      if (place === null || place.topic === METADATA_TOPIC) continue;
      const { topic, partition } = place;
      const log = this.load(topic, partition, {
        topicId: this.topicIdOf(path),
        recoveryPoint: areDamaged ? undefined : points.get(name),
        logStartOffset: starts.get(name),
        highWatermark: marks.get(name),
        origin: closedCleanly ? "closed" : "crashed",
        endIsKnown: endsAreKnown,
        machineStopped,
        wasCompacted: compacted.has(name) || isStateTopic(topic),
      });
      log.highWatermark = clamp(marks.get(name) ?? 0, log.logStartOffset, log.nextOffset);
      this.logs.set(name, log);
      if (slices.isOver) await slices.next();
    }
    for (const offsets of [points, marks]) {
      for (const [name, offset] of offsets) {
        if (offset <= (this.vanished.get(name) ?? 0) || this.logs.has(name) || deleted.has(name)) continue;
        this.vanished.set(name, offset);
      }
    }
  }

  /**
   * Has the checkpoints say no more than what there is. What is written from here on gets the offsets of what was lost: a
   * start, or a recovery point, beyond it would have it hidden, or believed unread, after the next crash. Throws `IoError`.
   */
  private lowerCheckpoints(): void {
    this.checkpoints.writeAll();
    this.takenBack = false;
  }

  /** Only when all logs are checked: should the machine stop before, they are as much in doubt as now. */
  private noteBoot(before: string | null): void {
    const { files, directory, bootId } = this.o;
    if (bootId == null || bootId === before) return;
    this.attempt("note this start of the machine", () => {
      replaceFile(files, `${directory}/${BOOT_ID_FILE}`, bootId, true);
    });
  }

  /** All zeros when the file cannot tell: whoever knows the topic sets it right with {@link setTopicId}. */
  private topicIdOf(path: string): string {
    try {
      return readTopicId(this.o.files, `${path}/${PARTITION_METADATA_FILE}`) ?? ZERO_UUID;
    } catch (error) {
      if (!(error instanceof IoError) && !(error instanceof CorruptCheckpoint)) throw error;
      this.o.onWarning(error.message);
      return ZERO_UUID;
    }
  }

  private load(
    topic: string,
    partition: number,
    found: Pick<
      LogOptions,
      | "topicId"
      | "recoveryPoint"
      | "logStartOffset"
      | "highWatermark"
      | "origin"
      | "endIsKnown"
      | "machineStopped"
      | "wasCompacted"
    >,
  ): Log {
    const { files, directory, clock, onWarning } = this.o;
    const config = this.o.configOf(topic);
    return new Log({
      files,
      pool: this.pool,
      trash: this.trash,
      directory,
      topic,
      partition,
      config,
      clock,
      onWarning,
      onTakenBack: () => {
        this.takenBack = true;
        // While they are loaded, not all logs are known, and a file names all of them.
        if (this.loaded) this.lowerCheckpoints();
      },
      ...found,
    });
  }

  // ------------------------------------------------------------------------------------------------------ upkeep

  private visitLogs(now: number): void {
    const { clock } = this.o;
    const settledMs = this.settledTime.at(clock.now(), now);
    const slice = new Slices(clock, VISIT_MS);
    while (this.round.length > 0 && !slice.isOver) {
      const log = this.round.pop()!;
      if (this.get(log.topic, log.partition) !== log) continue;
      log.expireProducers(now);
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
   * comes between. Those with the most to read are flushed, until half of what is allowed is left.
   */
  private async boundRecovery(): Promise<void> {
    const max = this.o.recoveryBytesMax ?? DEFAULT_RECOVERY_BYTES_MAX;
    const perLog = max / RECOVERY_LOGS;
    let total = 0;
    let largest = 0;
    for (const { bytesToRecover } of this.logs.values()) {
      total += bytesToRecover;
      largest = Math.max(largest, bytesToRecover);
    }
    if (total <= max && largest <= perLog) return;
    const due: Log[] = [];
    for (const log of [...this.logs.values()].sort((a, b) => b.bytesToRecover - a.bytesToRecover)) {
      if (log.bytesToRecover <= perLog && (total <= max / 2 || log.bytesToRecover === 0)) break;
      due.push(log);
      total -= log.bytesToRecover;
    }
    await manyAtOnce(due, (log) => log.shortenRecovery());
    this.attempt("write recovery points", () => this.checkpoints.write(recoveryPoints, false));
  }

  /** False, and a warning, when the disk fails. */
  private attempt(action: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.o.onWarning(`Cannot ${action}: ${error.message}`);
      return false;
    }
  }
}

/** Does something that syncs each log, of many at once: the device takes their syncs together. */
async function manyAtOnce(logs: readonly Log[], work: (log: Log) => Promise<void>): Promise<void> {
  const left = [...logs];
  const worker = async () => {
    for (let log = left.pop(); log !== undefined; log = left.pop()) await work(log);
  };
  await Promise.all(Array.from({ length: Math.min(SYNCED_AT_ONCE, logs.length) }, worker));
}

/** Tells the directories apart that one partition's name led to. */
function uniquePart(): string {
  return newUuid((bytes) => crypto.getRandomValues(bytes)).replace(/[-_]/g, "0");
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
