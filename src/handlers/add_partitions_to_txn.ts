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
import { FIRST_PROTOCOL, RAISING_PROTOCOL } from "../codec/transaction_version.ts";
import type { Handler, RequestContext } from "./context.ts";
import { inSlices } from "./pacing.ts";
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

/** One of the transactions asked about, and what is to be said of its partitions, in their order. */
interface Entry {
  readonly asked: Asked;
  readonly partitions: readonly TopicPartition[];
  errorCodes: readonly number[];
}

export const addPartitionsToTxnHandler: Handler<typeof addPartitionsToTxn> = async (request, context) => {
  if (context.version < firstWithTransactions) {
    const [topicResults] = await add([{
      transactionalId: request.v3AndBelowTransactionalId,
      producerId: request.v3AndBelowProducerId,
      producerEpoch: request.v3AndBelowProducerEpoch,
      verifyOnly: false,
      topics: request.v3AndBelowTopics,
    }], context);
    return { errorCode: ErrorCode.NONE, resultsByTransaction: [], resultsByTopicV3AndBelow: topicResults };
  }
  const topicResults = await add(request.transactions, context);
  const resultsByTransaction = request.transactions.map(({ transactionalId }, i) => ({
    transactionalId,
    topicResults: topicResults[i],
  }));
  return { errorCode: ErrorCode.NONE, resultsByTransaction, resultsByTopicV3AndBelow: [] };
};

/** The answer to each, in order. What is asked of one transaction by one producer is one decision, however it is spread. */
async function add(all: readonly Asked[], context: RequestContext) {
  const { clock, transactions } = context.services;
  const ofClient = context.version < firstWithTransactions;
  const entries = await inSlices(all, clock, (asked) => entryOf(asked, context));
  await inSlices(byProducer(entries), clock, async (group) => {
    const [{ asked: { transactionalId, producerId, producerEpoch, verifyOnly } }] = group;
    const { errorCodes } = await transactions.addPartitions({
      transactionalId,
      producerId: Number(producerId),
      producerEpoch,
      verifyOnly,
      partitions: group.flatMap(({ partitions }) => partitions),
      clientTransactionVersion: ofClient ? FIRST_PROTOCOL : RAISING_PROTOCOL,
    });
    let at = 0;
    for (const entry of group) entry.errorCodes = errorCodes.slice(at, at += entry.partitions.length);
  });
  return entries.map((entry) => resultsOf(entry, context.version));
}

function entryOf(asked: Asked, { services: { cluster: { image } }, version }: RequestContext): Entry {
  const partitions = asked.topics.flatMap(({ name, partitions }) =>
    partitions.map((partition) => ({ topic: name, partition }))
  );
  const ofClient = version < firstWithTransactions;
  const refusals = partitions.map(({ topic, partition }) => {
    if (ofClient && isInternalTopic(topic)) return ErrorCode.TOPIC_AUTHORIZATION_FAILED;
    const exists = image.topics.get(topic)?.partitions[partition] !== undefined;
    return exists ? ErrorCode.NONE : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  });
  // All or none: nobody has to find out which of them were added.
  const errorCodes = refusals.some((errorCode) => errorCode !== ErrorCode.NONE)
    ? refusals.map((errorCode) =>
      errorCode === ErrorCode.NONE ? ErrorCode.OPERATION_NOT_ATTEMPTED : errorCode
    )
    : [];
  return { asked, partitions, errorCodes };
}

/**
 * Those that are not refused yet, by who asks for what. Each addition writes down all partitions that the transaction
 * has by then: thousands of single ones would take gigabytes.
 */
function byProducer(entries: readonly Entry[]): Iterable<Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    if (entry.errorCodes.length > 0) continue;
    const { transactionalId, producerId, producerEpoch, verifyOnly } = entry.asked;
    const key = `${producerId} ${producerEpoch} ${verifyOnly} ${transactionalId}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return groups.values();
}

function resultsOf({ asked: { topics }, errorCodes }: Entry, version: number) {
  let at = 0;
  return topics.map(({ name, partitions }) => ({
    name,
    resultsByPartition: partitions.map((partitionIndex) => ({
      partitionIndex,
      partitionErrorCode: fencedError(errorCodes[at++], version >= firstWithFenced),
    })),
  }));
}
