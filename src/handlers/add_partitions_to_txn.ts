/**
 * Adds partitions to transactions, or, from version 4 on, asks whether they are part of them. Those versions are for
 * brokers, and take many transactions; of clients each request is about one.
 */
import { isInternalTopic } from "../cluster/topic_names.ts";
import { ErrorCode } from "../codec/errors.ts";
import type {
  addPartitionsToTxn,
  AddPartitionsToTxnRequest,
} from "../codec/messages/add_partitions_to_txn.ts";
import type { TopicPartition } from "../coordinators/transactions/requests.ts";
import type { Handler, RequestContext } from "./context.ts";
import { fencedError } from "./transactional.ts";

/** The first version that knows PRODUCER_FENCED (KIP-588). */
const firstWithFenced = 2;
/** The first version with many transactions, whose producers speak transaction protocol 2. */
const firstWithTransactions = 4;

type Topics = AddPartitionsToTxnRequest["v3AndBelowTopics"];

interface Asked {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly verifyOnly: boolean;
  readonly topics: Topics;
}

export const addPartitionsToTxnHandler: Handler<typeof addPartitionsToTxn> = async (request, context) => {
  if (context.version < firstWithTransactions) {
    const topicResults = await add({
      transactionalId: request.v3AndBelowTransactionalId,
      producerId: request.v3AndBelowProducerId,
      producerEpoch: request.v3AndBelowProducerEpoch,
      verifyOnly: false,
      topics: request.v3AndBelowTopics,
    }, context);
    return { errorCode: ErrorCode.NONE, resultsByTransaction: [], resultsByTopicV3AndBelow: topicResults };
  }
  const resultsByTransaction = await Promise.all(request.transactions.map(async (asked) => ({
    transactionalId: asked.transactionalId,
    topicResults: await add(asked, context),
  })));
  return { errorCode: ErrorCode.NONE, resultsByTransaction, resultsByTopicV3AndBelow: [] };
};

async function add({ topics, producerId, ...asked }: Asked, context: RequestContext) {
  const { services: { cluster: { image }, transactions }, version } = context;
  const partitions = topics.flatMap(({ name, partitions }) =>
    partitions.map((partition) => ({ topic: name, partition }))
  );
  const ofClient = version < firstWithTransactions;
  const refusal = ({ topic, partition }: TopicPartition) => {
    if (ofClient && isInternalTopic(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED;
    const exists = image.topics.get(topic)?.partitions[partition] !== undefined;
    return exists ? ErrorCode.NONE : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  };
  const refusals = partitions.map(refusal);
  // All or none: nobody has to find out which of them were added.
  const errorCodes = refusals.some((errorCode) => errorCode !== ErrorCode.NONE)
    ? refusals.map((errorCode) =>
      errorCode === ErrorCode.NONE ? ErrorCode.OPERATION_NOT_ATTEMPTED : errorCode
    )
    : (await transactions.addPartitions({
      ...asked,
      producerId: Number(producerId),
      partitions,
      clientTransactionVersion: ofClient ? 0 : 2,
    })).errorCodes;
  let at = 0;
  return topics.map(({ name, partitions }) => ({
    name,
    resultsByPartition: partitions.map((partitionIndex) => ({
      partitionIndex,
      partitionErrorCode: fencedError(errorCodes[at++], version >= firstWithFenced),
    })),
  }));
}
