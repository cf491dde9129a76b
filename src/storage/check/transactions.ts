/**
 * Holds the transaction indexes of a partition against its batches: what was aborted by a marker has to be in the index of
 * the segment that the marker is in, and nothing else. Where records are missing (a compactor took them, they were deleted,
 * or are damaged) only what is there can be told of.
 */

import type { BatchView } from "../../codec/batch.ts";
import { readEndMarker } from "../../codec/end_marker.ts";
import type { AbortedTransaction } from "../segment/transaction_index.ts";

export class TransactionCheck {
  /** First offsets of what is under way. */
  private readonly open = new Map<number, number>();
  /** By marker, of the segment that is looked at. */
  private aborted = new Map<number, { readonly producerId: number; readonly firstOffset: number | null }>();
  private isWhole: boolean;

  /** `isWhole`: the log has all that was ever written to it. */
  constructor(isWhole: boolean) {
    this.isWhole = isWhole;
  }

  /** Batches are damaged, or missing, from here on. */
  lose(): void {
    this.isWhole = false;
    this.open.clear();
  }

  batch(batch: BatchView, baseOffset: number, lastOffset: number): void {
    const { producerId } = batch;
    if (!batch.isTransactional) return;
    if (!batch.isControl) {
      if (!this.open.has(producerId)) this.open.set(producerId, baseOffset);
      return;
    }
    const marker = readEndMarker(batch);
    if (marker === null) return;
    const firstOffset = this.open.get(producerId) ?? null;
    this.open.delete(producerId);
    if (marker.isCommit || (firstOffset === null && this.isWhole)) return;
    this.aborted.set(lastOffset, { producerId, firstOffset });
  }

  /** What is wrong with the index of the segment that ends here, whose entries are sound in themselves. */
  *problems(entries: readonly AbortedTransaction[]): Iterable<{ lastOffset: number; problem: string }> {
    const left = this.aborted;
    this.aborted = new Map();
    for (const { producerId, firstOffset, lastOffset } of entries) {
      const found = left.get(lastOffset);
      left.delete(lastOffset);
      if (found === undefined) {
        if (!this.isWhole) continue;
        const problem =
          `no transaction was aborted at offset ${lastOffset}, but it says so of producer ${producerId}`;
        yield { lastOffset, problem };
      } else if (found.producerId !== producerId || (this.isWhole && found.firstOffset !== firstOffset)) {
        const problem =
          `it says that producer ${producerId} aborted from offset ${firstOffset} to ${lastOffset}; by the ` +
          `batches producer ${found.producerId} did from ${found.firstOffset}`;
        yield { lastOffset, problem };
      }
    }
    for (const [lastOffset, { producerId, firstOffset }] of left) {
      if (firstOffset === null) continue;
      const problem =
        `it does not say that producer ${producerId} aborted from offset ${firstOffset} to ${lastOffset}`;
      yield { lastOffset, problem };
    }
  }
}
