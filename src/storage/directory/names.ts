/** Names of files and directories, as Kafka gives them: `<topic>-<partition>/<20-digit base offset>.log` and its kin. */

import { newUuid } from "../../codec/uuid.ts";

export const LOG_SUFFIX = ".log";
export const OFFSET_INDEX_SUFFIX = ".index";
export const TIME_INDEX_SUFFIX = ".timeindex";
export const TRANSACTION_INDEX_SUFFIX = ".txnindex";
export const SNAPSHOT_SUFFIX = ".snapshot";
/** A file that waits for `file.delete.delay.ms` to pass. */
export const DELETED_SUFFIX = ".deleted";
/** The compactor's output while it is written, and when it is complete but not yet in its place. */
export const CLEANED_SUFFIX = ".cleaned";
export const SWAP_SUFFIX = ".swap";
/** A directory that waits to be deleted. */
export const DELETED_DIRECTORY_SUFFIX = "-delete";
/** A file or directory that nobody owns up to: kept for an operator to look at, never read and never deleted. */
export const STRAY_SUFFIX = ".stray";
export const STRAY_DIRECTORY_SUFFIX = "-stray";
/** A copy of a partition that is to take its place, from another data directory. */
export const FUTURE_DIRECTORY_SUFFIX = "-future";

/** KRaft keeps its metadata log among the partitions; nothing of it is ours. */
export const METADATA_TOPIC = "__cluster_metadata";

export const LEADER_EPOCH_FILE = "leader-epoch-checkpoint";
export const PARTITION_METADATA_FILE = "partition.metadata";
/** Is there while a sync has failed and what it should have brought to the device was not written again. Not Kafka's. */
export const SYNC_FAILED_FILE = "trackway-sync-failed";
/** Says of a partition's directory that it takes the place of the one in the data directory that it names. Not Kafka's. */
export const MOVED_FROM_FILE = "trackway-moved-from";

/** The longest name that common file systems take. */
const MAX_NAME_BYTES = 255;

/** The name of the file of `baseOffset`; without a suffix, what all files of a segment share. */
export function offsetName(baseOffset: number, suffix = ""): string {
  return String(baseOffset).padStart(20, "0") + suffix;
}

/** The offset in the name of a segment's file with this suffix; null for any other name. */
export function offsetOfName(name: string, suffix: string): number | null {
  if (name.length !== 20 + suffix.length || !name.endsWith(suffix)) return null;
  const digits = name.slice(0, 20);
  if (!/^\d{20}$/.test(digits)) return null;
  const offset = Number(digits);
  return Number.isSafeInteger(offset) ? offset : null;
}

export function partitionDirectory(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/** Null when the directory is no partition's: then it is none of ours. */
export function parsePartitionDirectory(name: string): { topic: string; partition: number } | null {
  const match = /^([a-zA-Z0-9._-]+)-(0|[1-9]\d{0,9})$/.exec(name);
  if (match === null || Number(match[2]) > 0x7fff_ffff) return null;
  return { topic: match[1], partition: Number(match[2]) };
}

/** Tells the directories apart that one partition's name led to. */
export function uniquePart(): string {
  return newUuid((bytes) => crypto.getRandomValues(bytes)).replace(/[-_]/g, "0");
}

/** Where a deleted partition waits. `unique` keeps apart topics of one name that were deleted one after the other. */
export function deletedDirectory(topic: string, partition: number, unique: string): string {
  return movedDirectory(topic, partition, unique, DELETED_DIRECTORY_SUFFIX);
}

/** Where a partition is kept that the metadata does not know. */
export function strayDirectory(topic: string, partition: number, unique: string): string {
  return movedDirectory(topic, partition, unique, STRAY_DIRECTORY_SUFFIX);
}

/** Where a partition's copy is made that is to take its place. */
export function futureDirectory(topic: string, partition: number, unique: string): string {
  return movedDirectory(topic, partition, unique, FUTURE_DIRECTORY_SUFFIX);
}

/** The partition whose copy a directory is, null of any other. Its topic's name may be cut short: the topic id tells. */
export function partitionOfFuture(name: string): number | null {
  const match = /-(0|[1-9]\d{0,9})\.[^.]+-future$/.exec(name);
  return match === null ? null : Number(match[1]);
}

function movedDirectory(topic: string, partition: number, unique: string, suffix: string): string {
  const rest = `-${partition}.${unique}${suffix}`;
  return topic.slice(0, MAX_NAME_BYTES - rest.length) + rest;
}
