/**
 * Transactions as the clients of protocol 2 make them (KIP-890): partitions join with the first Produce, and each end
 * gives the next epoch. What the codec costs here is the same for every broker.
 */
import type { Client } from "../../src/client/client.ts";
import { buildBatch, type NewRecord } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { endTxn } from "../../src/codec/messages/end_txn.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { must } from "./admin.ts";
import { logText, VALUE_BYTES } from "./frames.ts";
import { sleep } from "./scenario.ts";

const FIND_VERSION = 4, INIT_VERSION = 5, PRODUCE_VERSION = 12, END_VERSION = 5;
const TRANSACTION_KEYS = 1, ALL = -1;
const REPEAT_MS = 1, PATIENCE_MS = 60_000;

const STARTING: readonly number[] = [
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.CONCURRENT_TRANSACTIONS,
];
/** What a broker may answer while the transaction before is being completed. */
const COMPLETING: readonly number[] = [ErrorCode.CONCURRENT_TRANSACTIONS];

export class TransactionalProducer {
  private constructor(
    private readonly client: Client,
    private readonly transactionalId: string,
    private readonly topic: string,
    private readonly records: readonly NewRecord[],
    private producerId: bigint,
    private producerEpoch: number,
  ) {}

  /** Finds the coordinator, which makes its topic at the first time, and gets a producer id. */
  static async start(
    client: Client,
    transactionalId: string,
    topic: string,
    recordsEach: number,
  ): Promise<TransactionalProducer> {
    await untilAccepted("FindCoordinator", STARTING, async () => {
      const { coordinators: [found] } = await client.send(findCoordinator, FIND_VERSION, {
        key: "",
        keyType: TRANSACTION_KEYS,
        coordinatorKeys: [transactionalId],
      });
      return found;
    });
    const { producerId, producerEpoch } = await untilAccepted(
      "InitProducerId",
      STARTING,
      () => client.send(initProducerId, INIT_VERSION, { transactionalId, transactionTimeoutMs: 60_000 }),
    );
    const timestamp = Date.now();
    const records = Array.from(
      { length: recordsEach },
      (_, i) => ({ timestamp, key: null, value: logText(VALUE_BYTES, i + 1) }),
    );
    return new TransactionalProducer(client, transactionalId, topic, records, producerId, producerEpoch);
  }

  /** One committed transaction, all its records in one batch for partition 0. */
  async transact(): Promise<void> {
    const { client, transactionalId, producerId, producerEpoch } = this;
    const records = buildBatch(this.records, {
      producerId,
      producerEpoch,
      baseSequence: 0,
      isTransactional: true,
    });
    const topicData = [{
      name: this.topic,
      topicId: ZERO_UUID,
      partitionData: [{ index: 0, records }],
    }];
    await untilAccepted("Produce", COMPLETING, async () => {
      const { responses: [{ partitionResponses: [answer] }] } = await client.send(produce, PRODUCE_VERSION, {
        transactionalId,
        acks: ALL,
        timeoutMs: PATIENCE_MS,
        topicData,
      });
      return answer;
    });
    const next = await untilAccepted(
      "EndTxn",
      COMPLETING,
      () => client.send(endTxn, END_VERSION, { transactionalId, producerId, producerEpoch, committed: true }),
    );
    this.producerId = next.producerId;
    this.producerEpoch = next.producerEpoch;
  }
}

/** Repeats what is refused with one of `passing` as quickly as a client could. */
async function untilAccepted<T extends { readonly errorCode: number }>(
  what: string,
  passing: readonly number[],
  ask: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer.errorCode === ErrorCode.NONE) return answer;
    if (!passing.includes(answer.errorCode) || performance.now() > deadline) must(what, answer.errorCode);
    await sleep(REPEAT_MS);
  }
}
