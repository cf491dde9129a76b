/** What the transaction index says of a transaction that was aborted. */

import type { AbortedTransaction } from "../segment/transaction_index.ts";
import type { CompletedTransaction, ProducerState } from "./producer_state.ts";

/** To be asked for when `producers` has just taken note of the marker. */
export function abortedTransaction(
  producers: ProducerState,
  { producerId, firstOffset, lastOffset }: CompletedTransaction,
): AbortedTransaction {
  // The high watermark has no part in it: no reader comes here before the marker is committed.
  const lastStableOffset = producers.firstOpenTransaction ?? lastOffset + 1;
  return { producerId, firstOffset, lastOffset, lastStableOffset };
}
