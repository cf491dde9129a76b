/**
 * The segments of one log and their files: adding, removing, and opening indexes. No policy: the log decides when.
 * Every method that touches files throws `IoError`.
 */

import { assert } from "../../base/assert.ts";
import { type Files, IoError } from "../files/files.ts";
import type { HandlePool, Place } from "../files/handles.ts";
import { endsFit } from "../segment/index_lookup.ts";
import { loadLogFiles } from "./files.ts";
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  LOG_SUFFIX,
  offsetName,
  STRAY_SUFFIX,
  SWAP_SUFFIX,
  SYNC_FAILED_FILE,
  TRANSACTION_INDEX_SUFFIX,
} from "../directory/names.ts";
import { floorSegment, REMOVAL_ORDER, Segment, SEGMENT_SUFFIXES } from "../segment/segment.ts";
import { Snapshots } from "../producers/snapshots.ts";
import type { Trash } from "../directory/trash.ts";

export class LogSegments {
  /** By base offset; the last is the active one. */
  list: Segment[] = [];
  snapshots: Snapshots;
  /** Names were added or removed since the directory was last synced. */
  directoryUnsynced = false;
  /** There was a file of leader epochs when the directory was read. Looking for one that is missing costs a lot. */
  hadEpochs = false;
  /** A sync failed, and not all that it should have brought to the device was written again. */
  syncFailed = false;
  /** There is a note of that in the directory. */
  private syncFailureNoted = false;
  /** Something was cut off the end, and may come back among what is written next, should the machine stop. */
  cutUnsynced = false;
  /** The partition was deleted. */
  gone = false;

  constructor(
    readonly files: Files,
    private readonly pool: HandlePool,
    private readonly trash: Trash,
    readonly place: Place,
    private readonly onRebuild: (segment: Segment) => void,
  ) {
    this.snapshots = new Snapshots(files, place, []);
  }

  /** Reads the directory, forgetting what was known before. Gives the files that were there without their log. */
  load(): string[] {
    this.closeAll();
    const { segments, snapshots, hasEpochs, syncFailed, orphans, deleted } = loadLogFiles(
      this.files,
      this.pool,
      this.place,
    );
    for (const name of deleted) this.trash.add(this.pathOf(name), 0);
    this.retireAll();
    this.list = segments;
    this.hadEpochs = hasEpochs;
    this.syncFailed ||= syncFailed;
    this.syncFailureNoted = syncFailed;
    this.snapshots = new Snapshots(this.files, this.place, snapshots);
    return orphans;
  }

  get active(): Segment | undefined {
    return this.list[this.list.length - 1];
  }

  get sizeInBytes(): number {
    return this.list.reduce((sum, segment) => sum + segment.size, 0);
  }

  /** Bytes that no sync has covered, as far as is known. */
  get unsyncedBytes(): number {
    return this.list.reduce((sum, { size, syncedSize }) => sum + size - syncedSize, 0);
  }

  get baseOffsets(): number[] {
    return this.list.map((segment) => segment.baseOffset);
  }

  /** The place in the list of the segment that `offset` belongs to. */
  indexFor(offset: number): number {
    return floorSegment(this.list, offset);
  }

  add(baseOffset: number, now: number, preallocatedBytes = 0): Segment {
    const segment = new Segment(this.pool, this.place, baseOffset, 0, now);
    try {
      segment.createFiles(preallocatedBytes);
    } catch (error) {
      segment.close();
      this.removeUnmade(segment);
      throw error;
    }
    this.list.push(segment);
    this.directoryUnsynced = true;
    return segment;
  }

  /** Else records at its offset, which go on in the segment before, would be looked for in it after a restart. */
  private removeUnmade(segment: Segment): void {
    try {
      for (const suffix of [...SEGMENT_SUFFIXES].reverse()) {
        this.files.remove(this.pathOf(offsetName(segment.baseOffset, suffix)));
      }
    } catch (error) {
      // Whoever opens the log next takes away what holds nothing.
      if (!(error instanceof IoError)) throw error;
    }
  }

  /** Removes the active segment and its files at once. */
  removeLast(): void {
    this.removeNow(this.list[this.list.length - 1]);
  }

  /** Removes a segment that holds nothing, and its files. */
  removeEmpty(segment: Segment): void {
    assert(segment.size === 0, "segment is not empty");
    this.removeNow(segment);
  }

  private removeNow(segment: Segment): void {
    segment.close();
    for (const suffix of REMOVAL_ORDER) {
      this.files.remove(this.pathOf(offsetName(segment.baseOffset, suffix)));
    }
    segment.retire();
    this.list = this.list.filter((other) => other !== segment);
    this.directoryUnsynced = true;
  }

  /** Takes a segment out of the log that does not belong there. Its file is kept under the name that comes back. */
  setAside(segment: Segment): string {
    segment.close();
    const from = this.pathOf(offsetName(segment.baseOffset, LOG_SUFFIX));
    let to = from + STRAY_SUFFIX;
    for (let n = 2; this.files.stat(to) !== null; n++) to = `${from}.${n}${STRAY_SUFFIX}`;
    for (const suffix of SEGMENT_SUFFIXES.filter((suffix) => suffix !== LOG_SUFFIX)) {
      this.files.remove(this.pathOf(offsetName(segment.baseOffset, suffix)));
    }
    this.files.rename(from, to);
    segment.retire();
    this.list = this.list.filter((other) => other !== segment);
    this.directoryUnsynced = true;
    return to;
  }

  /** Takes the oldest segment away; its files are renamed, and go for good `delayMs` later. */
  discardFirst(delayMs: number): void {
    this.rename(this.list[0], delayMs);
    this.list.shift();
    this.directoryUnsynced = true;
  }

  /**
   * Puts the segment whose complete files are named `.cleaned` in the place of `count` segments from index `first` on, the
   * first of which has its base. Each step leaves a directory that {@link load} makes the old ones or the new one of: after
   * a failure that has to be called.
   */
  exchange(
    first: number,
    count: number,
    by: { size: number; modifiedMs: number; hasTransactions: boolean },
    delayMs: number,
  ): void {
    const replaced = this.list.slice(first, first + count);
    const { baseOffset } = replaced[0];
    const names = SEGMENT_SUFFIXES.filter((suffix) =>
      suffix !== TRANSACTION_INDEX_SUFFIX || by.hasTransactions
    )
      .map((suffix) => this.pathOf(offsetName(baseOffset, suffix)));
    // The log last: from then on the new one counts.
    for (const name of [...names].reverse()) this.files.rename(name + CLEANED_SUFFIX, name + SWAP_SUFFIX);
    // From the oldest on: what a later one took out of an earlier one must not come back without it.
    for (const segment of replaced) this.rename(segment, delayMs);
    for (const name of names) this.files.rename(name + SWAP_SUFFIX, name);
    const segment = new Segment(this.pool, this.place, baseOffset, by.size, by.modifiedMs);
    if (!by.hasTransactions) segment.transactions.noteMissing();
    segment.syncedSize = by.size;
    this.list = [...this.list.slice(0, first), segment, ...this.list.slice(first + count)];
    this.directoryUnsynced = true;
    this.snapshots.removeAt(replaced.slice(1).map(({ baseOffset }) => baseOffset));
  }

  /** Removes the files of a cleaned segment that nobody wants any more. */
  removeCleaned(baseOffset: number): void {
    for (const suffix of SEGMENT_SUFFIXES) {
      this.files.remove(this.pathOf(offsetName(baseOffset, suffix) + CLEANED_SUFFIX));
    }
  }

  /** Renames a segment's files, which go for good `delayMs` later. */
  private rename(segment: Segment, delayMs: number): void {
    const ending = this.deletedEnding(segment);
    for (const suffix of REMOVAL_ORDER) {
      const path = this.pathOf(offsetName(segment.baseOffset, suffix));
      try {
        this.files.rename(path, path + ending);
      } catch (error) {
        if (!(error instanceof IoError && error.notFound)) throw error;
        continue;
      }
      this.trash.add(path + ending, delayMs);
    }
    segment.renamed(ending);
  }

  /** One that no file has which a compaction before has given up: to replace a large file takes as long as to remove it. */
  private deletedEnding({ log }: Segment): string {
    let ending = DELETED_SUFFIX;
    for (let n = 2; this.files.stat(log.path + ending) !== null; n++) ending = `.${n}${DELETED_SUFFIX}`;
    return ending;
  }

  /**
   * Leaves a note of a sync that failed, for the process after this one. It need not be on the device: a machine that stops
   * takes the pages with it that look written and are not. Where the disk does not take the note either, it is tried again
   * with the next append, and every second: a process that is killed before leaves none.
   */
  noteSyncFailed(): void {
    this.syncFailed = true;
    if (this.syncFailureNoted) return;
    try {
      this.files.open(this.pathOf(SYNC_FAILED_FILE), true).close();
      this.syncFailureNoted = true;
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
    }
  }

  /** Everything is on the device. */
  noteSynced(): void {
    if (!this.syncFailed) return;
    try {
      this.files.remove(this.pathOf(SYNC_FAILED_FILE));
      this.syncFailed = this.syncFailureNoted = false;
    } catch (error) {
      // One that stays has the log written again once more, no worse.
      if (!(error instanceof IoError)) throw error;
    }
  }

  /** Brings to the device that the end was cut off, so that nothing of it comes back among what is written next. */
  syncCut(): void {
    const { active } = this;
    if (active !== undefined) {
      try {
        active.log.get().syncNow();
      } catch (error) {
        active.mustRewrite = true;
        this.noteSyncFailed();
        throw error;
      }
    }
    this.syncNames();
    this.cutUnsynced = false;
  }

  /** Brings to the device which files there are. */
  syncNames(): void {
    this.files.syncDirectoryNow(this.place.path);
    this.directoryUnsynced = false;
  }

  /** Opens the segment's indexes, making them anew where they are missing or wrong. */
  openIndexes(segment: Segment, indexIntervalBytes: number): void {
    if (segment.offsets.isOpen && segment.times.isOpen) return;
    if (!segment.openIndexes() || !endsFit(segment)) this.rebuildIndexes(segment, indexIntervalBytes);
  }

  rebuildIndexes(segment: Segment, indexIntervalBytes: number): void {
    if (segment.size > 0) this.onRebuild(segment);
    segment.rebuildIndexes(indexIntervalBytes);
  }

  /** Moves the directory away, for good. */
  moveTo(path: string): void {
    this.closeAll();
    try {
      this.files.rename(this.place.path, path);
    } catch (error) {
      // Done although it is said to have failed, it could never be done again.
      if (!(error instanceof IoError) || this.files.stat(path) === null) throw error;
    }
    this.place.path = path;
    this.list = [];
    this.gone = true;
  }

  /** Gives the directory another name; open files stay open. Nothing may be on its way to the device. */
  renameTo(path: string): void {
    try {
      this.files.rename(this.place.path, path);
    } catch (error) {
      // As in `moveTo`: done, whatever is said.
      if (!(error instanceof IoError) || this.files.stat(path) === null) throw error;
    }
    this.place.path = path;
  }

  closeAll(): void {
    for (const segment of this.list) segment.close();
  }

  /** Closes them for good: what is in their files from now on is not theirs. */
  retireAll(): void {
    for (const segment of this.list) segment.retire();
  }

  pathOf(name: string): string {
    return `${this.place.path}/${name}`;
  }
}
