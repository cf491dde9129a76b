/**
 * Compaction of a data directory: which log next, how far each has come, and that nothing goes wrong when a log changes or
 * goes while it is cleaned. The dirtiest goes first. The work itself is done on threads (`thread.ts`), which are made when
 * there is something to clean, and ended when there was nothing for a while.
 */

import type { Clock } from "../../base/clock.ts";
import { Slices } from "../../base/slices.ts";
import { type Files, IoError } from "../files/files.ts";
import type { Log } from "../log/log.ts";
import type { Cleanable } from "../log/compaction.ts";
import type { CleanerCheckpoint } from "./checkpoint.ts";
import type { CleanedGroup, CleaningJob, CleaningOutcome } from "./job.ts";
import type { CleanerThread } from "./thread.ts";

/** The `log.cleaner.*` settings; of memory and bytes each is for all threads together. */
export interface CleanerSettings {
  readonly threads: number;
  readonly dedupeBufferBytes: number;
  readonly dedupeLoadFactor: number;
  readonly ioBufferBytes: number;
  readonly ioBytesPerSecond: number;
  readonly backoffMs: number;
}

export interface CleanerOptions {
  /** As they are now. */
  settings(): CleanerSettings;
  makeThread(): CleanerThread;
  /** Is told in a line of each log that was cleaned. */
  onCleaned?(text: string): void;
}

interface CleanerPlace {
  readonly files: Files;
  readonly clock: Clock;
  onWarning(text: string): void;
  /**
   * Resolves when the log's recovery point on the device is `offset` or more: behind it a log is taken to have no gaps but
   * those that a stop of the machine has torn. False when it cannot be yet. Rejects with `IoError`.
   */
  recoverableUpTo(log: Log, offset: number): Promise<boolean>;
}

/** To make a thread stops the event loop for some 10 ms, and to keep one costs some 40 MB. */
const THREAD_IDLE_MS = 60_000;
/** What looking through the logs may hold up others for at a time. */
const LOOK_MS = 4;
const MIN_BUFFER_BYTES = 4096;
/** A table of fewer keys is not worth a pass over a log. */
const MIN_KEY_MAP_BYTES = 64 << 10;
/** No thread of Kafka's has more either, whatever the settings say. */
const MAX_KEY_MAP_BYTES = 2 ** 31 - 1;

interface Cleaned {
  readonly thread: CleanerThread;
  /** By which it goes. */
  readonly settings: CleanerSettings;
  isInterrupted: boolean;
}

export class LogCleaner {
  /** The logs that are being cleaned, by name. */
  private readonly cleaned = new Map<string, Cleaned>();
  /** Damaged ones: of no use to try them again. */
  private readonly damaged = new WeakSet<Log>();
  /** Those of which a failure was told, and that were not cleaned since. */
  private readonly failing = new WeakSet<Log>();
  private readonly idle: CleanerThread[] = [];
  private readonly rounds = new Set<Promise<void>>();
  private nextLookMs: number;
  private lastCleanedMs = 0;
  /** Wall-clock time as far as it is believed. */
  private nowMs: number;
  private closed = false;

  constructor(
    private readonly place: CleanerPlace,
    private readonly logs: ReadonlyMap<string, Log>,
    private readonly checkpoint: CleanerCheckpoint,
    private readonly o: CleanerOptions,
  ) {
    this.nowMs = place.clock.now();
    this.nextLookMs = place.clock.monotonic() + o.settings().backoffMs;
  }

  /** Looks for something to clean if that is due, and has it done in the background. `nowMs` is wall-clock time. */
  tick(nowMs: number): void {
    this.nowMs = nowMs;
    const settings = this.o.settings();
    const { threads, backoffMs } = settings;
    this.interruptOthersThan(settings);
    const monotonic = this.place.clock.monotonic();
    if (this.cleaned.size === 0 && monotonic - this.lastCleanedMs >= THREAD_IDLE_MS) this.endIdle();
    if (this.closed || this.rounds.size >= threads || monotonic < this.nextLookMs) return;
    this.nextLookMs = monotonic + backoffMs;
    const round = this.round().catch((error) => {
      this.place.onWarning(
        `Compaction failed: ${error instanceof Error ? error.stack ?? error.message : error}`,
      );
    }).finally(() => this.rounds.delete(round));
    this.rounds.add(round);
  }

  /** Resolves when nothing is cleaned any more, as far as it was begun by now. */
  async settled(): Promise<void> {
    while (this.rounds.size > 0) await Promise.all(this.rounds);
  }

  /** Has the cleaning of a log end, which is gone or not as it was. */
  interrupt(name: string): void {
    const cleaned = this.cleaned.get(name);
    if (cleaned === undefined) return;
    cleaned.isInterrupted = true;
    cleaned.thread.interrupt();
  }

  /** A cleaning at a low rate may go on for days: it begins anew when settings change, as in Kafka. */
  private interruptOthersThan(settings: CleanerSettings): void {
    const isSame = (other: CleanerSettings) =>
      (Object.keys(settings) as (keyof CleanerSettings)[]).every((name) => settings[name] === other[name]);
    for (const [name, cleaned] of this.cleaned) if (!isSame(cleaned.settings)) this.interrupt(name);
  }

  /** Has all cleanings end, and waits for that. */
  async close(): Promise<void> {
    this.closed = true;
    for (const name of this.cleaned.keys()) this.interrupt(name);
    await this.settled();
    this.endIdle();
  }

  private endIdle(): void {
    for (const thread of this.idle.splice(0)) thread.end();
  }

  /** Cleans one log after the other until there is none. */
  private async round(): Promise<void> {
    /** Those that came to no good end: not again before the next round. */
    const failed = new Set<Log>();
    while (!this.closed) {
      const log = await this.dirtiest(failed);
      if (log === null || this.closed) break;
      // Another round may have come first.
      const found = this.look(log);
      if (found === null) continue;
      const outcome = await this.cleanLog(log, found);
      if (outcome.kind !== "done") failed.add(log);
    }
    await this.saveCheckpoint();
  }

  /** The log that is most worth cleaning. */
  private async dirtiest(except: ReadonlySet<Log>): Promise<Log | null> {
    const slices = new Slices(this.place.clock, LOOK_MS);
    let dirtiest: { log: Log; dirtyRatio: number } | null = null;
    for (const log of [...this.logs.values()]) {
      if (!log.config.cleanupPolicy.compact || except.has(log)) continue;
      const dirtyRatio = this.look(log)?.dirtyRatio ?? -1;
      if (dirtyRatio > (dirtiest?.dirtyRatio ?? -1)) dirtiest = { log, dirtyRatio };
      if (slices.isOver) await slices.next();
    }
    return dirtiest?.log ?? null;
  }

  private look(log: Log): Cleanable | null {
    if (this.logs.get(log.name) !== log || this.cleaned.has(log.name) || this.damaged.has(log)) return null;
    return log.cleanable(this.checkpoint.of(log.name), this.nowMs);
  }

  private async cleanLog(log: Log, found: Cleanable): Promise<CleaningOutcome> {
    const { name } = log;
    const thread = this.idle.pop() ?? this.o.makeThread();
    const settings = this.o.settings();
    const cleaned = { thread, settings, isInterrupted: false };
    this.cleaned.set(name, cleaned);
    log.isBeingCleaned = true;
    let isUsable = true;
    let outcome: CleaningOutcome;
    try {
      // Before any record goes.
      if (this.checkpoint.of(name) === undefined) this.checkpoint.set(name, found.firstDirtyOffset);
      await this.checkpoint.save();
      const isRecoverable = await this.place.recoverableUpTo(log, found.upperBound);
      outcome = isRecoverable && !cleaned.isInterrupted
        ? await thread.run(
          this.jobOf(log, found, settings),
          settings.ioBytesPerSecond / Math.max(1, settings.threads),
          (group) => this.replace(log, found, group),
        )
        : { kind: "interrupted" };
    } catch (error) {
      isUsable = error instanceof IoError;
      outcome = { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
    }
    // What was cut off meanwhile looks like damage to who is reading it.
    if (outcome.kind === "damaged" && cleaned.isInterrupted) outcome = { kind: "interrupted" };
    this.cleaned.delete(name);
    this.lastCleanedMs = this.place.clock.monotonic();
    log.isBeingCleaned = false;
    if (isUsable) this.idle.push(thread);
    else thread.end();
    this.note(log, found, outcome);
    return outcome;
  }

  private jobOf(
    log: Log,
    found: Cleanable,
    { threads, dedupeBufferBytes, dedupeLoadFactor, ioBufferBytes }: CleanerSettings,
  ): CleaningJob {
    const { config } = log;
    const share = 1 / Math.max(1, threads);
    return {
      directory: log.path,
      segments: found.segments.map(({ baseOffset, size, createdMs }) => {
        return { baseOffset, size, modifiedMs: createdMs };
      }),
      laterBases: found.laterBases,
      firstDirtyOffset: found.firstDirtyOffset,
      upperBound: found.upperBound,
      producers: log.producersLast(),
      nowMs: this.nowMs,
      deleteRetentionMs: config.deleteRetentionMs,
      segmentBytes: config.segmentBytes,
      segmentIndexBytes: config.segmentIndexBytes,
      indexIntervalBytes: config.indexIntervalBytes,
      compressionLevel: config.compressionLevel,
      keyMapBytes: Math.min(Math.max(MIN_KEY_MAP_BYTES, dedupeBufferBytes * share), MAX_KEY_MAP_BYTES),
      keyMapLoadFactor: dedupeLoadFactor,
      bufferBytes: Math.max(MIN_BUFFER_BYTES, Math.floor(ioBufferBytes * share / 2)),
    };
  }

  private async replace(log: Log, found: Cleanable, group: CleanedGroup): Promise<boolean> {
    if (this.logs.get(log.name) !== log) return false;
    const isWanted = !this.closed && log.config.cleanupPolicy.compact;
    if (!log.replaceSegments(isWanted ? found : null, group)) return false;
    try {
      // What is taken out of a later group may hide what is in this one, and must not be gone without it.
      await this.place.files.syncDirectory(log.path);
      return true;
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.place.onWarning(`Cannot go on compacting ${log.name}: ${error.message}`);
      return false;
    }
  }

  private note(log: Log, found: Cleanable, outcome: CleaningOutcome): void {
    const { name } = log;
    if (this.logs.get(name) !== log) return;
    switch (outcome.kind) {
      case "done": {
        const { bytesRead, bytesWritten, recordsRead, recordsKept, keys } = outcome.stats;
        this.checkpoint.set(name, outcome.endOffset);
        this.failing.delete(log);
        this.o.onCleaned?.(
          `Compacted ${name} from offset ${found.firstDirtyOffset} to ${outcome.endOffset}: ${keys} keys, ` +
            `${recordsKept} of ${recordsRead} records stay, ${bytesRead} bytes read, ${bytesWritten} written`,
        );
        break;
      }
      case "damaged":
        this.damaged.add(log);
        this.place.onWarning(`${name} is not compacted any more: ${outcome.reason}`);
        break;
      case "failed":
        if (this.failing.has(log)) break;
        this.failing.add(log);
        this.place.onWarning(`Cannot compact ${name} now: ${outcome.reason}; will try again`);
        break;
    }
  }

  private async saveCheckpoint(): Promise<void> {
    try {
      await this.checkpoint.save();
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.place.onWarning(`Cannot note how far logs are compacted: ${error.message}; will try again`);
    }
  }
}
