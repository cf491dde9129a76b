/** Transactions that are open for longer than they may be: what the coordinator does, and what their producer then hears. */
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  added,
  adding,
  addingOffsets,
  addOffsets,
  appended,
  askEnd,
  askInit,
  code,
  committingOffset,
  ending,
  inEpoch,
  inState,
  type Producer,
  producing,
  settled,
  stageOffset,
  tellLog,
  tellProducers,
  tellState,
  told,
  transactional,
  V1,
  write,
} from "../setup/transactions.ts";

/** Kafka looks for them every ten seconds otherwise. */
export const oracle: Oracle = {
  settings: { "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100" },
};

const SHORT_MS = 1000;

/** A transaction that its coordinator has aborted, and its topic. */
async function timedOut(broker: Broker, protocol: string): Promise<{ topic: string; one: Producer }> {
  const topic = await createTopic(broker, "t");
  const one = await transactional(broker, "x", { transactionTimeoutMs: SHORT_MS });
  if (protocol === "v1") await add(broker, one, [topic, 0]);
  await write(broker, one, topic, ["a"], 0, { version: protocol === "v1" ? V1.produce : undefined });
  await inState(broker, one, "CompleteAbort");
  return { topic, one };
}

const own = ({ producerId, producerEpoch }: Producer) => ({ producerId, producerEpoch });

export const scenarios = [
  ...["v1", "v2"].flatMap((protocol) => [
    scenario(
      `A transaction of protocol ${protocol} that takes too long is aborted in the next epoch`,
      async (broker) => {
        const { topic, one } = await timedOut(broker, protocol);
        await tellState(broker, one);
        await tellProducers(broker, topic);
        await tellLog(broker, topic);
        await broker.askEach(produce, [3, 11, 12], { "goes on": producing(one, topic, ["b"], 1) }, appended);
        await broker.askEach(addPartitionsToTxn, [1, 3], { "goes on": adding(one, [topic, 0]) }, added);
        await broker.askEach(addOffsetsToTxn, [1, 3], {
          "goes on": addingOffsets(one, await newGroup(broker)),
        }, code);
        await broker.askEach(txnOffsetCommit, [3, 5], {
          "goes on": committingOffset(one, await newGroup(broker), topic),
        });
        await tellState(broker, one, "after");
      },
    ),
    ...([[1, true], [1, false], [4, true], [4, false], [5, true], [5, false]] as const).map((
      [version, committed],
    ) =>
      scenario(
        `EndTxn ${version} that ${
          committed ? "commits" : "aborts"
        } what was aborted for its time, of protocol ${protocol}`,
        async (broker) => {
          const { topic, one } = await timedOut(broker, protocol);
          await broker.ask(endTxn, version, ending(one, committed), version < 5 ? code : told(broker));
          await tellState(broker, one);
          await broker.ask(
            endTxn,
            version,
            ending(inEpoch(one, 1), committed),
            version < 5 ? code : told(broker),
            "the epoch of the abort",
          );
          await settled(broker, one);
          await tellState(broker, one);
          await broker.ask(
            produce,
            12,
            producing(inEpoch(one, 1), topic, ["b"]),
            appended,
            "the epoch of the abort",
          );
        },
      )
    ),
    ...[3, 4].map((version) =>
      scenario(
        `InitProducerId ${version} after an abort for time, of protocol ${protocol}`,
        async (broker) => {
          const { topic, one } = await timedOut(broker, protocol);
          const two = await askInit(broker, version, one.transactionalId, own(one), "with the id");
          await askInit(broker, version, one.transactionalId, own(one), "again");
          await tellState(broker, one);
          await broker.ask(produce, 12, producing(two, topic, ["b"]), appended, "goes on");
        },
      )
    ),
    scenario(
      `InitProducerId without an id after an abort for time, of protocol ${protocol}`,
      async (broker) => {
        const { topic, one } = await timedOut(broker, protocol);
        const two = await askInit(broker, 4, one.transactionalId, {}, "without the id");
        await tellState(broker, one);
        await broker.ask(produce, 12, producing(two, topic, ["b"]), appended, "goes on");
        await askEnd(broker, 5, two, true);
        await tellLog(broker, topic);
      },
    ),
  ]),
  scenario("A transaction that takes too long is aborted without data too", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker, "x", { transactionTimeoutMs: SHORT_MS });
    await add(broker, one, [topic, 0]);
    await inState(broker, one, "CompleteAbort");
    await tellState(broker, one);
    await tellLog(broker, topic);
    const none = await transactional(broker, "y", { transactionTimeoutMs: SHORT_MS });
    await broker.send(addPartitionsToTxn, 3, adding(none));
    await inState(broker, none, "CompleteAbort");
    await tellState(broker, none, "without partitions");
  }),
  scenario("Offsets of a transaction that takes too long are gone", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const one = await transactional(broker, "x", { transactionTimeoutMs: SHORT_MS });
    await addOffsets(broker, one, group);
    await stageOffset(broker, one, group, topic);
    await inState(broker, one, "CompleteAbort");
    const topics = [{ name: topic, partitionIndexes: [0] }];
    await broker.ask(offsetFetch, 7, { groupId: group, topics, groups: [], requireStable: true });
    await tellState(broker, one);
  }),
  scenario("A producer without a transaction has no time", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker, "x", { transactionTimeoutMs: SHORT_MS });
    const other = await transactional(broker, "y", { transactionTimeoutMs: 2 * SHORT_MS });
    await add(broker, other, [topic, 0]);
    await inState(broker, other, "CompleteAbort");
    await tellState(broker, one);
  }),
];
