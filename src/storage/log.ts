/**
 * The log of one partition: a row of segments, the last of which is written to. Everything that changes its state is
 * synchronous; only flushing waits for the disk. No method throws because of the disk unless it says so: failures are
 * KAFKA_STORAGE_ERROR for this partition, nothing of a failed append can be seen, and the next one tries again.
 *
 * A log that was closed in order is opened at its first use only: until then its offsets come from the checkpoints.
 */

import type { Clock } from "../base/clock.ts";
import type { BatchView } from "../codec/batch.ts";
import { ErrorCode } from "../codec/errors.ts";
import {
  type AppendOptions,
  type AppendResult,
  leaderBatches,
  prepareBatch,
  Refusal,
  refusedAppend,
} from "./append.ts";
import { type Files, IoError } from "./files.ts";
import { EpochFile } from "./epoch_file.ts";
import type { HandlePool } from "./handles.ts";
import type { LogConfig } from "./log_config.ts";
import { LogFlusher } from "./log_flusher.ts";
import {
  openClosedLog,
  openCrashedLog,
  type OpenedLog,
  type OpeningInput,
  producersOf,
} from "./log_opening.ts";
import { LogReader } from "./log_reader.ts";
import { needsRoll } from "./log_rolling.ts";
import { LogSegments } from "./log_segments.ts";
import { partitionDirectory } from "./names.ts";
import { type ProducerEntry, ProducerState, type WrittenBatch } from "./producer_state.ts";
import type { ReadLimits } from "./read.ts";
import { expiredSegments } from "./retention.ts";
import type { Segment } from "./segment.ts";
import type { TimestampedOffset } from "./time_lookup.ts";

export type { AppendOptions, AppendResult, RecordError } from "./append.ts";
export type { ReadLimits } from "./read.ts";
export type { TimestampedOffset } from "./time_lookup.ts";

export interface ReadResult {
  errorCode: number;
  /** Whole batches. The first may begin before the offset asked for. */
  bytes: Uint8Array;
  /** Where the next read goes on. */
  nextOffset: number;
}

export interface LogOptions {
  files: Files;
  pool: HandlePool;
  /** The data directory. */
  directory: string;
  topic: string;
  partition: number;
  topicId: string;
  config: LogConfig;
  clock: Clock;
  /** From the checkpoints; undefined when they do not name the partition. */
  recoveryPoint: number | undefined;
  logStartOffset: number | undefined;
  highWatermark?: number;
  /** How the last use ended; "new" is a directory just made. After "closed" the recovery point is the log's end. */
  origin: "new" | "closed" | "crashed";
  /** Gets one line for people about each thing that went wrong. */
  onWarning(text: string): void;
}

const nothing = new Uint8Array(0);

export class Log {
  readonly topic: string;
  readonly partition: number;
  /** In Kafka's 22 characters of URL-safe base64. */
  topicId: string;
  /** May be replaced at any time. */
  config: LogConfig;
  /**
   * The partition's high watermark, here to be checkpointed with the other offsets. Whoever replicates the partition
   * moves it; the log only takes it back to its end when, once opened, it turns out shorter than was noted.
   */
  highWatermark = 0;
  /** Why the log cannot be used until an operator has looked at it, or null. */
  offline: string | null = null;

  private readonly clock: Clock;
  private readonly onWarning: (text: string) => void;
  private readonly segments: LogSegments;
  private readonly reader: LogReader;
  private readonly flusher: LogFlusher;
  private readonly epochFile: EpochFile;
  private producers = new ProducerState();
  private startOffset: number;
  private endOffset: number;
  private flushedOffset: number;
  /** By the monotonic clock, as all intervals here: a wall clock that is set back must not hold them up. */
  private lastFlushMs: number;

  /** Null once everything is open; else how to open it at the next use. */
  private unopened: { listed: boolean; how: "closed" | "crashed"; closedAt: number | null } | null;
  /** What the log reached when it was last used, as far as the checkpoints know. */
  private reachedBefore: number;
  /** A failed append may have left bytes after the end of the active segment. */
  private tailDirty = false;
  /** Some operation failed, and was reported; the next append to succeed reports that too. */
  private failing = false;
  private snapshotOffset = -1;
  private truncations = 0;

  /** Finds the log in its directory, and recovers it unless it was closed in order. */
  constructor(o: LogOptions) {
    this.topic = o.topic;
    this.partition = o.partition;
    this.topicId = o.topicId;
    this.config = o.config;
    this.clock = o.clock;
    this.onWarning = o.onWarning;
    const place = { path: `${o.directory}/${this.name}` };
    this.segments = new LogSegments(o.files, o.pool, place, (segment) => {
      this.onWarning(`${this.name}: building the indexes of ${segment.log.path} anew`);
    });
    this.reader = new LogReader(this.segments);
    this.epochFile = new EpochFile(this.segments);
    this.flusher = new LogFlusher(this.segments, o.origin !== "closed", () => {
      const target = this.endOffset;
      const truncations = this.truncations;
      return () => {
        if (truncations === this.truncations) this.flushedOffset = Math.max(this.flushedOffset, target);
      };
    }, () => this.epochFile.flush());
    this.startOffset = o.logStartOffset ?? 0;
    this.flushedOffset = o.recoveryPoint ?? 0;
    this.reachedBefore = Math.max(this.flushedOffset, o.highWatermark ?? 0);
    this.endOffset = this.flushedOffset;
    this.lastFlushMs = o.clock.monotonic();
    const how = o.origin === "closed" ? "closed" : "crashed";
    const closedAt = how === "closed" ? o.recoveryPoint ?? null : null;
    this.unopened = { listed: false, how, closedAt };
    this.list();
    // What the checkpoints and the names of files tell has to agree, or the files have to be read.
    if (closedAt === null || closedAt < this.startOffset || closedAt < this.reachedBefore) this.isReady();
    else if (closedAt > 0 && this.segments.active === undefined) this.isReady();
  }

  get name(): string {
    return partitionDirectory(this.topic, this.partition);
  }

  /** The first offset that may be read. */
  get logStartOffset(): number {
    return this.startOffset;
  }

  /** The log's end: the offset that the next record gets. */
  get nextOffset(): number {
    return this.endOffset;
  }

  /** Everything before it is on the device. */
  get recoveryPoint(): number {
    return Math.min(this.flushedOffset, this.endOffset);
  }

  get sizeInBytes(): number {
    return this.segments.sizeInBytes;
  }

  /** Base offsets of the segments, ascending. */
  get segmentBaseOffsets(): number[] {
    return this.segments.baseOffsets;
  }

  /** Whether the start offset has to be checkpointed, not being the base of the first segment. */
  get startIsInsideSegment(): boolean {
    const { list } = this.segments;
    return list.length > 0 && this.startOffset > list[0].baseOffset;
  }

  // ------------------------------------------------------------------------------------------------------- writing

  /**
   * Appends one batch of format 2 as the partition's leader. Offset, leader epoch and, where the topic wants it, the
   * timestamp are set in `bytes` in place; nothing of `bytes` is kept.
   */
  append(bytes: Uint8Array, o: AppendOptions): AppendResult {
    if (this.unopened !== null && !this.isReady()) return this.unavailable();
    const batch = prepareBatch(bytes, this.config, o);
    if (batch instanceof Refusal) return refusedAppend(batch, this.startOffset);
    if (batch.hasProducerId) {
      const verdict = this.producers.check(batch, o.origin === "client");
      if (verdict.errorCode !== ErrorCode.NONE) {
        const refusal = new Refusal(verdict.errorCode, `Cannot append to ${this.name}: ${verdict.text}`);
        return refusedAppend(refusal, this.startOffset);
      }
      if (verdict.duplicateOf !== null) return this.duplicateAppend(verdict.duplicateOf);
    }
    batch.baseOffset = this.endOffset;
    batch.partitionLeaderEpoch = o.leaderEpoch;
    const stored = batch.bytes.length === batch.sizeInBytes ? batch.bytes : batch.toBytes();
    if (!this.write(stored, [batch], batch.maxTimestamp, o.now)) return this.unavailable();
    if (o.leaderEpoch !== this.epochFile.epochs.latest) this.noteEpoch(o.leaderEpoch, batch.baseOffset);
    const logAppendTimeMs = this.config.messageTimestampType === "LogAppendTime" ? o.now : -1;
    return this.appended(batch.baseOffset, batch.lastOffset, logAppendTimeMs, false);
  }

  /**
   * Appends batches as the leader wrote them. They must be intact and in order, and begin at the log's end or after it
   * (a compacted leader has gaps); OFFSET_OUT_OF_RANGE before it.
   */
  appendAsFollower(bytes: Uint8Array, now: number): AppendResult {
    if (this.unopened !== null && !this.isReady()) return this.unavailable();
    const batches = leaderBatches(bytes, this.endOffset);
    if (batches instanceof Refusal) return refusedAppend(batches, this.startOffset);
    const maxTimestamp = batches.reduce((max, batch) => Math.max(max, batch.maxTimestamp), -1);
    if (!this.write(bytes, batches, maxTimestamp, now)) return this.unavailable();
    for (const batch of batches) {
      const epoch = batch.partitionLeaderEpoch;
      if (epoch > this.epochFile.epochs.latest) this.noteEpoch(epoch, batch.baseOffset);
    }
    return this.appended(batches[0].baseOffset, batches[batches.length - 1].lastOffset, -1, false);
  }

  /** Notes that this broker leads under `epoch` from the log's end on, if that is news. Gives an error code. */
  assignLeaderEpoch(epoch: number): number {
    if (!this.isReady()) return ErrorCode.KAFKA_STORAGE_ERROR;
    this.noteEpoch(epoch, this.endOffset);
    return ErrorCode.NONE;
  }

  /** Writes `batches`, which are all of `bytes`, at the log's end. False, and nothing changed, when the disk fails. */
  private write(bytes: Uint8Array, batches: BatchView[], maxTimestamp: number, now: number): boolean {
    const last = batches[batches.length - 1];
    let segment: Segment;
    try {
      segment = this.segmentFor(bytes.length, batches[0].baseOffset, last.lastOffset, maxTimestamp, now);
      segment.log.get().writeAt(bytes, segment.size);
    } catch (error) {
      this.report("append to", error);
      this.tailDirty = true;
      this.cleanTail();
      return false;
    }
    const seenMs = this.clock.monotonic();
    for (const batch of batches) {
      const { sizeInBytes } = batch;
      segment.index(
        segment.size,
        sizeInBytes,
        batch.lastOffset,
        batch.maxTimestamp,
        this.config.indexIntervalBytes,
      );
      segment.size += sizeInBytes;
      this.producers.update(batch, seenMs);
    }
    segment.unsynced = true;
    this.endOffset = last.nextOffset;
    if (this.failing) {
      this.failing = false;
      this.onWarning(`${this.name}: the disk works again`);
    }
    // Entries that cannot be written now are kept, and written with the next ones.
    if (segment.indexesDue) this.attempt("write indexes of", () => segment.writeIndexes());
    return true;
  }

  /** The active segment, rolled first if it is full, too old, or cannot hold the offset. Throws `IoError`. */
  private segmentFor(
    bytes: number,
    baseOffset: number,
    lastOffset: number,
    maxTimestamp: number,
    now: number,
  ): Segment {
    if (this.tailDirty && !this.cleanTail()) {
      throw new IoError("truncate", this.segments.place.path, "a failed append could not be cut off");
    }
    const { active } = this.segments;
    if (active === undefined) return this.segments.add(baseOffset, now);
    if (active.size === 0) {
      if (active.canHold(lastOffset)) return active;
      // A follower that starts far behind its leader's oldest record: an empty segment is in the way.
      this.segments.removeLast();
      this.reader.forget();
      return this.segments.add(baseOffset, now);
    }
    const rolls = needsRoll(active, this.config, { bytes, lastOffset, maxTimestamp }, now);
    return rolls ? this.roll(active, baseOffset, now) : active;
  }

  private roll(closed: Segment, baseOffset: number, now: number): Segment {
    const segment = this.segments.add(baseOffset, now);
    // Neither is needed: the next flush writes the indexes, and recovery reads further back without a snapshot.
    this.attempt("finish a segment of", () => {
      closed.finishIndexes();
      this.writeSnapshot();
    });
    closed.unsynced = true; // its indexes, at least
    this.flushNow();
    return segment;
  }

  /** Cuts off what a failed append left. False, and to be tried again, when that fails too: the size hides it till then. */
  private cleanTail(): boolean {
    this.tailDirty = !this.attempt("cut a failed append off", () => {
      const { active } = this.segments;
      if (active === undefined) return;
      active.log.close(); // the descriptor may be what is broken
      active.log.get().truncate(active.size);
    });
    return !this.tailDirty;
  }

  private noteEpoch(epoch: number, startOffset: number): void {
    if (epoch < 0) return;
    this.epochFile.changed(this.epochFile.epochs.assign(epoch, startOffset));
    // If it fails, the next flush writes the file, or recovery finds the epochs in the batches.
    this.attempt("write leader epochs of", () => this.epochFile.write());
  }

  private writeSnapshot(): void {
    if (this.snapshotOffset === this.endOffset) return;
    this.segments.snapshots.write(this.endOffset, this.producers, this.segments.baseOffsets);
    this.snapshotOffset = this.endOffset;
    this.segments.directoryUnsynced = true;
  }

  private appended(
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
      logStartOffset: this.startOffset,
      duplicate,
      mustFlush: this.endOffset - this.flushedOffset >= this.config.flushMessages,
    };
  }

  private duplicateAppend(written: WrittenBatch): AppendResult {
    // Kafka tells the time of the batch here even where the topic has create time.
    return this.appended(
      written.lastOffset - written.offsetDelta,
      written.lastOffset,
      written.timestamp,
      true,
    );
  }

  private unavailable(): AppendResult {
    const text = this.offline ?? `The disk under ${this.name} failed`;
    return refusedAppend(new Refusal(ErrorCode.KAFKA_STORAGE_ERROR, text), this.startOffset);
  }

  // ------------------------------------------------------------------------------------------------------- reading

  /** Whole batches from the one that holds `fetchOffset` on. OFFSET_OUT_OF_RANGE before the start or past the end. */
  read(fetchOffset: number, limits: ReadLimits): ReadResult {
    const empty = (errorCode: number) => ({ errorCode, bytes: nothing, nextOffset: fetchOffset });
    if (this.unopened !== null && !this.isReady()) return empty(ErrorCode.KAFKA_STORAGE_ERROR);
    if (fetchOffset < this.startOffset || fetchOffset > this.endOffset) {
      return empty(ErrorCode.OFFSET_OUT_OF_RANGE);
    }
    if (fetchOffset === this.endOffset) {
      const { active } = this.segments;
      if (active !== undefined) this.reader.remember(fetchOffset, active, active.size);
      return empty(ErrorCode.NONE);
    }
    const wantsNothing = limits.maxBytes <= 0 && !limits.minOneMessage;
    if (fetchOffset >= limits.maxOffset || wantsNothing) return empty(ErrorCode.NONE);
    try {
      const { bytes, nextOffset } = this.reader.read(fetchOffset, limits, this.config.indexIntervalBytes);
      return { errorCode: ErrorCode.NONE, bytes, nextOffset };
    } catch (error) {
      this.report("read", error);
      return empty(ErrorCode.KAFKA_STORAGE_ERROR);
    }
  }

  /**
   * The first record whose timestamp is at least `timestamp`, if it lies below `maxOffset`; looks inside compressed
   * batches. Throws `IoError`.
   */
  offsetForTime(timestamp: number, maxOffset: number): TimestampedOffset | null {
    this.needReady();
    const found = this.reader.offsetForTime(timestamp, this.startOffset, this.config.indexIntervalBytes);
    return found !== null && found.offset < maxOffset ? found : null;
  }

  /** The first record that has the largest timestamp of all (KIP-734), if it lies below `maxOffset`. Throws `IoError`. */
  offsetOfMaxTimestamp(maxOffset: number): TimestampedOffset | null {
    this.needReady();
    const found = this.reader.offsetOfMaxTimestamp(this.config.indexIntervalBytes);
    return found !== null && found.offset < maxOffset && found.offset >= this.startOffset ? found : null;
  }

  /** OffsetForLeaderEpoch: see `LeaderEpochs.endOffset`. Throws `IoError`. */
  endOffsetForEpoch(
    requested: number,
    currentLeaderEpoch: number,
  ): { leaderEpoch: number; endOffset: number } {
    this.needReady();
    return this.epochFile.epochs.endOffset(requested, currentLeaderEpoch, this.endOffset);
  }

  /** The leader epoch under which the record at `offset` was written; -1 when not known. Throws `IoError`. */
  leaderEpochAt(offset: number): number {
    this.needReady();
    return this.epochFile.epochs.at(offset);
  }

  /** Where the oldest transaction under way began; null without one. Throws `IoError`. */
  firstUnstableOffset(): number | null {
    this.needReady();
    return this.producers.firstUnstableOffset();
  }

  /** The idempotent producers that the log remembers. Throws `IoError`. */
  activeProducers(): ProducerEntry[] {
    this.needReady();
    return [...this.producers.entries()];
  }

  // --------------------------------------------------------------------------------------------- cutting both ends

  /** Drops the records from `offset` on: a follower whose history parts from the leader's. Gives an error code. */
  truncateTo(offset: number): number {
    if (!this.isReady()) return ErrorCode.KAFKA_STORAGE_ERROR;
    if (offset >= this.endOffset) return ErrorCode.NONE;
    this.truncations++;
    this.reader.forget();
    const truncated = this.attempt("truncate", () => {
      const { segments } = this;
      // From the end, so that whatever stops this leaves a log without a gap.
      while (segments.list.length > 0 && segments.list[segments.list.length - 1].baseOffset >= offset) {
        segments.removeLast();
      }
      if (segments.active !== undefined) {
        segments.openIndexes(segments.active, this.config.indexIntervalBytes);
        segments.active.truncateTo(offset);
      }
      this.endOffset = offset;
      this.flushedOffset = Math.min(this.flushedOffset, offset);
      this.startOffset = Math.min(this.startOffset, offset);
      this.epochFile.changed(this.epochFile.epochs.truncateFromEnd(offset));
      this.epochFile.write();
      segments.snapshots.removeAfter(offset);
      this.snapshotOffset = segments.snapshots.latest ?? -1;
      this.producers = producersOf(this.openingInput(), offset);
    });
    // Halfway, what is on disk and in memory may differ: it is read again before anything else.
    if (!truncated) this.unopened = { listed: false, how: "crashed", closedAt: null };
    return truncated ? ErrorCode.NONE : ErrorCode.KAFKA_STORAGE_ERROR;
  }

  /**
   * Moves the log's start to `offset` (DeleteRecords): at or below the present start nothing changes. Segments that lie
   * before it go with the next {@link applyRetention}. OFFSET_OUT_OF_RANGE past the end.
   */
  deleteRecordsBefore(offset: number): number {
    if (offset > this.endOffset) return ErrorCode.OFFSET_OUT_OF_RANGE;
    if (offset > this.startOffset) this.moveStart(offset);
    return ErrorCode.NONE;
  }

  private moveStart(offset: number): void {
    this.startOffset = offset;
    // Of a log not opened yet, the epochs are cut when they are read.
    if (this.unopened === null) this.epochFile.changed(this.epochFile.epochs.truncateFromStart(offset));
  }

  /**
   * Removes the segments that time, size or DeleteRecords have ended, as far as they lie below `highWatermark`. Gives
   * their number. The files go after `file.delete.delay.ms`: {@link deleteOldFiles}. `now` is wall-clock time, which
   * the timestamps of records are held against.
   */
  applyRetention(now: number, highWatermark: number = this.endOffset): number {
    if (!this.isReady()) return 0;
    let removed = 0;
    this.attempt("remove old segments of", () => {
      const { segments, config, startOffset, endOffset } = this;
      const expirable = segments.list.map((segment) => ({
        baseOffset: segment.baseOffset,
        size: segment.size,
        newestMs: () => {
          segments.openIndexes(segment, config.indexIntervalBytes);
          return segment.newestMs;
        },
      }));
      const count = expiredSegments(expirable, config, startOffset, endOffset, highWatermark, now);
      if (count > 0 && count === segments.list.length) this.roll(segments.active!, endOffset, now);
      for (; removed < count; removed++) {
        segments.discardFirst(this.clock.monotonic() + config.fileDeleteDelayMs);
      }
    });
    if (removed > 0) {
      const first = this.segments.list[0].baseOffset;
      this.reader.forget();
      if (first > this.startOffset) this.moveStart(first);
      this.attempt("clear up after old segments of", () => {
        this.segments.snapshots.removeBefore(first);
        this.epochFile.write();
      });
    }
    return removed;
  }

  /** Deletes the files whose delay is over by the monotonic clock's `now`. */
  deleteOldFiles(now: number): void {
    this.attempt("delete files of", () => this.segments.deleteOldFiles(now));
  }

  /** Forgets idempotent producers that were silent for `producer.id.expiration.ms` at the monotonic clock's `now`. */
  expireProducers(now: number): void {
    if (this.unopened === null) this.producers.expire(now, this.config.producerIdExpirationMs);
  }

  // ---------------------------------------------------------------------------------------------------- durability

  /** Whether a restart after a crash would have to read something. */
  get hasUnflushed(): boolean {
    return this.unopened === null && this.flushedOffset < this.endOffset;
  }

  /** Whether `flush.ms` has passed at the monotonic clock's `now` since the last flush, and there is something to flush. */
  flushIsDue(now: number): boolean {
    return this.hasUnflushed && now - this.lastFlushMs >= this.config.flushMs;
  }

  /**
   * Resolves when everything appended before the call is on the device. Calls while a flush is under way share the
   * next one. Rejects with `IoError`: the recovery point stays then, and a crash would read from there.
   */
  flush(): Promise<void> {
    return this.unopened === null ? this.flusher.flush() : Promise.resolve();
  }

  /** Flushes, and notes the time for {@link flushIsDue}. Failures are reported, and the promise resolves. */
  flushNow(): Promise<void> {
    this.lastFlushMs = this.clock.monotonic();
    return this.flush().catch((error) => this.report("flush", error));
  }

  /** Flushes and writes a producer snapshot, so that a crash has to read no further back than here. */
  shortenRecovery(): Promise<void> {
    if (this.unopened !== null) return Promise.resolve();
    this.attempt("write a producer snapshot of", () => this.writeSnapshot());
    return this.flushNow();
  }

  /** Bytes after the recovery point, about: what a restart after a crash would read. */
  get unflushedBytes(): number {
    if (!this.hasUnflushed) return 0;
    const first = this.segments.indexFor(this.flushedOffset);
    let bytes = 0;
    for (const segment of this.segments.list.slice(first)) bytes += segment.size;
    this.attempt("read an index of", () => {
      bytes -= this.segments.list[first].positionBefore(this.flushedOffset);
    });
    return bytes;
  }

  /**
   * Brings everything to the device and lets go of the files. True when the log is whole on disk, so that the next
   * start need not check it. The log must not be used any more.
   */
  async close(): Promise<boolean> {
    const { segments } = this;
    try {
      if (this.unopened !== null) return this.unopened.how === "closed";
      if (this.tailDirty && !this.cleanTail()) return false;
      const { active } = segments;
      active?.finishIndexes();
      active?.trimIndexes();
      if (this.endOffset > 0 && this.snapshotOffset !== this.endOffset) {
        this.writeSnapshot();
        await segments.snapshots.syncLatest();
      }
      await this.flusher.flush();
      await active?.offsets.sync();
      await active?.times.sync();
      return true;
    } catch (error) {
      this.report("close", error);
      return false;
    } finally {
      segments.closeAll();
      this.offline ??= `The log of ${this.name} was closed`;
      this.unopened ??= { listed: true, how: "closed", closedAt: null };
    }
  }

  /** Lets go of the files and moves the directory away; `why` is for who still asks. Throws `IoError`. */
  moveAway(path: string, why: string): void {
    this.segments.moveTo(path);
    this.offline = why;
    this.unopened = { listed: true, how: "closed", closedAt: null };
  }

  // ------------------------------------------------------------------------------------------------------- opening

  private needReady(): void {
    if (!this.isReady()) {
      throw new IoError("open", this.segments.place.path, this.offline ?? "the disk failed");
    }
  }

  /** Opens the log if it is not open yet. False (reported) when the disk fails or the log is offline. */
  private isReady(): boolean {
    if (this.unopened === null) return true;
    if (this.offline !== null || !this.list()) return false;
    const { how, closedAt } = this.unopened;
    this.attempt("open", () => {
      let opened: OpenedLog | string | null = null;
      if (how === "closed") {
        opened = openClosedLog(this.openingInput(), closedAt);
        // What was noted is not so: the segment that was written last is in doubt.
        if (opened === null) {
          this.flushedOffset = Math.min(this.flushedOffset, this.segments.active?.baseOffset ?? 0);
        }
      }
      if (opened === null) {
        this.unopened!.how = "crashed";
        opened = openCrashedLog(this.openingInput());
      }
      if (typeof opened !== "string") return this.take(opened);
      this.offline = opened;
      this.onWarning(opened);
    });
    return this.unopened === null;
  }

  /** Finds out which segments there are. */
  private list(): boolean {
    if (this.unopened === null || this.unopened.listed) return true;
    let orphans: string[] = [];
    const listed = this.attempt("list the files of", () => {
      orphans = this.segments.load();
    });
    if (!listed) return false;
    if (orphans.length > 0) {
      this.onWarning(
        `${this.name}: ${
          orphans.join(", ")
        } was there, but not the log file beside it: its records are lost, unless that ` +
          `file is put back before the broker starts`,
      );
    }
    this.unopened.listed = true;
    this.startOffset = Math.max(this.startOffset, this.segments.list[0]?.baseOffset ?? 0);
    this.endOffset = Math.max(this.endOffset, this.startOffset);
    return true;
  }

  private take(opened: OpenedLog): void {
    const { endOffset, startOffset } = opened;
    this.tellOfLosses(opened);
    this.endOffset = endOffset;
    this.startOffset = startOffset;
    this.highWatermark = Math.min(this.highWatermark, endOffset);
    this.flushedOffset = opened.flushedOffset;
    this.epochFile.open(opened.epochs, opened.epochsChanged, this.unopened?.how === "crashed");
    this.producers = opened.producers;
    this.snapshotOffset = this.segments.snapshots.latest ?? -1;
    this.unopened = null;
    // The next flush writes what cannot be written now.
    this.attempt("write leader epochs of", () => this.epochFile.write());
  }

  /** Checkpoints remember more than what is there: told aloud, since the offsets will be given to other records. */
  private tellOfLosses({ endOffset, startOffset }: OpenedLog): void {
    const { path } = this.segments.place;
    if (endOffset < this.reachedBefore) {
      this.onWarning(
        `${this.name}: the checkpoints say that the log reached offset ${this.reachedBefore}, but what is in ${path} ends ` +
          `at ${endOffset}: the records between are lost, and their offsets will be given to new ones. To get them back, ` +
          `stop the broker and restore the directory from a copy`,
      );
    }
    if (startOffset < this.startOffset) {
      this.onWarning(
        `${this.name}: the log start ${this.startOffset} of log-start-offset-checkpoint lies past the log's end: the log ` +
          `now starts at its end, ${startOffset}. If the records before it are wanted, stop the broker, and remove the ` +
          `partition's line from that file`,
      );
    }
    this.reachedBefore = 0;
  }

  private openingInput(): OpeningInput {
    return {
      name: this.name,
      segments: this.segments,
      startOffset: this.startOffset,
      recoveryPoint: this.flushedOffset,
      config: this.config,
      now: this.clock.monotonic(),
      onWarning: this.onWarning,
    };
  }

  // ----------------------------------------------------------------------------------------------------- reporting

  /** False, and reported, when the disk fails. */
  private attempt(action: string, work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.report(action, error);
      return false;
    }
  }

  /** Reports the first failure in a row; anything but the disk's is a bug and goes on. */
  private report(action: string, error: unknown): void {
    if (!(error instanceof IoError)) throw error;
    if (this.failing) return;
    this.failing = true;
    this.onWarning(`${this.name}: cannot ${action} the log: ${error.message}`);
  }
}
