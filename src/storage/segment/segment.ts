/**
 * A segment: a stretch of the log in one file, with its two indexes, and with that of aborted transactions where there
 * are any. Offsets in the two are relative to `baseOffset`; `size` says where the log ends, whatever a failed write left
 * behind it in the file. "The indexes" are those two: of the third, entries come from the producers, not from batches.
 */

import {
  baseOffsetAt,
  isIntact,
  lastOffsetAt,
  maxTimestampAt,
  PEEK_BYTES,
  scanBatches,
} from "./batch_scan.ts";
import { type HandlePool, type Place, PooledFile } from "../files/handles.ts";
import {
  LOG_SUFFIX,
  OFFSET_INDEX_SUFFIX,
  offsetName,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
} from "../directory/names.ts";
import { OffsetIndex } from "./offset_index.ts";
import { TimeIndex } from "./time_index.ts";
import { TransactionIndex } from "./transaction_index.ts";

/** Offsets in an index are 31 bits. */
export const MAX_RELATIVE_OFFSET = 0x7fff_ffff;

/** The files of a segment, the log first: it is what makes a segment. */
export const SEGMENT_SUFFIXES = [
  LOG_SUFFIX,
  OFFSET_INDEX_SUFFIX,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
];

/**
 * The order in which they go. As long as the log is there, so is the segment; and as long as its records are, readers have to
 * know which of them were aborted.
 */
export const REMOVAL_ORDER = [OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX];

export class Segment {
  readonly log: PooledFile;
  readonly offsets: OffsetIndex;
  readonly times: TimeIndex;
  readonly transactions: TransactionIndex;
  /** Largest record timestamp, -1 for none, and the last offset of its batch. Known once the indexes are open. */
  maxTimestamp = -1;
  offsetOfMaxTimestamp: number;
  /** Of the first batch, by which the segment's age counts; null until read. */
  firstTimestamp: number | null = null;
  /** Some batches are damaged, so that the indexes could not be made for all of them. */
  isPartlyIndexed = false;
  /** Whether the log file has bytes that no sync has covered. */
  unsynced = false;
  /** So many bytes of the log file are on the device for sure. */
  syncedSize = 0;
  /** A sync failed: what it should have brought to the device has to be written again, or no later sync does. */
  mustRewrite = false;
  /** A sync of the indexes failed, or is under way. */
  indexesDoubtful = false;
  /** The file of the log may go on behind `size`, with zeros. */
  isPreallocated = false;
  /** So many zeros recovery has cut off, which are no loss. */
  trimmedBytes = 0;
  private bytesSinceIndexEntry = 0;
  /** Between these positions this process wrote the batches, or has looked at each of them. */
  private knownFrom = 0;
  private knownTo = 0;

  constructor(
    pool: HandlePool,
    place: Place,
    readonly baseOffset: number,
    public size: number,
    /** When it was made or, of one found on disk, last written: its age when records have no timestamps. */
    readonly createdMs: number,
    /** What the names of its files end with, where they are not in their place yet. */
    suffix = "",
  ) {
    const file = (kind: string) => new PooledFile(pool, place, offsetName(baseOffset, kind) + suffix);
    this.log = file(LOG_SUFFIX);
    this.offsets = new OffsetIndex(file(OFFSET_INDEX_SUFFIX), baseOffset);
    this.times = new TimeIndex(file(TIME_INDEX_SUFFIX), baseOffset);
    this.transactions = new TransactionIndex(file(TRANSACTION_INDEX_SUFFIX));
    this.offsetOfMaxTimestamp = baseOffset;
  }

  /**
   * Makes the files of a new segment, replacing what an attempt that failed left; the log with `preallocatedBytes` of
   * zeros, until {@link trimLog}. Throws `IoError`.
   */
  createFiles(preallocatedBytes = 0): void {
    const log = this.log.create();
    // Not of an empty file: ext4 writes a file that was cut to nothing out at its close, and the close waits for that.
    if (log.size() > 0) log.truncate(0);
    if (preallocatedBytes > 0) log.truncate(preallocatedBytes);
    this.isPreallocated = preallocatedBytes > 0;
    this.offsets.reset();
    this.times.reset();
    this.transactions.reset();
    this.trimIndexes();
    this.unsynced = true;
  }

  /**
   * Opens the indexes. False when they are missing or cannot be right: {@link rebuildIndexes} then. Costs the same
   * for a segment of any size. Throws `IoError`.
   */
  openIndexes(): boolean {
    if (this.offsets.isOpen && this.times.isOpen) return true;
    for (const { file } of [this.offsets, this.times]) {
      if (!file.exists()) return false;
    }
    if (!this.offsets.open(this.size) || !this.times.open()) return false;
    this.maxTimestamp = this.times.lastTimestamp;
    this.offsetOfMaxTimestamp = this.times.lastOffset;
    return true;
  }

  /**
   * Opens the indexes for the batches that end before `offset`, and forgets whatever else is in them: after a crash no
   * more may be right. False when one is missing. Throws `IoError`.
   */
  openIndexesBelow(offset: number): boolean {
    if (!this.offsets.file.exists() || !this.times.file.exists()) return false;
    this.offsets.openBelow(offset, this.size);
    this.times.openBelow(offset);
    this.maxTimestamp = this.times.lastTimestamp;
    this.offsetOfMaxTimestamp = this.times.lastOffset;
    this.bytesSinceIndexEntry = 0;
    return true;
  }

  /**
   * Makes both indexes anew from the batches. A crash on the way leaves the old files or the new ones: part of a time
   * index would have retention believe that the segment is older than it is. Throws `IoError`.
   */
  rebuildIndexes(indexIntervalBytes: number): void {
    this.offsets.rebuild();
    this.times.rebuild();
    this.forgetTimes();
    try {
      this.indexBatches(indexIntervalBytes);
    } catch (error) {
      // Part of them would be taken for the whole.
      this.offsets.forgetEntries();
      this.times.forgetEntries();
      throw error;
    }
    this.finishIndexes();
  }

  /** Takes the batches into the indexes as far as they can be believed. */
  private indexBatches(indexIntervalBytes: number): void {
    let nextOffset = this.baseOffset;
    let isDamaged = false;
    /** Takes in a batch that comes after missing offsets: only if the one behind it goes on from there. */
    let takeHeld = () => {};
    const end = scanBatches(this.log, 0, this.size, (bytes, at, size, position) => {
      const [baseOffset, lastOffset] = [baseOffsetAt(bytes, at), lastOffsetAt(bytes, at)];
      // No checksum covers a batch's offset. What comes after a damaged one is not to be found, nor can an index hold it.
      if (baseOffset < nextOffset || lastOffset < nextOffset || !this.canHold(lastOffset)) return false;
      takeHeld();
      const intact = isIntact(bytes, at, size);
      isDamaged ||= !intact;
      const timestamp = intact ? maxTimestampAt(bytes, at) : -1;
      const take = () => this.index(position, size, lastOffset, timestamp, indexIntervalBytes);
      if (baseOffset === nextOffset) take();
      takeHeld = baseOffset === nextOffset ? () => {} : take;
      nextOffset = lastOffset + 1;
      return true;
    });
    if (end === this.size) takeHeld();
    this.isPartlyIndexed = isDamaged || end < this.size;
  }

  /** Empties both indexes, making them when missing, and that of transactions. */
  resetIndexes(): void {
    this.offsets.reset();
    this.times.reset();
    this.transactions.reset();
    this.forgetTimes();
  }

  private forgetTimes(): void {
    this.maxTimestamp = -1;
    this.offsetOfMaxTimestamp = this.baseOffset;
    this.bytesSinceIndexEntry = 0;
  }

  /** Forgets what the indexes say of batches at `position` and `offset` (its base) and after. */
  truncateIndexes(position: number, offset: number): void {
    this.offsets.truncateToPosition(position);
    this.times.truncateTo(offset);
    this.maxTimestamp = this.times.lastTimestamp;
    this.offsetOfMaxTimestamp = this.times.lastOffset;
    this.bytesSinceIndexEntry = 0;
  }

  /** Drops the batches that hold `offset` or later ones. The indexes must be open. Throws `IoError`. */
  truncateTo(offset: number): void {
    const from = this.positionBefore(offset);
    const position = scanBatches(this.log, from, this.size, (bytes, at) => lastOffsetAt(bytes, at) < offset);
    this.log.get().truncate(position);
    this.size = position;
    this.knownFrom = Math.min(this.knownFrom, position);
    this.knownTo = Math.min(this.knownTo, position);
    this.syncedSize = Math.min(this.syncedSize, position);
    this.unsynced = true;
    this.truncateIndexes(position, offset);
    this.transactions.truncateTo(offset);
    // What the indexes do not reach any more may begin before what was cut off.
    scanBatches(this.log, this.positionBefore(offset), position, (bytes, at) => {
      const timestamp = maxTimestampAt(bytes, at);
      if (timestamp > this.maxTimestamp) {
        this.maxTimestamp = timestamp;
        this.offsetOfMaxTimestamp = lastOffsetAt(bytes, at);
      }
      return true;
    });
    if (position === 0) this.firstTimestamp = null;
  }

  /** Takes a batch that is in the file into the indexes, if one is due. */
  index(
    position: number,
    size: number,
    lastOffset: number,
    maxTimestamp: number,
    indexIntervalBytes: number,
  ): void {
    if (position === 0) this.firstTimestamp = maxTimestamp;
    if (maxTimestamp > this.maxTimestamp) {
      this.maxTimestamp = maxTimestamp;
      this.offsetOfMaxTimestamp = lastOffset;
    }
    if (this.bytesSinceIndexEntry > indexIntervalBytes) {
      this.offsets.append(lastOffset, position);
      this.times.append(this.maxTimestamp, this.offsetOfMaxTimestamp);
      this.bytesSinceIndexEntry = 0;
    }
    this.bytesSinceIndexEntry += size;
  }

  /** Notes that the file has batches from one position to the other, in the order of their offsets. */
  learn(from: number, to: number): void {
    if (from > this.knownTo || to < this.knownFrom) {
      this.knownFrom = from;
      this.knownTo = to;
      return;
    }
    this.knownFrom = Math.min(this.knownFrom, from);
    this.knownTo = Math.max(this.knownTo, to);
  }

  /** Takes back what was learned: the file is not what it was when it was looked at. */
  unlearn(): void {
    this.knownFrom = this.knownTo = 0;
  }

  /** How far the batches from `position` on are known; `position` itself when they are not. */
  knownFromOn(position: number): number {
    return position < this.knownFrom ? position : Math.max(position, Math.min(this.knownTo, this.size));
  }

  get indexesDue(): boolean {
    return this.offsets.isDue || this.times.isDue;
  }

  /** Writes what waits, of all three. Throws `IoError`. */
  writeIndexes(): void {
    this.offsets.write();
    this.times.write();
    this.transactions.write();
  }

  /** When no more will come, for now: the largest timestamp goes into the index, and both to the file. */
  finishIndexes(): void {
    this.times.append(this.maxTimestamp, this.offsetOfMaxTimestamp);
    this.writeIndexes();
  }

  /** Cuts off what was preallocated and did not come to use. Throws `IoError`. */
  trimLog(): void {
    if (!this.isPreallocated) return;
    this.log.get().truncate(this.size);
    this.isPreallocated = false;
    this.unsynced = true;
  }

  /** Cuts off what Kafka preallocated, or what a failed write left. */
  trimIndexes(): void {
    this.offsets.trim();
    this.times.trim();
  }

  canHold(offset: number): boolean {
    return offset - this.baseOffset <= MAX_RELATIVE_OFFSET;
  }

  /** Largest record timestamp or, when records have none, the file's: by this the segment expires. */
  get newestMs(): number {
    if (this.isPartlyIndexed) return Math.max(this.maxTimestamp, this.createdMs);
    return this.maxTimestamp >= 0 ? this.maxTimestamp : this.createdMs;
  }

  /** Ms that the segment has been filling, as Kafka counts: by record timestamps where there are any. */
  filledForMs(batchMaxTimestamp: number, now: number): number {
    if (this.size === 0) return 0;
    const first = this.firstBatchTimestamp();
    return first >= 0 ? batchMaxTimestamp - first : now - this.createdMs;
  }

  /** The largest timestamp of the first batch, which there must be; -1 for none. Throws `IoError`. */
  firstBatchTimestamp(): number {
    if (this.firstTimestamp === null) {
      const peek = new Uint8Array(PEEK_BYTES);
      this.log.get().readAt(peek, 0);
      this.firstTimestamp = maxTimestampAt(peek, 0);
    }
    return this.firstTimestamp;
  }

  /** A position at or before the batch that holds `offset`, the nearest that the index knows. */
  positionBefore(offset: number): number {
    return this.size === 0 ? 0 : this.offsets.lookup(offset);
  }

  close(): void {
    for (const file of this.files) file.close();
  }

  /** Closes it for good, before its files get other names or are removed. */
  retire(): void {
    for (const file of this.files) file.retire();
  }

  /** Follows its files, whose names have got an ending: answers that are on their way still come from them. */
  renamed(suffix: string): void {
    for (const file of this.files) {
      file.close();
      file.name += suffix;
    }
  }

  private get files(): PooledFile[] {
    return [this.log, this.offsets.file, this.times.file, this.transactions.file];
  }
}

/** The index of the last segment whose base is at or below `offset`; 0 when there is none. */
export function floorSegment(segments: readonly Segment[], offset: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (segments[middle].baseOffset <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}
