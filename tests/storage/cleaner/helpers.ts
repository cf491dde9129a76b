/** A data directory whose logs are compacted, without a thread: the work is done where it is asked for. */

import { ManualClock } from "../../../src/base/clock.ts";
import { batchesIn, type BatchView } from "../../../src/codec/batch.ts";
import { ErrorCode } from "../../../src/codec/errors.ts";
import { clean } from "../../../src/storage/cleaner/clean.ts";
import type { CleaningOutcome } from "../../../src/storage/cleaner/job.ts";
import type { CleanerSettings } from "../../../src/storage/cleaner/log_cleaner.ts";
import { Interrupted } from "../../../src/storage/cleaner/pace.ts";
import type { CleanerThread } from "../../../src/storage/cleaner/thread.ts";
import type { Files } from "../../../src/storage/files/files.ts";
import { MemoryFiles } from "../../../src/storage/files/memory.ts";
import type { Log } from "../../../src/storage/log/log.ts";
import { defaultLogConfig, type LogConfig } from "../../../src/storage/log/config.ts";
import { LogManager, type LogManagerOptions } from "../../../src/storage/manager/log_manager.ts";
import { assertEquals } from "@std/assert/equals";
import { DIRECTORY, START, TOPIC_ID } from "../helpers.ts";

export const settings: CleanerSettings = {
  threads: 1,
  dedupeBufferBytes: 1 << 20,
  dedupeLoadFactor: 0.9,
  ioBufferBytes: 1 << 14,
  ioBytesPerSecond: Infinity,
  backoffMs: 0,
};

/** Settings of a topic that is cleaned whenever there is anything to clean; small segments. */
export const compacted: LogConfig = {
  ...defaultLogConfig,
  cleanupPolicy: { compact: true, delete: false },
  minCleanableDirtyRatio: 0,
  segmentBytes: 1000,
  indexIntervalBytes: 150,
  retentionMs: -1,
};

/** Cleans at once, under a secret that is always the same. */
export function inlineThread(files: Files, outcomes: CleaningOutcome[] = []): CleanerThread {
  let isInterrupted = false;
  return {
    async run(job, _bytesPerSecond, replace) {
      isInterrupted = false;
      const outcome = await clean(job, {
        files,
        replace,
        secret: new Uint8Array(16),
        pace: {
          moved: () => {
            if (isInterrupted) throw new Interrupted("The cleaning is to end");
          },
        },
      });
      outcomes.push(outcome);
      return outcome;
    },
    interrupt: () => isInterrupted = true,
    end: () => {},
  };
}

export interface Compacting {
  files: MemoryFiles;
  clock: ManualClock;
  manager: LogManager;
  log: Log;
  warnings: string[];
  outcomes: CleaningOutcome[];
  /** How many threads were made, and ended. */
  threads: { made: number; ended: number };
  /** Cleans until there is nothing more to clean. */
  compact(): Promise<void>;
}

export async function openCompacting(
  config: Partial<LogConfig> = {},
  o: {
    files?: MemoryFiles;
    clock?: ManualClock;
    settings?: Partial<CleanerSettings>;
    topic?: string;
    manager?: Partial<LogManagerOptions>;
    /** What cleaning works on, where that is not `files`. */
    cleanerFiles?: Files;
  } = {},
): Promise<Compacting> {
  const clock = o.clock ?? new ManualClock();
  const files = o.files ?? new MemoryFiles(() => clock.now());
  const topic = o.topic ?? "t";
  const warnings: string[] = [];
  const outcomes: CleaningOutcome[] = [];
  const threads = { made: 0, ended: 0 };
  const whole = { ...compacted, ...config };
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock,
    configOf: () => whole,
    onWarning: (warning) => warnings.push(warning),
    cleaner: {
      settings: () => ({ ...settings, ...o.settings }),
      makeThread: () => {
        threads.made++;
        return { ...inlineThread(o.cleanerFiles ?? files, outcomes), end: () => threads.ended++ };
      },
    },
    ...o.manager,
  });
  const log = manager.get(topic, 0) ?? manager.create(topic, 0, TOPIC_ID);
  const compact = async () => {
    // What was rolled is brought to the device in the background, and only what is there is cleaned.
    await log.flush();
    await manager.tick();
    await manager.compactionSettled();
  };
  return { files, clock, manager, log, warnings, outcomes, threads, compact };
}

/** A record as a test writes it down: offset, key, value. */
export type Told = [number, string, string | null];

/** All records of the log, read from `from` on. */
export function recordsOf(log: Log, from = log.logStartOffset): Told[] {
  const decoder = new TextDecoder();
  return batchesOf(log, from).flatMap((batch) =>
    batch.isControl ? [] : [...batch.records()].filter(({ offset }) => offset >= from).map((
      { offset, key, value },
    ): Told => [
      offset,
      key === null ? "-" : decoder.decode(key),
      value === null ? null : decoder.decode(value),
    ])
  );
}

export function batchesOf(log: Log, from = log.logStartOffset): BatchView[] {
  const batches: BatchView[] = [];
  for (let offset = from; offset < log.nextOffset;) {
    const read = log.read(offset, { maxBytes: 2000, maxOffset: Infinity, minOneMessage: true });
    assertEquals(read.errorCode, ErrorCode.NONE, `reading at ${offset}`);
    if (read.bytes.length === 0) break;
    batches.push(...batchesIn(read.bytes.slice()));
    offset = read.nextOffset;
  }
  return batches;
}

export { START };
