/**
 * What stays of a batch. Of each key the last record stays; a tombstone until its batch's delete horizon (KIP-534), which
 * is set when compaction first comes upon it; the records of aborted transactions go; a marker that decides on no record
 * any more goes at its horizon. A batch without records left goes too, unless something hangs on it: a producer's last one
 * tells the next sequence number, and the round's last one where the log ends.
 */

import type { BatchView } from "../../codec/batch.ts";
import { batchOfSelection, selectRecords } from "../../codec/batch_filter.ts";
import type { RecordCursor } from "../../codec/record.ts";
import { MAX_BATCH_PAYLOAD_BYTES } from "./batches.ts";
import type { CleaningJob, CleaningStats, ProducersLast } from "./job.ts";
import type { KeyMap } from "./key_map.ts";
import type { CleanedTransactions } from "./transactions.ts";

export class RetentionRules {
  private readonly producers: ReadonlyMap<number, ProducersLast>;

  constructor(
    private readonly job: CleaningJob,
    private readonly map: KeyMap,
    private readonly transactions: CleanedTransactions,
    private readonly stats: CleaningStats,
  ) {
    this.producers = new Map(job.producers.map((producer) => [producer.producerId, producer]));
  }

  /** What takes the batch's place: itself, another, or nothing. Batches must come in order. Throws {@link MalformedFrame}. */
  retained(batch: BatchView): Uint8Array | null {
    const { nowMs, deleteRetentionMs, compressionLevel } = this.job;
    const isNeedless = this.transactions.isNeedless(batch);
    const horizonMs = batch.deleteHorizonMs;
    const isPastHorizon = horizonMs !== null && horizonMs <= nowMs;
    const dropsAll = isNeedless && (!batch.isControl || isPastHorizon);
    const hangsOnIt = this.isLastOfProducer(batch) || batch.nextOffset === this.job.upperBound;
    this.stats.recordsRead += batch.recordCount;
    if (dropsAll && !hangsOnIt) return null;

    const keeps = dropsAll
      ? () => false
      : batch.isControl
      ? () => true
      : (record: RecordCursor) => this.keeps(record, isPastHorizon);
    const selection = selectRecords(batch, keeps, MAX_BATCH_PAYLOAD_BYTES);
    this.stats.recordsKept += selection.count;
    if (selection.count === 0 && !hangsOnIt) return null;
    const needsHorizon = horizonMs === null && selection.count > 0 &&
      (selection.hasTombstone || (isNeedless && batch.isControl));
    return batchOfSelection(batch, selection, {
      // No batch has a later time: it could not be read again.
      deleteHorizonMs: needsHorizon
        ? Math.min(nowMs + deleteRetentionMs, Number.MAX_SAFE_INTEGER)
        : undefined,
      compressionLevel: compressionLevel ?? undefined,
    });
  }

  private keeps(record: RecordCursor, isPastHorizon: boolean): boolean {
    // Nobody knows yet what comes after it.
    if (record.offset > this.map.latestOffset) return true;
    // No such record can be asked for by its key: Kafka removes them, too.
    if (record.keyLength < 0) return false;
    if (record.offset < this.map.get(record.bytes, record.keyStart, record.keyLength)) return false;
    return record.valueLength >= 0 || !isPastHorizon;
  }

  private isLastOfProducer(batch: BatchView): boolean {
    if (!batch.hasProducerId) return false;
    const last = this.producers.get(batch.producerId);
    if (last === undefined) return false;
    return last.lastOffsets.length === 0
      ? batch.isControl && batch.producerEpoch === last.producerEpoch
      : last.lastOffsets.includes(batch.lastOffset);
  }
}
