/** What a broker's own settings change for transactions. */
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { describeProducers } from "../../../src/codec/messages/describe_producers.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { createTopic, metadataOf } from "../setup/topics.ts";
import {
  add,
  appended,
  askEnd,
  askInit,
  end,
  type Producer,
  producing,
  tellLog,
  tellProducers,
  tellState,
  transactional,
  write,
} from "../setup/transactions.ts";

export const oracle: Oracle = {
  settings: {
    // Kafka looks for forgotten producers by the other interval, Trackway by this one.
    "log.retention.check.interval.ms": "100",
    "producer.id.expiration.check.interval.ms": "100",
    "producer.id.expiration.ms": "1000",
    "transaction.max.timeout.ms": "5000",
    "transaction.partition.verification.enable": "false",
    "transaction.state.log.num.partitions": "3",
  },
};

/** A producer whose transactions may not take longer than that. */
const short = (broker: Broker, text = "x") => transactional(broker, text, { transactionTimeoutMs: 5000 });

/** Waits until a partition has forgotten a producer. */
async function expired(broker: Broker, topic: string, { producerId }: Producer): Promise<void> {
  await eventually("the producer stays", async () => {
    const described = await broker.send(describeProducers, 0, {
      topics: [{ name: topic, partitionIndexes: [0] }],
    });
    return described!.topics[0].partitions[0].activeProducers.some((p) => p.producerId === producerId)
      ? null
      : true;
  });
}

export const scenarios = [
  scenario("transaction.max.timeout.ms bounds what a producer may ask for", async (broker) => {
    await short(broker);
    for (const transactionTimeoutMs of [5000, 5001]) {
      await askInit(
        broker,
        4,
        broker.name(`y${transactionTimeoutMs}`),
        { transactionTimeoutMs },
        `${transactionTimeoutMs} ms`,
      );
    }
  }),
  scenario("transaction.state.log.num.partitions is the number of its partitions", async (broker) => {
    await short(broker);
    await broker.ask(metadata, 12, metadataOf(["__transaction_state"]), (r) => r.topics[0].partitions.length);
  }),
  scenario(
    "Without verification partitions need not be added below version 12, and nobody ends them",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      const one = await short(broker);
      await broker.ask(produce, 11, producing(one, topic, ["a"]), appended, "not added");
      await tellState(broker, one);
      await tellProducers(broker, topic);
      await broker.ask(produce, 12, producing(one, topic, ["a"], 0, { index: 1 }), appended, "adds itself");
      await broker.ask(
        produce,
        11,
        producing(one, topic, ["b"], 0, { transactionalId: broker.name("y"), index: 1 }),
        appended,
        "of another id",
      );
      await tellState(broker, one);
      await askEnd(broker, 5, one, true);
      await tellLog(broker, topic);
      await broker.ask(produce, 11, producing(one, topic, ["b"], 1), appended, "goes on in the old epoch");
    },
  ),
  scenario(
    "A producer that is forgotten goes on where it was, or begins anew from version 12 on",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = await short(broker);
      await add(broker, one, [topic, 0]);
      await write(broker, one, topic, ["a"], 0, { version: 11 });
      await end(broker, one, true, 4);
      await expired(broker, topic, one);
      await broker.ask(produce, 12, producing(one, topic, ["b"], 1), appended, "goes on, version 12");
      await broker.ask(produce, 12, producing(one, topic, ["b"], 0), appended, "begins anew, version 12");
      await askEnd(broker, 5, one, true);
      const two = await short(broker, "y");
      await add(broker, two, [topic, 0]);
      await write(broker, two, topic, ["a"], 0, { version: 11 });
      await end(broker, two, true, 4);
      await expired(broker, topic, two);
      await add(broker, two, [topic, 0]);
      await broker.ask(produce, 11, producing(two, topic, ["b"], 1), appended, "goes on, version 11");
      await askEnd(broker, 4, two, true);
    },
  ),
  scenario("A producer with a transaction under way is not forgotten", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = await short(broker), two = await short(broker, "y");
    await write(broker, one, topic, ["a"]);
    await write(broker, two, topic, ["b"]);
    await end(broker, two, true);
    await expired(broker, topic, two);
    await tellProducers(broker, topic);
    await broker.ask(produce, 12, producing(one, topic, ["c"], 1), appended, "goes on");
    await askEnd(broker, 5, one, true);
  }),
];
