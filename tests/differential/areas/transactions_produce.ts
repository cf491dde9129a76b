/**
 * Produce of transactional batches before version 12: to what was added, by whom it was added, in order. Kafka asks the
 * coordinator for several clients at once and goes by the version of the first: record the refusals alone (`--only`).
 */
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { eventually, scenario } from "../scenario.ts";
import { fetching } from "../setup/records.ts";
import {
  add,
  appended,
  askEnd,
  inEpoch,
  initialized,
  type Producer,
  producing,
  stranger,
  transactional,
  write,
} from "../setup/transactions.ts";
import { createTopic, ready } from "../setup/topics.ts";

export const scenarios = [
  scenario("Produce of transactional batches to a partition that was not added", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    for (const version of [3, 4, 5, 6, 7, 8, 9, 10, 11]) {
      await broker.ask(produce, version, producing(one, topic, ["a"]), appended, "before it begins");
    }
    await add(broker, one, [topic, 0]);
    for (const version of [3, 7, 8, 9, 10, 11]) {
      await broker.ask(
        produce,
        version,
        producing(one, topic, ["a"], 0, { index: 1 }),
        appended,
        "another partition",
      );
    }
    await broker.ask(produce, 11, producing(one, topic, ["a"]), appended, "the partition");
    await askEnd(broker, 4, one, true);
    await broker.ask(produce, 11, producing(one, topic, ["b"], 1), appended, "after it ended");
    await broker.ask(
      produce,
      11,
      producing(one, topic, ["a"], 0),
      appended,
      "the batch again, after it ended",
    );
  }),
  scenario("Produce of transactional batches in every version, in a transaction", async (broker) => {
    const topic = await createTopic(broker, "t");
    const topicId = await ready(broker, topic);
    const one = await transactional(broker);
    await add(broker, one, [topic, 0]);
    let sequence = 0;
    for (const version of [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      await broker.ask(produce, version, producing(one, topic, ["a"], sequence++), appended);
    }
    await broker.ask(produce, 13, producing(one, "", ["a"], sequence++, { topicId }), appended);
    await askEnd(broker, 4, one, true);
  }),
  scenario("Produce holds the batch's producer against the transaction and the log", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    const two = await initialized(broker, one.transactionalId);
    await add(broker, two, [topic, 0]);
    const cases = {
      "no transactional id": producing(two, topic, ["a"], 0, { transactionalId: null }),
      "empty transactional id": producing(two, topic, ["a"], 0, { transactionalId: "" }),
      "unknown transactional id": producing(two, topic, ["a"], 0, { transactionalId: broker.name("y") }),
      "another id": producing(stranger(two), topic, ["a"]),
      "older epoch": producing(one, topic, ["a"]),
      "newer epoch": producing(inEpoch(two, 2), topic, ["a"]),
    };
    await broker.askEach(produce, [3, 9, 11], cases, appended);
    broker.note("after a first batch", "");
    await write(broker, two, topic, ["a"], 0, { version: 11 });
    await broker.askEach(produce, [3, 9, 11], cases, appended);
    await askEnd(broker, 4, two, true);
  }),
  scenario(
    "Sequences of a producer go on over its transactions, of one epoch and of the next",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = await transactional(broker);
      await add(broker, one, [topic, 0]);
      const ask = (
        label: string,
        producer: Producer,
        value: string,
        sequence: number,
        isTransactional = true,
      ) =>
        broker.ask(
          produce,
          11,
          producing(producer, topic, [value], sequence, { isTransactional }),
          appended,
          label,
        );
      await ask("the first", one, "a", 0);
      await ask("a gap", one, "b", 5);
      await ask("a repetition", one, "a", 0);
      await ask("the next", one, "b", 1);
      await ask("not transactional, within", one, "c", 2, false);
      await askEnd(broker, 4, one, true);
      await ask("not transactional, after", one, "c", 2, false);
      await ask("not transactional, goes on", one, "d", 3, false);
      await add(broker, one, [topic, 0]);
      await ask("a gap in the second", one, "e", 9);
      await ask("a repetition from the first", one, "b", 1);
      await ask("goes on", one, "e", 4);
      await askEnd(broker, 4, one, false);
      const two = await initialized(broker, one.transactionalId);
      await add(broker, two, [topic, 0]);
      await ask("goes on in the next epoch", two, "f", 5);
      await ask("begins anew in the next epoch", two, "f", 0);
      await askEnd(broker, 4, two, true);
    },
  ),
  scenario(
    "Produce of several transactional batches in a request, of which some are refused",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 3);
      const one = await transactional(broker), two = await transactional(broker, "y");
      await add(broker, one, [topic, 0]);
      const of = (producer: Producer, index: number) =>
        producing(producer, topic, ["a"], 0, { index }).topicData[0].partitionData[0];
      const ask = (
        label: string,
        transactionalId: string | null,
        version: number,
        ...partitionData: ReturnType<typeof of>[]
      ) =>
        broker.ask(produce, version, {
          ...producing(one, topic, ["a"]),
          transactionalId,
          topicData: [{ ...producing(one, topic, ["a"]).topicData[0], partitionData }],
        }, (r) =>
          r.responses[0]?.partitionResponses.map(({ index, errorCode, baseOffset }) => ({
            index,
            errorCode,
            baseOffset,
          })).sort((a, b) => a.index - b.index), label);
      await ask("one of two added", one.transactionalId, 11, of(one, 0), of(one, 1));
      await ask("two producers", one.transactionalId, 11, of(two, 0), of(one, 1));
      const plain =
        producing(one, topic, ["a"], 0, { index: 2, isTransactional: false }).topicData[0].partitionData[0];
      await ask("one not transactional", one.transactionalId, 11, of(two, 1), plain);
      await askEnd(broker, 4, one, true);
    },
  ),
  scenario("Produce of transactional batches that nobody waits for, or the leader alone", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    await add(broker, one, [topic, 0]);
    const ask = (label: string, acks: number, version: number, index: number, sequence: number) =>
      broker.ask(
        produce,
        version,
        { ...producing(one, topic, ["a"], sequence, { index }), acks },
        appended,
        label,
      );
    await ask("leader alone", 1, 11, 0, 0);
    await ask("leader alone, adds itself", 1, 12, 1, 0);
    await ask("leader alone, a gap", 1, 12, 1, 7);
    await ask("no such acks", 2, 12, 1, 1);
    // Nothing is answered, unless something is wrong with it: then the connection ends.
    const client = await broker.client();
    await client.sendOnly(produce, 12, { ...producing(one, topic, ["b"], 1, { index: 1 }), acks: 0 });
    await eventually("nothing is written", async () => {
      const read = await broker.send(
        fetch,
        11,
        fetching(topic, [{ partition: 1, fetchOffset: 1n }], { maxWaitMs: 0 }),
      );
      return read!.responses[0].partitions[0].highWatermark === 2n ? true : null;
    });
    await client.sendOnly(produce, 11, { ...producing(one, topic, ["b"], 9, { index: 1 }), acks: 0 });
    await client.closed;
    broker.note("a gap that nobody waits for", "the connection ends");
    await askEnd(broker.another(), 5, one, true);
  }),
];
