/** EndTxn of version 1 of transactions: ends may be retried, do not turn round, and keep the epoch. */
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { eventually, scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import {
  add,
  added,
  adding,
  addingOffsets,
  appended,
  askEnd,
  code,
  ending,
  inEpoch,
  initialized,
  producing,
  renamed,
  settled,
  stranger,
  tellState,
  told,
  transactional,
  write,
} from "../setup/transactions.ts";
import { createTopic, metadataOf } from "../setup/topics.ts";

export const scenarios = [
  scenario("EndTxn of a transaction that has not begun", async (broker) => {
    const one = await transactional(broker);
    for (const committed of [true, false]) {
      await broker.askEach(endTxn, [0, 1, 2, 3, 4], {
        [committed ? "commit" : "abort"]: ending(one, committed),
      }, code);
    }
    await tellState(broker, one);
  }),
  ...[true, false].map((committed) =>
    scenario(
      `EndTxn ${committed ? "commits" : "aborts"}, may be retried, and does not turn round`,
      async (broker) => {
        const topic = await createTopic(broker, "t");
        for (const version of [0, 1, 2, 3, 4]) {
          const one = await transactional(broker, `x${version}`);
          await add(broker, one, [topic, 0]);
          await write(broker, one, topic, ["a"], 0, { version: 11 });
          await askEnd(broker, version, one, committed, "first");
          await tellState(broker, one);
          await askEnd(broker, version, one, committed, "again");
          await askEnd(broker, version, one, !committed, "the other way");
          await askEnd(broker, version, inEpoch(one, 1), committed, "again, an epoch later");
          await tellState(broker, one);
          await add(broker, one, [topic, 0]);
          await tellState(broker, one, "the next one");
          await askEnd(broker, version, one, !committed, "the next one");
        }
      },
    )
  ),
  scenario("EndTxn of a transaction with partitions and no data", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const committed of [true, false]) {
      const one = await transactional(broker, `${committed}`);
      await add(broker, one, [topic, 0, 1]);
      await askEnd(broker, 4, one, committed);
      await tellState(broker, one);
    }
  }),
  scenario("EndTxn refuses producers that the coordinator does not know", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    const two = await initialized(broker, one.transactionalId);
    const requests = (committed: boolean) => ({
      "unknown transactional id": ending(renamed(two, broker.name("y")), committed),
      "empty transactional id": ending(renamed(two, ""), committed),
      "another id": ending(stranger(two), committed),
      "no id": ending({ ...two, producerId: -1n }, committed),
      "older epoch": ending(one, committed),
      "newer epoch": ending(inEpoch(two, 2), committed),
      "two epochs ahead": ending(inEpoch(two, 3), committed),
      "no epoch": ending(inEpoch(two, -1), committed),
    });
    await broker.askEach(endTxn, [0, 1, 2, 4], requests(true), code);
    broker.note("it begins", "");
    await add(broker, two, [topic, 0]);
    await broker.askEach(endTxn, [1, 4], requests(true), code);
    await broker.askEach(endTxn, [1, 4], requests(false), code);
    await tellState(broker, two);
    await askEnd(broker, 4, two, true);
    broker.note("it ended", "");
    await broker.askEach(endTxn, [1, 4], requests(true), code);
  }),
  scenario("A transaction whose topic is deleted ends all the same", async (broker) => {
    const topic = await createTopic(broker, "t"), gone = await createTopic(broker, "gone");
    const one = await transactional(broker);
    await add(broker, one, [topic, 0], [gone, 0]);
    await write(broker, one, topic, ["a"], 0, { version: 11 });
    await write(broker, one, gone, ["a"], 0, { version: 11 });
    await broker.send(deleteTopics, 4, { topics: [], topicNames: [gone], timeoutMs: 5000 });
    await eventually("the topic stays", async () => {
      const known = await broker.send(metadata, 12, metadataOf([gone]));
      return known!.topics[0].errorCode !== 0 ? true : null;
    });
    await tellState(broker, one);
    await askEnd(broker, 4, one, true);
    await tellState(broker, one);
  }),
  scenario("The old producer may only be told that it is fenced, in every call", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const one = await transactional(broker);
    await add(broker, one, [topic, 0]);
    await write(broker, one, topic, ["a"], 0, { version: 11 });
    const two = await initialized(broker, one.transactionalId);
    await settled(broker, two);
    await broker.ask(produce, 11, producing(one, topic, ["b"], 1), appended);
    await broker.ask(addPartitionsToTxn, 3, adding(one, [topic, 0]), added);
    await broker.ask(addOffsetsToTxn, 3, addingOffsets(one, group), code);
    await broker.ask(endTxn, 4, ending(one), told(broker));
  }),
];
