/**
 * The offset index of a segment: from offsets to byte positions, an entry for about every `index.interval.bytes`.
 *
 *     entry: offset - baseOffset int32 | position int32
 *
 * The offset is the last one of the batch at the position, as Kafka writes it, so a search for an offset begins at
 * the entry at or below it.
 */

import { assert } from "../../base/assert.ts";
import { readInt32, writeInt32 } from "../../codec/big_endian.ts";
import { EntryFile } from "./entry_file.ts";
import type { PooledFile } from "../files/handles.ts";

const ENTRY_BYTES = 8;

export class OffsetIndex extends EntryFile {
  /** The largest offset indexed; `baseOffset` without entries. */
  private last: number;

  constructor(file: PooledFile, private readonly baseOffset: number) {
    super(file, ENTRY_BYTES);
    this.last = baseOffset;
  }

  /**
   * Opens the file. False when its last entry cannot belong to a segment of `segmentSize` bytes: then the index has
   * to be built anew. Throws `IoError`.
   */
  open(segmentSize: number): boolean {
    if (this.isOpen) return true;
    return this.openIf(() => {
      if (this.count === 0) return true;
      const { bytes, at } = this.entryAt(this.count - 1);
      this.last = this.baseOffset + readInt32(bytes, at);
      return readInt32(bytes, at) >= 0 && readInt32(bytes, at + 4) < segmentSize;
    });
  }

  /**
   * Opens the file for the batches that end before `offset`, when only those entries are known to be on the device. Throws
   * `IoError`.
   */
  openBelow(offset: number, segmentSize: number): void {
    let relative = -1;
    let position = 0;
    this.openSound((bytes, at) => {
      const next = readInt32(bytes, at);
      const nextPosition = readInt32(bytes, at + 4);
      const sound = next > relative && this.baseOffset + next < offset &&
        nextPosition > position && nextPosition < segmentSize;
      if (sound) {
        relative = next;
        position = nextPosition;
      }
      return sound;
    });
    this.last = this.baseOffset + Math.max(relative, 0);
  }

  /** Begins a new index, which takes the file's place when it is written. */
  rebuild(): void {
    this.beginAnew();
    this.last = this.baseOffset;
  }

  /** Makes the file, empty. */
  reset(): void {
    this.resetEntries();
    this.last = this.baseOffset;
  }

  get lastOffset(): number {
    return this.last;
  }

  isFull(maxBytes: number): boolean {
    return this.count >= Math.floor(maxBytes / ENTRY_BYTES);
  }

  append(offset: number, position: number): void {
    assert(this.count === 0 || offset > this.last, `index entry ${offset} is not above ${this.last}`);
    const at = this.addEntry();
    writeInt32(this.pendingBytes, at, offset - this.baseOffset);
    writeInt32(this.pendingBytes, at + 4, position);
    this.last = offset;
  }

  /** A position at or before the batch that holds `offset`, the nearest known. Throws `IoError`. */
  lookup(offset: number): number {
    return this.floor(offset)?.position ?? 0;
  }

  /** The last entry whose offset is at most `offset`; null without one. Throws `IoError`. */
  floor(offset: number): { offset: number; position: number } | null {
    return this.entry(this.floorIndex(offset - this.baseOffset, relativeOffset));
  }

  /** The offset of the first entry that is at least `offset`; null without one. Throws `IoError`. */
  ceiling(offset: number): number | null {
    const index = this.floorIndex(offset - this.baseOffset - 1, relativeOffset) + 1;
    return index < this.count ? this.entry(index)!.offset : null;
  }

  /** The last entry whose position is at most `position`; null without one. Throws `IoError`. */
  floorByPosition(position: number): { offset: number; position: number } | null {
    return this.entry(this.floorIndex(position, positionOf));
  }

  private entry(index: number): { offset: number; position: number } | null {
    if (index < 0) return null;
    const { bytes, at } = this.entryAt(index);
    return { offset: this.baseOffset + relativeOffset(bytes, at), position: positionOf(bytes, at) };
  }

  /** Forgets the entries of batches at `position` and after. */
  truncateToPosition(position: number): void {
    this.keepEntries(this.floorIndex(position - 1, positionOf) + 1);
    if (this.count === 0) {
      this.last = this.baseOffset;
    } else {
      const { bytes, at } = this.entryAt(this.count - 1);
      this.last = this.baseOffset + readInt32(bytes, at);
    }
  }

  /** A batch never has position 0 here (an entry is due only after some bytes), so a 0 is room that Kafka left. */
  protected override isEntry(bytes: Uint8Array, at: number): boolean {
    return readInt32(bytes, at + 4) > 0;
  }
}

function relativeOffset(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at);
}

function positionOf(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at + 4);
}
