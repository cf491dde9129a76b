/** Records of internal topics for scenarios: where those of an id will be, and what they say. */
import { batchesIn } from "../../../src/codec/batch.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { transactionLogKey, transactionLogValue } from "../../../src/codec/records/transactions.ts";
import { coordinatorPartition } from "../../../src/coordinators/partitioner.ts";
import type { Broker } from "../scenario.ts";
import { fetching } from "./records.ts";
import { metadataOf } from "./topics.ts";
import { named } from "./transactions.ts";

export const OFFSETS = "__consumer_offsets", STATE = "__transaction_state";

/** Where the records of an id will be. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** The end of the partition that holds `id`. */
export async function endOf(broker: Broker, topic: string, id: string): Promise<Place> {
  const known = await broker.send(metadata, 12, metadataOf([topic]));
  const partition = coordinatorPartition(id, known!.topics[0].partitions.length);
  const topics = [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: -1n }] }];
  const listed = await broker.send(listOffsets, 4, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 1000,
    topics,
  });
  return { topic, partition, offset: listed!.topics[0].partitions[0].offset };
}

export interface Stored {
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly sequence: number;
  readonly key: DataView;
  readonly value: DataView | null;
}

/** All records from there on, with what their batches say. */
export async function storedFrom(broker: Broker, { topic, partition, offset }: Place): Promise<Stored[]> {
  const stored: Stored[] = [];
  for (let next = offset;;) {
    const answer = await broker.send(
      fetch,
      11,
      fetching(topic, [{ partition, fetchOffset: next }], { maxWaitMs: 0 }),
    );
    const batches = [...batchesIn(answer!.responses[0].partitions[0].records!)];
    if (batches.length === 0) return stored;
    for (const batch of batches) {
      const cursor = batch.cursor(10_000_000);
      while (cursor.next()) {
        const [key, value] = [cursor.key, cursor.value].map((b) =>
          b && new DataView(b.buffer, b.byteOffset, b.length)
        );
        const {
          isTransactional,
          isControl,
          producerIdBits: producerId,
          producerEpoch,
          baseSequence: sequence,
        } = batch;
        stored.push({ isTransactional, isControl, producerId, producerEpoch, sequence, key: key!, value });
      }
      next = BigInt(batch.nextOffset);
    }
  }
}

/** What is behind the version. */
export const body = (view: DataView) => new Uint8Array(view.buffer, view.byteOffset + 2, view.byteLength - 2);

export const time = (ms: bigint) => ms > 0n ? "<time>" : ms;

/** Kafka's names of a transaction's states, in the order of their numbers in the log. */
export const statuses: readonly string[] = [
  "Empty",
  "Ongoing",
  "PrepareCommit",
  "PrepareAbort",
  "CompleteCommit",
  "CompleteAbort",
  "Dead",
  "PrepareEpochFence",
];

/**
 * Writes down the facts of a transactional id from there on, but for the id before the present one: Kafka writes the present
 * one there.
 */
export async function tellFacts(
  broker: Broker,
  place: Place,
  transactionalId: string,
  label = "",
): Promise<void> {
  const facts = (await storedFrom(broker, place)).filter(({ key }) =>
    transactionLogKey.decode(body(key), 0).transactionalId === transactionalId
  );
  for (const [i, { key, value, isTransactional, producerId }] of facts.entries()) {
    const version = value!.getInt16(0);
    const fact = transactionLogValue.decode(body(value!), version);
    broker.note(`${label} ${i}`.trim(), {
      versions: [key.getInt16(0), version],
      batch: [isTransactional, producerId],
      status: statuses[fact.transactionStatus],
      id: named(broker, fact.producerId),
      next: named(broker, fact.nextProducerId),
      epoch: fact.producerEpoch,
      nextEpoch: fact.nextProducerEpoch,
      timeoutMs: fact.transactionTimeoutMs,
      in: fact.transactionPartitions?.map((t) => `${t.topic} ${[...t.partitionIds].sort()}`).sort() ?? null,
      updated: time(fact.transactionLastUpdateTimestampMs),
      began: time(fact.transactionStartTimestampMs),
      client: fact.clientTransactionVersion,
    });
  }
}
