/**
 * What compaction knows of transactions while it goes through a log from its beginning: which batches belong to aborted
 * ones, whose records go, and which markers have no records left that they would decide on.
 */

import type { BatchView } from "../../codec/batch.ts";
import { readInt16 } from "../../codec/big_endian.ts";
import type { AbortedTransaction } from "../segment/transaction_index.ts";

/** In the key of a control record, behind its version. */
const MARKER_TYPE_AT = 2;
const ABORT = 0;
const COMMIT = 1;

interface Ongoing {
  readonly transaction: AbortedTransaction;
  /** A batch of it was seen, so that readers still need to know of the transaction. */
  hasRecords: boolean;
}

export class CleanedTransactions {
  /** By their first offset; those from `next` on begin later. */
  private readonly waiting: readonly AbortedTransaction[];
  private next = 0;
  private readonly aborted = new Map<number, Ongoing>();
  /** Producers with records of a transaction that was not aborted, and whose marker was not come to yet. */
  private readonly committed = new Set<number>();

  /** `aborted` are all transactions of the log that were; `from` is where reading begins. */
  constructor(
    aborted: readonly AbortedTransaction[],
    from: number,
    /** Is told of an aborted transaction of which records are left, when its marker is read. */
    private readonly onStillAborted: (transaction: AbortedTransaction) => void = () => {},
  ) {
    this.waiting = aborted.filter(({ lastOffset }) => lastOffset >= from)
      .sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Takes the next batch. True when its records, or the marker that it is, are of no use any more. */
  isNeedless(batch: BatchView): boolean {
    this.beginUpTo(batch.lastOffset);
    if (batch.isControl) return this.isNeedlessMarker(batch);
    if (!batch.isTransactional) return false;
    const ongoing = this.aborted.get(batch.producerId);
    if (ongoing === undefined) {
      this.committed.add(batch.producerId);
      return false;
    }
    ongoing.hasRecords = true;
    return true;
  }

  private beginUpTo(offset: number): void {
    for (; this.next < this.waiting.length; this.next++) {
      const transaction = this.waiting[this.next];
      if (transaction.firstOffset > offset) return;
      if (!this.aborted.has(transaction.producerId)) {
        this.aborted.set(transaction.producerId, { transaction, hasRecords: false });
      }
    }
  }

  private isNeedlessMarker(batch: BatchView): boolean {
    const type = markerType(batch);
    if (type === ABORT) {
      const ongoing = this.aborted.get(batch.producerId);
      this.aborted.delete(batch.producerId);
      if (ongoing?.hasRecords !== true) return true;
      this.onStillAborted(ongoing.transaction);
      return false;
    }
    if (type === COMMIT) return !this.committed.delete(batch.producerId);
    // What is not known is kept; an empty batch has no marker any more.
    return type === null;
  }
}

/** Null where the marker is gone already. Throws {@link MalformedFrame}. */
function markerType(batch: BatchView): number | null {
  const cursor = batch.cursor();
  if (!cursor.next()) return null;
  return cursor.keyLength < MARKER_TYPE_AT + 2
    ? -1
    : readInt16(cursor.bytes, cursor.keyStart + MARKER_TYPE_AT);
}
