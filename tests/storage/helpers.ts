/** What the storage tests have in common: batches in one line, and a data directory in memory. */

import { ManualClock } from "../../src/base/clock.ts";
import { batchesIn, type BatchOptions, buildBatch } from "../../src/codec/batch.ts";
import { readInt32 } from "../../src/codec/big_endian.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { Files } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { AppendOptions, AppendResult, Log } from "../../src/storage/log/log.ts";
import { defaultLogConfig, type LogConfig } from "../../src/storage/log/config.ts";
import { LogDirectories, type LogDirectoriesOptions } from "../../src/storage/manager/log_directories.ts";
import { LogManager, type LogManagerOptions } from "../../src/storage/manager/log_manager.ts";
import { assertEquals } from "@std/assert/equals";

export const DIRECTORY = "/data";
/** Of tests with several. */
export const DIRECTORIES = ["/one", "/two", "/three"];
export const TOPIC_ID = "Ijc7BQyqR_STSj4ph1otqA";
export const START = new ManualClock().now();

/** `count` records, each with its number from `first` on as key and value. */
export function batch(
  count: number,
  o: BatchOptions & { timestamp?: number; first?: number; bytes?: number } = {},
) {
  const records = Array.from({ length: count }, (_, i) => ({
    timestamp: (o.timestamp ?? START) + i,
    key: text(String((o.first ?? 0) + i)),
    value: o.bytes === undefined ? text(`value ${(o.first ?? 0) + i}`) : new Uint8Array(o.bytes),
  }));
  return buildBatch(records, o);
}

export function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

export interface Setup {
  files: Files;
  clock: ManualClock;
  manager: LogManager;
  config: LogConfig;
  warnings: string[];
}

/** A manager over `files` (fresh memory if not given), all of whose topics have `config`. */
export async function openManager(
  config: Partial<LogConfig> = {},
  files: Files = new MemoryFiles(() => START),
  clock = new ManualClock(),
  options: Partial<LogManagerOptions> = {},
): Promise<Setup> {
  const warnings: string[] = [];
  const whole = { ...defaultLogConfig, ...config };
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock,
    configOf: () => whole,
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return { files, clock, manager, config: whole, warnings };
}

/** The three directories of {@link DIRECTORIES}, with all of the defaults. */
export async function openDirectories(
  files: Files,
  options: Partial<LogDirectoriesOptions> = {},
): Promise<{ logs: LogDirectories; warnings: string[] }> {
  const warnings: string[] = [];
  const directories = options.directories ?? DIRECTORIES;
  const logs = await LogDirectories.open({
    files,
    directories,
    metadataDirectory: directories[0],
    clusterId: "cluster",
    nodeId: 1,
    clock: new ManualClock(),
    configOf: () => defaultLogConfig,
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  return { logs, warnings };
}

export async function openLog(config: Partial<LogConfig> = {}, files?: Files): Promise<Setup & { log: Log }> {
  const setup = await openManager(config, files);
  const log = setup.manager.get("t", 0) ?? setup.manager.create("t", 0, TOPIC_ID);
  return { ...setup, log };
}

export function append(log: Log, bytes: Uint8Array, o: Partial<AppendOptions> = {}): AppendResult {
  return log.append(bytes, { leaderEpoch: 0, origin: "client", now: START, ...o });
}

/** Appends and expects success. */
export function mustAppend(log: Log, bytes: Uint8Array, o: Partial<AppendOptions> = {}): number {
  const result = append(log, bytes, o);
  assertEquals(result.errorCode, ErrorCode.NONE, result.errorText);
  return result.baseOffset;
}

/** Offset and value of every record from `from` on. */
export function readAll(
  log: Log,
  from = log.logStartOffset,
  maxBytes = 1000,
): { offset: number; value: string }[] {
  const records: { offset: number; value: string }[] = [];
  for (let offset = from; offset < log.nextOffset;) {
    const read = log.read(offset, { maxBytes, maxOffset: log.nextOffset, minOneMessage: true });
    assertEquals(read.errorCode, ErrorCode.NONE);
    if (read.bytes.length === 0) break;
    for (const batch of batchesIn(read.bytes)) {
      for (const record of batch.records()) {
        if (record.offset < from) continue;
        records.push({ offset: record.offset, value: new TextDecoder().decode(record.value!) });
      }
    }
    offset = read.nextOffset;
  }
  return records;
}

export function offsetsIn(bytes: Uint8Array): number[] {
  return [...batchesIn(bytes)].map((batch) => batch.baseOffset);
}

/** Fails, and shows the text, unless `part` is in it. */
export function assertIncludes(text: string | null, part: string): void {
  assertEquals(text?.includes(part), true, `${text} does not include ${part}`);
}

/** Overwrites bytes of a file. */
export function damage(files: Files, path: string, position: number, bytes: Uint8Array): void {
  const handle = files.open(path, false);
  handle.writeAt(bytes, position);
  handle.close();
}

export function sizeOf(files: Files, path: string): number {
  return files.stat(path)!.size;
}

export function contentOf(files: Files, path: string): Uint8Array {
  const handle = files.open(path, false);
  const bytes = new Uint8Array(handle.size());
  handle.readAt(bytes, 0);
  handle.close();
  return bytes;
}

/** The entries of an offset index file. */
export function offsetEntries(bytes: Uint8Array): [number, number][] {
  const entries: [number, number][] = [];
  for (let at = 0; at < bytes.length; at += 8) entries.push([readInt32(bytes, at), readInt32(bytes, at + 4)]);
  return entries;
}

/** Numbers in [0, 1), the same for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
