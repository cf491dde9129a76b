/**
 * What is in a partition's directory: the segments, and what a stopped process left half done, which is cleared away
 * here. Names and sizes only; no file is opened but that of a compaction that was cut short.
 */

import { lastOffsetAt, scanBatches } from "../segment/batch_scan.ts";
import type { Files } from "../files/files.ts";
import { type HandlePool, type Place, PooledFile } from "../files/handles.ts";
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  LEADER_EPOCH_FILE,
  LOG_SUFFIX,
  OFFSET_INDEX_SUFFIX,
  offsetOfName,
  SNAPSHOT_SUFFIX,
  SWAP_SUFFIX,
  SYNC_FAILED_FILE,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
} from "../directory/names.ts";
import { Segment, SEGMENT_SUFFIXES } from "../segment/segment.ts";

export interface LogFiles {
  /** By base offset. */
  segments: Segment[];
  /** Offsets of producer snapshots, ascending. */
  snapshots: number[];
  /** Whether there is a file of leader epochs. */
  hasEpochs: boolean;
  /** Whether a sync had failed, and what it should have brought to the device was not written again. */
  syncFailed: boolean;
  /** Files of segments whose log was not there, which were removed. No deletion of ours leaves any. */
  orphans: string[];
  /** Files that were to be deleted. */
  deleted: string[];
}

/** Reads the directory and clears it of left-overs, but for what only has to be deleted yet. Throws `IoError`. */
export function loadLogFiles(files: Files, pool: HandlePool, place: Place): LogFiles {
  let names = files.list(place.path).filter((entry) => !entry.isDirectory).map((entry) => entry.name);
  const deleted = names.filter(isDeleted);
  if (deleted.length > 0) names = names.filter((name) => !isDeleted(name));
  if (names.some(isLeftOver)) names = clearLeftOvers(files, pool, place, names);
  const segments: Segment[] = [];
  const snapshots: number[] = [];
  const bases = new Set<number>();
  for (const name of names) {
    const base = offsetOfName(name, LOG_SUFFIX);
    if (base !== null) {
      const info = files.stat(`${place.path}/${name}`);
      if (info === null) continue;
      bases.add(base);
      segments.push(new Segment(pool, place, base, info.size, info.modifiedMs));
      continue;
    }
    const snapshot = offsetOfName(name, SNAPSHOT_SUFFIX);
    if (snapshot !== null) snapshots.push(snapshot);
  }
  const basesOf = (suffix: string) => new Set(names.map((name) => offsetOfName(name, suffix)));
  const [withOffsets, withTimes, withTransactions] = [
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
  ].map(basesOf);
  for (const { baseOffset, size, transactions } of segments) {
    if (withTransactions.has(baseOffset)) continue;
    const isWhole = withOffsets.has(baseOffset) && withTimes.has(baseOffset);
    if (isWhole || size === 0) transactions.noteMissing();
    else transactions.doubtMissing();
  }
  const orphans: string[] = [];
  for (const name of names) {
    for (const suffix of SEGMENT_SUFFIXES) {
      const base = offsetOfName(name, suffix);
      if (base === null || bases.has(base)) continue;
      files.remove(`${place.path}/${name}`);
      // That one goes last.
      if (suffix !== TRANSACTION_INDEX_SUFFIX) orphans.push(name);
    }
  }
  segments.sort((a, b) => a.baseOffset - b.baseOffset);
  snapshots.sort((a, b) => a - b);
  const hasEpochs = names.includes(LEADER_EPOCH_FILE);
  return { segments, snapshots, hasEpochs, syncFailed: names.includes(SYNC_FAILED_FILE), orphans, deleted };
}

function isDeleted(name: string): boolean {
  return name.endsWith(DELETED_SUFFIX);
}

function isLeftOver(name: string): boolean {
  return [CLEANED_SUFFIX, SWAP_SUFFIX, ".tmp"].some((suffix) => name.endsWith(suffix));
}

/**
 * Removes what is incomplete. A `.swap` file is complete: it takes the place of the
 * segments that it covers, unless `.cleaned` files tell that its siblings were not finished. Gives the names then.
 */
function clearLeftOvers(files: Files, pool: HandlePool, place: Place, names: string[]): string[] {
  const left = new Set(names);
  const remove = (name: string) => {
    files.remove(`${place.path}/${name}`);
    left.delete(name);
  };
  const firstCleaned = Math.min(...names.filter((name) => name.endsWith(CLEANED_SUFFIX)).map(leadingOffset));
  // What tells that they are incomplete goes after them.
  for (const name of names.filter((name) => name.endsWith(SWAP_SUFFIX))) {
    if (leadingOffset(name) >= firstCleaned) remove(name);
  }
  for (const name of names.filter((name) => isLeftOver(name) && !name.endsWith(SWAP_SUFFIX))) remove(name);
  // The log first: an index that is left alone afterwards belongs to it.
  const swapped = [...left].filter((name) => name.endsWith(SWAP_SUFFIX))
    .sort((a, b) =>
      Number(b.endsWith(LOG_SUFFIX + SWAP_SUFFIX)) - Number(a.endsWith(LOG_SUFFIX + SWAP_SUFFIX))
    );
  for (const name of swapped.filter((name) => offsetOfName(name, LOG_SUFFIX + SWAP_SUFFIX) !== null)) {
    const from = leadingOffset(name);
    const to = endOfLog(files, pool, place, name, from);
    for (const old of [...left].filter((old) => !old.endsWith(SWAP_SUFFIX))) {
      const base = leadingOffset(old);
      if (base >= from && base < to && !old.endsWith(SNAPSHOT_SUFFIX)) remove(old);
    }
  }
  for (const name of swapped) {
    const final = name.slice(0, -SWAP_SUFFIX.length);
    files.rename(`${place.path}/${name}`, `${place.path}/${final}`);
    left.delete(name);
    left.add(final);
  }
  return [...left];
}

/** The offset that a name begins with; NaN for other names, which then compare false with everything. */
function leadingOffset(name: string): number {
  return /^\d{20}\./.test(name) ? Number(name.slice(0, 20)) : NaN;
}

function endOfLog(files: Files, pool: HandlePool, place: Place, name: string, from: number): number {
  const file = new PooledFile(pool, place, name);
  let end = from;
  scanBatches(file, 0, files.stat(file.path)?.size ?? 0, (bytes, at) => {
    end = lastOffsetAt(bytes, at) + 1;
    return true;
  });
  file.close();
  return end;
}
