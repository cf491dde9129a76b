/**
 * Transactional producers for scenarios: requests, and the steps of a transaction without anything written down. Kafka
 * writes the markers of a transaction a moment after EndTxn is answered; each step here waits for that first.
 */
import { batchesIn, type BatchView } from "../../../src/codec/batch.ts";
import { ErrorCode } from "../../../src/codec/errors.ts";
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { describeProducers } from "../../../src/codec/messages/describe_producers.ts";
import { describeTransactions } from "../../../src/codec/messages/describe_transactions.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually } from "../scenario.ts";
import { batchOf, fetching, produceTo } from "./records.ts";

/** The first versions of transaction version 2 (KIP-890): partitions are added by what writes, ends change the epoch. */
export const V1 = { produce: 11, endTxn: 4, txnOffsetCommit: 4 } as const;
export const V2 = { produce: 12, endTxn: 5, txnOffsetCommit: 5 } as const;

/** A transactional producer as its requests name it. */
export interface Producer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** What a coordinator says while it loads, or while the markers before are not written. */
const passing: readonly number[] = [
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.CONCURRENT_TRANSACTIONS,
];

/** The first answer whose code is more than "not yet". */
export function beyondPassing<R>(what: string, send: () => Promise<R>, code: (r: R) => number): Promise<R> {
  return eventually(`${what} does not get beyond a passing state`, async () => {
    const response = await send();
    return passing.includes(code(response)) ? null : response;
  });
}

const names = new WeakMap<readonly unknown[], Map<bigint, string>>();

/** A producer id by the order in which this scenario saw it: "A", "B". */
export function named(broker: Broker, producerId: bigint): string {
  if (producerId === -1n) return "none";
  const known = names.get(broker.answers) ?? new Map<bigint, string>();
  names.set(broker.answers, known);
  const name = known.get(producerId) ?? String.fromCharCode(65 + known.size);
  known.set(producerId, name);
  return name;
}

/** What a response says of the producer, with a name for its id. */
export const told = (broker: Broker) =>
(
  r: { errorCode: number; producerId: bigint; producerEpoch: number },
) => ({ errorCode: r.errorCode, id: named(broker, r.producerId), epoch: r.producerEpoch });

/** The code alone. */
export const code = ({ errorCode }: { errorCode: number }) => ({ errorCode });

/** An InitProducerId request. */
export function initializing(
  transactionalId: string | null,
  more: Partial<EncodableRequestOf<typeof initProducerId>> = {},
) {
  return { transactionalId, transactionTimeoutMs: 60_000, ...more };
}

/** A producer that has an id, alone of its transactional id. */
export async function transactional(
  broker: Broker,
  text = "x",
  more: Partial<EncodableRequestOf<typeof initProducerId>> = {},
): Promise<Producer> {
  return await initialized(broker, broker.name(text), more);
}

/** The next incarnation of a transactional id. */
export async function initialized(
  broker: Broker,
  transactionalId: string,
  more: Partial<EncodableRequestOf<typeof initProducerId>> = {},
): Promise<Producer> {
  const { producerId, producerEpoch } = await beyondPassing(
    "InitProducerId",
    async () => (await broker.send(initProducerId, 5, initializing(transactionalId, more)))!,
    (r) => r.errorCode,
  );
  named(broker, producerId);
  return { transactionalId, producerId, producerEpoch };
}

/** An AddPartitionsToTxn request below version 4. */
export function adding(
  { transactionalId, producerId, producerEpoch }: Producer,
  ...topics: [name: string, ...partitions: number[]][]
): EncodableRequestOf<typeof addPartitionsToTxn> {
  return {
    transactions: [],
    v3AndBelowTransactionalId: transactionalId,
    v3AndBelowProducerId: producerId,
    v3AndBelowProducerEpoch: producerEpoch,
    v3AndBelowTopics: topics.map(([name, ...partitions]) => ({ name, partitions })),
  };
}

type Added = DecodedResponseOf<typeof addPartitionsToTxn>;
type Results = Added["resultsByTopicV3AndBelow"];

const flat = (results: Results) =>
  results.flatMap(({ name, resultsByPartition }) =>
    resultsByPartition.map((p) => ({
      topic: name,
      partitionIndex: p.partitionIndex,
      errorCode: p.partitionErrorCode,
    }))
  ).sort((a, b) => `${a.topic} ${a.partitionIndex}` < `${b.topic} ${b.partitionIndex}` ? -1 : 1);

/** Each partition with its error, in an order of its own: Kafka's is that of a hash table. */
export const added = (r: Added) => flat(r.resultsByTopicV3AndBelow);

/** The same of version 4 on. */
export const addedTo = (r: Added) => ({
  errorCode: r.errorCode,
  of: r.resultsByTransaction.map(({ transactionalId, topicResults }) => ({
    transactionalId,
    added: flat(topicResults),
  })).sort((a, b) => a.transactionalId < b.transactionalId ? -1 : 1),
});

/** An AddOffsetsToTxn request. */
export function addingOffsets(producer: Producer, groupId: string) {
  return { ...producer, groupId };
}

/** An EndTxn request. */
export function ending(producer: Producer, committed = true) {
  return { ...producer, committed };
}

/** The same producer in another epoch. */
export function inEpoch(producer: Producer, producerEpoch: number): Producer {
  return { ...producer, producerEpoch };
}

/** The same with an id that nobody has. */
export function stranger(producer: Producer): Producer {
  return { ...producer, producerId: producer.producerId + 1_000_000n };
}

/** The same under another transactional id. */
export function renamed(producer: Producer, transactionalId: string): Producer {
  return { ...producer, transactionalId };
}

/** A Produce request of one transactional batch, by the producer. */
export function producing(
  producer: Producer,
  topic: string,
  values: string[],
  baseSequence = 0,
  more: Partial<
    {
      index: number;
      topicId: string;
      isTransactional: boolean;
      transactionalId: string | null;
      timestamp: number;
    }
  > = {},
) {
  const { isTransactional = true, transactionalId = producer.transactionalId, timestamp, ...to } = more;
  const { producerEpoch } = producer;
  const batch = batchOf(values, {
    producerId: Number(producer.producerId),
    producerEpoch,
    baseSequence,
    isTransactional,
    timestamp,
  });
  return { transactionalId, ...produceTo(topic, batch, to) };
}

/** What a Produce of one partition came to. */
export const appended = (r: DecodedResponseOf<typeof produce>) => {
  const [{ errorCode, baseOffset, errorMessage }] = r.responses[0].partitionResponses;
  return { errorCode, baseOffset, errorMessage };
};

/** A TxnOffsetCommit request for one partition. */
export function committingOffset(
  producer: Producer,
  groupId: string,
  topic: string,
  more: Partial<
    {
      generationIdOrMemberEpoch: number;
      memberId: string;
      groupInstanceId: string | null;
      partitionIndex: number;
      offset: bigint;
      metadata: string | null;
      topicId: string;
    }
  > = {},
): EncodableRequestOf<typeof txnOffsetCommit> {
  const { partitionIndex = 0, offset = 7n, metadata = "m", topicId = ZERO_UUID, ...member } = more;
  const partitions = [{
    partitionIndex,
    committedOffset: offset,
    committedLeaderEpoch: 0,
    committedMetadata: metadata,
  }];
  return { ...producer, groupId, topics: [{ name: topic, topicId, partitions }], ...member };
}

/** Adds partitions to a transaction, which begins by that. */
export async function add(
  broker: Broker,
  producer: Producer,
  ...topics: [name: string, ...partitions: number[]][]
): Promise<void> {
  await expectNone(
    broker,
    "AddPartitionsToTxn",
    async () => (await broker.send(addPartitionsToTxn, 3, adding(producer, ...topics)))!,
    (r) => r.resultsByTopicV3AndBelow.flatMap((t) => t.resultsByPartition)[0].partitionErrorCode,
  );
}

/** Adds a group's offsets to a transaction. */
export async function addOffsets(broker: Broker, producer: Producer, groupId: string): Promise<void> {
  await expectNone(
    broker,
    "AddOffsetsToTxn",
    async () => (await broker.send(addOffsetsToTxn, 3, addingOffsets(producer, groupId)))!,
    (r) => r.errorCode,
  );
}

/** Writes a batch in a transaction; in version 12 of Produce that adds the partition. Gives the batch's offset. */
export async function write(
  broker: Broker,
  producer: Producer,
  topic: string,
  values: string[],
  baseSequence = 0,
  { version = V2.produce, ...more }: { version?: number; index?: number; timestamp?: number } = {},
): Promise<bigint> {
  const response = await expectNone(
    broker,
    "Produce",
    async () =>
      (await broker.send(produce, version, producing(producer, topic, values, baseSequence, more)))!,
    (r) => appended(r).errorCode,
  );
  return appended(response).baseOffset;
}

/** Stages an offset of a group; in version 5 of TxnOffsetCommit that adds the group. */
export async function stageOffset(
  broker: Broker,
  producer: Producer,
  groupId: string,
  topic: string,
  more: Parameters<typeof committingOffset>[3] & { version?: number } = {},
): Promise<void> {
  const { version = V2.txnOffsetCommit, ...rest } = more;
  await expectNone(
    broker,
    "TxnOffsetCommit",
    async () =>
      (await broker.send(txnOffsetCommit, version, committingOffset(producer, groupId, topic, rest)))!,
    (r) => r.topics[0].partitions[0].errorCode,
  );
}

/** Ends a transaction, and waits until its markers are written. Gives the producer as it goes on. */
export async function end(
  broker: Broker,
  producer: Producer,
  committed: boolean,
  version: number = V2.endTxn,
): Promise<Producer> {
  const { producerId, producerEpoch } = await expectNone(
    broker,
    "EndTxn",
    async () => (await broker.send(endTxn, version, ending(producer, committed)))!,
    (r) => r.errorCode,
  );
  await settled(broker, producer);
  if (version < V2.endTxn) return producer;
  named(broker, producerId);
  return { ...producer, producerId, producerEpoch };
}

async function expectNone<R>(
  broker: Broker,
  what: string,
  send: () => Promise<R>,
  code: (r: R) => number,
): Promise<R> {
  const response = await beyondPassing(what, send, code);
  if (code(response) !== 0) {
    throw new Error(`${what}: error ${code(response)} after ${broker.answers.length} answers`);
  }
  return response;
}

/** Waits until the markers of the transaction that is ending are written. */
export async function settled(broker: Broker, { transactionalId }: Producer): Promise<void> {
  await eventually(`${transactionalId} stays in prepare`, async () => {
    const { errorCode, transactionState } = (await described(broker, transactionalId))!;
    return errorCode === 0 && !transactionState.startsWith("Prepare") ? true : null;
  });
}

/** Waits until the transaction is in a state. */
export async function inState(broker: Broker, { transactionalId }: Producer, state: string): Promise<void> {
  await eventually(
    `${transactionalId} does not become ${state}`,
    async () => (await described(broker, transactionalId)).transactionState === state ? true : null,
  );
}

async function described(broker: Broker, transactionalId: string) {
  const response = await broker.send(describeTransactions, 0, { transactionalIds: [transactionalId] });
  return response!.transactionStates[0];
}

/** Writes down what the coordinator says of the transactional id. */
export async function tellState(broker: Broker, { transactionalId }: Producer, label = ""): Promise<void> {
  await broker.ask(describeTransactions, 0, { transactionalIds: [transactionalId] }, states(broker), label);
}

/** What DescribeTransactions says, with names for ids and without times. */
export const states = (broker: Broker) => (r: DecodedResponseOf<typeof describeTransactions>) =>
  r.transactionStates.map((s) => ({
    errorCode: s.errorCode,
    transactionalId: s.transactionalId,
    state: s.transactionState,
    timeoutMs: s.transactionTimeoutMs,
    began: s.transactionStartTimeMs > 0n ? "<time>" : s.transactionStartTimeMs,
    id: s.errorCode === 0 ? named(broker, s.producerId) : s.producerId,
    epoch: s.producerEpoch,
    in: s.topics.map(({ topic, partitions }) =>
      // A group's partition goes by its name, which is another one each time.
      topic === "__consumer_offsets" ? topic : `${topic} ${[...partitions].sort()}`
    ).sort(),
  }));

/** Sends an EndTxn and writes down the answer that is more than "not yet"; waits for the markers. */
export async function askEnd(
  broker: Broker,
  version: number,
  producer: Producer,
  committed: boolean,
  label = "",
): Promise<Producer> {
  const response = await beyondPassing(
    "EndTxn",
    async () => (await broker.send(endTxn, version, ending(producer, committed)))!,
    (r) => r.errorCode,
  );
  broker.tell(endTxn, version, response, label, version < V2.endTxn ? code : told(broker));
  await settled(broker, producer);
  if (version < V2.endTxn || response.errorCode !== 0) return producer;
  return { ...producer, producerId: response.producerId, producerEpoch: response.producerEpoch };
}

/** The same with InitProducerId. */
export async function askInit(
  broker: Broker,
  version: number,
  transactionalId: string,
  more: Partial<EncodableRequestOf<typeof initProducerId>> = {},
  label = "",
): Promise<Producer> {
  const response = await beyondPassing(
    "InitProducerId",
    async () => (await broker.send(initProducerId, version, initializing(transactionalId, more)))!,
    (r) => r.errorCode,
  );
  broker.tell(initProducerId, version, response, label, told(broker));
  return { transactionalId, producerId: response.producerId, producerEpoch: response.producerEpoch };
}

const utf8 = new TextDecoder();

/** Each batch of a partition from its start: what is in it, whose it is, and what a marker says. */
export async function tellLog(broker: Broker, topic: string, label = "", partition = 0): Promise<void> {
  const response = await broker.send(fetch, 11, fetching(topic, [{ partition, fetchOffset: 0n }]));
  const { records, highWatermark, lastStableOffset } = response!.responses[0].partitions[0];
  const batches = [...batchesIn(records!)].map((batch) => {
    const whose = batch.hasProducerId
      ? { id: named(broker, batch.producerIdBits), epoch: batch.producerEpoch, sequence: batch.baseSequence }
      : {};
    return { at: batch.baseOffset, ...whose, transactional: batch.isTransactional, holds: contents(batch) };
  });
  broker.note(`log ${label}`.trim(), { highWatermark, lastStableOffset, batches });
}

function contents(batch: BatchView): unknown {
  const values: string[] = [], cursor = batch.cursor(1_000_000);
  while (cursor.next()) {
    if (!batch.isControl) values.push(utf8.decode(cursor.value!));
    // A control record's key is a version and a type, the value of a marker a version and the coordinator's epoch.
    else {
      const [key, value] = [cursor.key!, cursor.value!].map((b) =>
        new DataView(b.buffer, b.byteOffset, b.length)
      );
      values.push(
        `${["abort", "commit"][key.getInt16(2)]} ${key.getInt16(0)} ${value.byteLength} ${value.getInt32(2)}`,
      );
    }
  }
  return values;
}

/** Writes down what DescribeProducers says of both or all partitions. */
export async function tellProducers(broker: Broker, topic: string, label = ""): Promise<void> {
  const request = { topics: [{ name: topic, partitionIndexes: [0] }] };
  await broker.ask(
    describeProducers,
    0,
    request,
    (r) =>
      r.topics[0].partitions[0].activeProducers.map((p) => ({
        id: named(broker, p.producerId),
        epoch: p.producerEpoch,
        lastSequence: p.lastSequence,
        last: p.lastTimestamp > 0n ? "<time>" : p.lastTimestamp,
        coordinatorEpoch: p.coordinatorEpoch,
        began: p.currentTxnStartOffset,
      })).sort((a, b) => a.id < b.id ? -1 : 1),
    label,
  );
}

/** Waits until the coordinator knows nothing of the transactional id. */
export async function forgotten(broker: Broker, { transactionalId }: Producer): Promise<void> {
  await eventually(
    `${transactionalId} is not forgotten`,
    async () =>
      (await described(broker, transactionalId)).errorCode === ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        ? true
        : null,
  );
}
