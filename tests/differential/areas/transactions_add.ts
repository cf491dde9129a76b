/** AddPartitionsToTxn and AddOffsetsToTxn: what a transaction takes, and of whom. */
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import {
  add,
  added,
  addedTo,
  adding,
  addingOffsets,
  askEnd,
  code,
  inEpoch,
  initialized,
  type Producer,
  renamed,
  stranger,
  tellState,
  transactional,
} from "../setup/transactions.ts";
import { createTopic } from "../setup/topics.ts";

/** A request of AddPartitionsToTxn from version 4 on. */
function addingTo(
  ...transactions: [producer: Producer, verifyOnly: boolean, ...topics: [string, ...number[]][]][]
) {
  return {
    v3AndBelowTransactionalId: "",
    v3AndBelowProducerId: 0n,
    v3AndBelowProducerEpoch: 0,
    v3AndBelowTopics: [],
    transactions: transactions.map(([producer, verifyOnly, ...topics]) => ({
      ...producer,
      verifyOnly,
      topics: topics.map(([name, ...partitions]) => ({ name, partitions })),
    })),
  };
}

export const scenarios = [
  scenario("AddPartitionsToTxn adds partitions, also again, in every version", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 3);
    const one = await transactional(broker);
    await tellState(broker, one, "before");
    for (const version of [0, 1, 2, 3]) {
      await broker.ask(addPartitionsToTxn, version, adding(one, [topic, 0]), added, "one");
      await tellState(broker, one);
      await broker.ask(addPartitionsToTxn, version, adding(one, [topic, 2, 0]), added, "two");
      await tellState(broker, one);
    }
    await askEnd(broker, 4, one, true);
    await tellState(broker, one, "after");
  }),
  scenario("AddPartitionsToTxn of some that exist and some that do not adds none", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    for (const version of [0, 3]) {
      const ask = (label: string, ...topics: [string, ...number[]][]) =>
        broker.ask(addPartitionsToTxn, version, adding(one, ...topics), added, label);
      await ask("missing partition", [topic, 0, 7]);
      await ask("negative partition", [topic, 0, -1]);
      await ask("missing topic", [broker.name("missing"), 0], [topic, 0]);
      await ask("bad name", ["a b", 0], [topic, 0]);
      await ask("no name", ["", 0], [topic, 0]);
      await ask("the offsets", ["__consumer_offsets", 0], [topic, 1]);
      await ask("the transactions", ["__transaction_state", 0], [topic, 1]);
      await ask("twice", [topic, 1, 1]);
      await ask("the topic twice", [topic, 0], [topic, 1]);
      await tellState(broker, one);
    }
  }),
  scenario("AddPartitionsToTxn of nothing", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    await broker.ask(addPartitionsToTxn, 3, adding(one), added, "nothing");
    await broker.ask(addPartitionsToTxn, 3, adding(one, [topic]), added, "no partitions");
    await tellState(broker, one);
    await broker.ask(
      addPartitionsToTxn,
      3,
      adding(renamed(one, broker.name("y"))),
      added,
      "nothing, unknown",
    );
  }),
  scenario("AddPartitionsToTxn of producers that the coordinator does not know", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    const two = await initialized(broker, one.transactionalId);
    await broker.askEach(addPartitionsToTxn, [0, 1, 2, 3], {
      "unknown transactional id": adding(renamed(two, broker.name("y")), [topic, 0]),
      "empty transactional id": adding(renamed(two, ""), [topic, 0]),
      "another id": adding(stranger(two), [topic, 0]),
      "no id": adding({ ...two, producerId: -1n }, [topic, 0]),
      "older epoch": adding(one, [topic, 0]),
      "newer epoch": adding(inEpoch(two, 2), [topic, 0]),
      "no epoch": adding(inEpoch(two, -1), [topic, 0]),
      "older epoch, missing topic": adding(one, [broker.name("missing"), 0]),
      "another id and an older epoch": adding(stranger(one), [topic, 0]),
    }, added);
    await tellState(broker, two);
  }),
  scenario(
    "AddPartitionsToTxn of a transaction that has begun holds the producer against it too",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      const one = await transactional(broker);
      const two = await initialized(broker, one.transactionalId);
      await add(broker, two, [topic, 0]);
      await broker.askEach(addPartitionsToTxn, [1, 3], {
        "another id": adding(stranger(two), [topic, 1]),
        "older epoch": adding(one, [topic, 1]),
        "newer epoch": adding(inEpoch(two, 2), [topic, 1]),
        "older epoch, the same partition": adding(one, [topic, 0]),
      }, added);
      await tellState(broker, two);
      await askEnd(broker, 4, two, false);
    },
  ),
  ...[4, 5].map((version) =>
    scenario(`AddPartitionsToTxn ${version} is for brokers, and adds or verifies`, async (broker) => {
      const topic = await createTopic(broker, "t", {}, 3);
      const one = await transactional(broker, "x");
      const two = await transactional(broker, "y");
      const fenced = await transactional(broker, "z");
      await initialized(broker, fenced.transactionalId);
      const ask = (label: string, ...transactions: Parameters<typeof addingTo>) =>
        broker.ask(addPartitionsToTxn, version, addingTo(...transactions), addedTo, label);
      await ask("verify before", [one, true, [topic, 0]]);
      await ask("add", [one, false, [topic, 0]]);
      await ask("verify after", [one, true, [topic, 0]]);
      await ask("verify another", [one, true, [topic, 0, 1]]);
      await ask("verify missing topic", [one, true, [broker.name("missing"), 0], [topic, 0]]);
      await ask("verify by another id", [stranger(one), true, [topic, 0]]);
      await ask("verify by another epoch", [inEpoch(one, 1), true, [topic, 0]]);
      await ask("verify unknown", [renamed(one, broker.name("none")), true, [topic, 0]]);
      await ask("verify empty id", [renamed(one, ""), true, [topic, 0]]);
      await ask("verify older epoch", [fenced, true, [topic, 0]]);
      await ask("add older epoch", [fenced, false, [topic, 0]]);
      await ask("add missing topic", [one, false, [broker.name("missing"), 0], [topic, 1]]);
      await ask("add the offsets", [one, false, ["__consumer_offsets", 0]]);
      await ask("several", [one, false, [topic, 1]], [two, true, [topic, 0]], [fenced, false, [topic, 0]]);
      await ask("no topics", [two, false], [one, true]);
      await tellState(broker, one);
      await tellState(broker, two);
    })
  ),
  scenario("AddOffsetsToTxn adds the partition of the group's offsets, in every version", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [0, 1, 2, 3, 4]) {
      const one = await transactional(broker, `x${version}`);
      await broker.ask(addOffsetsToTxn, version, addingOffsets(one, group), code, "first");
      await broker.ask(addOffsetsToTxn, version, addingOffsets(one, group), code, "again");
      await askEnd(broker, 4, one, true);
    }
  }),
  scenario(
    "AddOffsetsToTxn refuses producers as AddPartitionsToTxn does, and takes any group",
    async (broker) => {
      const group = await newGroup(broker);
      const one = await transactional(broker);
      const two = await initialized(broker, one.transactionalId);
      await broker.askEach(addOffsetsToTxn, [0, 1, 2, 3, 4], {
        "unknown transactional id": addingOffsets(renamed(two, broker.name("y")), group),
        "empty transactional id": addingOffsets(renamed(two, ""), group),
        "another id": addingOffsets(stranger(two), group),
        "older epoch": addingOffsets(one, group),
        "newer epoch": addingOffsets(inEpoch(two, 2), group),
        "no id": addingOffsets({ ...two, producerId: -1n }, group),
      }, code);
      await tellState(broker, two);
      await broker.ask(addOffsetsToTxn, 3, addingOffsets(two, ""), code, "empty group");
      await broker.ask(addOffsetsToTxn, 3, addingOffsets(two, broker.name("none")), code, "unknown group");
      await askEnd(broker, 4, two, true);
    },
  ),
];
