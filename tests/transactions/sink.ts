/**
 * The producer of a two-phase sink, as Flink's is, in raw requests. The one thing to know: what such a sink keeps of a
 * transaction that it pre-committed is a transactional id, a producer id and an epoch; whoever has those three may end
 * it, from any connection, without an InitProducerId, which would abort it.
 */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { batchesIn, type BatchView, buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { addPartitionsToTxn } from "../../src/codec/messages/add_partitions_to_txn.ts";
import { describeProducers } from "../../src/codec/messages/describe_producers.ts";
import { describeTransactions } from "../../src/codec/messages/describe_transactions.ts";
import { endTxn } from "../../src/codec/messages/end_txn.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listTransactions } from "../../src/codec/messages/list_transactions.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { PATIENCE_MS } from "../lib/waiting.ts";

/** The versions of a client: before KIP-890 it names its partitions, since then Produce does. */
export interface Protocol {
  readonly initProducerId: number;
  readonly produce: number;
  readonly endTxn: number;
}

export const protocols = {
  "protocol 1, EndTxn 3": { initProducerId: 4, produce: 11, endTxn: 3 },
  "protocol 1, EndTxn 4": { initProducerId: 5, produce: 11, endTxn: 4 },
  "protocol 2": { initProducerId: 5, produce: 12, endTxn: 5 },
} satisfies Record<string, Protocol>;

/** What FindCoordinator is asked for. */
const TRANSACTION = 1;
/** From this version of Produce on the broker adds partitions to the transaction by itself. */
const PRODUCE_ADDS_PARTITIONS = 12;

/** What a checkpoint keeps. */
export interface Prepared {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** How an end was answered: by name, and from version 5 on with whom to go on as. */
export interface EndAnswer {
  readonly error: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** These pass by themselves: every client sends again. */
const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.CONCURRENT_TRANSACTIONS,
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
]);

/** Sends until the answer is none of those that pass, but not for ever. */
async function settled<A>(send: () => Promise<A>, errorCodeOf: (answer: A) => number): Promise<A> {
  for (const deadline = performance.now() + PATIENCE_MS;;) {
    const answer = await send();
    if (!PASSING.has(errorCodeOf(answer)) || performance.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** One connection of a sink. */
export class Sink implements AsyncDisposable {
  private constructor(private readonly client: Client, private readonly protocol: Protocol) {}

  static async connect(port: number, protocol: Protocol): Promise<Sink> {
    return new Sink(await Client.connect({ hostname: "127.0.0.1", port }, "sink"), protocol);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.client.close();
  }

  /** InitProducerId: ends what is open under this id, and gives an id and an epoch that nobody else has. */
  async init(transactionalId: string): Promise<Prepared> {
    // Nothing else has a broker make the coordinator's topic.
    await settled(
      () =>
        this.client.send(findCoordinator, 4, {
          key: "",
          keyType: TRANSACTION,
          coordinatorKeys: [transactionalId],
        }),
      ({ coordinators: [{ errorCode }] }) => errorCode,
    );
    const { errorCode, producerId, producerEpoch } = await settled(
      () =>
        this.client.send(initProducerId, this.protocol.initProducerId, {
          transactionalId,
          transactionTimeoutMs: 600_000,
        }),
      (answer) => answer.errorCode,
    );
    if (errorCode !== ErrorCode.NONE) throw new Error(`InitProducerId: ${errorName(errorCode)}`);
    return { transactionalId, producerId, producerEpoch };
  }

  /** Writes one record in the transaction and waits until it is there. Gives the error's name. */
  async write(
    to: Prepared,
    topic: string,
    value: string,
    sequence: number,
    partition = 0,
  ): Promise<string> {
    if (this.protocol.produce < PRODUCE_ADDS_PARTITIONS) {
      const added = await settled(() =>
        this.client.send(addPartitionsToTxn, 3, {
          v3AndBelowTransactionalId: to.transactionalId,
          v3AndBelowProducerId: to.producerId,
          v3AndBelowProducerEpoch: to.producerEpoch,
          v3AndBelowTopics: [{ name: topic, partitions: [partition] }],
          transactions: [],
        }), (answer) => answer.resultsByTopicV3AndBelow[0].resultsByPartition[0].partitionErrorCode);
      const code = added.resultsByTopicV3AndBelow[0].resultsByPartition[0].partitionErrorCode;
      if (code !== ErrorCode.NONE) return `AddPartitionsToTxn: ${errorName(code)}`;
    }
    const records = buildBatch([{ timestamp: Date.now(), key: null, value: utf8.encode(value) }], {
      producerId: to.producerId,
      producerEpoch: to.producerEpoch,
      baseSequence: sequence,
      isTransactional: true,
    });
    const answer = await settled(() =>
      this.client.send(produce, this.protocol.produce, {
        transactionalId: to.transactionalId,
        acks: -1,
        timeoutMs: 30_000,
        topicData: [{ name: topic, topicId: ZERO_UUID, partitionData: [{ index: partition, records }] }],
      }), (answer) => answer.responses[0].partitionResponses[0].errorCode);
    return errorName(answer.responses[0].partitionResponses[0].errorCode);
  }

  /** EndTxn by what a checkpoint kept. */
  async end(of: Prepared, committed: boolean): Promise<EndAnswer> {
    const answer = await settled(
      () => this.client.send(endTxn, this.protocol.endTxn, { ...of, committed }),
      ({ errorCode }) => errorCode,
    );
    const { producerId, producerEpoch } = answer;
    return { error: errorName(answer.errorCode), producerId, producerEpoch };
  }

  /**
   * What a reader under read_committed is given once the last stable offset is there: an end is answered when it is
   * decided, and its marker is written after that.
   */
  async readCommitted(topic: string, lastStableOffset: number, partition = 0): Promise<string[]> {
    const { responses: [{ partitions: [answer] }] } = await settled(
      () =>
        this.client.send(fetch, 12, {
          maxWaitMs: 0,
          minBytes: 1,
          isolationLevel: 1,
          topics: [{
            topic,
            topicId: ZERO_UUID,
            partitions: [{ partition, fetchOffset: 0n, partitionMaxBytes: 1 << 20 }],
          }],
          forgottenTopicsData: [],
        }),
      ({ responses: [{ partitions: [{ errorCode, lastStableOffset: at }] }] }) =>
        errorCode === ErrorCode.NONE && Number(at) < lastStableOffset
          ? ErrorCode.CONCURRENT_TRANSACTIONS
          : errorCode,
    );
    if (answer.errorCode !== ErrorCode.NONE) throw new Error(`Fetch: ${errorName(answer.errorCode)}`);
    const aborted = (answer.abortedTransactions ?? []).map((one) => ({ ...one })).sort((a, b) =>
      Number(a.firstOffset - b.firstOffset)
    );
    const values: string[] = [];
    const abortedNow = new Set<number>();
    for (const batch of batchesIn(answer.records ?? new Uint8Array(0))) {
      while (aborted.length > 0 && Number(aborted[0].firstOffset) <= batch.baseOffset) {
        abortedNow.add(Number(aborted.shift()!.producerId));
      }
      if (batch.isControl) abortedNow.delete(batch.producerId);
      else if (!abortedNow.has(batch.producerId)) values.push(...valuesOf(batch));
    }
    assertEquals(Number(answer.lastStableOffset), lastStableOffset);
    return values;
  }

  /** The transactional ids that begin so and have an open transaction with records in this topic, sorted. */
  async lingering(topic: string, prefix: string): Promise<Prepared[]> {
    const { topics: [{ partitions: [{ activeProducers }] }] } = await settled(
      () => this.client.send(describeProducers, 0, { topics: [{ name: topic, partitionIndexes: [0] }] }),
      ({ topics: [{ partitions: [{ errorCode }] }] }) => errorCode,
    );
    const open = activeProducers.filter((producer) => producer.currentTxnStartOffset >= 0n);
    if (open.length === 0) return [];
    const listed = await settled(
      () =>
        this.client.send(listTransactions, 1, {
          stateFilters: ["Ongoing"],
          producerIdFilters: open.map(({ producerId }) => producerId),
        }),
      // A coordinator that has not begun to load has none to list.
      ({ errorCode, transactionStates }) =>
        transactionStates.length < open.length ? ErrorCode.COORDINATOR_LOAD_IN_PROGRESS : errorCode,
    );
    const ids = listed.transactionStates.map(({ transactionalId }) => transactionalId)
      .filter((id) => id.startsWith(prefix)).sort();
    const { transactionStates } = await this.client.send(describeTransactions, 0, { transactionalIds: ids });
    return transactionStates.filter((state) => state.topics.some((written) => written.topic === topic))
      .map(({ transactionalId, producerId, producerEpoch }) => ({
        transactionalId,
        producerId,
        producerEpoch,
      }));
  }
}

function valuesOf(batch: BatchView): string[] {
  return [...batch.records()].map(({ value }) => text.decode(value!));
}
