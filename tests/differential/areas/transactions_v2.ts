/** Transactions of version 2 (KIP-890): what writes adds itself, and every end gives the producer a new epoch. */
import { addOffsetsToTxn } from "../../../src/codec/messages/add_offsets_to_txn.ts";
import { addPartitionsToTxn } from "../../../src/codec/messages/add_partitions_to_txn.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import { scenario } from "../scenario.ts";
import { newGroup } from "../setup/groups.ts";
import { createTopic, ready } from "../setup/topics.ts";
import {
  add,
  added,
  adding,
  addingOffsets,
  appended,
  askEnd,
  code,
  committingOffset,
  end,
  ending,
  inEpoch,
  initialized,
  initializing,
  producing,
  renamed,
  stranger,
  tellState,
  told,
  transactional,
  write,
} from "../setup/transactions.ts";

export const scenarios = [
  scenario("Produce 12 and 13 add their partitions to the transaction", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 3);
    const topicId = await ready(broker, topic);
    const one = await transactional(broker);
    await broker.ask(produce, 12, producing(one, topic, ["a"]), appended);
    await tellState(broker, one);
    await broker.ask(produce, 13, producing(one, "", ["a"], 0, { topicId, index: 1 }), appended);
    await tellState(broker, one);
    await broker.ask(produce, 12, producing(one, topic, ["b"], 1), appended, "again");
    await broker.ask(produce, 11, producing(one, topic, ["b"], 0, { index: 2 }), appended, "another");
    await broker.ask(produce, 11, producing(one, topic, ["b"], 1, { index: 1 }), appended, "the same");
    const two = await askEnd(broker, 5, one, true);
    await tellState(broker, one);
    await broker.ask(produce, 12, producing(two, topic, ["c"]), appended, "the next");
    await askEnd(broker, 5, two, false);
    await tellState(broker, one);
  }),
  scenario("Produce 12 that is refused adds its partition or not", async (broker) => {
    const topic = await createTopic(broker, "t", { "max.message.bytes": "200" }, 2);
    const one = await transactional(broker);
    await broker.ask(produce, 12, producing(one, topic, ["x".repeat(500)]), appended, "too large");
    await tellState(broker, one);
    await broker.ask(produce, 12, producing(one, topic, ["a"], 5, { index: 1 }), appended, "begins with 5");
    await tellState(broker, one);
    await broker.ask(
      produce,
      12,
      producing(one, topic, ["a"], 0, { index: 7 }),
      appended,
      "missing partition",
    );
    await broker.ask(produce, 12, producing(one, broker.name("missing"), ["a"]), appended, "missing topic");
    await broker.ask(produce, 12, producing(one, "__consumer_offsets", ["a"]), appended, "internal topic");
    await tellState(broker, one);
    await askEnd(broker, 5, one, false);
  }),
  scenario("Produce 12 of producers that the coordinator does not know", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 8);
    const one = await transactional(broker);
    const two = await initialized(broker, one.transactionalId);
    await broker.askEach(produce, 12, {
      "no transactional id": producing(two, topic, ["a"], 0, { transactionalId: null, index: 0 }),
      "empty transactional id": producing(two, topic, ["a"], 0, { transactionalId: "", index: 1 }),
      "unknown transactional id": producing(two, topic, ["a"], 0, {
        transactionalId: broker.name("y"),
        index: 2,
      }),
      "another id": producing(stranger(two), topic, ["a"], 0, { index: 3 }),
      "older epoch": producing(one, topic, ["a"], 0, { index: 4 }),
      "newer epoch": producing(inEpoch(two, 2), topic, ["a"], 0, { index: 5 }),
      "not transactional": producing(two, topic, ["a"], 0, { index: 6, isTransactional: false }),
    }, appended);
    await tellState(broker, two);
  }),
  scenario("Produce 12 with the epoch before the end is fenced by the coordinator", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 3);
    const one = await transactional(broker);
    await write(broker, one, topic, ["a"]);
    const two = await end(broker, one, true);
    await broker.askEach(produce, [11, 12], {
      "the same partition": producing(one, topic, ["b"], 1),
      "the same batch": producing(one, topic, ["a"], 0),
      "another partition": producing(one, topic, ["b"], 0, { index: 1 }),
    }, appended);
    await broker.ask(produce, 12, producing(two, topic, ["c"], 1), appended, "next epoch, sequence goes on");
    await broker.ask(produce, 12, producing(two, topic, ["c"], 0), appended, "next epoch, sequence 0");
    await askEnd(broker, 5, two, true);
  }),
  scenario("A plain batch before, in and after transactions of version 2", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    const plain = { isTransactional: false };
    await broker.ask(
      produce,
      12,
      producing(one, topic, ["a"], 0, { ...plain, transactionalId: null }),
      appended,
      "before",
    );
    await broker.ask(produce, 12, producing(one, topic, ["b"], 1), appended, "in");
    await broker.ask(
      produce,
      12,
      producing(one, topic, ["c"], 2, { ...plain, transactionalId: null }),
      appended,
      "plain, in",
    );
    const two = await askEnd(broker, 5, one, true);
    await broker.ask(
      produce,
      12,
      producing(two, topic, ["d"], 0, { ...plain, transactionalId: null }),
      appended,
      "after",
    );
    await broker.ask(produce, 12, producing(two, topic, ["e"], 1), appended, "in the next");
    await askEnd(broker, 5, two, false);
  }),
  ...[true, false].map((committed) =>
    scenario(
      `EndTxn 5 ${committed ? "commits" : "aborts"}, bumps the epoch, and may be retried`,
      async (broker) => {
        const topic = await createTopic(broker, "t");
        const one = await transactional(broker);
        await write(broker, one, topic, ["a"]);
        const two = await askEnd(broker, 5, one, committed, "first");
        await tellState(broker, one);
        await askEnd(broker, 5, one, committed, "again");
        await askEnd(broker, 5, one, !committed, "the other way");
        await tellState(broker, one);
        await askEnd(broker, 4, one, committed, "again, as version 4");
        for (const epoch of [2, 3, -1]) {
          await askEnd(broker, 5, inEpoch(one, epoch), committed, `epoch ${epoch}`);
        }
        await askEnd(broker, 5, two, true, "commits the next, which is empty");
        await tellState(broker, one);
      },
    )
  ),
  scenario("EndTxn 5 aborts what has not begun, and gives a new epoch", async (broker) => {
    const one = await transactional(broker);
    await askEnd(broker, 5, one, true, "commit");
    const two = await askEnd(broker, 5, one, false, "abort");
    await tellState(broker, one);
    await askEnd(broker, 5, one, false, "abort again");
    await askEnd(broker, 5, one, true, "commit in the old epoch");
    await askEnd(broker, 5, two, true, "commit in the new epoch");
    const three = await askEnd(broker, 5, two, false, "abort in the new epoch");
    await tellState(broker, one);
    await askEnd(broker, 4, three, false, "abort as version 4");
    await askEnd(broker, 4, three, true, "commit as version 4");
    await tellState(broker, one);
  }),
  ...[true, false].map((committed) =>
    scenario(
      `EndTxn 5 aborts nothing after a transaction that was ${committed ? "committed" : "aborted"}`,
      async (broker) => {
        const topic = await createTopic(broker, "t");
        const one = await transactional(broker);
        await write(broker, one, topic, ["a"]);
        const two = await end(broker, one, committed);
        const three = await askEnd(broker, 5, two, false, "aborts nothing");
        await tellState(broker, one);
        await askEnd(broker, 5, two, false, "again");
        await askEnd(broker, 5, one, committed, "the end before");
        await askEnd(broker, 5, three, true, "commits nothing");
        await broker.ask(produce, 12, producing(three, topic, ["b"]), appended, "goes on");
        await askEnd(broker, 5, three, true);
      },
    )
  ),
  scenario("EndTxn 5 of a transaction without data, with partitions", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const committed of [true, false]) {
      const one = await transactional(broker, `${committed}`);
      await add(broker, one, [topic, 0, 1]);
      await askEnd(broker, 5, one, committed);
      await tellState(broker, one);
    }
  }),
  scenario("EndTxn 5 refuses producers that the coordinator does not know", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    const two = await initialized(broker, one.transactionalId);
    const ask = async (committed: boolean) => {
      await broker.askEach(endTxn, 5, {
        "unknown transactional id": ending(renamed(two, broker.name("y")), committed),
        "empty transactional id": ending(renamed(two, ""), committed),
        "another id": ending(stranger(two), committed),
        "older epoch": ending(one, committed),
        "newer epoch": ending(inEpoch(two, 2), committed),
        "two epochs ahead": ending(inEpoch(two, 3), committed),
        "no epoch": ending(inEpoch(two, -1), committed),
      }, told(broker));
    };
    await ask(true);
    await ask(false);
    broker.note("it begins", "");
    await write(broker, two, topic, ["a"]);
    await ask(true);
    await ask(false);
    await tellState(broker, two);
    const three = await askEnd(broker, 5, two, true);
    broker.note("it ended", "");
    await broker.ask(endTxn, 5, ending(stranger(three)), told(broker), "another id");
    await broker.ask(endTxn, 5, ending(one), told(broker), "two epochs ago");
    await broker.ask(endTxn, 5, ending(one, false), told(broker), "two epochs ago, abort");
  }),
  scenario("Versions 4 and 5 of EndTxn take turns", async (broker) => {
    const topic = await createTopic(broker, "t");
    let producer = await transactional(broker);
    for (
      const [version, committed] of [[4, true], [5, true], [4, false], [5, false], [5, true], [
        4,
        true,
      ]] as const
    ) {
      await add(broker, producer, [topic, 0]);
      producer = await askEnd(broker, version, producer, committed, committed ? "commit" : "abort");
      await tellState(broker, producer);
    }
  }),
  scenario("EndTxn 5 retried as version 4, and EndTxn 4 retried as version 5", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const committed of [true, false]) {
      const one = await transactional(broker, `x${committed}`);
      await add(broker, one, [topic, 0]);
      await askEnd(broker, 4, one, committed, "4");
      await askEnd(broker, 5, one, committed, "5 again");
      await tellState(broker, one);
      const two = await transactional(broker, `y${committed}`);
      await add(broker, two, [topic, 0]);
      const after = await askEnd(broker, 5, two, committed, "5");
      await askEnd(broker, 4, two, committed, "4 again");
      await askEnd(broker, 4, after, committed, "4 in the new epoch");
      await tellState(broker, two);
    }
  }),
  scenario("The epoch before is fenced in every call after an end", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const one = await transactional(broker);
    await write(broker, one, topic, ["a"]);
    const two = await end(broker, one, true);
    await broker.ask(addPartitionsToTxn, 3, adding(one, [topic, 0]), added);
    await broker.ask(addPartitionsToTxn, 1, adding(one, [topic, 0]), added);
    await broker.askEach(addOffsetsToTxn, [1, 3], { "the epoch before": addingOffsets(one, group) }, code);
    await broker.askEach(txnOffsetCommit, [2, 3, 4, 5], {
      "the epoch before": committingOffset(one, group, topic),
    });
    await broker.ask(
      initProducerId,
      4,
      initializing(one.transactionalId, { producerId: one.producerId, producerEpoch: one.producerEpoch }),
      told(broker),
      "the epoch before",
    );
    await tellState(broker, two);
  }),
];
