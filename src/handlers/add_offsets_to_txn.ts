/** Adds to a transaction the partition of `__consumer_offsets` that holds a group's offsets. */
import type { addOffsetsToTxn } from "../codec/messages/add_offsets_to_txn.ts";
import { OFFSETS_TOPIC } from "../cluster/topic_names.ts";
import { FIRST_PROTOCOL } from "../codec/transaction_version.ts";
import type { Handler } from "./context.ts";
import { fencedError } from "./transactional.ts";

/** The first version that knows PRODUCER_FENCED (KIP-588). */
const firstWithFenced = 2;

export const addOffsetsToTxnHandler: Handler<typeof addOffsetsToTxn> = async (request, context) => {
  const { services: { transactions, groups }, version } = context;
  const { errorCodes: [errorCode] } = await transactions.addPartitions({
    transactionalId: request.transactionalId,
    producerId: Number(request.producerId),
    producerEpoch: request.producerEpoch,
    partitions: [{ topic: OFFSETS_TOPIC, partition: groups.partitionOf(request.groupId) }],
    verifyOnly: false,
    clientTransactionVersion: FIRST_PROTOCOL,
  });
  return { errorCode: fencedError(errorCode, version >= firstWithFenced) };
};
