/**
 * What a partition remembers of its idempotent producers: the epoch, the last five batches (to tell a retry from
 * news), and the first offset of a transaction under way. Checking and updating are apart, because a batch that passes
 * the check may still fail to be written.
 */

import type { BatchView } from "../../codec/batch.ts";
import { NO_PRODUCER_EPOCH, NO_SEQUENCE, sequenceAfter } from "../../codec/batch_format.ts";
import { type EndMarker, readEndMarker } from "../../codec/end_marker.ts";
import { ErrorCode } from "../../codec/errors.ts";
import { RAISING_PROTOCOL } from "../../codec/transaction_version.ts";
import { UnstableTransactions } from "./unstable_transactions.ts";

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

/** That the coordinator has the partition in a producer's transaction (KIP-890), which goes with its first batch. */
export interface Verification {
  /** Of the batches that came to be verified, the lowest first sequence: none may be appended before that one. */
  readonly lowestSequence: number;
  /** The producer begins each transaction at 0, so one that nobody knows may not begin elsewhere. */
  readonly beginsAtZero: boolean;
}

/** A transaction that has got its marker, at `lastOffset`. */
export interface CompletedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly isAborted: boolean;
}

export class ProducerState {
  private readonly producers = new Map<number, ProducerEntry>();
  private readonly unstable = new UnstableTransactions();

  get size(): number {
    return this.producers.size;
  }

  get(producerId: number): Readonly<ProducerEntry> | undefined {
    return this.producers.get(producerId);
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
    if (before === undefined && entry.currentTxnFirstOffset >= 0) {
      this.unstable.begin(entry.currentTxnFirstOffset);
    }
  }

  /**
   * Judges a client's batch with a producer id. A producer that is not known may begin anywhere (KIP-360). A transactional
   * batch needs a transaction that is under way here already, or `verification`.
   */
  check(batch: BatchView, verification: Verification | null): ProducerVerdict {
    const entry = this.producers.get(batch.producerId);
    const { producerEpoch, baseSequence, isTransactional } = batch;
    if (entry?.producerEpoch === producerEpoch) {
      const duplicateOf = duplicateIn(entry, batch);
      if (duplicateOf !== null) return { errorCode: ErrorCode.NONE, text: "", duplicateOf };
    }
    const isUnderWay = entry !== undefined && entry.currentTxnFirstOffset >= 0 &&
      entry.producerEpoch === producerEpoch;
    if (isTransactional && verification === null && !isUnderWay) {
      return refused(
        ErrorCode.INVALID_TXN_STATE,
        `the partition is not part of a transaction of producer ${batch.producerId}`,
      );
    }
    if (entry !== undefined && producerEpoch < entry.producerEpoch) return fenced(batch, entry);
    if (verification !== null) {
      const isNew = entry === undefined || entry.batches.length === 0;
      if (verification.beginsAtZero && isNew && baseSequence !== 0) return outOfOrder(batch, "expected 0");
      const { lowestSequence } = verification;
      if (baseSequence > lowestSequence) return outOfOrder(batch, `expected ${lowestSequence}`);
    }
    if (entry === undefined) return accepted;
    if (producerEpoch > entry.producerEpoch) {
      if (baseSequence !== 0 && entry.producerEpoch !== NO_PRODUCER_EPOCH) {
        return outOfOrder(batch, `epoch ${producerEpoch} is new and must begin at 0`);
      }
    } else {
      const last = entry.batches[entry.batches.length - 1]?.lastSequence ?? NO_SEQUENCE;
      const expected = last === NO_SEQUENCE ? 0 : sequenceAfter(last, 1);
      if (baseSequence !== expected) return outOfOrder(batch, `expected ${expected}`);
    }
    return outsideTransaction(batch, entry) ?? accepted;
  }

  /** Judges a batch of a coordinator: records, which have no sequence numbers, or the end of a transaction. */
  checkCoordinators(batch: BatchView, transactionVersion: number): ProducerVerdict {
    const entry = this.producers.get(batch.producerId);
    if (entry === undefined) return accepted;
    if (batch.producerEpoch < entry.producerEpoch) return fenced(batch, entry);
    if (!batch.isControl) return outsideTransaction(batch, entry) ?? accepted;
    const isRaised = batch.producerEpoch > entry.producerEpoch;
    if (transactionVersion >= RAISING_PROTOCOL && !isRaised && entry.currentTxnFirstOffset >= 0) {
      return fenced(batch, entry);
    }
    const { coordinatorEpoch } = readEndMarker(batch) ?? entry;
    if (coordinatorEpoch >= entry.coordinatorEpoch) return accepted;
    return refused(
      ErrorCode.TRANSACTION_COORDINATOR_FENCED,
      `coordinator epoch ${coordinatorEpoch} of a marker for producer ${batch.producerId} is before ` +
        `${entry.coordinatorEpoch}`,
    );
  }

  /**
   * Takes note of a batch that is in the log, at its final offset. Batches without a producer id change nothing. Gives the
   * transaction that the batch ends, if there is one.
   */
  update(batch: BatchView, now: number): CompletedTransaction | null {
    const { producerId } = batch;
    if (producerId < 0) return null;
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
    // A control batch whose marker the compactor removed ends nothing any more.
    if (batch.isControl) {
      const marker = readEndMarker(batch);
      return marker === null ? null : this.complete(entry, marker, batch.lastOffset);
    }
    if (batch.isTransactional && entry.currentTxnFirstOffset < 0) {
      entry.currentTxnFirstOffset = batch.baseOffset;
      this.unstable.begin(batch.baseOffset);
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
    return null;
  }

  private complete(
    entry: ProducerEntry,
    { isCommit, coordinatorEpoch }: EndMarker,
    lastOffset: number,
  ): CompletedTransaction | null {
    const { producerId, currentTxnFirstOffset: firstOffset } = entry;
    entry.coordinatorEpoch = coordinatorEpoch;
    // Without any records, a transaction is nothing to readers.
    if (firstOffset < 0) return null;
    entry.currentTxnFirstOffset = NO_TRANSACTION;
    this.unstable.end(firstOffset, lastOffset);
    return { producerId, firstOffset, lastOffset, isAborted: !isCommit };
  }

  /** Where the first transaction under way began; null without one. */
  get firstOpenTransaction(): number | null {
    return this.unstable.firstOpen;
  }

  /**
   * The first offset that readers of committed records must not reach: of a transaction that is under way, or whose marker is
   * not committed; null without one.
   */
  get firstUnstableOffset(): number | null {
    return this.unstable.first;
  }

  /** What is below `highWatermark` is committed. */
  committedTo(highWatermark: number): void {
    this.unstable.committedTo(highWatermark);
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
}

/** The batch that `batch` repeats, of a producer under the same epoch. */
function duplicateIn(
  entry: ProducerEntry,
  { lastSequence, lastOffsetDelta }: BatchView,
): WrittenBatch | null {
  for (const written of entry.batches) {
    if (written.lastSequence === lastSequence && written.offsetDelta === lastOffsetDelta) return written;
  }
  return null;
}

function outsideTransaction(batch: BatchView, entry: ProducerEntry): ProducerVerdict | null {
  if (batch.isTransactional || entry.currentTxnFirstOffset < 0) return null;
  return refused(
    ErrorCode.INVALID_TXN_STATE,
    `producer ${batch.producerId} writes outside the transaction that began at ${entry.currentTxnFirstOffset}`,
  );
}

function fenced(batch: BatchView, entry: ProducerEntry): ProducerVerdict {
  return refused(
    ErrorCode.INVALID_PRODUCER_EPOCH,
    `producer ${batch.producerId} has epoch ${batch.producerEpoch}, last seen was ${entry.producerEpoch}`,
  );
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
