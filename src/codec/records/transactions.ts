/**
 * Transactions: the facts in `__transaction_state`, the end markers in data partitions, and the index entries of
 * aborted ones.
 */
import { array, int16, int32, int64, int8, message, string } from "../schema.ts";

/** Record type 0. */
export const transactionLogKey = message({
  name: "TransactionLogKey",
  versions: [0, 0],
  flexible: null,
  fields: {
    transactionalId: string,
  },
});

/** Record type 0. */
export const transactionLogValue = message({
  name: "TransactionLogValue",
  versions: [0, 1],
  flexible: 1,
  fields: {
    producerId: int64,
    previousProducerId: int64.since(1).tagged(0, 1).or(-1n),
    nextProducerId: int64.since(1).tagged(1, 1).or(-1n),
    producerEpoch: int16,
    nextProducerEpoch: int16.since(1).tagged(3, 1).or(-1),
    transactionTimeoutMs: int32,
    transactionStatus: int8,
    transactionPartitions: array({
      topic: string,
      partitionIds: array(int32),
    }).nullable(),
    transactionLastUpdateTimestampMs: int64,
    transactionStartTimestampMs: int64,
    clientTransactionVersion: int16.since(1).tagged(2, 1).or(0),
  },
});

export const endTxnMarker = message({
  name: "EndTxnMarker",
  versions: [0, 0],
  flexible: null,
  fields: {
    coordinatorEpoch: int32,
  },
});

/** An entry of the transaction index of a segment. */
export const abortedTxn = message({
  name: "AbortedTxn",
  versions: [0, 0],
  flexible: null,
  fields: {
    producerId: int64,
    firstOffset: int64,
    lastOffset: int64,
    lastStableOffset: int64,
  },
});
