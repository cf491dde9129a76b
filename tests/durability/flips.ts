/**
 * Damage to a data directory in memory, one piece at a time, and what comes of it: what `trackway check` says, what the
 * broker's log says, and whether any answer is a lie. An undamaged directory tells what the right answers are.
 */
import { ManualClock } from "../../src/base/clock.ts";
import type { Finding } from "../../src/base/finding.ts";
import { Prng } from "../../src/base/prng.ts";
import { batchesIn, buildBatch, checkBatch, Compression } from "../../src/codec/batch.ts";
import { errorName } from "../../src/codec/errors.ts";
import { checkDirectory } from "../../src/storage/check/check.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { readOnly } from "../../src/storage/files/read_only.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";

export const DIRECTORY = "/data";
export const TOPIC = "orders";
/** What the metadata says. */
const CLUSTER_ID = "HMLDNmsPQ_ajd9cJbC_sOg";
export const TOPIC_ID = "Ijc7BQyqR_STSj4ph1otqA";
const CONFIG = { ...defaultLogConfig, segmentBytes: 700, indexIntervalBytes: 150, segmentIndexBytes: 4096 };
const BATCHES = 14;
/** In a batch, by partition: so that a file of one does not fit the other. */
const RECORDS = [2, 3];
const START_MS = new ManualClock().now();
/** Of the first partition: its second segment begins before it, as DeleteRecords would have it. */
const LOG_START = 3;

/** How the broker that wrote the directory ended. */
export type Ending = "closed" | "killed";

const text = (content: string) => new TextEncoder().encode(content);

async function open(files: MemoryFiles, clock = new ManualClock()) {
  const warnings: string[] = [];
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: null,
    storedClusterId: () => Promise.resolve(CLUSTER_ID),
    nodeId: 1,
    clock,
    configOf: () => CONFIG,
    onWarning: (warning) => warnings.push(warning),
  });
  return { manager, warnings, clock };
}

/** Two partitions of some segments each, with idempotent producers, two leader epochs, and a log start inside a segment. */
export async function sampleDirectory(ending: Ending): Promise<MemoryFiles> {
  const files = new MemoryFiles(() => START_MS);
  const { manager, clock } = await open(files);
  for (const partition of [0, 1]) {
    const log = manager.create(TOPIC, partition, TOPIC_ID);
    const count = RECORDS[partition];
    for (let i = 0; i < BATCHES; i++) {
      const records = Array.from({ length: count }, (_, n) => ({
        timestamp: START_MS + (i * count + n) * 10 + partition,
        key: text(`key ${i}`),
        value: text(`partition ${partition} value ${i * count + n}`),
      }));
      const producer = {
        producerId: 70 + i % 2,
        producerEpoch: 3,
        baseSequence: Math.floor(i / 2) * count,
      };
      const bytes = buildBatch(records, {
        ...producer,
        compression: i === 4 ? Compression.GZIP : Compression.NONE,
      });
      const { errorCode } = log.append(bytes, {
        leaderEpoch: i < BATCHES / 2 ? 4 : 5,
        origin: "client",
        now: START_MS,
      });
      if (errorCode !== 0) throw new Error(`append: ${errorName(errorCode)}`);
      log.highWatermark = log.nextOffset;
      if (i === BATCHES - 4) {
        manager.deleteRecordsBefore(log, LOG_START);
        await log.flush();
        clock.advance(120_000);
        await manager.tick();
      }
    }
  }
  if (ending === "closed") await manager.close();
  return files.crashed("killed");
}

/** One piece of damage. */
export interface Damage {
  /** The file, from the data directory on. */
  readonly file: string;
  readonly what: string;
  /** Where, for a flip; -1 for anything else. */
  readonly position: number;
  apply(files: MemoryFiles): void;
}

export function contentOf(files: MemoryFiles, name: string): Uint8Array {
  const handle = files.open(`${DIRECTORY}/${name}`, false);
  const bytes = new Uint8Array(handle.size());
  handle.readAt(bytes, 0);
  handle.close();
  return bytes;
}

function rewrite(files: MemoryFiles, name: string, change: (bytes: Uint8Array) => Uint8Array): void {
  const bytes = change(contentOf(files, name));
  const handle = files.open(`${DIRECTORY}/${name}`, true);
  handle.truncate(0);
  handle.writeAt(bytes, 0);
  handle.close();
}

/** A flip of a bit in each of `positions`, all of the file's if not given. */
export function flips(
  files: MemoryFiles,
  file: string,
  random: Prng,
  positions?: readonly number[],
): Damage[] {
  const every = positions ?? Array.from(contentOf(files, file).keys());
  return every.map((position) => {
    const bit = random.int(8);
    return {
      file,
      what: `bit ${bit} of byte ${position} flipped`,
      position,
      apply: (files) =>
        rewrite(files, file, (bytes) => bytes.map((byte, at) => at === position ? byte ^ (1 << bit) : byte)),
    };
  });
}

/** The file cut to each of `sizes` that is less than its own. */
export function cuts(files: MemoryFiles, file: string, sizes: readonly number[]): Damage[] {
  const { length } = contentOf(files, file);
  const distinct = [...new Set(sizes)].filter((size) => size >= 0 && size < length);
  return distinct.map((size) => ({
    file,
    what: `cut to ${size} of ${length} bytes`,
    position: -1,
    apply: (files) => rewrite(files, file, (bytes) => bytes.slice(0, size)),
  }));
}

export function extensions(file: string, random: Prng): Damage[] {
  return [["zeros", new Uint8Array(70)], ["garbage", random.bytes(70)], ["a byte", random.bytes(1)]].map((
    [what, tail],
  ) => ({
    file,
    what: `extended with ${what}`,
    position: -1,
    apply: (files) => rewrite(files, file, (bytes) => new Uint8Array([...bytes, ...tail as Uint8Array])),
  }));
}

export function deletion(file: string): Damage {
  return { file, what: "deleted", position: -1, apply: (files) => files.remove(`${DIRECTORY}/${file}`) };
}

export function swap(file: string, other: string): Damage {
  return {
    file,
    what: `swapped with ${other}`,
    position: -1,
    apply(files) {
      const [one, two] = [contentOf(files, file), contentOf(files, other)];
      rewrite(files, file, () => two);
      rewrite(files, other, () => one);
    },
  };
}

/** What a partition answers, each answer under its question. */
export type Answers = ReadonlyMap<string, string>;

export interface Look {
  readonly warnings: readonly string[];
  /** Why the directory was refused as a whole; null when it was not. */
  readonly refused: string | null;
  readonly partitions: readonly Answers[];
}

/** Opens the directory, asks both partitions everything in an order of the seed's, and closes it again. Changes `files`. */
export async function look(files: MemoryFiles, seed: number): Promise<Look> {
  let opened: Awaited<ReturnType<typeof open>>;
  try {
    opened = await open(files);
  } catch (error) {
    if ((error as Error).name !== "DataDirectoryError") throw error;
    return { warnings: [], refused: (error as Error).message, partitions: [] };
  }
  const { manager, warnings } = opened;
  const partitions = [0, 1].map((partition) => ask(manager.get(TOPIC, partition), partition, new Prng(seed)));
  await manager.close();
  return { warnings, refused: null, partitions };
}

function ask(log: Log | undefined, partition: number, random: Prng): Answers {
  const answers = new Map<string, string>();
  if (log === undefined) return answers.set("is there", "no");
  const questions: [string, () => string][] = [];
  for (let offset = 0; offset < BATCHES * RECORDS[partition] + 2; offset++) {
    questions.push([`read ${offset}`, () => read(log, offset)]);
    questions.push([`epoch at ${offset}`, () => String(log.leaderEpochAt(offset))]);
    const timestamp = START_MS + offset * 10 + partition;
    questions.push([`time of ${offset}`, () => JSON.stringify(log.offsetForTime(timestamp, Infinity))]);
  }
  for (let epoch = 3; epoch < 7; epoch++) {
    questions.push([`end of epoch ${epoch}`, () => JSON.stringify(log.endOffsetForEpoch(epoch, 5))]);
  }
  questions.push(["latest time", () => JSON.stringify(log.offsetOfMaxTimestamp(Infinity))]);
  questions.push(["producers", () => JSON.stringify(producers(log))]);
  for (const [question, answer] of random.shuffle(questions)) answers.set(question, answered(answer));
  answers.set("start", String(log.logStartOffset)).set("end", String(log.nextOffset));
  answers.set("offline", String(log.offline !== null));
  return answers;
}

function answered(answer: () => string): string {
  try {
    return answer();
  } catch (error) {
    const { name } = error as Error;
    if (error instanceof IoError) return "refused";
    // A consumer of the batch would find the same.
    if (name === "MalformedFrame" || name === "TooCostly") return "corrupt";
    throw error;
  }
}

/** The records from `offset` on in the batch that a fetch gives first. */
function read(log: Log, offset: number): string {
  const { errorCode, bytes } = log.read(offset, { maxBytes: 1, maxOffset: Infinity, minOneMessage: true });
  if (errorCode !== 0) {
    const name = errorName(errorCode);
    return name === "KAFKA_STORAGE_ERROR" ? "refused" : name;
  }
  if (bytes.length === 0) return "nothing";
  if (checkBatch(bytes, 0, bytes.length) !== null) return "corrupt";
  const records: string[] = [];
  for (const batch of batchesIn(bytes)) {
    for (const record of batch.records()) {
      if (record.offset < offset) continue;
      records.push(
        `${record.offset} ${new TextDecoder().decode(record.value!)} of epoch ${batch.partitionLeaderEpoch}`,
      );
    }
  }
  return records.join(", ");
}

function producers(log: Log) {
  return log.activeProducers().map(({ producerId, producerEpoch, batches }) => [
    producerId,
    producerEpoch,
    batches.map(({ lastSequence, lastOffset, offsetDelta }) => [lastSequence, lastOffset, offsetDelta]),
  ]).sort();
}

/** What `trackway check` says of the directory. */
export function findings(files: MemoryFiles): Finding[] {
  const found: Finding[] = [];
  checkDirectory({
    files: readOnly(files),
    directory: DIRECTORY,
    known: {
      clusterId: CLUSTER_ID,
      nodeIds: new Set([1]),
      topics: new Map([[TOPIC, {
        topicId: TOPIC_ID,
        partitions: 2,
        leaderEpochs: [5, 5],
        compacted: false,
      }]]),
      deletions: new Set(),
    },
    hasMetadata: true,
    metadataFile: "metadata",
    deep: true,
    report: (finding) => found.push(finding),
  });
  return found;
}

/** How the answers of a damaged partition compare with the right ones. */
export interface Verdict {
  /** Questions with another answer than the right one, which is no refusal either. */
  readonly lies: string[];
  /** Some answers are missing, or known to be damaged by whoever gets them. */
  readonly isHurt: boolean;
}

export function judge(right: Answers, found: Answers): Verdict {
  const lies: string[] = [];
  let isHurt = false;
  for (const [question, answer] of right) {
    const given = found.get(question);
    if (given === answer) continue;
    // Of a log that is offline nothing is known.
    const isRefusal = given === "refused" || given === "corrupt" || found.get("offline") === "true";
    if (isRefusal) isHurt = true;
    else lies.push(`${question}: ${given} instead of ${answer}`);
  }
  return { lies, isHurt };
}

/** A file of the other partition that is of the same kind as `file`. */
export function partnerOf(files: MemoryFiles, file: string): string {
  const [directory, name] = file.split("/");
  const kind = name.slice(name.lastIndexOf("."));
  const other = `${TOPIC}-${directory === `${TOPIC}-0` ? 1 : 0}`;
  const named = (directory: string) =>
    files.list(`${DIRECTORY}/${directory}`).map((entry) => entry.name).filter((name) => name.endsWith(kind))
      .sort();
  const place = named(directory).indexOf(name);
  const candidates = named(other);
  return `${other}/${candidates[Math.min(place, candidates.length - 1)]}`;
}
