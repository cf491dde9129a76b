/**
 * What a cleaning is told and what it tells: plain data, since it crosses between threads. A job is one round over one
 * log: its dirty part is read for the last offset of each key, then all segments up to where that came to are written anew.
 */

/** A segment as the log knew it when the job was given out. */
export interface JobSegment {
  readonly baseOffset: number;
  readonly size: number;
  /** When it was last written to; its successor is as old. */
  readonly modifiedMs: number;
}

/** The last batches of an idempotent producer: they stay, without their records if need be, or it is forgotten. */
export interface ProducersLast {
  readonly producerId: number;
  readonly producerEpoch: number;
  /**
   * Where its last batch of records ends, and the last one that is on the device: the other may be lost. Empty where it has
   * written none but markers.
   */
  readonly lastOffsets: readonly number[];
}

export interface CleaningJob {
  /** The partition's directory. */
  readonly directory: string;
  /** From the log's first one to the last that may be cleaned. */
  readonly segments: readonly JobSegment[];
  /** The segments after those, the active one too: markers of transactions may be in them. */
  readonly laterBases: readonly number[];
  /** Everything before it was cleaned earlier. */
  readonly firstDirtyOffset: number;
  /** Where the first segment begins that may not be cleaned. */
  readonly upperBound: number;
  readonly producers: readonly ProducersLast[];
  /** Wall-clock time. */
  readonly nowMs: number;
  readonly deleteRetentionMs: number;
  readonly segmentBytes: number;
  readonly segmentIndexBytes: number;
  readonly indexIntervalBytes: number;
  readonly compressionLevel: number | null;
  readonly keyMapBytes: number;
  readonly keyMapLoadFactor: number;
  /** Of each buffer: one to read, one to write. */
  readonly bufferBytes: number;
}

/** A segment that takes the place of some: its files are complete and on the device, their names end with `.cleaned`. */
export interface CleanedGroup {
  /** Base offsets of those whose place it takes; the first is its own. */
  readonly replaced: readonly number[];
  readonly size: number;
  readonly modifiedMs: number;
  readonly hasTransactions: boolean;
}

export interface CleaningStats {
  bytesRead: number;
  bytesWritten: number;
  recordsRead: number;
  recordsKept: number;
  /** In the map, and the memory that it took. */
  keys: number;
  keyMapBytes: number;
}

export type CleaningOutcome =
  /** Everything before `endOffset` is clean now. */
  | { readonly kind: "done"; readonly endOffset: number; readonly stats: CleaningStats }
  /** The log has changed meanwhile, or somebody wanted an end: what was replaced stays so. */
  | { readonly kind: "interrupted" }
  /** The disk failed; it may be tried again. */
  | { readonly kind: "failed"; readonly reason: string }
  /** The log cannot be read at some place: it is left as it is. */
  | { readonly kind: "damaged"; readonly reason: string };
