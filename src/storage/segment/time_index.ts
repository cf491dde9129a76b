/**
 * The time index of a segment: after which offset there was which largest timestamp so far.
 *
 *     entry: timestamp int64 | offset - baseOffset int32
 *
 * The offset is the last one of the batch that brought the timestamp. Timestamps only rise: a search for a time begins
 * at the entry at or below it, since everything before is older.
 */

import { assert } from "../../base/assert.ts";
import { readInt32, readInt64, writeInt32, writeInt64 } from "../../codec/big_endian.ts";
import { EntryFile } from "./entry_file.ts";
import type { PooledFile } from "../files/handles.ts";

const ENTRY_BYTES = 12;

export class TimeIndex extends EntryFile {
  /** Largest timestamp indexed, -1 without entries. */
  lastTimestamp = -1;
  lastOffset: number;

  constructor(file: PooledFile, private readonly baseOffset: number) {
    super(file, ENTRY_BYTES);
    this.lastOffset = baseOffset;
  }

  /** Opens the file. False when its last entry cannot be right: then it has to be built anew. Throws `IoError`. */
  open(): boolean {
    if (this.isOpen) return true;
    return this.openIf(() => {
      this.readLast();
      return this.count === 0 ||
        (this.lastOffset >= this.baseOffset && Number.isSafeInteger(this.lastTimestamp));
    });
  }

  /**
   * Opens the file for the batches that end before `offset`, when only those entries are known to be on the device. Throws
   * `IoError`.
   */
  openBelow(offset: number): void {
    let timestamp = -Infinity;
    let relative = 0;
    this.openSound((bytes, at) => {
      const nextTimestamp = readInt64(bytes, at);
      const next = readInt32(bytes, at + 8);
      const sound = nextTimestamp > timestamp && Number.isSafeInteger(nextTimestamp) && next >= relative &&
        this.baseOffset + next < offset;
      if (sound) {
        timestamp = nextTimestamp;
        relative = next;
      }
      return sound;
    });
    this.readLast();
  }

  /** Begins a new index, which takes the file's place when it is written. */
  rebuild(): void {
    this.beginAnew();
    this.readLast();
  }

  reset(): void {
    this.resetEntries();
    this.readLast();
  }

  /** One entry is kept free for the closing entry of the segment, as Kafka does. */
  isFull(maxBytes: number): boolean {
    return this.count >= Math.floor(maxBytes / ENTRY_BYTES) - 1;
  }

  /** Adds an entry if `timestamp` is larger than the last. */
  append(timestamp: number, offset: number): void {
    if (timestamp <= this.lastTimestamp) return;
    assert(
      this.count === 0 || offset >= this.lastOffset,
      `time index offset ${offset} is below ${this.lastOffset}`,
    );
    const at = this.addEntry();
    writeInt64(this.pendingBytes, at, timestamp);
    writeInt32(this.pendingBytes, at + 8, offset - this.baseOffset);
    this.lastTimestamp = timestamp;
    this.lastOffset = offset;
  }

  /** The last entry at or below `timestamp`: every record before its offset is older. Null without one. Throws `IoError`. */
  floor(timestamp: number): { timestamp: number; offset: number } | null {
    const index = this.floorIndex(timestamp, timestampOf);
    if (index < 0) return null;
    const { bytes, at } = this.entryAt(index);
    return { timestamp: timestampOf(bytes, at), offset: this.baseOffset + relativeOffset(bytes, at) };
  }

  /** Forgets the entries at `offset` and after. */
  truncateTo(offset: number): void {
    this.keepEntries(this.floorIndex(offset - 1 - this.baseOffset, relativeOffset) + 1);
    this.readLast();
  }

  private readLast(): void {
    if (this.count === 0) {
      this.lastTimestamp = -1;
      this.lastOffset = this.baseOffset;
    } else {
      const { bytes, at } = this.entryAt(this.count - 1);
      this.lastTimestamp = readInt64(bytes, at);
      this.lastOffset = this.baseOffset + readInt32(bytes, at + 8);
    }
  }

  protected override isEntry(bytes: Uint8Array, at: number): boolean {
    return readInt64(bytes, at) !== 0 || readInt32(bytes, at + 8) !== 0;
  }
}

function timestampOf(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at);
}

function relativeOffset(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at + 8);
}
