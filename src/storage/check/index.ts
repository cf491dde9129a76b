/**
 * Holding the index files of a segment against its batches, as a scan comes by them. Files are read a block at a time, so
 * that memory does not grow with them. What may be reported is told once for each kind of fault, with the first place.
 */

import { readInt32, readInt64 } from "../../codec/big_endian.ts";
import type { PooledFile } from "../files/handles.ts";

/** Is told of a fault at a byte of the index file. */
export type IndexFault = (position: number, problem: string) => void;

const OFFSET_ENTRY_BYTES = 8;
const TIME_ENTRY_BYTES = 12;
/** A multiple of both sizes. */
const BLOCK_BYTES = 24 * 2048;

/**
 * The entries of an index file, one by one. Kafka makes index files at full size, zeros behind the entries: that room
 * ends them, and has to be empty.
 */
class Entries {
  private block = new Uint8Array(0);
  private at = 0;
  private held = 0;
  /** Of the block in the file. */
  private position = 0;
  private ended = false;

  constructor(
    private readonly file: PooledFile,
    private readonly size: number,
    readonly entryBytes: number,
    private readonly isEntry: (bytes: Uint8Array, at: number) => boolean,
    private readonly fault: IndexFault,
  ) {
    if (size % entryBytes !== 0) {
      fault(size - size % entryBytes, `the file ends inside of an entry: its size is ${size}`);
    }
  }

  /** Whether there is one; {@link bytes} and {@link index} are the present one's. */
  get here(): boolean {
    if (this.ended) return false;
    if (this.at + this.entryBytes > this.held && !this.fill()) {
      this.ended = true;
    } else if (!this.isEntry(this.block, this.at)) {
      this.ended = true;
      this.checkRoom();
    }
    return !this.ended;
  }

  get bytes(): Uint8Array {
    return this.block;
  }
  /** Of the entry in {@link bytes}. */
  get start(): number {
    return this.at;
  }
  /** Of the entry in the file. */
  get filePosition(): number {
    return this.position + this.at;
  }

  next(): void {
    this.at += this.entryBytes;
  }

  private fill(): boolean {
    if (this.block.length === 0) this.block = new Uint8Array(Math.min(BLOCK_BYTES, this.size));
    this.position += this.held;
    this.at = 0;
    this.held = this.file.get().readAt(this.block, this.position);
    return this.held >= this.entryBytes;
  }

  private checkRoom(): void {
    do {
      for (; this.at < this.held; this.at++) {
        if (this.block[this.at] === 0) continue;
        return this.fault(this.filePosition, "there is something behind an empty entry");
      }
    } while (this.fill());
  }
}

/** Tells each kind of fault once. */
function once(fault: IndexFault): (kind: string, position: number, problem: string) => void {
  const told = new Set<string>();
  return (kind, position, problem) => {
    if (told.has(kind)) return;
    told.add(kind);
    fault(position, problem);
  };
}

/**
 * The offset index: each entry has to name the position of a batch, and an offset that a batch from there on ends with.
 * (Kafka before 4.0 indexed several batches that were appended at once by the last offset of all.)
 */
export class OffsetIndexCheck {
  private readonly entries: Entries;
  private readonly tell: (kind: string, position: number, problem: string) => void;
  private lastOffset: number;
  private lastPosition = 0;
  /** An entry whose offset no batch has ended with yet. */
  private open: { offset: number; filePosition: number } | null = null;
  /** What the entries say of the offset that {@link positionBefore} was asked for. */
  private floor = 0;

  constructor(
    file: PooledFile,
    size: number,
    private readonly baseOffset: number,
    private readonly target: number,
    fault: IndexFault,
  ) {
    this.entries = new Entries(
      file,
      size,
      OFFSET_ENTRY_BYTES,
      (bytes, at) => readInt32(bytes, at + 4) > 0,
      fault,
    );
    this.tell = once(fault);
    this.lastOffset = baseOffset - 1;
  }

  /** Where a search for the target offset would begin, by the entries seen so far. */
  get positionBefore(): number {
    return this.floor;
  }

  /** A batch of the segment, in their order. */
  batch(position: number, baseOffset: number, lastOffset: number): void {
    this.close(lastOffset);
    while (this.entries.here) {
      const entry = this.read();
      if (entry.position > position) return;
      this.take(entry);
      if (entry.position < position) {
        const text = `position ${entry.position} for offset ${entry.offset} is not where a batch begins`;
        this.tell("position", entry.filePosition, text);
      } else if (entry.offset < lastOffset) {
        const text =
          `offset ${entry.offset} for position ${position}, where a batch goes from ${baseOffset} to ${lastOffset}`;
        this.tell("offset", entry.filePosition, text);
      } else if (entry.offset > lastOffset) {
        this.open = entry;
      }
    }
  }

  /** Entries before `position` cannot be judged: what they lead to is damaged. */
  skipTo(position: number): void {
    this.open = null;
    while (this.entries.here) {
      const entry = this.read();
      if (entry.position >= position) return;
      this.take(entry);
    }
  }

  /** After the last batch. */
  finish(segmentSize: number): void {
    this.close(Infinity);
    while (this.entries.here) {
      const entry = this.read();
      this.tell(
        "position",
        entry.filePosition,
        `position ${entry.position}, where the segment has ${segmentSize} bytes`,
      );
      this.take(entry);
    }
  }

  private close(lastOffset: number): void {
    if (this.open === null || lastOffset < this.open.offset) return;
    const { offset, filePosition } = this.open;
    if (lastOffset > offset) this.tell("offset", filePosition, `offset ${offset}, with which no batch ends`);
    this.open = null;
  }

  private read(): { offset: number; position: number; filePosition: number } {
    const { bytes, start, filePosition } = this.entries;
    const offset = this.baseOffset + readInt32(bytes, start);
    return { offset, position: readInt32(bytes, start + 4), filePosition };
  }

  private take(entry: { offset: number; position: number; filePosition: number }): void {
    this.entries.next();
    if (this.open !== null) this.close(Infinity);
    if (entry.offset <= this.lastOffset || entry.position <= this.lastPosition) {
      const text =
        `offset ${entry.offset} at position ${entry.position} after ${this.lastOffset} at ${this.lastPosition}`;
      this.tell("order", entry.filePosition, text);
    }
    if (entry.offset <= this.target) this.floor = Math.max(this.floor, entry.position);
    this.lastOffset = entry.offset;
    this.lastPosition = entry.position;
  }
}

/** The time index: each entry has to name a batch's largest timestamp, larger than all before, and an offset in the batch. */
export class TimeIndexCheck {
  private readonly entries: Entries;
  private readonly tell: (kind: string, position: number, problem: string) => void;
  private lastTimestamp = -Infinity;
  private lastOffset: number;
  private maxTimestamp = -1;
  private hasSkipped = false;

  constructor(
    file: PooledFile,
    private readonly size: number,
    private readonly baseOffset: number,
    fault: IndexFault,
  ) {
    const isEntry = (bytes: Uint8Array, at: number) =>
      readInt64(bytes, at) !== 0 || readInt32(bytes, at + 8) !== 0;
    this.entries = new Entries(file, size, TIME_ENTRY_BYTES, isEntry, fault);
    this.tell = once(fault);
    this.lastOffset = baseOffset;
  }

  /** A batch of the segment, in their order. */
  batch(baseOffset: number, lastOffset: number, maxTimestamp: number): void {
    while (this.entries.here) {
      const entry = this.read();
      if (entry.offset > lastOffset) break;
      this.take(entry);
      if (entry.offset < baseOffset) {
        this.tell("offset", entry.filePosition, `offset ${entry.offset}, which no batch has`);
      } else if (entry.timestamp !== maxTimestamp) {
        const text =
          `timestamp ${entry.timestamp} for offset ${entry.offset}, whose batch has ${maxTimestamp}`;
        this.tell("timestamp", entry.filePosition, text);
      } else if (entry.timestamp < this.maxTimestamp) {
        const text =
          `timestamp ${entry.timestamp} for offset ${entry.offset}, but before it there is ${this.maxTimestamp}`;
        this.tell("timestamp", entry.filePosition, text);
      }
    }
    this.maxTimestamp = Math.max(this.maxTimestamp, maxTimestamp);
  }

  /** Entries before `offset` cannot be judged: what they lead to is damaged. */
  skipTo(offset: number): void {
    this.hasSkipped = true;
    while (this.entries.here) {
      const entry = this.read();
      if (entry.offset >= offset) return;
      this.take(entry);
      this.maxTimestamp = Math.max(this.maxTimestamp, entry.timestamp);
    }
  }

  /** After the last batch. `complete` says that no more will come, so that the largest timestamp has to be there. */
  finish(complete: boolean): void {
    while (this.entries.here) {
      const entry = this.read();
      this.tell("offset", entry.filePosition, `offset ${entry.offset}, which no batch has`);
      this.take(entry);
    }
    if (!complete || this.hasSkipped || this.lastTimestamp === this.maxTimestamp) return;
    // An entry for the time 0 is like none.
    if (this.maxTimestamp <= 0 && this.lastTimestamp === -Infinity) return;
    const last = this.lastTimestamp === -Infinity
      ? "it has no entry"
      : `its last entry says ${this.lastTimestamp}`;
    this.tell("last", this.size, `${last}, but the largest timestamp is ${this.maxTimestamp}`);
  }

  private read(): { timestamp: number; offset: number; filePosition: number } {
    const { bytes, start, filePosition } = this.entries;
    const offset = this.baseOffset + readInt32(bytes, start + 8);
    return { timestamp: readInt64(bytes, start), offset, filePosition };
  }

  private take(entry: { timestamp: number; offset: number; filePosition: number }): void {
    this.entries.next();
    if (entry.timestamp <= this.lastTimestamp || entry.offset < this.lastOffset) {
      const text =
        `timestamp ${entry.timestamp} at offset ${entry.offset} after ${this.lastTimestamp} at ${this.lastOffset}`;
      this.tell("order", entry.filePosition, text);
    }
    this.lastTimestamp = entry.timestamp;
    this.lastOffset = entry.offset;
  }
}
