/**
 * What a log says of transactions, held against its batches: where the oldest that is open began, and which were aborted.
 */

import { BatchView } from "../../src/codec/batch.ts";
import { readEndMarker } from "../../src/codec/end_marker.ts";
import { type Files, readFile } from "../../src/storage/files/files.ts";
import type { AbortedTransaction, Log } from "../../src/storage/log/log.ts";
import { readTransactionIndex } from "../../src/storage/segment/transaction_index.ts";
import { type Entry, must } from "./io_ledger.ts";

/** The topics whose producers write in transactions. */
export const TRANSACTED = ["transacted", "follower"];

interface Transactions {
  /** First offsets by producer. */
  readonly open: Map<number, number>;
  readonly aborted: Omit<AbortedTransaction, "lastStableOffset">[];
}

/** What the batches tell. */
export function transactionsOf(entries: readonly Entry[]): Transactions {
  const open = new Map<number, number>();
  const aborted: Transactions["aborted"] = [];
  for (const { bytes } of entries) {
    const batch = new BatchView(bytes);
    const { producerId, baseOffset, lastOffset } = batch;
    if (!batch.isTransactional) continue;
    if (!batch.isControl) {
      if (!open.has(producerId)) open.set(producerId, baseOffset);
      continue;
    }
    const firstOffset = open.get(producerId);
    open.delete(producerId);
    if (firstOffset !== undefined && !readEndMarker(batch)!.isCommit) {
      aborted.push({ producerId, firstOffset, lastOffset });
    }
  }
  return { open, aborted };
}

/**
 * Holds the log against `entries`, all that was ever written to it and is there, or was deleted from its beginning. Of a
 * transaction that began in a segment which is there no more, the log may know only what is left.
 */
export function checkTransactions(log: Log, entries: readonly Entry[], highestStart: number): void {
  const { open, aborted } = transactionsOf(entries);
  const first = log.segmentBaseOffsets[0] ?? 0;
  log.highWatermark = log.nextOffset;
  const oldest = Math.min(log.nextOffset, ...open.values());
  const stable = Math.max(oldest, log.logStartOffset);
  must(
    log.lastStableOffset === stable || oldest < first,
    `${log.name} has ${log.lastStableOffset} as its last stable offset, by its batches it is ${stable}`,
  );
  const told = log.abortedTransactions(log.logStartOffset, log.nextOffset);
  const wanted = aborted.filter(({ lastOffset }) => lastOffset >= log.logStartOffset);
  for (const { producerId, firstOffset, lastOffset } of wanted) {
    const found = told.find((one) => one.lastOffset === lastOffset);
    must(
      // Records that were deleted may be back after a power failure, and their index not.
      found !== undefined || firstOffset < first || lastOffset < highestStart,
      `${log.name} does not know that ${producerId} aborted what it wrote from ${firstOffset} to ${lastOffset}`,
    );
    must(
      found === undefined ||
        (found.producerId === producerId && (found.firstOffset === firstOffset || firstOffset < first)),
      `${log.name} says that ${found?.producerId} aborted from ${found?.firstOffset} to ${lastOffset}, by its batches ` +
        `${producerId} did from ${firstOffset}`,
    );
  }
  const stranger = told.find(({ lastOffset }) => !wanted.some((one) => one.lastOffset === lastOffset));
  must(
    stranger === undefined,
    `${log.name} says that a transaction up to ${stranger?.lastOffset} was aborted`,
  );
}

/** Holds a segment's index of transactions against its batches. `path` is the segment's, without an ending. */
export function checkTransactionIndex(files: Files, path: string, batches: readonly BatchView[]): void {
  const bytes = readFile(files, `${path}.txnindex`);
  if (bytes === null) return;
  // An empty one says that it has to be made anew: another index of the segment was lost.
  must(bytes.length % 34 === 0, `${path}.txnindex has ${bytes.length} bytes`);
  let before = -1;
  for (const { producerId, firstOffset, lastOffset } of readTransactionIndex(bytes)) {
    const marker = batches.find((batch) => batch.baseOffset === lastOffset);
    must(
      marker !== undefined && marker.isControl && marker.producerId === producerId &&
        !readEndMarker(marker)!.isCommit && firstOffset < lastOffset && lastOffset > before,
      `${path}.txnindex says that ${producerId} aborted from ${firstOffset} to ${lastOffset}`,
    );
    before = lastOffset;
  }
}
