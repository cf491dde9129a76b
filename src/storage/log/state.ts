/**
 * What the parts of one log share: where it begins and ends, its segments, epochs and producers, and how it tells of a
 * failing disk. State and no policy: the parts (`log_readiness`, `log_writing`, `log_rolling`, `log_queries`,
 * `log_durability`, `log_cutting`) are functions over it, and everyone else sees the class `Log` only.
 */

import type { Clock } from "../../base/clock.ts";
import { EpochFile } from "../epochs/epoch_file.ts";
import { type Files, IoError } from "../files/files.ts";
import type { HandlePool } from "../files/handles.ts";
import type { LogConfig } from "./config.ts";
import { LogFlusher } from "./flusher.ts";
import { LogReader } from "./reader.ts";
import { LogSegments } from "./segments.ts";
import { partitionDirectory } from "../directory/names.ts";
import { ProducerState } from "../producers/producer_state.ts";
import type { Recovered } from "./recovered.ts";
import type { Trash } from "../directory/trash.ts";
import { RecordlessStretches } from "./recordless.ts";

export interface LogOptions {
  files: Files;
  pool: HandlePool;
  trash: Trash;
  /** The data directory. */
  directory: string;
  topic: string;
  partition: number;
  topicId: string;
  /** The partition's directory within the data directory, where it does not have the partition's name. */
  directoryName?: string;
  config: LogConfig;
  clock: Clock;
  /** From the checkpoints; undefined when they do not name the partition. */
  recoveryPoint: number | undefined;
  logStartOffset: number | undefined;
  highWatermark?: number;
  /** How the last use ended; "new" is a directory just made. After "closed" the recovery point is the log's end. */
  origin: "new" | "closed" | "crashed";
  /** Whether the recovery point of a log that was closed in order is its end for sure; else it is looked for at once. */
  endIsKnown?: boolean;
  /** The machine stopped since then: what was not on the device may be lost in any part. */
  machineStopped?: boolean;
  /** Whether a compactor has been at it, whatever its settings say now: then offsets may be missing. */
  wasCompacted?: boolean;
  /** Whether it was one that has let be what lies behind the recovery point, which Kafka's may not. */
  compactedBelowRecoveryPoint?: boolean;
  /** Gets one line for people about each thing that went wrong. */
  onWarning(text: string): void;
  /**
   * Is called before the log is used that ends, or begins, before what the checkpoints say: they must not say it of what
   * is written next. Throws `IoError`, and then the log is not used.
   */
  onTakenBack?(): void;
}

/** What could not be done, as {@link LogState.report} and {@link LogState.works} are told of it. */
export const APPEND = "append to", WRITE_INDEXES = "write indexes of";
export const FLUSH = "flush", FLUSH_INDEXES = "flush indexes of";

/** So many failed reads are remembered by their texts. */
const MOST_READS_TOLD = 100;

/** How to open a log at its next use. */
export interface Unopened {
  /** Whether it is known which segments there are. */
  listed: boolean;
  how: "closed" | "crashed";
  /** Where the log ended when it was closed in order; null when that is not known. */
  closedAt: number | null;
}

export class LogState {
  readonly topic: string;
  readonly partition: number;
  config: LogConfig;
  readonly clock: Clock;
  readonly onWarning: (text: string) => void;

  readonly segments: LogSegments;
  readonly reader: LogReader;
  readonly flusher: LogFlusher;
  readonly epochFile: EpochFile;
  producers = new ProducerState();

  /** The first offset that may be read. */
  startOffset: number;
  /** The offset that the next record gets. */
  endOffset: number;
  /** Everything before it is on the device, as far as it lies before the end. */
  flushedOffset: number;
  /** The indexes of everything before it are on the device. */
  indexedOffset: number;
  highWatermark = 0;
  /** By the monotonic clock, as all intervals here: a wall clock that is set back must not hold them up. */
  lastFlushMs: number;
  /** The offset of the latest producer snapshot; -1 without one. */
  snapshotOffset = -1;
  /** Bytes of the log since the recovery point, but for what a truncation or retention has removed of them. */
  bytesToRecover = 0;
  /** What the last check after an unclean stop took; null before one. */
  recovered: Recovered | null = null;
  /** The log's end when it was last looked at whether something is appended to it. */
  restedAt = -1;
  /** Transactions were looked up in indexes, which may keep what they read. */
  looksUpTransactions = false;
  readonly recordless = new RecordlessStretches();
  /** How often the end was cut off: a flush that began before says nothing of what came after. */
  truncations = 0;

  /** What was not synced may be lost in any part: the machine stopped, or dropped what it could not write. */
  machineStopped: boolean;
  /** Lowers what the checkpoints say of the log, durably. Throws `IoError`. */
  readonly onTakenBack: () => void;
  /** The checkpoints say more of the log than there turned out to be. */
  checkpointsBehind = false;
  /** A compactor has been at it: offsets may be missing, whatever the settings say now. */
  wasCompacted: boolean;
  /** No offset is missing behind the recovery point. */
  readonly compactedBelowRecoveryPoint: boolean;
  /** Is being cleaned: retention leaves it alone, since compaction replaces segments that it has to find again. */
  isBeingCleaned = false;
  /** How many copies of it are being made: compaction leaves it alone, since a copy with a record has to get its tombstone. */
  copiesUnderWay = 0;
  /** Null once everything is open. */
  unopened: Unopened | null;
  /** What the log reached when it was last used, as far as the checkpoints know. */
  reachedBefore: number;
  /** Why the log cannot be used until an operator has looked at it, or null. */
  offline: string | null = null;

  /** A failed append may have left bytes after the end of the active segment. */
  tailDirty = false;
  /** What failed, which was told, and did not succeed since. */
  private readonly failing = new Set<string>();
  /** The texts of reads that failed: what is damaged will fail again each time. */
  private readonly readsTold = new Set<string>();

  constructor(o: LogOptions) {
    this.topic = o.topic;
    this.partition = o.partition;
    this.config = o.config;
    this.clock = o.clock;
    this.onWarning = o.onWarning;
    const place = { path: `${o.directory}/${o.directoryName ?? this.name}` };
    this.segments = new LogSegments(o.files, o.pool, o.trash, place, (segment) => {
      this.onWarning(`${this.name}: building the indexes of ${segment.log.path} anew`);
    });
    this.reader = new LogReader(this.segments, o.clock, (text) => this.onWarning(`${this.name}: ${text}`));
    this.epochFile = new EpochFile(this.segments);
    this.flusher = new LogFlusher({
      segments: this.segments,
      isNew: o.origin !== "closed",
      begin: () => this.beginFlush(),
      flushRest: () => this.epochFile.flush(),
      onLost: () => this.lostWrites(),
      indexIntervalBytes: () => this.config.indexIntervalBytes,
    });
    this.startOffset = o.logStartOffset ?? 0;
    this.flushedOffset = o.recoveryPoint ?? 0;
    this.indexedOffset = this.flushedOffset;
    this.reachedBefore = Math.max(this.flushedOffset, o.highWatermark ?? 0);
    this.endOffset = this.flushedOffset;
    this.lastFlushMs = o.clock.monotonic();
    this.machineStopped = o.machineStopped ?? false;
    this.onTakenBack = o.onTakenBack ?? (() => {});
    this.wasCompacted = o.wasCompacted ?? false;
    this.compactedBelowRecoveryPoint = o.compactedBelowRecoveryPoint ?? false;
    const how = o.origin === "closed" ? "closed" : "crashed";
    const closedAt = how === "closed" && o.endIsKnown === true ? o.recoveryPoint ?? null : null;
    this.unopened = { listed: false, how, closedAt };
  }

  get name(): string {
    return partitionDirectory(this.topic, this.partition);
  }

  /** Whether no offset may be missing between its start and its end. */
  get isDense(): boolean {
    return !this.wasCompacted && !this.config.cleanupPolicy.compact;
  }

  private beginFlush(): (indexed: boolean) => void {
    const { endOffset, truncations, bytesToRecover } = this;
    const activeBase = Math.min(this.segments.active?.baseOffset ?? endOffset, endOffset);
    return (indexed) => {
      if (truncations !== this.truncations) return;
      this.flushedOffset = Math.max(this.flushedOffset, endOffset);
      // Of all but the active segment the indexes are always synced with the log.
      this.indexedOffset = Math.max(this.indexedOffset, indexed ? endOffset : activeBase);
      if (indexed) this.bytesToRecover -= bytesToRecover;
    };
  }

  /** Has the log read again from the recovery point on, before anything else is done with it. */
  private lostWrites(): void {
    this.reachedBefore = Math.max(this.reachedBefore, this.endOffset);
    this.truncations++;
    this.machineStopped = true;
    this.reader.forget();
    this.unopened = { listed: false, how: "crashed", closedAt: null };
  }

  /** Cuts off what a failed append left. False, and to be tried again, when that fails too: the size hides it till then. */
  cleanTail(): boolean {
    this.tailDirty = !this.attempt("cut a failed append off", () => {
      const { active } = this.segments;
      if (active === undefined) return;
      active.log.close(); // the descriptor may be what is broken
      active.log.get().truncate(active.size);
    });
    return !this.tailDirty;
  }

  /** False, and reported, when the disk fails. */
  attempt(action: string, work: () => void): boolean {
    try {
      work();
      this.works(action);
      return true;
    } catch (error) {
      this.report(action, error);
      return false;
    }
  }

  /**
   * Reports a failure, once until {@link works} is told of the same action: while appends fail, of them alone. Anything but
   * the disk's is a bug and goes on.
   */
  report(action: string, error: unknown): void {
    if (!(error instanceof IoError)) throw error;
    // One that was deleted or given up misses its files: nobody has to look after that.
    if (this.failing.has(APPEND) || this.failing.has(action) || this.segments.gone) return;
    this.failing.add(action);
    const consequence = error.isFull
      ? "; producers get KAFKA_STORAGE_ERROR for what does not fit, and it goes on by itself when there is room"
      : action === APPEND
      ? "; producers get KAFKA_STORAGE_ERROR, and it goes on by itself when the disk works again"
      : "";
    this.onWarning(`${this.name}: cannot ${action} the log: ${error.message}${consequence}`);
  }

  /** As {@link report}, for reads, which may fail in one place and work in all others. */
  reportRead(action: string, error: unknown): void {
    if (!(error instanceof IoError)) throw error;
    if (this.failing.has(APPEND) || this.readsTold.has(error.message)) return;
    if (this.readsTold.size >= MOST_READS_TOLD) this.readsTold.clear();
    this.readsTold.add(error.message);
    this.report(action, error);
    this.failing.delete(action);
  }

  /** Something succeeded: if it had failed before, that is over. */
  works(action: string): void {
    if (!this.failing.delete(action)) return;
    const what = action === APPEND ? "appends to the log work" : `it can ${action} the log`;
    this.onWarning(`${this.name}: ${what} again`);
  }
}
