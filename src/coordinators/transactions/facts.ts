/** What the transactions' machine logs: Kafka's own records of `__transaction_state`, as typed facts, and their bytes. */
import { Reader } from "../../codec/reader.ts";
import { transactionLogKey, transactionLogValue } from "../../codec/records/transactions.ts";
import type { DecodedOf } from "../../codec/schema.ts";
import { decodeValue, prefixed } from "../log_record.ts";
import type { LogRecord } from "../machine.ts";
import { type Transaction, type TransactionStatus, transactionStatuses } from "./types.ts";

/** The transaction as it is from now on; null forgets the id. */
export interface TransactionFact {
  readonly transactionalId: string;
  readonly value: Transaction | null;
}

const TRANSACTION = 0;
const KEY_VERSION = 0;
/** What Kafka 4 writes, and readers from 3.8 on know. */
const VALUE_VERSION = 1;

export function encodeFact({ transactionalId, value }: TransactionFact): LogRecord {
  return {
    key: prefixed(TRANSACTION, transactionLogKey, KEY_VERSION, { transactionalId }),
    value: value === null
      ? null
      : prefixed(VALUE_VERSION, transactionLogValue, VALUE_VERSION, encodableOf(value)),
  };
}

function encodableOf(t: Transaction) {
  return {
    producerId: t.producerId,
    previousProducerId: t.previousProducerId,
    nextProducerId: t.nextProducerId,
    producerEpoch: t.producerEpoch,
    transactionTimeoutMs: t.transactionTimeoutMs,
    transactionStatus: transactionStatuses.indexOf(t.status),
    transactionPartitions: t.status === "Empty" ? null : [...t.partitions].map(([topic, partitions]) => ({
      topic,
      partitionIds: [...partitions],
    })),
    transactionLastUpdateTimestampMs: t.lastUpdateMs,
    transactionStartTimestampMs: t.startMs,
    clientTransactionVersion: t.clientTransactionVersion,
  };
}

/**
 * The fact that a record states; null for record types that are not known. Throws MalformedFrame when the record is not
 * what its type and version say. Keeps no view on `record`.
 */
export function decodeFact(
  record: { key: Uint8Array | null; value: Uint8Array | null },
): TransactionFact | null {
  if (record.key === null) return null;
  const reader = new Reader(record.key);
  if (reader.int16() !== TRANSACTION) return null;
  const { transactionalId } = transactionLogKey.read(reader, KEY_VERSION);
  const value = record.value === null
    ? null
    : transactionOf(transactionalId, decodeValue(transactionLogValue, record.value));
  return { transactionalId, value };
}

function transactionOf(
  transactionalId: string,
  value: DecodedOf<typeof transactionLogValue>,
): Transaction | null {
  const status: TransactionStatus | undefined = transactionStatuses[value.transactionStatus];
  // An id that was about to be forgotten.
  if (status === undefined) return null;
  return {
    transactionalId,
    producerId: Number(value.producerId),
    previousProducerId: Number(value.previousProducerId),
    nextProducerId: Number(value.nextProducerId),
    producerEpoch: value.producerEpoch,
    lastProducerEpoch: -1,
    transactionTimeoutMs: value.transactionTimeoutMs,
    status,
    partitions: new Map(
      (value.transactionPartitions ?? []).map(({ topic, partitionIds }) => [topic, new Set(partitionIds)]),
    ),
    startMs: Number(value.transactionStartTimestampMs),
    lastUpdateMs: Number(value.transactionLastUpdateTimestampMs),
    clientTransactionVersion: value.clientTransactionVersion,
  };
}
