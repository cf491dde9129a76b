/** A segment that compaction writes: in memory up to a buffer's size, then in files whose names end with `.cleaned`. */

import { BatchView } from "../../codec/batch.ts";
import type { Files } from "../files/files.ts";
import { type HandlePool, type Place, PooledFile } from "../files/handles.ts";
import { CLEANED_SUFFIX, offsetName, TRANSACTION_INDEX_SUFFIX } from "../directory/names.ts";
import { Segment, SEGMENT_SUFFIXES } from "../segment/segment.ts";
import { type AbortedTransaction, writeTransactionIndex } from "../segment/transaction_index.ts";
import type { Pace } from "./pace.ts";

export class CleanedSegment {
  private readonly segment: Segment;
  private readonly buffer: Uint8Array;
  private buffered = 0;

  /** Makes the files. Throws `IoError`. */
  constructor(
    private readonly files: Files,
    private readonly pool: HandlePool,
    private readonly place: Place,
    baseOffset: number,
    private readonly indexIntervalBytes: number,
    bufferBytes: number,
    private readonly pace: Pace,
  ) {
    // What an earlier attempt may have left.
    removeCleaned(files, place.path, baseOffset);
    this.segment = new Segment(pool, place, baseOffset, 0, 0, CLEANED_SUFFIX);
    this.segment.createFiles();
    this.buffer = new Uint8Array(bufferBytes);
  }

  get size(): number {
    return this.segment.size;
  }

  /** Adds a batch. Throws `IoError`. */
  add(bytes: Uint8Array): void {
    const { segment } = this;
    const { lastOffset, maxTimestamp } = new BatchView(bytes);
    if (bytes.length > this.buffer.length - this.buffered) this.flush();
    if (bytes.length > this.buffer.length) segment.log.get().writeAt(bytes, segment.size);
    else {
      this.buffer.set(bytes, this.buffered);
      this.buffered += bytes.length;
    }
    segment.index(segment.size, bytes.length, lastOffset, maxTimestamp, this.indexIntervalBytes);
    segment.size += bytes.length;
    if (segment.indexesDue) segment.writeIndexes();
    this.pace.moved(bytes.length);
  }

  private flush(): void {
    if (this.buffered === 0) return;
    const { log, size } = this.segment;
    log.get().writeAt(this.buffer.subarray(0, this.buffered), size - this.buffered);
    this.buffered = 0;
  }

  /** Brings all of it to the device, as old as `modifiedMs`. Throws `IoError`. */
  finish(aborted: readonly AbortedTransaction[], modifiedMs: number): void {
    const { segment, files } = this;
    this.flush();
    segment.finishIndexes();
    for (const { file } of [segment.offsets, segment.times]) file.get().syncNow();
    segment.log.get().syncNow();
    if (aborted.length > 0) {
      const name = offsetName(segment.baseOffset, TRANSACTION_INDEX_SUFFIX) + CLEANED_SUFFIX;
      const file = new PooledFile(this.pool, this.place, name);
      const handle = file.create();
      handle.writeAt(writeTransactionIndex(aborted), 0);
      handle.syncNow();
      file.close();
    }
    const { path } = segment.log;
    segment.close();
    files.setModified(path, modifiedMs);
  }

  /** Removes what there is of it. Throws `IoError`. */
  discard(): void {
    this.segment.close();
    removeCleaned(this.files, this.place.path, this.segment.baseOffset);
  }
}

/** Removes the output of a cleaning that nobody wants any more. Throws `IoError`. */
export function removeCleaned(files: Files, directory: string, baseOffset: number): void {
  for (const suffix of SEGMENT_SUFFIXES) {
    files.remove(`${directory}/${offsetName(baseOffset, suffix)}${CLEANED_SUFFIX}`);
  }
}
