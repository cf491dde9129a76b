/**
 * All logs of a data directory: opening and recovering them, making and deleting them. What they need now and then is
 * `log_upkeep.ts`, which a caller's timer asks for with {@link LogManager.tick}.
 */

import { assert } from "../../base/assert.ts";
import { Slices } from "../../base/slices.ts";
import { ErrorCode } from "../../codec/errors.ts";
import { ZERO_UUID } from "../../codec/uuid.ts";
import {
  BOOT_ID_FILE,
  CLEAN_SHUTDOWN_FILE,
  type CleanShutdown,
  CorruptCheckpoint,
  META_PROPERTIES_FILE,
  type MetaProperties,
  readTopicId,
  writeCleanShutdown,
  writeTopicId,
} from "../directory/checkpoints.ts";
import { CleanerCheckpoint } from "../cleaner/checkpoint.ts";
import { type CleanerOptions, LogCleaner } from "../cleaner/log_cleaner.ts";
import { CLEANER_FILE, isStateTopic } from "../log/compacted.ts";
import { type Claimant, claimDirectory, unusable } from "../directory/data_directory.ts";
import {
  attempt,
  type DeviceSpace,
  type Files,
  IoError,
  readText,
  replaceFile,
  type Unlock,
} from "../files/files.ts";
import { FutureLogs } from "./future_logs.ts";
import { HandlePool } from "../files/handles.ts";
import { Log, type LogOptions } from "../log/log.ts";
import type { LogConfig } from "../log/config.ts";
import { LogUpkeep, manyAtOnce, type UpkeepOptions } from "./log_upkeep.ts";
import {
  DELETED_DIRECTORY_SUFFIX,
  deletedDirectory,
  METADATA_TOPIC,
  MOVED_FROM_FILE,
  parsePartitionDirectory,
  PARTITION_METADATA_FILE,
  partitionDirectory,
  strayDirectory,
  uniquePart,
} from "../directory/names.ts";
import {
  highWatermarks,
  logStarts,
  OffsetCheckpoints,
  readOffsetFile,
  recoveryPoints,
} from "../directory/offset_checkpoints.ts";
import { describeRecovered } from "../log/recovered.ts";
import { Trash } from "../directory/trash.ts";

export interface LogManagerOptions extends Claimant, UpkeepOptions {
  files: Files;
  directory: string;
  configOf(topic: string): LogConfig;
  /** How many files may be open at once. */
  maxOpenFiles?: number;
  /** How logs are compacted; without it none is. */
  cleaner?: CleanerOptions;
  /**
   * Names the time since the machine started; null where it cannot tell. One that differs from the last start's says that
   * what was not on the device may be lost, in any part.
   */
  bootId?: string | null;
  /** Gets one line after a stop that was not in order: what had to be read again, and what was cut off. */
  onRecovered?(text: string): void;
}

/** Over all logs of a directory, or of several that share them. */
export const DEFAULT_MAX_OPEN_FILES = 1000;

export class LogManager {
  private readonly logs = new Map<string, Log>();
  private readonly checkpoints: OffsetCheckpoints;
  /** What was deleted, and is renamed only so far. */
  private readonly trash: Trash;
  /** What the checkpoints say of partitions whose directory was not there at start. */
  private readonly vanished = new Map<string, number>();
  private readonly upkeep: LogUpkeep;
  /** How far logs were compacted, by whom- and whenever. */
  private readonly compactedTo: CleanerCheckpoint;
  private readonly cleaner: LogCleaner | undefined;
  /** Copies of other directories' logs that are to come here. */
  readonly futures: FutureLogs;
  /** Names that directories had which were moved away: the device may not know it yet. */
  private readonly movedAway = new Set<string>();
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
    this.upkeep = new LogUpkeep(o, this.logs, this.checkpoints, this.trash, pool);
    this.compactedTo = new CleanerCheckpoint(
      o.files,
      o.directory,
      readOffsetFile(o, CLEANER_FILE, "what was compacted out of a topic may then be taken for lost"),
    );
    const place = { ...o, recoverableUpTo: (log: Log, offset: number) => this.recoverableUpTo(log, offset) };
    this.cleaner = o.cleaner && new LogCleaner(place, this.logs, this.compactedTo, o.cleaner);
    this.futures = new FutureLogs({
      files: o.files,
      directory: o.directory,
      trash: this.trash,
      onWarning: o.onWarning,
      makeDirectory: (path, topicId) => this.makePartitionDirectory(path, topicId),
      load: (topic, partition, found) => this.load(topic, partition, found),
    });
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
      const recovered = cleanShutdown === null ? describeRecovered(manager.logs.values()) : null;
      if (recovered !== null) o.onRecovered?.(recovered);
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

  /** How many partitions it has, and is to get. */
  get count(): number {
    return this.logs.size + this.futures.count;
  }

  get directory(): string {
    return this.o.directory;
  }

  /** The room on the directory's device. Throws `IoError` when that does not answer. */
  space(): DeviceSpace {
    this.needDirectory();
    return this.o.files.spaceAt(this.o.directory);
  }

  /** Makes the log of a new partition. Throws `IoError`. */
  create(topic: string, partition: number, topicId: string): Log {
    const name = partitionDirectory(topic, partition);
    this.freeName(name);
    this.makePartitionDirectory(`${this.o.directory}/${name}`, topicId);
    const log = this.load(topic, partition, {
      topicId,
      recoveryPoint: undefined,
      logStartOffset: undefined,
      origin: "new",
      compactedBelowRecoveryPoint: true,
    });
    this.logs.set(name, log);
    return log;
  }

  /** Sees to it that a log which gets this name inherits nothing from one that had it. Throws `IoError`. */
  private freeName(name: string): void {
    assert(!this.logs.has(name), `log ${name} exists`);
    if (this.movedAway.has(name)) {
      // Else the former one could come back under the name, after a power failure, in the place of this.
      this.o.files.syncDirectoryNow(this.o.directory);
      this.movedAway.clear();
    }
    this.forgetFormer(name);
  }

  /**
   * Has a future log of this directory become the partition's, in its name and durably; the former one, in another
   * directory, is the caller's to take away. Throws `IoError`, and then the directory has its name as before, or the next
   * start tells which of the two goes on (`moved_logs.ts`).
   */
  promote(log: Log): void {
    const { name } = log;
    this.freeName(name);
    const before = log.path;
    this.logs.set(name, log);
    try {
      // Before the name: a start after a kill must not bring back records that were deleted.
      if (log.startIsInsideSegment) this.checkpoints.write(logStarts, true);
      if (log.mayHaveGaps) this.compactedTo.set(name, log.logStartOffset);
      this.compactedTo.saveNow();
      log.renameTo(`${this.o.directory}/${name}`);
      this.o.files.syncDirectoryNow(this.o.directory);
    } catch (error) {
      this.logs.delete(name);
      if (log.path !== before) attempt(`rename ${log.path}`, () => log.renameTo(before), this.o.onWarning);
      throw error;
    }
    this.futures.forget(log);
    this.upkeep.startMoved();
  }

  /** Compaction leaves a log alone until what is given is called: a copy of it is made. */
  holdCompaction(log: Log): () => void {
    log.copiesUnderWay++;
    this.cleaner?.interrupt(log.name);
    return () => log.copiesUnderWay--;
  }

  /** Has no more to do with a log whose directory could not be moved away. */
  disown(log: Log): void {
    log.letGo(`The partition ${log.name} has moved to another directory`);
    if (this.logs.get(log.name) === log) this.logs.delete(log.name);
    this.forgetCompaction(log);
    this.upkeep.startMoved();
  }

  /** Takes the mark off a log that has taken another one's place, now that the other is gone. Throws `IoError`. */
  settle(log: Log): void {
    this.o.files.remove(`${log.path}/${MOVED_FROM_FILE}`);
  }

  /** Throws `IoError` when the directory is not there any more: in its place may be one that a disk was mounted on. */
  private needDirectory(): void {
    const { files, directory } = this.o;
    const path = `${directory}/${META_PROPERTIES_FILE}`;
    if (files.stat(path) === null) throw new IoError("find", path, "ENOENT");
  }

  /** All of it or, as far as the disk allows, nothing: what is half made would stay when its topic is deleted first. */
  private makePartitionDirectory(path: string, topicId: string): void {
    const { files } = this.o;
    this.needDirectory();
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
    this.compactedTo.forgetNow(name);
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
    this.forgetCompaction(log);
    this.movedAway.add(log.name);
    this.upkeep.startMoved();
  }

  /** Has a cleaning of it end, too. The file follows with the next of its name, or when something else is noted in it. */
  private forgetCompaction({ name }: Log): void {
    this.cleaner?.interrupt(name);
    this.compactedTo.forget(name);
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

  /** Moves a log's start (DeleteRecords), durably with {@link commitStarts} or the next tick. Gives an error code. */
  deleteRecordsBefore(log: Log, offset: number): number {
    const before = log.logStartOffset;
    const errorCode = log.deleteRecordsBefore(offset);
    if (log.logStartOffset !== before) this.upkeep.startMoved();
    return errorCode;
  }

  /** Has a start that was moved survive the process. False when the disk fails: the next tick tries again. */
  commitStarts(): boolean {
    return this.upkeep.commitStarts();
  }

  /**
   * Drops the records of a log from `offset` on (`Log.truncateTo`). Gives an error code. The recovery points on disk follow
   * at once: an older one would have what is written there next believed unread after a crash.
   */
  truncate(log: Log, offset: number): number {
    const errorCode = log.truncateTo(offset);
    if (errorCode !== ErrorCode.NONE) return errorCode;
    this.cleaner?.interrupt(log.name);
    if ((this.compactedTo.of(log.name) ?? 0) > offset) this.compactedTo.set(log.name, offset);
    const known = this.checkpoints.of(recoveryPoints).get(log.name) ?? 0;
    const lowered = this.attempt("lower the checkpoints", () => {
      this.compactedTo.saveNow();
      if (known > offset) this.checkpoints.write(recoveryPoints, true);
    });
    return lowered ? ErrorCode.NONE : ErrorCode.KAFKA_STORAGE_ERROR;
  }

  /**
   * Does what is due: flushes by `flush.ms`, retention, checkpoints, delayed deletions, idle files. To be called about
   * once a second, and not again before it has resolved. Never rejects because of the disk.
   */
  async tick(): Promise<void> {
    if (this.closed) return;
    await this.upkeep.tick();
    this.cleaner?.tick(this.upkeep.settledMs);
  }

  private async recoverableUpTo(log: Log, offset: number): Promise<boolean> {
    const isOnDevice = () => (this.checkpoints.onDevice(recoveryPoints).get(log.name) ?? 0) >= offset;
    if (isOnDevice()) return true;
    if (log.recoveryPoint < offset) await log.shortenRecovery();
    // Somebody else's write may have come between.
    for (let tries = 0; tries < 3 && !isOnDevice(); tries++) {
      await this.checkpoints.writeBeside(recoveryPoints);
    }
    return isOnDevice();
  }

  /** Resolves when no log is being compacted. */
  async compactionSettled(): Promise<void> {
    await this.cleaner?.settled();
  }

  /**
   * Flushes and closes every log and leaves the marker of a clean stop, unless the disk failed on the way: then the
   * next start recovers. The manager and its logs must not be used any more.
   */
  async close(brokerEpoch = -1): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.cleaner?.close();
    let clean = true;
    await manyAtOnce([...this.logs.values()], this.pool, async (log) => {
      if (!await log.close()) clean = false;
    });
    clean = this.attempt("write checkpoints", () => {
      this.checkpoints.writeAll();
      this.compactedTo.saveNow();
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
    const slices = new Slices(clock);
    const deleted = new Set<string>();
    const entries = files.list(directory);
    // Every Kafka of today keeps its metadata there; its compactor does not look at recovery points.
    const isKafkas = entries.some(({ name }) => parsePartitionDirectory(name)?.topic === METADATA_TOPIC);
    for (const { name, isDirectory } of entries) {
      if (!isDirectory) continue;
      const path = `${directory}/${name}`;
      if (name.endsWith(DELETED_DIRECTORY_SUFFIX)) {
        deleted.add(name.slice(0, Math.max(0, name.lastIndexOf("."))));
        this.trash.add(path, 0);
        continue;
      }
      if (this.futures.found(name, () => this.topicIdOf(path))) continue;
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
        wasCompacted: this.compactedTo.of(name) !== undefined || isStateTopic(topic),
        compactedBelowRecoveryPoint: !isKafkas && !areDamaged && points.has(name),
      });
      log.highWatermark = clamp(marks.get(name) ?? 0, log.logStartOffset, log.nextOffset);
      // What comes in the place of what was lost is not clean.
      if ((this.compactedTo.of(name) ?? 0) > log.nextOffset) this.compactedTo.set(name, log.logStartOffset);
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
      | "directoryName"
      | "recoveryPoint"
      | "logStartOffset"
      | "highWatermark"
      | "origin"
      | "endIsKnown"
      | "machineStopped"
      | "wasCompacted"
      | "compactedBelowRecoveryPoint"
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

  private attempt(action: string, work: () => void): boolean {
    return attempt(action, work, this.o.onWarning);
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
