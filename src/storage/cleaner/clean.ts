/**
 * One round of compaction over one log, from a job to its outcome. It reads the log's files and writes new ones beside
 * them; whoever has the log puts those in their place, group by group, and may refuse to.
 */

import { BatchView } from "../../codec/batch.ts";
import { BATCH_OVERHEAD } from "../../codec/batch_format.ts";
import { batchOfSelection } from "../../codec/batch_filter.ts";
import { type Files, IoError, readFile } from "../files/files.ts";
import { HandlePool } from "../files/handles.ts";
import {
  OFFSET_INDEX_SUFFIX,
  offsetName,
  TIME_INDEX_SUFFIX,
  TRANSACTION_INDEX_SUFFIX,
} from "../directory/names.ts";
import { Segment } from "../segment/segment.ts";
import { type AbortedTransaction, readTransactionIndex } from "../segment/transaction_index.ts";
import { DamagedLog, readSegment } from "./batches.ts";
import { CleanedSegment } from "./cleaned_segment.ts";
import { groupSegments } from "./groups.ts";
import type { CleanedGroup, CleaningJob, CleaningOutcome, CleaningStats } from "./job.ts";
import { KeyMap, keysIn } from "./key_map.ts";
import { fillKeyMap } from "./key_pass.ts";
import { Interrupted, type Pace } from "./pace.ts";
import { RetentionRules } from "./rules.ts";
import { CleanedTransactions } from "./transactions.ts";

/** Of all segments of a group: their logs, one after the other, and what is written. */
const MAX_OPEN_FILES = 16;

export interface CleaningContext {
  readonly files: Files;
  readonly pace: Pace;
  /** 16 random bytes: see `KeyMap`. */
  readonly secret: Uint8Array;
  /** Puts the files of the group in the place of what they replace, durably. False: the log has changed, and they are in the way. */
  replace(group: CleanedGroup): Promise<boolean>;
}

/** Cleans. What it began and did not come to the end of, it removes again. Never rejects because of the disk. */
export async function clean(job: CleaningJob, context: CleaningContext): Promise<CleaningOutcome> {
  const pool = new HandlePool(context.files, MAX_OPEN_FILES);
  try {
    return await new Cleaning(job, context, pool).run();
  } catch (error) {
    if (error instanceof Interrupted) return { kind: "interrupted" };
    if (error instanceof DamagedLog) return { kind: "damaged", reason: error.message };
    if (error instanceof IoError) return { kind: "failed", reason: error.message };
    throw error;
  } finally {
    pool.closeAll();
  }
}

class Cleaning {
  private readonly segments: readonly Segment[];
  private readonly stats: CleaningStats = {
    bytesRead: 0,
    bytesWritten: 0,
    recordsRead: 0,
    recordsKept: 0,
    keys: 0,
    keyMapBytes: 0,
  };
  private rules!: RetentionRules;
  /** Aborted transactions that the group being written still has records of. */
  private stillAborted: AbortedTransaction[] = [];

  constructor(
    private readonly job: CleaningJob,
    private readonly context: CleaningContext,
    private readonly pool: HandlePool,
  ) {
    const place = { path: job.directory };
    this.segments = job.segments.map(({ baseOffset, size, modifiedMs }) =>
      new Segment(pool, place, baseOffset, size, modifiedMs)
    );
  }

  async run(): Promise<CleaningOutcome> {
    const { job, stats } = this;
    const aborted = this.abortedTransactions();
    const map = this.keyMap();
    const dirty = this.segments.filter((_, i) => this.endOf(i) > job.firstDirtyOffset);
    stats.bytesRead += fillKeyMap(map, {
      segments: dirty,
      firstDirtyOffset: job.firstDirtyOffset,
      upperBound: job.upperBound,
      aborted,
      bufferBytes: job.bufferBytes,
      pace: this.context.pace,
    });
    stats.keys = map.size;
    const endOffset = map.latestOffset + 1;
    const transactions = new CleanedTransactions(aborted, job.segments[0].baseOffset, (transaction) => {
      this.stillAborted.push(transaction);
    });
    this.rules = new RetentionRules(job, map, transactions, stats);
    for (const group of groupSegments(this.sized(endOffset), job)) {
      const cleaned = this.cleanGroup(group.map(({ segment }) => segment));
      if (cleaned === null) continue;
      stats.bytesWritten += cleaned.size;
      if (!await this.context.replace(cleaned)) return { kind: "interrupted" };
    }
    return { kind: "done", endOffset, stats };
  }

  /** Where a segment ends, as far as is known. */
  private endOf(index: number): number {
    return this.segments[index + 1]?.baseOffset ?? this.job.upperBound;
  }

  /** Of no more slots than there may be keys: most logs need far less than there is memory for. */
  private keyMap(): KeyMap {
    const { firstDirtyOffset, upperBound, keyMapBytes, keyMapLoadFactor } = this.job;
    const capacity = Math.min(
      keysIn(keyMapBytes, keyMapLoadFactor),
      Math.max(1, upperBound - firstDirtyOffset),
    );
    const map = new KeyMap(capacity, keyMapLoadFactor, this.context.secret);
    this.stats.keyMapBytes = map.sizeInBytes;
    return map;
  }

  private abortedTransactions(): AbortedTransaction[] {
    const { directory, segments, laterBases } = this.job;
    return [...segments.map(({ baseOffset }) => baseOffset), ...laterBases].flatMap((baseOffset) => {
      const bytes = readFile(
        this.context.files,
        `${directory}/${offsetName(baseOffset, TRANSACTION_INDEX_SUFFIX)}`,
      );
      return bytes === null ? [] : readTransactionIndex(bytes);
    });
  }

  /** The segments that begin before `endOffset`, with what grouping goes by. */
  private sized(endOffset: number) {
    const { files } = this.context;
    const sizeOf = (segment: Segment, suffix: string) =>
      files.stat(`${this.job.directory}/${offsetName(segment.baseOffset, suffix)}`)?.size ?? 0;
    return this.segments.filter(({ baseOffset }) => baseOffset < endOffset).map((segment, index) => ({
      segment,
      baseOffset: segment.baseOffset,
      endOffset: this.endOf(index),
      size: segment.size,
      indexBytes: Math.max(sizeOf(segment, OFFSET_INDEX_SUFFIX), sizeOf(segment, TIME_INDEX_SUFFIX)),
    }));
  }

  /** Writes what stays of the group; null, and nothing is written, where that is all of its one segment. */
  private cleanGroup(group: readonly Segment[]): CleanedGroup | null {
    this.stillAborted = [];
    const modifiedMs = group[group.length - 1].createdMs;
    let out: CleanedSegment | null = null;
    try {
      if (group.length > 1) out = this.begin(group[0]);
      let lastHeader: Uint8Array | null = null;
      for (const segment of group) {
        this.read(segment, segment.size, (batch, position, isConverted) => {
          this.stats.bytesRead += batch.sizeInBytes;
          const kept = this.rules.retained(batch);
          if (out === null) {
            const isSame = kept !== null && kept.buffer === batch.bytes.buffer && !isConverted;
            if (isSame) return true;
            // Up to here all stays: it was not written as long as nothing had to be.
            out = this.begin(segment);
            this.copyBefore(segment, position, out);
          }
          if (kept !== null) out.add(kept);
          else if (out.size === 0) lastHeader = batch.toBytes().slice(0, BATCH_OVERHEAD);
          return true;
        });
      }
      if (out === null) return null;
      // A segment without a batch would be taken for one whose content is lost, and where the log begins must not move.
      if (out.size === 0 && lastHeader !== null) out.add(emptyBatch(lastHeader));
      out.finish(this.stillAborted, modifiedMs);
    } catch (error) {
      this.discard(out ?? null);
      throw error;
    }
    return {
      replaced: group.map(({ baseOffset }) => baseOffset),
      size: out.size,
      modifiedMs,
      hasTransactions: this.stillAborted.length > 0,
    };
  }

  private begin({ baseOffset }: Segment): CleanedSegment {
    const { files, pace } = this.context;
    const { directory, indexIntervalBytes, bufferBytes } = this.job;
    const place = { path: directory };
    return new CleanedSegment(files, this.pool, place, baseOffset, indexIntervalBytes, bufferBytes, pace);
  }

  private copyBefore(segment: Segment, position: number, out: CleanedSegment): void {
    if (position === 0) return;
    this.read(segment, position, (batch) => {
      out.add(batch.toBytes());
      return true;
    });
  }

  private read(segment: Segment, to: number, visit: Parameters<typeof readSegment>[5]): void {
    readSegment(segment, 0, to, this.job.bufferBytes, this.context.pace, visit);
    segment.close();
  }

  /** What cannot be removed now, the next start removes. */
  private discard(out: CleanedSegment | null): void {
    try {
      out?.discard();
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
    }
  }
}

/** The batch that begins with this header, without its records. */
function emptyBatch(header: Uint8Array): Uint8Array {
  const none = {
    count: 0,
    hasTombstone: false,
    stretches: [],
    maxTimestamp: -1,
    bytes: header,
    first: 0,
    limit: 0,
  };
  return batchOfSelection(new BatchView(header), none);
}
