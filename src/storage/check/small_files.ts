/** What is wrong with the small files of a data directory and of a partition, each looked at for itself. */

import { isUuidText } from "../../codec/uuid.ts";
import {
  type CleanShutdown,
  CorruptCheckpoint,
  type EpochEntry,
  type MetaProperties,
  readCleanShutdown,
  readEpochs,
  readMetaProperties,
  readOffsets,
  readTopicId,
} from "../directory/checkpoints.ts";
import { type Files, readFile, readText } from "../files/files.ts";
import { snapshotProblem } from "../producers/producer_snapshot.ts";
import {
  type AbortedTransaction,
  readTransactionIndex,
  transactionIndexProblem,
} from "../segment/transaction_index.ts";

/** What a file says, and what is wrong with it: one of the two, or both when it can be read all the same. */
export interface Looked<T> {
  readonly value: T | null;
  readonly problem: string | null;
  readonly position: number | null;
}

const fine = <T>(value: T | null): Looked<T> => ({ value, problem: null, position: null });

/** Reads by `read`, whose complaint becomes the problem. Throws `IoError`. */
function looked<T>(path: string, read: () => T | null): Looked<T> {
  try {
    return fine(read());
  } catch (error) {
    if (!(error instanceof CorruptCheckpoint)) throw error;
    return { value: null, problem: error.message.replace(`Cannot read ${path}: `, ""), position: null };
  }
}

/** Offsets by partition directory; null without the file. An empty file is none: who closes a directory fills it. */
export function lookAtOffsets(files: Files, path: string, closed: boolean): Looked<Map<string, number>> {
  const info = files.stat(path);
  if (info === null || (info.size === 0 && !closed)) return fine<Map<string, number>>(null);
  if (info.size === 0) return { value: null, problem: "it is empty", position: 0 };
  const found = looked(path, () => readOffsets(files, path));
  const negative = [...found.value ?? []].find(([, offset]) => offset < 0);
  return negative === undefined
    ? found
    : { value: found.value, problem: `${negative[0]} has offset ${negative[1]}`, position: null };
}

/** The leader epochs; null without the file, and for an empty one, which Kafka makes first. */
export function lookAtEpochs(files: Files, path: string): Looked<EpochEntry[]> {
  const info = files.stat(path);
  if (info === null || info.size === 0) return fine<EpochEntry[]>(null);
  const found = looked(path, () => readEpochs(files, path));
  for (const [index, { epoch, startOffset }] of (found.value ?? []).entries()) {
    const before = found.value![index - 1] ?? { epoch: -1, startOffset: -1 };
    if (epoch > before.epoch && startOffset > before.startOffset) continue;
    const problem = `epoch ${epoch} from offset ${startOffset} comes after epoch ${before.epoch} from ` +
      `${before.startOffset}`;
    return { value: null, problem, position: null };
  }
  return found;
}

/** The topic id in `partition.metadata`; null without the file. */
export function lookAtTopicId(files: Files, path: string): Looked<string> {
  const found = looked(path, () => readTopicId(files, path));
  if (found.value === null) return found;
  const text = readText(files, path)!;
  const version = /^version: (.*)$/m.exec(text)?.[1];
  return version === "0"
    ? found
    : { ...found, problem: `version is ${JSON.stringify(version ?? "")}, expected 0` };
}

const META_KEYS = ["version", "cluster.id", "node.id", "broker.id", "directory.id"];

/** `meta.properties`; null without the file. */
export function lookAtMeta(files: Files, path: string): Looked<MetaProperties> {
  const found = looked(path, () => readMetaProperties(files, path));
  if (found.value === null) return found;
  const text = readText(files, path)!;
  if (!text.endsWith("\n")) return { ...found, problem: "its last line is cut short", position: text.length };
  let position = 0;
  for (const line of text.split("\n")) {
    const separator = line.indexOf("=");
    const [key, value] = [line.slice(0, separator), line.slice(separator + 1)];
    const known = line === "" || line.startsWith("#") || META_KEYS.includes(key);
    const whole = key === "version"
      ? value === "0" || value === "1"
      : key !== "directory.id" || isUuidText(value.trim());
    if (!known || !whole) return { ...found, problem: `it has the line ${JSON.stringify(line)}`, position };
    position += new TextEncoder().encode(line).length + 1;
  }
  return found;
}

/** The marker of an orderly stop. */
export function lookAtMarker(files: Files, path: string): Looked<CleanShutdown> {
  return looked(path, () => readCleanShutdown(files, path));
}

/** A producer snapshot, whose file is there. */
export function lookAtSnapshot(
  files: Files,
  path: string,
  offset: number,
): { position: number; problem: string } | null {
  return snapshotProblem(readFile(files, path) ?? new Uint8Array(0), offset);
}

/** A transaction index: its entries, none without a file, or what cannot be right in it. */
export function lookAtTransactions(
  files: Files,
  path: string,
  baseOffset: number,
): Looked<AbortedTransaction[]> {
  const bytes = readFile(files, path) ?? new Uint8Array(0);
  const found = transactionIndexProblem(bytes, baseOffset);
  return found === null ? fine(readTransactionIndex(bytes)) : { value: null, ...found };
}
