/**
 * What a partition remembers of its idempotent producers: the epoch, the last five batches (to tell a retry from
 * news), and the first offset of a transaction under way. Checking and updating are apart, because a batch that passes
 * the check may still fail to be written.
 */

import type { BatchView } from "../../codec/batch.ts";
import { NO_PRODUCER_EPOCH, NO_SEQUENCE, sequenceAfter } from "../../codec/batch_format.ts";
import { readInt32 } from "../../codec/big_endian.ts";
import { ErrorCode } from "../../codec/errors.ts";

/** Kafka's number; clients never have more batches in flight to a partition than this. */
const BATCHES_KEPT = 5;
const NO_TRANSACTION = -1;

/** A batch that was written. */
export interface WrittenBatch {
  lastSequence: number;
  lastOffset: number;
  /** lastOffset - baseOffset: also how many sequence numbers it took, less one. */
  offsetDelta: number;
  timestamp: number;
}

export interface ProducerEntry {
  producerId: number;
  producerEpoch: number;
  /** Of the last transaction marker, -1 for none. */
  coordinatorEpoch: number;
  /** Of the last batch or marker. */
  lastTimestamp: number;
  /** -1 without a transaction under way. */
  currentTxnFirstOffset: number;
  /** Oldest first. */
  batches: WrittenBatch[];
  /** When this broker last heard of the producer: record timestamps may lie years back. */
  lastSeenMs: number;
}

/** Why a producer's batch is refused, or null: then `duplicateOf` may name the batch that it repeats. */
export interface ProducerVerdict {
  errorCode: number;
  text: string;
  duplicateOf: WrittenBatch | null;
}

const accepted: ProducerVerdict = { errorCode: ErrorCode.NONE, text: "", duplicateOf: null };

export class ProducerState {
  private readonly producers = new Map<number, ProducerEntry>();

  get size(): number {
    return this.producers.size;
  }

  entries(): Iterable<ProducerEntry> {
    return this.producers.values();
  }

  /** Takes an entry from a snapshot; several of one producer come oldest first, each with one of its batches. */
  restore(entry: ProducerEntry): void {
    const before = this.producers.get(entry.producerId);
    const batches = before?.producerEpoch === entry.producerEpoch
      ? [...before.batches, ...entry.batches]
      : entry.batches;
    this.producers.set(entry.producerId, { ...entry, batches: batches.slice(-BATCHES_KEPT) });
  }

  /**
   * Judges a batch with a producer id. `checkSequence` is for clients; a coordinator's batches have no sequence
   * numbers. A producer that is not known may begin anywhere (KIP-360).
   */
  check(batch: BatchView, checkSequence: boolean): ProducerVerdict {
    const entry = this.producers.get(batch.producerId);
    if (entry === undefined) return accepted;
    const { producerEpoch } = batch;
    if (producerEpoch < entry.producerEpoch) {
      return refused(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        `producer ${batch.producerId} has epoch ${producerEpoch}, last seen was ${entry.producerEpoch}`,
      );
    }
    if (entry.currentTxnFirstOffset >= 0 && !batch.isTransactional && !batch.isControl) {
      return refused(
        ErrorCode.INVALID_TXN_STATE,
        `producer ${batch.producerId} writes outside the transaction that began at ${entry.currentTxnFirstOffset}`,
      );
    }
    if (!checkSequence) return accepted;
    const { baseSequence } = batch;
    if (producerEpoch > entry.producerEpoch) {
      if (baseSequence === 0 || entry.producerEpoch === NO_PRODUCER_EPOCH) return accepted;
      return outOfOrder(batch, `epoch ${producerEpoch} is new and must begin at 0`);
    }
    const duplicate = entry.batches.find((written) =>
      written.lastSequence === batch.lastSequence && written.offsetDelta === batch.lastOffsetDelta
    );
    if (duplicate !== undefined) return { errorCode: ErrorCode.NONE, text: "", duplicateOf: duplicate };
    const last = entry.batches[entry.batches.length - 1]?.lastSequence ?? NO_SEQUENCE;
    const expected = last === NO_SEQUENCE ? 0 : sequenceAfter(last, 1);
    if (baseSequence === expected) return accepted;
    return outOfOrder(batch, `expected ${expected}`);
  }

  /** Takes note of a batch that is in the log, at its final offset. Batches without a producer id change nothing. */
  update(batch: BatchView, now: number): void {
    const { producerId } = batch;
    if (producerId < 0) return;
    let entry = this.producers.get(producerId);
    if (entry === undefined) {
      entry = {
        producerId,
        producerEpoch: batch.producerEpoch,
        coordinatorEpoch: -1,
        lastTimestamp: -1,
        currentTxnFirstOffset: NO_TRANSACTION,
        batches: [],
        lastSeenMs: now,
      };
      this.producers.set(producerId, entry);
    }
    if (entry.producerEpoch !== batch.producerEpoch) {
      entry.producerEpoch = batch.producerEpoch;
      entry.batches = [];
    }
    entry.lastSeenMs = now;
    entry.lastTimestamp = batch.maxTimestamp;
    if (batch.isControl) {
      const epoch = coordinatorEpochOf(batch);
      // A control batch whose marker the compactor removed ends nothing any more.
      if (epoch !== null) {
        entry.coordinatorEpoch = epoch;
        entry.currentTxnFirstOffset = NO_TRANSACTION;
      }
      return;
    }
    if (batch.isTransactional && entry.currentTxnFirstOffset < 0) {
      entry.currentTxnFirstOffset = batch.baseOffset;
    }
    const { batches } = entry;
    // The oldest object is used again: this runs for every batch of every idempotent producer.
    const written = batches.length === BATCHES_KEPT
      ? batches.shift()!
      : { lastSequence: 0, lastOffset: 0, offsetDelta: 0, timestamp: 0 };
    written.lastSequence = batch.lastSequence;
    written.lastOffset = batch.lastOffset;
    written.offsetDelta = batch.lastOffsetDelta;
    written.timestamp = batch.maxTimestamp;
    batches.push(written);
  }

  /** Where the oldest transaction under way began; null without one. The last stable offset cannot pass it. */
  firstUnstableOffset(): number | null {
    let first: number | null = null;
    for (const { currentTxnFirstOffset } of this.producers.values()) {
      if (currentTxnFirstOffset >= 0 && (first === null || currentTxnFirstOffset < first)) {
        first = currentTxnFirstOffset;
      }
    }
    return first;
  }

  /**
   * Forgets producers not heard of for `expirationMs`, unless they are in a transaction. Record timestamps do not count:
   * clients choose them.
   */
  expire(now: number, expirationMs: number): void {
    for (const [producerId, { currentTxnFirstOffset, lastSeenMs }] of this.producers) {
      if (currentTxnFirstOffset < 0 && now - lastSeenMs >= expirationMs) this.producers.delete(producerId);
    }
  }

  clear(): void {
    this.producers.clear();
  }
}

/** The coordinator epoch in a transaction marker: version int16, then the epoch; null when the marker is gone. */
function coordinatorEpochOf(batch: BatchView): number | null {
  if (batch.recordCount === 0) return null;
  for (const record of batch.records()) {
    const { value } = record;
    return value === null || value.length < 6 ? null : readInt32(value, 2);
  }
  return null;
}

function outOfOrder(batch: BatchView, detail: string): ProducerVerdict {
  return refused(
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    `producer ${batch.producerId} sends sequence ${batch.baseSequence}, ${detail}`,
  );
}

function refused(errorCode: number, text: string): ProducerVerdict {
  return { errorCode, text, duplicateOf: null };
}
