/**
 * The log of one partition: a row of segments, the last of which is written to. Everything that changes its state is
 * synchronous; only flushing waits for the disk. No method throws because of the disk unless it says so: failures are
 * KAFKA_STORAGE_ERROR for this partition, nothing of a failed append can be seen, and the next one tries again.
 *
 * A log that was closed in order is opened at its first use only: until then its offsets come from the checkpoints.
 *
 * This class says what a log promises. What it does is in functions over its {@link LogState}, a file for each job:
 *
 *     readiness.ts   opening at the first use              over opening.ts, recovery.ts
 *     writing.ts     appending                             over append.ts, segment.ts
 *     rolling.ts     going on in a new segment
 *     queries.ts     reading, looking things up            over reader.ts, read.ts
 *     cutting.ts     truncation, DeleteRecords, retention  over retention.ts
 *     durability.ts  flushing, snapshots, closing          over flusher.ts
 *     compaction.ts  what may be cleaned, and the exchange over cleaner/
 *     moving.ts      taking another log's place
 */

import type { Allowance } from "../../codec/allowance.ts";
import type { AppendOptions, AppendResult } from "./append.ts";
import type { LogConfig } from "./config.ts";
import { type Cleanable, cleanable, producersLast, replaceSegments } from "./compaction.ts";
import { applyRetention, deleteRecordsBefore, truncateTo } from "./cutting.ts";
import { close, flush, flushNow, hasUnflushed, lacksIndexes, rest, shortenRecovery } from "./durability.ts";
import { takeOver } from "./moving.ts";
import {
  abortedTransactions,
  activeProducers,
  bytesBetween,
  endOffsetForEpoch,
  lastStableOffset,
  leaderEpochAt,
  offsetForTime,
  offsetOfMaxTimestamp,
  read,
  readAhead,
  type ReadResult,
  recordsFrom,
  slice,
} from "./queries.ts";
import type { SliceLimits, SliceRead } from "./reader.ts";
import { findLog, isReady, needReady } from "./readiness.ts";
import { type LogOptions, LogState } from "./state.ts";
import { append, appendAsFollower, assignLeaderEpoch } from "./writing.ts";
import type { CleanedGroup, ProducersLast } from "../cleaner/job.ts";
import type { ProducerEntry } from "../producers/producer_state.ts";
import type { ReadLimits } from "../segment/read.ts";
import type { Recovered } from "./recovered.ts";
import type { TimestampedOffset } from "../segment/time_lookup.ts";
import type { AbortedTransaction } from "../segment/transaction_index.ts";

export type { AppendOptions, AppendResult, RecordError } from "./append.ts";
export type { ReadResult } from "./queries.ts";
export type { SliceRead } from "./reader.ts";
export type { LogOptions } from "./state.ts";
export type { ReadLimits } from "../segment/read.ts";
export type { TimestampedOffset } from "../segment/time_lookup.ts";
export type { AbortedTransaction } from "../segment/transaction_index.ts";

export class Log {
  /** In Kafka's 22 characters of URL-safe base64. */
  topicId: string;
  private readonly state: LogState;

  /** Finds the log in its directory, and recovers it unless it was closed in order. */
  constructor(o: LogOptions) {
    this.topicId = o.topicId;
    this.state = new LogState(o);
    findLog(this.state);
  }

  get topic(): string {
    return this.state.topic;
  }
  get partition(): number {
    return this.state.partition;
  }
  /** The partition's directory within the data directory. */
  get name(): string {
    return this.state.name;
  }

  /** May be replaced at any time. */
  get config(): LogConfig {
    return this.state.config;
  }
  set config(config: LogConfig) {
    this.state.config = config;
  }

  /** Why the log cannot be used until an operator has looked at it, or null. */
  get offline(): string | null {
    return this.state.offline;
  }

  /** What the check after an unclean stop took; null where there was none. */
  get recovered(): Recovered | null {
    return this.state.recovered;
  }

  // ------------------------------------------------------------------------------------------------- how far it goes

  /** The first offset that may be read. */
  get logStartOffset(): number {
    return this.state.startOffset;
  }

  /** The log's end: the offset that the next record gets. */
  get nextOffset(): number {
    return this.state.endOffset;
  }

  /** Everything before it is on the device. */
  get flushedOffset(): number {
    return Math.min(this.state.flushedOffset, this.state.endOffset);
  }

  /** Everything before it is on the device, its indexes too: after a crash the log is read from here on. */
  get recoveryPoint(): number {
    const { flushedOffset, indexedOffset, endOffset } = this.state;
    return Math.min(flushedOffset, indexedOffset, endOffset);
  }

  /**
   * The partition's high watermark, here to be checkpointed with the other offsets. Whoever replicates the partition
   * moves it; the log only takes it back to its end when, once opened, it turns out shorter than was noted.
   */
  get highWatermark(): number {
    return this.state.highWatermark;
  }
  set highWatermark(offset: number) {
    this.state.highWatermark = offset;
    this.state.producers.committedTo(offset);
  }

  get sizeInBytes(): number {
    return this.state.segments.sizeInBytes;
  }

  /** Base offsets of the segments, ascending. */
  get segmentBaseOffsets(): number[] {
    return this.state.segments.baseOffsets;
  }

  /** Whether the start offset has to be checkpointed, not being the base of the first segment. */
  get startIsInsideSegment(): boolean {
    const { segments: { list }, startOffset } = this.state;
    return list.length > 0 && startOffset > list[0].baseOffset;
  }

  // --------------------------------------------------------------------------------------------------------- writing

  /**
   * Appends one batch of format 2 as the partition's leader. Offset, leader epoch and, where the topic wants it, the
   * timestamp are set in `bytes` in place; nothing of `bytes` is kept.
   */
  append(bytes: Uint8Array, o: AppendOptions): AppendResult {
    return append(this.state, bytes, o);
  }

  /**
   * Appends batches as the leader wrote them. They must be intact and in order, and begin at the log's end or after it
   * (a compacted leader has gaps); OFFSET_OUT_OF_RANGE before it.
   */
  appendAsFollower(bytes: Uint8Array, now: number): AppendResult {
    return appendAsFollower(this.state, bytes, now);
  }

  /** Notes that this broker leads under `epoch` from the log's end on, if that is news. Gives an error code. */
  assignLeaderEpoch(epoch: number): number {
    return assignLeaderEpoch(this.state, epoch);
  }

  // --------------------------------------------------------------------------------------------------------- reading

  /** Whole batches from the one that holds `fetchOffset` on. OFFSET_OUT_OF_RANGE before the start or past the end. */
  read(fetchOffset: number, limits: ReadLimits): ReadResult {
    return read(this.state, fetchOffset, limits);
  }

  /** What of {@link read} can be sent from the file as it is; null when it has to be read. */
  slice(fetchOffset: number, limits: SliceLimits): SliceRead | null {
    return slice(this.state, fetchOffset, limits);
  }

  /** To be awaited before {@link read} by those that can wait; null says that there is no need. */
  readAhead(fetchOffset: number, maxBytes: number): Promise<void> | null {
    return readAhead(this.state, fetchOffset, maxBytes);
  }

  /**
   * Where from `offset` on the next batch with records begins, as far as `allowance` and `maxOffset` go. There are none from
   * `from` up to `offset`.
   */
  recordsFrom(offset: number, maxOffset: number, allowance: Allowance, from?: number): number {
    return recordsFrom(this.state, offset, maxOffset, allowance, from);
  }

  /**
   * The first record whose timestamp is at least `timestamp`, if it lies below `maxOffset`; looks inside compressed
   * batches, at the cost of `allowance`. Throws `IoError`, and `MalformedFrame` for batches that cannot be opened.
   */
  offsetForTime(timestamp: number, maxOffset: number, allowance?: Allowance): TimestampedOffset | null {
    return offsetForTime(this.state, timestamp, maxOffset, allowance);
  }

  /** The first record that has the largest timestamp of all (KIP-734), if it lies below `maxOffset`. Throws as above. */
  offsetOfMaxTimestamp(maxOffset: number, allowance?: Allowance): TimestampedOffset | null {
    return offsetOfMaxTimestamp(this.state, maxOffset, allowance);
  }

  /** OffsetForLeaderEpoch: see `LeaderEpochs.endOffset`. Throws `IoError`. */
  endOffsetForEpoch(
    requested: number,
    currentLeaderEpoch: number,
  ): { leaderEpoch: number; endOffset: number } {
    return endOffsetForEpoch(this.state, requested, currentLeaderEpoch);
  }

  /** The leader epoch under which the record at `offset` was written; -1 when not known. Throws `IoError`. */
  leaderEpochAt(offset: number): number {
    return leaderEpochAt(this.state, offset);
  }

  /**
   * The end of what read_committed may see: the high watermark, or before it where the first transaction began that is under
   * way, or whose marker is not committed. Throws `IoError`.
   */
  get lastStableOffset(): number {
    return lastStableOffset(this.state);
  }

  /**
   * The aborted transactions that a reader of committed records has to know of who was given what lies from `fetchOffset` up to
   * `nextOffset`. Throws `IoError`.
   */
  abortedTransactions(fetchOffset: number, nextOffset: number): AbortedTransaction[] {
    return abortedTransactions(this.state, fetchOffset, nextOffset);
  }

  /** Bytes of batches between two of their offsets; Infinity over several segments. Throws `IoError`. */
  bytesBetween(from: number, to: number): number {
    return bytesBetween(this.state, from, to);
  }

  /** What the log remembers of one producer. Throws `IoError`. */
  producer(producerId: number): Readonly<ProducerEntry> | undefined {
    needReady(this.state);
    return this.state.producers.get(producerId);
  }

  /** How many of them it remembers. Throws `IoError`. */
  get activeProducerCount(): number {
    needReady(this.state);
    return this.state.producers.size;
  }

  /** The idempotent producers that the log remembers. Throws `IoError`. */
  activeProducers(): ProducerEntry[] {
    return activeProducers(this.state);
  }

  // ----------------------------------------------------------------------------------------------- cutting both ends

  /** Drops the records from `offset` on: a follower whose history parts from the leader's. Gives an error code. */
  truncateTo(offset: number): number {
    return truncateTo(this.state, offset);
  }

  /**
   * Moves the log's start to `offset` (DeleteRecords): at or below the present start nothing changes. Segments that lie
   * before it go with the next {@link applyRetention}. OFFSET_OUT_OF_RANGE past the end.
   */
  deleteRecordsBefore(offset: number): number {
    return deleteRecordsBefore(this.state, offset);
  }

  /**
   * Removes the segments that time, size or DeleteRecords have ended, as far as they lie below `highWatermark`. Gives
   * their number. The files go after `file.delete.delay.ms`. `now` is wall-clock time, which
   * the timestamps of records are held against.
   */
  applyRetention(now: number, highWatermark: number = this.nextOffset): number {
    return applyRetention(this.state, now, highWatermark);
  }

  /** What compaction may clean, if that is due: see `compaction.ts`. */
  cleanable(cleanedUpTo: number | undefined, now: number): Cleanable | null {
    return cleanable(this.state, cleanedUpTo, now);
  }

  /** The last batches of each idempotent producer, which compaction keeps. */
  producersLast(): ProducersLast[] {
    return producersLast(this.state);
  }

  /** Puts a cleaned segment in the place of some; false when the log has changed meanwhile, or the disk fails. */
  replaceSegments(found: Cleanable | null, by: CleanedGroup): boolean {
    return replaceSegments(this.state, found, by);
  }

  /** Retention waits while this is set. */
  get isBeingCleaned(): boolean {
    return this.state.isBeingCleaned;
  }
  set isBeingCleaned(isCleaned: boolean) {
    this.state.isBeingCleaned = isCleaned;
  }

  /** Compaction waits while this is above 0. */
  get copiesUnderWay(): number {
    return this.state.copiesUnderWay;
  }
  set copiesUnderWay(count: number) {
    this.state.copiesUnderWay = count;
  }

  /** Forgets idempotent producers that were silent for `producer.id.expiration.ms` at the monotonic clock's `now`. */
  expireProducers(now: number): void {
    const { unopened, producers, config } = this.state;
    if (unopened === null) producers.expire(now, config.producerIdExpirationMs);
  }

  // ------------------------------------------------------------------------------------------------------ durability

  /** Whether a restart after a crash would have to read something. */
  get hasUnflushed(): boolean {
    return hasUnflushed(this.state);
  }

  /** Bytes after the recovery point, about: what a restart after a crash would read. */
  get bytesToRecover(): number {
    return this.state.bytesToRecover;
  }

  /** Whether a restart after a crash would have to read what is on the device, because its indexes are not. */
  get lacksIndexes(): boolean {
    return lacksIndexes(this.state);
  }

  /** To be called now and then: a log that got nothing since the last call gives back what it keeps to write quickly. */
  rest(): void {
    rest(this.state);
  }

  /**
   * Does what the disk did not let be done when it was due: leaves the note of a failed sync, opens a log that was not closed
   * in order. To be called now and then.
   */
  retry(): void {
    const { segments, unopened } = this.state;
    if (segments.syncFailed) segments.noteSyncFailed();
    if (unopened !== null && unopened.how === "crashed") isReady(this.state);
  }

  /** Whether `flush.ms` has passed at the monotonic clock's `now` since the last flush, and there is something to flush. */
  flushIsDue(now: number): boolean {
    return this.hasUnflushed && now - this.state.lastFlushMs >= this.config.flushMs;
  }

  /**
   * Resolves when everything appended before the call is on the device. Calls while a flush is under way share the
   * next one. Rejects with `IoError`: the recovery point stays then, and a crash would read from there.
   */
  flush(): Promise<void> {
    return flush(this.state);
  }

  /** Flushes, and notes the time for {@link flushIsDue}. Failures are reported, and the promise resolves. */
  flushNow(): Promise<void> {
    return flushNow(this.state);
  }

  /** Flushes and writes a producer snapshot, so that a crash has to read no further back than here. */
  shortenRecovery(): Promise<void> {
    return shortenRecovery(this.state);
  }

  /**
   * Brings everything to the device and lets go of the files. True when the log is whole on disk, so that the next
   * start need not check it. The log must not be used any more.
   */
  close(): Promise<boolean> {
    return close(this.state);
  }

  /** Where its files are. */
  get path(): string {
    return this.state.segments.place.path;
  }

  /** Whether offsets may be missing between its start and its end, as a compactor leaves it. */
  get mayHaveGaps(): boolean {
    return !this.state.isDense;
  }

  /** Whether it was not closed in order, and could not be checked yet: its offsets are not what they will be. */
  get isUnchecked(): boolean {
    return this.state.unopened?.how === "crashed";
  }

  /** Opens the log if it is not open. False when it cannot be: {@link offline} tells why, or its disk fails now. */
  open(): boolean {
    return isReady(this.state);
  }

  /** Becomes what `source` is, of which this is a copy to the last record, durably. Throws `IoError`. */
  takeOver(source: Log): void {
    takeOver(this.state, source.state);
  }

  /** Gives the directory another name and goes on there. Throws `IoError`. */
  renameTo(path: string): void {
    this.state.segments.renameTo(path);
  }

  /** Lets go of the files, which stay where they are; `why` is for who still asks. */
  letGo(why: string): void {
    const { segments } = this.state;
    segments.retireAll();
    segments.list = [];
    segments.gone = true;
    this.state.offline = why;
    this.state.unopened = { listed: true, how: "closed", closedAt: null };
  }

  /** Lets go of the files and moves the directory away; `why` is for who still asks. Throws `IoError`. */
  moveAway(path: string, why: string): void {
    this.state.segments.moveTo(path);
    this.state.offline = why;
    this.state.unopened = { listed: true, how: "closed", closedAt: null };
  }
}
