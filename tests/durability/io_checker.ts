/**
 * What must hold of a data directory after its broker ended in some way, told by the ledgers of its partitions. Opens
 * the directory as the next broker would, holds every claim against a scan of the files, and goes on writing.
 */

import { assert } from "../../src/base/assert.ts";
import { ManualClock } from "../../src/base/clock.ts";
import type { Prng } from "../../src/base/prng.ts";
import { batchesIn, BatchView, buildBatch } from "../../src/codec/batch.ts";
import { readInt32, readInt64 } from "../../src/codec/big_endian.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { describe, FaultyFiles } from "../../src/storage/files/faulty.ts";
import { type Files, readFile } from "../../src/storage/files/files.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { UNVERIFIED } from "../../src/replication/partition.ts";
import { defaultLogConfig, type LogConfig } from "../../src/storage/log/config.ts";
import type { WrittenBatch } from "../../src/storage/producers/producer_state.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import { inlineThread, settings } from "../storage/cleaner/helpers.ts";
import { checkCompactedProducers, KEYED, matchedCompacted } from "./io_compacted.ts";
import { checkTransactionIndex, checkTransactions, TRANSACTED } from "./io_transactions.ts";
import { type End, type Entry, entryOf, type Ledger, must, producersOf, Violation } from "./io_ledger.ts";

export const DIRECTORY = "/data";
/** Above all of a workload. */
const LATER_EPOCH = 1000;
const NO_LIMITS = { maxBytes: 1 << 20, maxOffset: Infinity, minOneMessage: true };

/** The settings of each topic; small segments, so that a few records roll them. */
export function configOf(topic: string): LogConfig {
  const config: LogConfig = {
    ...defaultLogConfig,
    segmentBytes: 900,
    indexIntervalBytes: 150,
    fileDeleteDelayMs: 20_000,
    retentionMs: -1,
  };
  if (topic === "synced") config.flushMessages = 1;
  if (topic === "aged") config.retentionMs = 200_000;
  if (topic === "sized") config.retentionBytes = 2000;
  if (topic === KEYED) {
    config.cleanupPolicy = { compact: true, delete: false };
    config.minCleanableDirtyRatio = 0;
    config.deleteRetentionMs = 100_000;
  }
  return config;
}

export interface Opened {
  manager: LogManager;
  clock: ManualClock;
  warnings: string[];
}

export async function openDirectory(files: Files, clock: ManualClock, bootId: string): Promise<Opened> {
  const warnings: string[] = [];
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock,
    configOf,
    bootId,
    onWarning: (warning) => warnings.push(warning),
    cleaner: {
      settings: () => ({ ...settings, dedupeBufferBytes: 0, ioBufferBytes: 0 }),
      makeThread: () => inlineThread(files),
    },
  });
  return { manager, clock, warnings };
}

/**
 * Gives a log whose directory does not tell its topic the id of the one that should be there, and sets those aside that
 * nobody knows: what the broker does with the metadata at hand.
 */
export function claimLogs({ manager }: Opened, ledgers: readonly Ledger[]): void {
  for (const log of [...manager.all()]) {
    const named = ledgers.filter(({ name, state }) => name === log.name && state !== "removed");
    const ledger = named.at(-1);
    // One that was not made before may be what is left of a former one.
    if (ledger?.state === "there" && log.topicId === ZERO_UUID) manager.setTopicId(log, ledger.topicId);
    if (!named.some(({ topicId }) => topicId === log.topicId)) manager.setAside(log);
  }
}

/** What is in a log: its batches, each the one that the ledger knows. */
export interface Chain {
  ledger: Ledger;
  log: Log;
  entries: Entry[];
  /** What was written, in its place; where nothing is compacted the same. */
  originals: Entry[];
}

/**
 * Checks all partitions of an open directory. `ledgers` may be of topics that were deleted or of which nobody knows
 * whether they are there.
 */
export function checkLogs(
  { manager, clock }: Opened,
  ledgers: readonly Ledger[],
  end: End,
): Chain[] {
  const chains: Chain[] = [];
  for (const ledger of ledgers) {
    if (ledger.isDoubted && end !== "killed") continue;
    const log = manager.get(ledger.topic, ledger.partition);
    const isThere = log !== undefined && log.topicId === ledger.topicId;
    if (!isThere) {
      must(ledger.promisedEnd(end) <= ledger.start, `${ledger.name} is not there`);
      must(end !== "killed" || ledger.state !== "there", `${ledger.name} is not there, and was made`);
      continue;
    }
    must(
      end !== "killed" || ledger.state !== "removed",
      `${ledger.name} is there, and its deletion was acknowledged`,
    );
    chains.push(checkLog(log, ledger, end, clock));
  }
  return chains;
}

function checkLog(
  log: Log,
  ledger: Ledger,
  end: End,
  clock: ManualClock,
): Chain {
  const { name } = ledger;
  must(log.offline === null, `${name} is offline: ${log.offline}`);
  const batches = readBatches(log);
  must(log.offline === null, `${name} is offline: ${log.offline}`);
  const start = log.logStartOffset;
  must(start <= log.nextOffset, `${name} starts at ${start}, past its end ${log.nextOffset}`);
  must(
    log.highWatermark <= log.nextOffset && log.highWatermark >= 0,
    `${name} has high watermark ${log.highWatermark} and ends at ${log.nextOffset}`,
  );
  must(
    log.recoveryPoint <= log.nextOffset,
    `${name} has recovery point ${log.recoveryPoint} and ends at ${log.nextOffset}`,
  );
  checkStart(log, ledger, end, clock);
  ledger.highestStart = Math.max(ledger.highestStart, ledger.start, start);
  const isCompacted = ledger.topic === KEYED;
  const { entries, originals } = isCompacted
    ? matchedCompacted(batches, log, ledger, end)
    : same(matched(batches, log, ledger, end));
  const promised = ledger.promisedEnd(end);
  must(
    log.nextOffset >= promised,
    `${name} ends at ${log.nextOffset}, but everything before ${promised} was promised`,
  );
  const last = entries.at(-1);
  must(
    last === undefined || last.lastOffset + 1 === log.nextOffset,
    `${name} ends at ${log.nextOffset}, its last record is ${last?.lastOffset}`,
  );
  checkEpochs(log, ledger, entries);
  if (isCompacted) checkCompactedProducers(log, originals);
  else checkProducers(log, ledger, entries);
  if (TRANSACTED.includes(ledger.topic)) {
    checkTransactions(log, [...goneBefore(entries, log, ledger), ...entries], ledger.highestStart);
  }
  checkTimes(log, entries);
  return { ledger, log, entries, originals };
}

function same(entries: Entry[]): { entries: Entry[]; originals: Entry[] } {
  return { entries, originals: entries };
}

/** All batches, read one by one and all at once. */
function readBatches(log: Log): BatchView[] {
  const batches: BatchView[] = [];
  for (let offset = log.logStartOffset; offset < log.nextOffset;) {
    const read = log.read(offset, NO_LIMITS);
    must(
      read.errorCode === ErrorCode.NONE,
      `${log.name} answers ${errorName(read.errorCode)} to a read at ${offset} (${log.offline})`,
    );
    must(read.bytes.length > 0, `${log.name} gives nothing at ${offset}, and ends at ${log.nextOffset}`);
    batches.push(...batchesIn(read.bytes));
    offset = read.nextOffset;
  }
  for (const { baseOffset, lastOffset, sizeInBytes } of batches) {
    if (lastOffset < log.logStartOffset) continue;
    const read = log.read(lastOffset, { ...NO_LIMITS, maxBytes: 1 });
    const found = read.bytes.length === sizeInBytes && new BatchView(read.bytes).baseOffset === baseOffset;
    must(found, `${log.name} does not find by its index the batch that holds ${lastOffset}`);
  }
  return batches;
}

/** A start may have come back after a power failure, to before records that were deleted, but not gone too far. */
function checkStart(log: Log, ledger: Ledger, end: End, clock: ManualClock): void {
  const start = log.logStartOffset;
  if (end === "killed") {
    must(
      start >= ledger.checkpointedStart,
      `${ledger.name} starts at ${start}, and before at ${ledger.checkpointedStart}`,
    );
  }
  if (start <= ledger.start || start > ledger.end) return;
  const left = ledger.written.filter((entry) => entry.lastOffset >= start);
  const size = left.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const tooMuch = ledger.retentionBytes >= 0 && size >= ledger.retentionBytes;
  const { retentionMs } = ledger;
  for (const entry of ledger.written) {
    if (entry.lastOffset < ledger.start || entry.lastOffset >= start) continue;
    const tooOld = retentionMs >= 0 && clock.now() - entry.maxTimestamp > retentionMs;
    must(
      tooMuch || tooOld,
      `${ledger.name} starts at ${start}, but the records from ${ledger.start} on were to stay`,
    );
  }
}

/** The entries that the batches are, in a row that was once written so. */
function matched(
  batches: readonly BatchView[],
  log: Log,
  ledger: Ledger,
  end: End,
): Entry[] {
  const { name } = ledger;
  const byOffset = new Map<number, Entry[]>();
  for (const entry of [...ledger.doubtful, ...ledger.written]) {
    byOffset.set(entry.baseOffset, [entry, ...byOffset.get(entry.baseOffset) ?? []]);
  }
  const promised = ledger.promisedEnd(end);
  const entries: Entry[] = [];
  let next = log.logStartOffset;
  for (const batch of batches) {
    const { baseOffset, lastOffset } = batch;
    const bytes = batch.toBytes();
    const before = entries.at(-1) ?? null;
    const dense = entries.length === 0 ? baseOffset <= next : baseOffset === next;
    const known = (byOffset.get(baseOffset) ?? []).filter((entry) => sameBytes(entry.bytes, bytes));
    must(dense, `${name} goes on at ${baseOffset} after ${next - 1}`);
    must(known.length > 0, `${name} has something at offset ${baseOffset} that was never written there`);
    const entry = known.find((entry) => before === null || entry.before === before);
    must(
      entry !== undefined,
      `${name} has a batch at ${baseOffset} behind something else than it was written behind`,
    );
    if (baseOffset < promised) {
      must(
        ledger.written.includes(entry),
        `${name} has at ${baseOffset} what was cut off or refused, instead of what was promised`,
      );
    }
    entries.push(entry);
    next = lastOffset + 1;
  }
  return entries;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function checkEpochs(log: Log, ledger: Ledger, entries: readonly Entry[]): void {
  for (const { lastOffset, bytes } of entries) {
    if (lastOffset < log.logStartOffset) continue;
    const written = new BatchView(bytes).partitionLeaderEpoch;
    const told = log.leaderEpochAt(lastOffset);
    // Records that were deleted may be back after a power failure, their epochs not.
    if (told === -1 && lastOffset < ledger.highestStart) continue;
    must(told === written, `${log.name} says epoch ${told} of offset ${lastOffset}, which has ${written}`);
  }
}

/** What was deleted from the log's beginning. */
function goneBefore(entries: readonly Entry[], log: Log, ledger: Ledger): Entry[] {
  const first = entries[0]?.baseOffset ?? log.nextOffset;
  return ledger.written.filter(({ lastOffset }) => lastOffset < first);
}

/** The state equals one that a scan gives, but for batches that were deleted since. */
function checkProducers(log: Log, ledger: Ledger, entries: readonly Entry[]): void {
  const expected = producersOf([...goneBefore(entries, log, ledger), ...entries]);
  for (const { producerId, producerEpoch, batches } of log.activeProducers()) {
    const scanned = expected.get(producerId);
    must(scanned !== undefined, `${log.name} remembers producer ${producerId}, which is not in the log`);
    expected.delete(producerId);
    must(
      scanned.epoch === producerEpoch,
      `${log.name} has producer ${producerId} at epoch ${producerEpoch}, the log at ${scanned.epoch}`,
    );
    const missing = scanned.batches.slice(0, scanned.batches.length - batches.length);
    // A snapshot has one time for a producer: of its last batch or, as in Kafka, of the marker behind it.
    const isTimed = !TRANSACTED.includes(ledger.topic);
    const timed = (batch: WrittenBatch) => isTimed ? batch : { ...batch, timestamp: 0 };
    const kept = JSON.stringify(scanned.batches.slice(missing.length).map(timed));
    const told = JSON.stringify(batches.map(timed));
    must(told === kept, `${log.name} remembers of producer ${producerId} ${told}, the log has ${kept}`);
    must(
      missing.every(({ lastOffset }) => lastOffset < log.logStartOffset),
      `${log.name} has forgotten batches of producer ${producerId} that are in the log`,
    );
  }
  for (const [producerId, { batches }] of expected) {
    must(
      batches.every(({ lastOffset }) => lastOffset < log.logStartOffset),
      `${log.name} has forgotten producer ${producerId}, which is in the log`,
    );
  }
}

function checkTimes(log: Log, entries: readonly Entry[]): void {
  const stamps = new Set(entries.flatMap(({ maxTimestamp }) => [maxTimestamp, maxTimestamp + 1]));
  for (const timestamp of stamps) {
    const told = log.offsetForTime(timestamp, Infinity)?.offset ?? -1;
    const scanned = firstRecordSince(entries, timestamp, log.logStartOffset);
    must(told === scanned, `${log.name} finds offset ${told} at time ${timestamp}, a scan ${scanned}`);
  }
}

function firstRecordSince(entries: readonly Entry[], timestamp: number, from: number): number {
  for (const { bytes, maxTimestamp, lastOffset } of entries) {
    if (maxTimestamp < timestamp || lastOffset < from) continue;
    for (const record of new BatchView(bytes).records()) {
      if (record.offset >= from && record.timestamp >= timestamp) return record.offset;
    }
  }
  return -1;
}

/** Every producer sends its last batch again, which must be known, and then the next one, which must be taken. */
export function goOn({ log, ledger, entries, originals }: Chain, clock: ManualClock): void {
  const isTransactional = TRANSACTED.includes(ledger.topic);
  const options = {
    leaderEpoch: LATER_EPOCH,
    origin: "client" as const,
    now: clock.now(),
    verification: isTransactional ? UNVERIFIED : null,
  };
  const last = new Map<number, Entry>();
  for (const entry of originals) {
    const batch = new BatchView(entry.bytes);
    const before = last.get(batch.producerId);
    // Of an epoch that is over nothing is known any more.
    if (before !== undefined && new BatchView(before.bytes).producerEpoch !== batch.producerEpoch) {
      last.delete(batch.producerId);
    }
    if (!batch.hasProducerId || batch.isControl || entry.lastOffset < log.logStartOffset) continue;
    last.set(batch.producerId, entry);
  }
  for (const { bytes, baseOffset } of last.values()) {
    const sent = bytes.slice();
    new BatchView(sent).baseOffset = 0;
    const again = log.append(sent, options);
    must(
      again.errorCode === ErrorCode.NONE && again.duplicate && again.baseOffset === baseOffset,
      `${log.name} does not know again the batch at ${baseOffset}: ${again.errorText}, ${again.baseOffset}`,
    );
  }
  const nobody: [number, Entry | null] = [-1, null];
  for (const [producerId, entry] of [...last, nobody]) {
    const batch = entry === null ? null : new BatchView(entry.bytes);
    const key = ledger.topic === KEYED ? new TextEncoder().encode("later") : null;
    const record = { timestamp: clock.now(), key, value: new Uint8Array(40).fill(7) };
    const next = buildBatch([record], {
      producerId,
      producerEpoch: batch?.producerEpoch,
      baseSequence: batch === null ? undefined : batch.lastSequence + 1,
      isTransactional: batch !== null && isTransactional,
    });
    const offset = log.nextOffset;
    const result = log.append(next, options);
    must(
      result.errorCode === ErrorCode.NONE && result.baseOffset === offset,
      `${log.name} does not take the next batch: ${errorName(result.errorCode)} ${result.errorText}`,
    );
    const added = entryOf(next, originals.at(-1) ?? ledger.last);
    if (originals !== entries) originals.push(added);
    entries.push(added);
  }
  ledger.written = [
    ...ledger.written.filter(({ lastOffset }) => lastOffset < originals[0].baseOffset),
    ...originals,
  ];
  ledger.acknowledgedEnd = log.nextOffset;
  ledger.state = "there";
  ledger.start = log.logStartOffset;
  // After a power failure the checkpoint may be an old one.
  ledger.checkpointedStart = 0;
}

/** Holds the indexes of all segments against a scan. The logs must be closed: what is in memory only is not seen. */
export function checkIndexes(files: Files, except: readonly string[]): void {
  for (const { name: directory, isDirectory } of files.list(DIRECTORY)) {
    if (!isDirectory || /-(delete|stray)$/.test(directory) || except.includes(directory)) continue;
    for (const { name } of files.list(`${DIRECTORY}/${directory}`)) {
      if (!name.endsWith(".log")) continue;
      checkSegment(files, `${DIRECTORY}/${directory}/${name.slice(0, -4)}`, configOf("").indexIntervalBytes);
    }
  }
}

/**
 * The entries of an index file. Zeros behind them are room: Kafka leaves some, and so does a power failure that kept a file's
 * size and not its bytes; whoever opens the file passes over them.
 */
function entriesOf(files: Files, path: string, entryBytes: number): Uint8Array | null {
  const bytes = readFile(files, path);
  if (bytes === null) return null;
  let length = bytes.length;
  while (length >= entryBytes && bytes.subarray(length - entryBytes, length).every((byte) => byte === 0)) {
    length -= entryBytes;
  }
  return bytes.subarray(0, length);
}

function checkSegment(files: Files, path: string, indexIntervalBytes: number): void {
  const baseOffset = Number(path.slice(-20));
  const log = readFile(files, `${path}.log`)!;
  const ends: { position: number; lastOffset: number; maxTimestamp: number }[] = [];
  let at = 0;
  for (const batch of batchesIn(log)) {
    ends.push({ position: at, lastOffset: batch.lastOffset, maxTimestamp: batch.maxTimestamp });
    at += batch.sizeInBytes;
  }
  checkTransactionIndex(files, path, [...batchesIn(log)]);
  must(at === log.length, `${path}.log has ${log.length - at} bytes behind its last batch`);
  // An index that was never opened may be missing: it is made when it is used.
  const offsets = entriesOf(files, `${path}.index`, 8);
  const times = entriesOf(files, `${path}.timeindex`, 12);
  if (offsets !== null) {
    let before = 0;
    for (let i = 0; i < offsets.length; i += 8) {
      const [offset, position] = [baseOffset + readInt32(offsets, i), readInt32(offsets, i + 4)];
      const batch = ends.find((batch) => batch.position === position);
      must(
        batch?.lastOffset === offset && position > before,
        `${path}.index says offset ${offset} at ${position}, the log ${batch?.lastOffset}`,
      );
      before = position;
    }
    const largest = Math.max(0, ...ends.map(({ position }, i) => (ends[i + 1]?.position ?? at) - position));
    must(
      offsets.length > 0 || log.length <= 4 * (indexIntervalBytes + largest),
      `${path}.index has no entry for ${log.length} bytes`,
    );
  }
  if (times === null) return;
  let latest = -1;
  for (let i = 0; i < times.length; i += 12) {
    const [timestamp, offset] = [readInt64(times, i), baseOffset + readInt32(times, i + 8)];
    const upTo = ends.filter(({ lastOffset }) => lastOffset <= offset);
    const scanned = Math.max(-1, ...upTo.map(({ maxTimestamp }) => maxTimestamp));
    must(
      timestamp === scanned && timestamp > latest && upTo.at(-1)?.lastOffset === offset,
      `${path}.timeindex says ${timestamp} up to offset ${offset}, the log ${scanned}`,
    );
    latest = timestamp;
  }
}

/** A directory as a process left it, and what was promised of it then. */
export interface Image {
  files: MemoryFiles;
  ledgers: Ledger[];
  end: End;
  nowMs: number;
  bootId: string;
}

/**
 * Opens the image and checks it; goes on writing; ends again in a way that `random` chooses, and checks that; closes it,
 * and checks it again. Throws {@link Violation}.
 */
export async function checkImage(
  image: Image,
  random: Prng,
  after: (line: string) => void = () => {},
): Promise<void> {
  let { files, ledgers, bootId } = image;
  let end = image.end;
  // A second crash does not make good the first.
  for (let round = 0; round < 2; round++) {
    const opened = await openOrExplain(files, image.nowMs, bootId, after);
    claimLogs(opened, ledgers);
    const chains = checkLogs(opened, ledgers, end);
    ledgers = chains.map(({ ledger }) => ledger);
    for (const chain of chains) goOn(chain, opened.clock);
    if (round === 1 || random.chance(0.5)) {
      await closeAndCheck(opened, files, chains, image.ledgers, bootId);
      return;
    }
    for (const { log, ledger } of chains) {
      if (!random.chance(0.7)) continue;
      await log.flush();
      ledger.flushedEnd = log.nextOffset;
    }
    end = random.pick(["killed", "power", "chance"] as const);
    after(`ends again: ${end}`);
    files = files.crashed(end === "chance" ? () => random.float() : end);
    if (end !== "killed") bootId += "+";
  }
}

async function openOrExplain(
  files: Files,
  nowMs: number,
  bootId: string,
  after: (line: string) => void = () => {},
): Promise<Opened> {
  try {
    const opened = await openDirectory(
      new FaultyFiles(files, (operation) => {
        after(`${operation.number} ${describe(operation)}`);
        return null;
      }),
      new ManualClock(nowMs),
      bootId,
    );
    for (const warning of opened.warnings) after(`warning: ${warning}`);
    return opened;
  } catch (error) {
    throw new Violation(`the directory cannot be opened: ${error}`, { cause: error });
  }
}

async function closeAndCheck(
  { manager, clock }: Opened,
  files: Files,
  chains: readonly Chain[],
  ledgers: readonly Ledger[],
  bootId: string,
): Promise<void> {
  await manager.close();
  const doubted = ledgers.filter(({ isDoubted }) => isDoubted).map(({ name }) => name);
  checkIndexes(files, doubted);
  const again = await openOrExplain(files, clock.now(), bootId);
  const ends = chains.map(({ log }) => log.nextOffset);
  for (const [i, { ledger, entries, originals }] of chains.entries()) {
    const log = again.manager.get(ledger.topic, ledger.partition);
    assert(log !== undefined, "a log vanished");
    must(log.nextOffset === ends[i], `${log.name} was closed at ${ends[i]} and opens at ${log.nextOffset}`);
    const batches = readBatches(log);
    must(
      batches.length === entries.length &&
        batches.every((batch, at) => sameBytes(batch.toBytes(), entries[at].bytes)),
      `${log.name} is not as it was closed`,
    );
    if (ledger.topic === KEYED) checkCompactedProducers(log, originals);
    else checkProducers(log, ledger, entries);
    if (TRANSACTED.includes(ledger.topic)) {
      checkTransactions(log, [...goneBefore(entries, log, ledger), ...entries], ledger.highestStart);
    }
  }
  if (ledgers.some(({ isDoubted }) => isDoubted)) return;
  // Of records that a crash took, or brought back, every start tells.
  const news = again.warnings.filter((text) =>
    !/they are there again|but the next segment begins at/.test(text)
  );
  must(news.length === 0, `after a clean stop: ${news[0]}`);
}
