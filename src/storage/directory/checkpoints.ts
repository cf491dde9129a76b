/**
 * The small text files that Kafka keeps beside its logs. A checkpoint is a version line, a count line, and a line per
 * entry; the count lets a reader tell a complete file from one that was cut short.
 */

import { isUuidText } from "../../codec/uuid.ts";
import { type Files, readText, replaceFile } from "../files/files.ts";
import { partitionDirectory } from "./names.ts";

export const RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint";
export const LOG_START_OFFSET_FILE = "log-start-offset-checkpoint";
export const HIGH_WATERMARK_FILE = "replication-offset-checkpoint";
export const CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown";
/** Under which start of the machine the directory was last opened. Not Kafka's. */
export const BOOT_ID_FILE = "trackway-boot-id";
export const META_PROPERTIES_FILE = "meta.properties";
export const LOCK_FILE = ".lock";

/** A file that is not what its format says. The text names the file and the line. */
export class CorruptCheckpoint extends Error {
  override name = "CorruptCheckpoint";
}

/**
 * The fields of each entry, after the version and the count. An empty file, as Kafka first makes it, has none. Every
 * line has to be what a writer writes: these files have no checksum, and what is only half understood would be believed.
 */
function parseEntries(text: string, path: string, fields: number): { fields: string[]; line: string }[] {
  if (text === "") return [];
  const lines = text.split("\n");
  // A number that a crash cut short is another number.
  if (lines.at(-1) !== "") throw corrupt(path, "its last line is cut short");
  if (lines[0].trim() !== "0") throw corrupt(path, `version is ${quoted(lines[0])}, expected 0`);
  const count = /^\d+$/.test(lines[1] ?? "") ? Number(lines[1]) : -1;
  const entries = lines.slice(2).filter((line) => line.trim() !== "");
  if (entries.length !== count) {
    throw corrupt(path, `${entries.length} entries, expected ${quoted(lines[1] ?? "")}`);
  }
  return entries.map((line) => {
    const found = line.trimEnd().split(" ");
    if (found.length !== fields) throw corrupt(path, quoted(line));
    return { fields: found, line };
  });
}

function corrupt(path: string, problem: string): CorruptCheckpoint {
  return new CorruptCheckpoint(`Cannot read ${path}: ${problem}`);
}

/** A line that may hold anything, so that it can be shown. */
function quoted(line: string): string {
  return JSON.stringify(line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line);
}

const MAX_QUOTED = 100;

function formatEntries(entries: string[]): string {
  return `0\n${entries.length}\n${entries.map((entry) => entry + "\n").join("")}`;
}

function parseNumber(text: string, path: string, line: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) throw corrupt(path, quoted(line));
  return value;
}

/** Offsets by partition directory name (`topic-0`). A missing file holds none. */
export function readOffsets(files: Files, path: string): Map<string, number> {
  const offsets = new Map<string, number>();
  for (
    const { fields: [topic, partition, offset], line } of parseEntries(readText(files, path) ?? "", path, 3)
  ) {
    const name = partitionDirectory(topic, parseNumber(partition, path, line));
    if (offsets.has(name)) throw corrupt(path, `${name} is in it twice`);
    offsets.set(name, parseNumber(offset, path, line));
  }
  return offsets;
}

export interface PartitionOffset {
  topic: string;
  partition: number;
  offset: number;
}

/** Replaces an offset checkpoint. */
export function writeOffsets(files: Files, path: string, offsets: PartitionOffset[], sync: boolean): void {
  replaceFile(files, path, formatOffsets(offsets), sync);
}

/** What is in an offset checkpoint. */
export function formatOffsets(offsets: PartitionOffset[]): string {
  return formatEntries(offsets.map(({ topic, partition, offset }) => `${topic} ${partition} ${offset}`));
}

/** An epoch of a partition's leader and the first offset written under it. */
export interface EpochEntry {
  epoch: number;
  startOffset: number;
}

export function readEpochs(files: Files, path: string): EpochEntry[] {
  return parseEntries(readText(files, path) ?? "", path, 2).map(({ fields: [epoch, startOffset], line }) => {
    return { epoch: parseNumber(epoch, path, line), startOffset: parseNumber(startOffset, path, line) };
  });
}

export function writeEpochs(files: Files, path: string, epochs: readonly EpochEntry[]): void {
  replaceFile(
    files,
    path,
    formatEntries(epochs.map(({ epoch, startOffset }) => `${epoch} ${startOffset}`)),
    false,
  );
}

/** The topic id in `partition.metadata`, or null when the file is missing. */
export function readTopicId(files: Files, path: string): string | null {
  const text = readText(files, path);
  if (text === null) return null;
  const id = parseProperties(text, ":").get("topic_id");
  if (id === undefined || !isUuidText(id)) throw new CorruptCheckpoint(`Cannot read ${path}: no topic_id`);
  return id;
}

export function writeTopicId(files: Files, path: string, topicId: string): void {
  replaceFile(files, path, `version: 0\ntopic_id: ${topicId}`, false);
}

/** Whom a data directory belongs to. */
export interface MetaProperties {
  clusterId: string;
  nodeId: number;
  /** Tells directories of one broker apart; null in directories older than Kafka 3.7. */
  directoryId: string | null;
}

export function readMetaProperties(files: Files, path: string): MetaProperties | null {
  const text = readText(files, path);
  if (text === null) return null;
  const properties = parseProperties(text, "=");
  const clusterId = properties.get("cluster.id");
  // "broker.id" and version 0 are of ZooKeeper's days.
  const nodeId = Number(properties.get("node.id") ?? properties.get("broker.id"));
  if (clusterId === undefined || !Number.isInteger(nodeId)) {
    throw new CorruptCheckpoint(`Cannot read ${path}: cluster.id or node.id is missing`);
  }
  return { clusterId, nodeId, directoryId: properties.get("directory.id") ?? null };
}

export function writeMetaProperties(files: Files, path: string, meta: MetaProperties): void {
  const lines = ["#", `node.id=${meta.nodeId}`, "version=1", `cluster.id=${meta.clusterId}`];
  if (meta.directoryId !== null) lines.push(`directory.id=${meta.directoryId}`);
  replaceFile(files, path, lines.join("\n") + "\n", true);
}

/** The marker of an orderly stop. */
export interface CleanShutdown {
  /**
   * A checksum of the offset checkpoints as they were then: the ends of logs that nobody has opened yet come from there.
   * Null in Kafka's marker, whose reader ignores it.
   */
  checkpointsSum: number | null;
}

/** Null when there is none. Throws {@link CorruptCheckpoint} when it is not what anybody writes; older Kafka leaves it empty. */
export function readCleanShutdown(files: Files, path: string): CleanShutdown | null {
  const text = readText(files, path);
  if (text === null || text === "") return text === null ? null : { checkpointsSum: null };
  let version: unknown;
  let checkpointsSum: unknown;
  try {
    ({ version, checkpointsSum } = JSON.parse(text));
  } catch (error) {
    throw corrupt(path, (error as Error).message);
  }
  if (version !== 0) throw corrupt(path, `version is ${JSON.stringify(version)}, expected 0`);
  return { checkpointsSum: typeof checkpointsSum === "number" ? checkpointsSum : null };
}

/** Marks that everything was flushed and closed, so that the next start need not look into the logs. */
export function writeCleanShutdown(
  files: Files,
  path: string,
  brokerEpoch: number,
  checkpointsSum: number,
): void {
  replaceFile(files, path, JSON.stringify({ version: 0, brokerEpoch, checkpointsSum }), true);
}

function parseProperties(text: string, separator: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const at = line.indexOf(separator);
    if (at > 0) properties.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  return properties;
}
