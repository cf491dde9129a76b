/** Produce: what is refused and how, in the versions where the answer changes. */
import { produce } from "../../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, newProducer, produceTo } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

/** Asks for a batch to be appended and writes the answer down. */
async function append(broker: Broker, topic: string, records: Uint8Array | null, version = 12, more = {}) {
  return await broker.ask(produce, version, produceTo(topic, records, more));
}

/** `bytes` with one byte changed at `at`. */
function damaged(bytes: Uint8Array, at: number, value?: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = value ?? copy[at] ^ 0xff;
  return copy;
}

export const scenarios = [
  scenario("Produce gives each batch the next offset, in every version with batches", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const version of [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      await append(broker, topic, batchOf(["a", "b"]), version);
    }
  }),
  scenario("Produce refuses acks outside of -1, 0 and 1", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const acks of [2, -2]) await append(broker, topic, batchOf(["a"]), 9, { acks });
    await append(broker, topic, batchOf(["a"]), 9, { acks: 1 });
  }),
  scenario("Produce to what does not exist", async (broker) => {
    const topic = await createTopic(broker, "t");
    await append(broker, broker.name("missing"), batchOf(["a"]), 9);
    await append(broker, topic, batchOf(["a"]), 9, { index: 7 });
    await append(broker, topic, batchOf(["a"]), 9, { index: -1 });
    await broker.ask(produce, 13, produceTo("", batchOf(["a"]), { topicId: "AAAAAAAAAAAAAAAAAAAABA" }));
    await broker.ask(produce, 13, produceTo("", batchOf(["a"]), { topicId: ZERO_UUID }));
  }),
  scenario("Produce refuses damaged batches as corrupt", async (broker) => {
    const topic = await createTopic(broker, "t");
    const good = batchOf(["a", "b"]);
    await append(broker, topic, damaged(good, good.length - 1));
    await append(broker, topic, damaged(good, 17));
    await append(broker, topic, good.subarray(0, good.length - 1));
    await append(broker, topic, good.subarray(0, 30));
    await append(broker, topic, good.subarray(0, 61));
    await append(broker, topic, damaged(good, 11, 1));
    await append(broker, topic, good);
  }),
  scenario("Produce refuses no batch, two batches and other formats", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = batchOf(["a"]);
    const two = new Uint8Array(2 * one.length);
    two.set(one);
    two.set(one, one.length);
    await append(broker, topic, new Uint8Array(0));
    await append(broker, topic, two);
    await append(broker, topic, damaged(one, 16, 1));
    await append(broker, topic, damaged(one, 16, 0));
    await append(broker, topic, damaged(one, 16, 3));
  }),
  scenario("Produce takes a base offset other than 0 as the client's affair or not", async (broker) => {
    const topic = await createTopic(broker, "t");
    await append(broker, topic, batchOf(["a"], { baseOffset: 5 }));
    await append(broker, topic, batchOf(["a"], { baseOffset: 0 }));
  }),
  scenario("Produce with zstd needs version 7", async (broker) => {
    const topic = await createTopic(broker, "t");
    await append(broker, topic, batchOf(["a"], { compression: 4 }), 6);
    await append(broker, topic, batchOf(["a"], { compression: 4 }), 7);
  }),
  scenario("Produce refuses a batch above max.message.bytes", async (broker) => {
    const topic = await createTopic(broker, "t", { "max.message.bytes": "200" });
    await append(broker, topic, batchOf(["x".repeat(300)]));
    await append(broker, topic, batchOf(["x".repeat(300)]), 7);
    await append(broker, topic, batchOf(["x"]));
  }),
  scenario("Produce judges timestamps by the limits of the topic", async (broker) => {
    const topic = await createTopic(broker, "t", {
      "message.timestamp.before.max.ms": "10000",
      "message.timestamp.after.max.ms": "10000",
    });
    const now = Date.now();
    await append(broker, topic, batchOf(["a"], { timestamp: now }));
    await append(broker, topic, batchOf(["a", "b"], { timestamp: now - 3_600_000 }));
    await append(broker, topic, batchOf(["a", "b"], { timestamp: now + 3_600_000 }));
    await append(broker, topic, batchOf(["a", "b"], { timestamp: now + 3_600_000 }), 7);
  }),
  scenario("Produce tells the append time of a LogAppendTime topic", async (broker) => {
    const topic = await createTopic(broker, "t", { "message.timestamp.type": "LogAppendTime" });
    for (const version of [3, 8, 12]) await append(broker, topic, batchOf(["a"]), version);
    await append(broker, topic, batchOf(["a"], { timestampType: 1, logAppendTime: 5 }));
  }),
  scenario("Produce to a CreateTime topic with the log append time bit", async (broker) => {
    const topic = await createTopic(broker, "t");
    await append(broker, topic, batchOf(["a"], { timestampType: 1, logAppendTime: 5 }));
  }),
  scenario("Produce to a compacted topic needs keys", async (broker) => {
    const topic = await createTopic(broker, "t", { "cleanup.policy": "compact" });
    await append(broker, topic, batchOf(["a", "b", "c"], { keys: false }), 9);
    await append(broker, topic, batchOf(["a", "b", "c"], { keys: false }), 7);
    await append(broker, topic, batchOf(["a", "b", "c"], { keys: false, compression: 1 }), 9);
    await append(broker, topic, batchOf(["a"], {}), 9);
  }),
  scenario("Produce to internal topics is refused", async (broker) => {
    await append(broker, "__consumer_offsets", batchOf(["a"]), 9);
  }),
  scenario("Produce refuses control batches of clients", async (broker) => {
    const topic = await createTopic(broker, "t");
    await append(broker, topic, batchOf(["a"], { isControl: true }));
  }),
  scenario("Idempotence: a repeated batch is answered with its first offset", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    const of = (baseSequence: number, producerEpoch = 0) =>
      batchOf(["a", "b"], { producerId, producerEpoch, baseSequence });
    for (const sequence of [0, 2, 4, 6, 8, 10]) await append(broker, topic, of(sequence));
    for (const sequence of [10, 2, 0]) await append(broker, topic, of(sequence));
  }),
  scenario("Idempotence: gaps, old epochs and new epochs", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    const of = (baseSequence: number, producerEpoch: number) =>
      batchOf(["a", "b"], { producerId, producerEpoch, baseSequence });
    await append(broker, topic, of(0, 1));
    await append(broker, topic, of(5, 1));
    await append(broker, topic, of(2, 0));
    await append(broker, topic, of(2, 1));
    await append(broker, topic, of(3, 2));
    await append(broker, topic, of(0, 2));
    await append(broker, topic, of(0, 2));
  }),
  scenario("Idempotence: a producer that the log does not know may start anywhere", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    await append(broker, topic, batchOf(["a"], { producerId, producerEpoch: 3, baseSequence: 17 }));
    await append(broker, topic, batchOf(["a"], { producerId, producerEpoch: 3, baseSequence: 18 }));
  }),
  scenario("Idempotence: sequences wrap around at 2^31-1", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    const of = (baseSequence: number) => batchOf(["a", "b"], { producerId, producerEpoch: 0, baseSequence });
    await append(broker, topic, of(0x7ffffffe));
    await append(broker, topic, of(0));
    await append(broker, topic, of(1));
  }),
  scenario("Produce refuses sequences without a producer and the other way round", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    await append(broker, topic, batchOf(["a"], { producerId, producerEpoch: 0, baseSequence: -1 }));
    await append(broker, topic, batchOf(["a"], { producerId, producerEpoch: -1, baseSequence: 0 }));
  }),
  scenario("Produce of a transactional batch outside of a transaction", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    await append(
      broker,
      topic,
      batchOf(["a"], { producerId, producerEpoch: 0, baseSequence: 0, isTransactional: true }),
    );
  }),
  scenario("Produce with acks=0 closes the connection when it fails", async (broker) => {
    const topic = await createTopic(broker, "t");
    await broker.ask(produce, 9, produceTo(broker.name("missing"), batchOf(["a"]), { acks: 0 }));
    await append(broker, topic, batchOf(["a"]));
  }),
];
