/** WriteTxnMarkers by an administrator beyond what write_txn_markers.ts has: what producer and coordinator make of it. */
import { produce } from "../../../src/codec/messages/produce.ts";
import { writeTxnMarkers } from "../../../src/codec/messages/write_txn_markers.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { type Broker, scenario } from "../scenario.ts";
import { newProducer } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  appended,
  askEnd,
  inEpoch,
  named,
  type Producer,
  producing,
  renamed,
  tellLog,
  tellProducers,
  tellState,
  transactional,
  write,
} from "../setup/transactions.ts";

type Marker = EncodableRequestOf<typeof writeTxnMarkers>["markers"][number];

/** A marker for one partition of one topic. */
function marker(
  { producerId, producerEpoch }: Producer,
  transactionResult: boolean,
  name: string,
  more: Partial<Marker> & { partition?: number } = {},
): Marker {
  const { partition = 0, ...rest } = more;
  return {
    producerId,
    producerEpoch,
    transactionResult,
    topics: [{ name, partitionIndexes: [partition] }],
    coordinatorEpoch: 0,
    ...rest,
  };
}

/** Asks for markers and writes down what each partition got. */
function mark(broker: Broker, version: number, label: string, ...markers: Marker[]) {
  return broker.ask(writeTxnMarkers, version, { markers }, (r) =>
    r.markers.map((m) => ({
      id: named(broker, m.producerId),
      topics: m.topics.map(({ name, partitions }) => ({
        name,
        // A group's partition goes by its name, which is another one each time.
        partitions: name === "__consumer_offsets"
          ? partitions.map(({ errorCode }) => ({ errorCode }))
          : partitions,
      }))
        .sort((a, b) => a.name < b.name ? -1 : 1),
    })).sort((a, b) => a.id < b.id ? -1 : 1), label);
}

export const scenarios = [
  ...[1, 2].flatMap((version) =>
    [true, false].map((commits) =>
      scenario(
        `WriteTxnMarkers ${version} ${commits ? "commits" : "aborts"} what is open in a partition`,
        async (broker) => {
          const topic = await createTopic(broker, "t");
          const one = await transactional(broker);
          await write(broker, one, topic, ["a"]);
          await mark(broker, version, "", marker(one, commits, topic));
          await tellProducers(broker, topic);
          await tellState(broker, one);
          await broker.ask(produce, 12, producing(one, topic, ["b"], 1), appended, "goes on");
          await tellProducers(broker, topic);
          await askEnd(broker, 5, one, true);
          await tellLog(broker, topic);
        },
      )
    )
  ),
  scenario(
    "WriteTxnMarkers 2 by the version of the transaction holds the epoch against the producer's",
    async (broker) => {
      for (const transactionVersion of [0, 1, 2, 3]) {
        const topic = await createTopic(broker, `t${transactionVersion}`);
        const one = await transactional(broker, `x${transactionVersion}`);
        for (const epoch of [0, 1]) {
          const producer = inEpoch(one, epoch);
          await write(broker, one, topic, ["a"], epoch === 0 ? 0 : 1).catch((error) =>
            broker.note("cannot write", String(error.message).slice(0, 17))
          );
          await mark(
            broker,
            2,
            `version ${transactionVersion}, epoch ${epoch}`,
            marker(producer, true, topic, { transactionVersion }),
          );
        }
        await tellLog(broker, topic);
      }
    },
  ),
  scenario("WriteTxnMarkers with older and newer epochs of the producer", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = BigInt(await newProducer(broker));
    const one = await transactional(broker);
    const owner = { ...one, producerId };
    named(broker, producerId);
    await mark(broker, 1, "nobody's", marker(inEpoch(owner, 0), true, topic));
    await mark(broker, 1, "epoch 5", marker(inEpoch(owner, 5), false, topic));
    await mark(broker, 1, "epoch 4", marker(inEpoch(owner, 4), false, topic));
    await mark(broker, 1, "epoch 5 again", marker(inEpoch(owner, 5), true, topic));
    await tellProducers(broker, topic);
    await write(broker, one, topic, ["a"]);
    await mark(broker, 1, "a newer epoch ends what is open", marker(inEpoch(one, 3), false, topic));
    await tellProducers(broker, topic);
    await broker.ask(produce, 11, producing(one, topic, ["b"], 1), appended, "the old epoch");
    await tellLog(broker, topic);
  }),
  scenario(
    "WriteTxnMarkers of a producer that has nothing open, and of one that was added",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = await transactional(broker);
      await add(broker, one, [topic, 0]);
      await mark(broker, 1, "added", marker(one, false, topic));
      await tellProducers(broker, topic);
      await broker.ask(produce, 11, producing(one, topic, ["a"]), appended, "writes after the marker");
      await askEnd(broker, 4, one, true);
      await tellLog(broker, topic);
    },
  ),
  scenario("WriteTxnMarkers of a producer, an epoch and a version that cannot be", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await transactional(broker);
    await write(broker, one, topic, ["a"]);
    await mark(broker, 1, "producer -1", marker({ ...one, producerId: -1n }, true, topic));
    await mark(broker, 1, "epoch -1", marker(inEpoch(one, -1), true, topic));
    await mark(broker, 2, "version -1", marker(one, true, topic, { transactionVersion: -1 }));
    await tellLog(broker, topic);
  }),
  scenario(
    "Produce in an epoch before the log's, which a marker has raised, and what the coordinator says",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = await transactional(broker);
      await mark(broker, 1, "", marker(inEpoch(one, 5), false, topic));
      for (const epoch of [4, 5, 6]) {
        await broker.askEach(produce, [9, 11, 12], {
          [`epoch ${epoch}, of another transactional id`]: producing(
            renamed(inEpoch(one, epoch), broker.name("y")),
            topic,
            ["a"],
          ),
          [`epoch ${epoch}`]: producing(inEpoch(one, epoch), topic, ["a"]),
        }, appended);
      }
      await broker.askEach(produce, [11, 12], { "epoch 0": producing(one, topic, ["a"]) }, appended);
    },
  ),
];
