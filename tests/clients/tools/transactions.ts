/** Transactions by raw requests, for kafka-transactions.sh to look at: no client leaves one as it is wanted here. */

import { Client } from "../../../src/client/client.ts";
import { buildBatch } from "../../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../../src/codec/errors.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { describeTransactions } from "../../../src/codec/messages/describe_transactions.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";

const TRANSACTION = 1;
const RETRY_MS = 20;
const PATIENCE_MS = 30_000;
/** Long before a transaction of Kafka's default timeout is over. */
const LONG_AGO_MS = 3_600_000;

interface Producer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** Something to be done with a connection of its own. */
export type Deed = (client: Client) => Promise<void>;

/** Connects, does it, and closes. */
export async function perform(deed: Deed, bootstrap: string): Promise<void> {
  const [hostname, port] = bootstrap.split(":");
  const client = await Client.connect({ hostname, port: Number(port) }, "transactions");
  try {
    await deed(client);
  } finally {
    await client.close();
  }
}

/** Begins a transaction with one record in the partition, and leaves it open. */
export function open(transactionalId: string, topic: string, partition: number): Deed {
  return async (client) => {
    const producer = await begin(client, transactionalId);
    await untilDone("AddPartitionsToTxn", async () => {
      const { resultsByTopicV3AndBelow: [added] } = await client.send(addPartitionsToTxn, 3, {
        v3AndBelowTransactionalId: transactionalId,
        v3AndBelowProducerId: producer.producerId,
        v3AndBelowProducerEpoch: producer.producerEpoch,
        v3AndBelowTopics: [{ name: topic, partitions: [partition] }],
        transactions: [],
      });
      return added.resultsByPartition[0].partitionErrorCode;
    });
    await write(client, producer, topic, partition, Date.now());
  };
}

/** Commits what {@link open} began. */
export function commit(transactionalId: string): Deed {
  return async (client) => {
    const { transactionStates: [{ producerId, producerEpoch }] } = await client.send(
      describeTransactions,
      0,
      {
        transactionalIds: [transactionalId],
      },
    );
    await untilDone("EndTxn", async () => {
      const ended = await client.send(endTxn, 3, {
        transactionalId,
        producerId,
        producerEpoch,
        committed: true,
      });
      return ended.errorCode;
    });
  };
}

/** Writes as within a transaction that its coordinator knows nothing of; as if an hour ago. */
export function hang(transactionalId: string, topic: string, partition: number): Deed {
  return async (client) => {
    await write(client, await begin(client, transactionalId), topic, partition, Date.now() - LONG_AGO_MS);
  };
}

async function begin(client: Client, transactionalId: string): Promise<Producer> {
  await untilDone("FindCoordinator", async () => {
    const { coordinators: [found] } = await client.send(findCoordinator, 4, {
      key: "",
      keyType: TRANSACTION,
      coordinatorKeys: [transactionalId],
    });
    return found.errorCode;
  });
  let producer!: Producer;
  await untilDone("InitProducerId", async () => {
    const answer = await client.send(initProducerId, 4, { transactionalId, transactionTimeoutMs: 600_000 });
    producer = { transactionalId, producerId: answer.producerId, producerEpoch: answer.producerEpoch };
    return answer.errorCode;
  });
  return producer;
}

async function write(
  client: Client,
  producer: Producer,
  topic: string,
  partition: number,
  timestamp: number,
) {
  const { transactionalId, producerId, producerEpoch } = producer;
  const value = new TextEncoder().encode(transactionalId);
  const batch = buildBatch([{ timestamp, key: null, value }], {
    ...{ producerId, producerEpoch, baseSequence: 0, isTransactional: true },
  });
  await untilDone("Produce", async () => {
    const { responses } = await client.send(produce, 9, {
      ...{ transactionalId, acks: -1, timeoutMs: 30_000 },
      topicData: [{ name: topic, topicId: ZERO_UUID, partitionData: [{ index: partition, records: batch }] }],
    });
    return responses[0].partitionResponses[0].errorCode;
  });
}

const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.CONCURRENT_TRANSACTIONS,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
]);

/** Sends again while a coordinator loads or an earlier transaction ends. Throws at any other error. */
async function untilDone(what: string, send: () => Promise<number>): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS;;) {
    const errorCode = await send();
    if (errorCode === ErrorCode.NONE) return;
    if (!PASSING.has(errorCode) || performance.now() > deadline) {
      throw new Error(`${what}: ${errorName(errorCode)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
