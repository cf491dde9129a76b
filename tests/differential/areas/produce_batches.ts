/** Produce: what is in a batch, how many there are of what in a request, and what is stored in the end. */
import {
  ATTRIBUTES_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  CONTROL_BIT,
  DELETE_HORIZON_BIT,
  LAST_OFFSET_DELTA_AT,
  MAX_TIMESTAMP_AT,
  PARTITION_LEADER_EPOCH_AT,
  RECORD_COUNT_AT,
} from "../../../src/codec/batch_format.ts";
import { buildBatch } from "../../../src/codec/batch.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, joinedBytes, newProducer, produceTo, stored, withHeader } from "../setup/records.ts";
import { createTopic, NO_SUCH_ID, ready } from "../setup/topics.ts";

const utf8 = new TextEncoder();
const BASE = 1_700_000_000_000;

type Topics = EncodableRequestOf<typeof produce>["topicData"];

/** Appends each batch, and writes down what was answered under its label. */
async function appendEach(broker: Broker, topic: string, batches: Record<string, Uint8Array>, version = 9) {
  for (const [label, batch] of Object.entries(batches)) {
    await broker.ask(produce, version, produceTo(topic, batch), undefined, label);
  }
}

/** A request for several partitions: [topic, [index, records]...]. */
function several(
  ...topics: [string, ...[number, Uint8Array | null][]][]
): EncodableRequestOf<typeof produce> {
  const topicData: Topics = topics.map(([name, ...partitions]) => ({
    name,
    topicId: ZERO_UUID,
    partitionData: partitions.map(([index, records]) => ({ index, records })),
  }));
  return { acks: -1, timeoutMs: 5000, topicData };
}

export const scenarios = [
  scenario("Produce to several partitions: each is stored or refused by itself", async (broker) => {
    const [a, b] = [await createTopic(broker, "a", {}, 2), await createTopic(broker, "b")];
    const one = batchOf(["a"]), damaged = one.slice(0, one.length - 1);
    const missing = broker.name("missing");
    const request = several([a, [1, one], [0, damaged], [7, one]], [missing, [0, one]], [b, [0, one]]);
    for (const version of [3, 9, 12]) await broker.ask(produce, version, request);
  }),
  scenario("Produce of nothing at all, and of topics without partitions", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const version of [3, 9, 12]) {
      await broker.ask(produce, version, several(), undefined, "nothing");
      await broker.ask(produce, version, several([topic]), undefined, "no partitions");
      await broker.ask(
        produce,
        version,
        several([broker.name("missing")]),
        undefined,
        "none of a missing topic",
      );
    }
  }),
  scenario("Produce that names a topic twice, with different partitions", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const request = several([topic, [0, batchOf(["a"])]], [topic, [1, batchOf(["b"])]]);
    await broker.ask(produce, 9, request, (r) => ({
      responses: r.responses.flatMap((t) => t.partitionResponses).sort((x, y) => x.index - y.index)
        .map(({ index, errorCode, baseOffset }) => ({ name: String(index), errorCode, baseOffset })),
    }));
  }),
  scenario("Produce looks at acks before anything else", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const version of [3, 9, 12]) {
      const request = several([topic, [0, batchOf(["a"])], [7, batchOf(["a"])]], [broker.name("missing"), [
        0,
        null,
      ]]);
      await broker.ask(produce, version, { ...request, acks: 5 });
    }
  }),
  scenario("Produce with acks 1 and -1, with any timeout", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const acks of [1, -1]) {
      for (const timeoutMs of [0, -1, 2 ** 31 - 1]) {
        const request = { ...produceTo(topic, batchOf(["a"]), { acks }), timeoutMs };
        await broker.ask(produce, 9, request, undefined, `acks ${acks}, ${timeoutMs} ms`);
      }
    }
  }),
  scenario("Produce with acks 0 is not answered, and stored", async (broker) => {
    const topic = await createTopic(broker, "t");
    const client = await broker.client();
    await client.sendOnly(produce, 9, produceTo(topic, batchOf(["a"]), { acks: 0 }));
    await broker.ask(produce, 9, produceTo(topic, batchOf(["b"])));
    await stored(broker, topic);
  }),
  scenario("Produce with acks 0 and a damaged batch closes the connection", async (broker) => {
    const topic = await createTopic(broker, "t");
    const damaged = batchOf(["a"]).slice(0, 65);
    await broker.ask(produce, 9, produceTo(topic, damaged, { acks: 0 }));
    await broker.ask(produce, 9, produceTo(topic, batchOf(["b"])));
  }),
  scenario("Produce 13 goes by topic ids", async (broker) => {
    const topicId = await ready(broker, await createTopic(broker, "t"));
    const one = batchOf(["a"]);
    const to = (id: string, index = 0) => produceTo("", one, { topicId: id, index });
    await broker.askEach(produce, 13, {
      "known": to(topicId),
      "partition 7": to(topicId, 7),
      "unknown": to(NO_SUCH_ID),
      "known and unknown": {
        ...to(topicId),
        topicData: [...to(NO_SUCH_ID).topicData, ...to(topicId).topicData],
      },
    });
  }),
  scenario("Produce with every codec, and with codecs that there are not", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const compression of [0, 1, 2, 3, 4]) {
      const batch = batchOf(["a".repeat(100)], { compression });
      await appendEach(broker, topic, { [`codec ${compression}`]: batch });
    }
    for (const codec of [5, 6, 7]) {
      const batch = withHeader(batchOf(["a"]), (header) => header.setInt16(ATTRIBUTES_AT, codec));
      await appendEach(broker, topic, { [`codec ${codec}`]: batch });
    }
    await stored(broker, topic);
  }),
  scenario("Produce to topics that compress: what is stored has the topic's codec", async (broker) => {
    for (const codec of ["uncompressed", "gzip", "snappy", "lz4", "zstd", "producer"]) {
      const topic = await createTopic(broker, codec, { "compression.type": codec });
      await appendEach(broker, topic, {
        "plain": batchOf(["a".repeat(100), "b".repeat(100)]),
        "gzip": batchOf(["a".repeat(100), "b".repeat(100)], { compression: 1 }),
        "zstd": batchOf(["a".repeat(100), "b".repeat(100)], { compression: 4 }),
      });
      await stored(broker, topic, codec);
    }
  }),
  scenario("Produce of a batch whose count of records is not the number of its records", async (broker) => {
    const topic = await createTopic(broker, "t");
    const two = batchOf(["a", "b"]);
    for (const count of [0, 1, 3, -1, 2 ** 31 - 1]) {
      const batch = withHeader(two, (header) => header.setInt32(RECORD_COUNT_AT, count));
      await appendEach(broker, topic, { [`count ${count}`]: batch });
    }
  }),
  scenario("Produce of a batch whose last offset does not fit its records", async (broker) => {
    const topic = await createTopic(broker, "t");
    const two = batchOf(["a", "b"]);
    for (const delta of [0, 2, -1, 2 ** 31 - 1]) {
      const batch = withHeader(two, (header) => header.setInt32(LAST_OFFSET_DELTA_AT, delta));
      await appendEach(broker, topic, { [`delta ${delta}`]: batch });
    }
  }),
  scenario("Produce of a batch with a length that cannot be", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const length of [0, -1, 48, 49, 2 ** 31 - 1]) {
      const batch = withHeader(batchOf(["a"]), (header) => header.setInt32(BATCH_LENGTH_AT, length));
      await appendEach(broker, topic, { [`length ${length}`]: batch });
    }
  }),
  scenario(
    "Produce takes no notice of the leader epoch, of unknown attributes, of the delete horizon",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const one = batchOf(["a"], { timestamp: BASE });
      await appendEach(broker, topic, {
        "leader epoch 7": withHeader(one, (header) => header.setInt32(PARTITION_LEADER_EPOCH_AT, 7)),
        "unknown attributes": withHeader(one, (header) => header.setInt16(ATTRIBUTES_AT, 0x100)),
        "delete horizon": withHeader(one, (header) => header.setInt16(ATTRIBUTES_AT, DELETE_HORIZON_BIT)),
        "control": withHeader(one, (header) => header.setInt16(ATTRIBUTES_AT, CONTROL_BIT)),
      });
      await stored(broker, topic);
    },
  ),
  scenario("Produce of records without keys, without values, with headers", async (broker) => {
    const topic = await createTopic(broker, "t");
    const record = { timestamp: BASE, key: null, value: null };
    const long = utf8.encode("x".repeat(1000));
    await appendEach(broker, topic, {
      "neither": buildBatch([record]),
      "headers": buildBatch([{ ...record, headers: [{ key: "h", value: null }, { key: "", value: long }] }]),
      "empty": buildBatch([{ ...record, key: new Uint8Array(0), value: new Uint8Array(0) }]),
    });
    await stored(broker, topic);
  }),
  scenario("Produce of timestamps: none, negative, at the ends, with a wrong maximum", async (broker) => {
    const topic = await createTopic(broker, "t");
    const latest = async (label: string) => {
      const topics = [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -3n }] }];
      const request = { replicaId: -1, isolationLevel: 0, timeoutMs: 1000, topics };
      await broker.ask(listOffsets, 7, request, undefined, label);
    };
    const at = (timestamp: number) => batchOf(["a"], { timestamp });
    await appendEach(broker, topic, { "none": at(-1) });
    await latest("after none");
    await appendEach(broker, topic, { "negative": at(-2), "zero": at(0), "long ago": at(1) });
    await latest("after small ones");
    const batch = withHeader(
      at(BASE),
      (header) => header.setBigInt64(MAX_TIMESTAMP_AT, BigInt(BASE + 60_000)),
    );
    await appendEach(broker, topic, { "maximum too large": batch });
    await latest("after a maximum that no record has");
    const without = withHeader(at(BASE + 1000), (header) => header.setBigInt64(MAX_TIMESTAMP_AT, -1n));
    await appendEach(broker, topic, { "no maximum": without });
    const base = withHeader(at(BASE), (header) => header.setBigInt64(BASE_TIMESTAMP_AT, -1n));
    await appendEach(broker, topic, { "no base": base });
  }),
  scenario("Produce holds timestamps against the broker's limit for what is to come", async (broker) => {
    const topic = await createTopic(broker, "t");
    const now = Date.now(), hour = 3_600_000;
    await appendEach(broker, topic, {
      "almost an hour ahead": batchOf(["a"], { timestamp: now + hour - 60_000 }),
      "more than an hour ahead": batchOf(["a", "b"], { timestamp: now + hour + 60_000 }),
      "the second of three ahead": buildBatch([now, now + 2 * hour, now].map((timestamp) => ({
        timestamp,
        key: null,
        value: null,
      }))),
      "compressed": batchOf(["a"], { timestamp: now + 2 * hour, compression: 1 }),
      "years ago": batchOf(["a"], { timestamp: 1 }),
    });
    for (const version of [5, 7, 8]) {
      await appendEach(broker, topic, { "ahead": batchOf(["a"], { timestamp: now + 2 * hour }) }, version);
    }
  }),
  scenario("Produce measures a batch against max.message.bytes to the byte", async (broker) => {
    const batch = batchOf(["x".repeat(200)], { timestamp: BASE });
    for (const slack of [0, -1, 1]) {
      const limit = String(batch.length + slack);
      const topic = await createTopic(broker, `t${slack}`, { "max.message.bytes": limit });
      await appendEach(broker, topic, { [`limit ${slack}`]: batch });
    }
  }),
  scenario("Produce measures what is stored where the topic compresses by itself", async (broker) => {
    const small = { "max.message.bytes": "300" };
    const plain = await createTopic(broker, "plain", { ...small, "compression.type": "uncompressed" });
    const gzip = await createTopic(broker, "gzip", { ...small, "compression.type": "gzip" });
    const long = ["x".repeat(1000)];
    for (const topic of [plain, gzip]) {
      await appendEach(broker, topic, { "plain": batchOf(long), "gzip": batchOf(long, { compression: 1 }) });
    }
  }),
  scenario("Produce of a batch above the size of a segment", async (broker) => {
    const topic = await createTopic(broker, "t", {
      "segment.bytes": "1048576",
      "max.message.bytes": "5000000",
    });
    await appendEach(broker, topic, { "too large": batchOf(["x".repeat(1_500_000)]) });
    await appendEach(broker, topic, { "small": batchOf(["x"]) });
  }),
  scenario("Produce of two batches, of which one is good", async (broker) => {
    const topic = await createTopic(broker, "t");
    const one = batchOf(["a"]);
    await appendEach(broker, topic, {
      "good, then cut off": joinedBytes(one, one.subarray(0, 20)),
      "good, then a few bytes": joinedBytes(one, new Uint8Array(5)),
      "two in version 3": joinedBytes(one, one),
    }, 3);
    await appendEach(broker, topic, { "three": joinedBytes(one, one, one) });
  }),
  scenario("Produce where more replicas must be in sync than there are", async (broker) => {
    const topic = await createTopic(broker, "t", { "min.insync.replicas": "2" });
    const one = batchOf(["a"]);
    for (const version of [3, 9]) {
      for (const acks of [-1, 1]) {
        await broker.ask(produce, version, produceTo(topic, one, { acks }), undefined, `acks ${acks}`);
      }
      const damaged = produceTo(topic, one.slice(0, one.length - 1));
      await broker.ask(produce, version, damaged, undefined, "damaged");
    }
    await stored(broker, topic);
  }),
  scenario(
    "Produce to a compacted topic: tombstones, and what has no key in a compressed batch",
    async (broker) => {
      const topic = await createTopic(broker, "t", { "cleanup.policy": "compact,delete" });
      const key = utf8.encode("k"), value = utf8.encode("v"), timestamp = Date.now();
      await appendEach(broker, topic, {
        "tombstone": buildBatch([{ timestamp, key, value: null }]),
        "empty key": buildBatch([{ timestamp, key: new Uint8Array(0), value }]),
        "one of three": buildBatch([key, null, key].map((k) => ({ timestamp, key: k, value }))),
        "one of three, zstd": buildBatch([key, null, key].map((k) => ({ timestamp, key: k, value })), {
          compression: 4,
        }),
      });
      await stored(broker, topic);
    },
  ),
  scenario("Idempotence: the same batch with other records is not the same batch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producer = { producerId: await newProducer(broker), producerEpoch: 0 };
    await appendEach(broker, topic, {
      "three": batchOf(["a", "b", "c"], { ...producer, baseSequence: 0 }),
      "the first two of them": batchOf(["a", "b"], { ...producer, baseSequence: 0 }),
      "the last of them": batchOf(["c"], { ...producer, baseSequence: 2 }),
      "the three with another value": batchOf(["x", "y", "z"], { ...producer, baseSequence: 0 }),
      "one more than the three": batchOf(["a", "b", "c", "d"], { ...producer, baseSequence: 0 }),
      "next": batchOf(["d"], { ...producer, baseSequence: 3 }),
    });
  }),
  scenario("Idempotence: each partition counts by itself", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const producer = { producerId: await newProducer(broker), producerEpoch: 0 };
    const of = (baseSequence: number) => batchOf(["a"], { ...producer, baseSequence });
    await broker.ask(produce, 9, several([topic, [0, of(0)], [1, of(0)]]));
    await broker.ask(produce, 9, several([topic, [0, of(1)], [1, of(2)]]));
    await broker.ask(produce, 9, several([topic, [0, of(1)], [1, of(1)]]), undefined, "one again");
  }),
  scenario("Idempotence: a new epoch begins at 0, an old one is over", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    const of = (producerEpoch: number, baseSequence: number) =>
      batchOf(["a"], { producerId, producerEpoch, baseSequence });
    await appendEach(broker, topic, {
      "epoch 0": of(0, 0),
      "epoch 5 at 7": of(5, 7),
      "epoch 5 at 0": of(5, 0),
      "epoch 5 at 0 again": of(5, 0),
      "epoch 4": of(4, 1),
      "epoch 0 again": of(0, 0),
      "epoch 32767": of(32767, 0),
      "epoch -2": of(-2, 0),
    });
  }),
  scenario("Idempotence: producers that nobody gave an id", async (broker) => {
    const topic = await createTopic(broker, "t");
    const of = (producerId: number, baseSequence: number) =>
      batchOf(["a"], { producerId, producerEpoch: 0, baseSequence });
    await appendEach(broker, topic, {
      "far id": of(2 ** 40, 0),
      "far id, next": of(2 ** 40, 1),
      "id -2": of(-2, 0),
      "without a sequence": batchOf(["a"], { producerId: 2 ** 40, producerEpoch: 0, baseSequence: -2 }),
    });
  }),
  scenario("Idempotence: what was refused for another reason does not count", async (broker) => {
    const topic = await createTopic(broker, "t", { "max.message.bytes": "500" });
    const producer = { producerId: await newProducer(broker), producerEpoch: 0 };
    await appendEach(broker, topic, {
      "too large": batchOf(["x".repeat(600)], { ...producer, baseSequence: 0 }),
      "small": batchOf(["x"], { ...producer, baseSequence: 0 }),
      "too large again": batchOf(["x".repeat(600)], { ...producer, baseSequence: 1 }),
      "next": batchOf(["x"], { ...producer, baseSequence: 1 }),
    });
  }),
  scenario("Idempotence: two batches of one producer in one request for a partition", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producer = { producerId: await newProducer(broker), producerEpoch: 0 };
    const [first, second] = [0, 1].map((baseSequence) => batchOf(["a"], { ...producer, baseSequence }));
    await broker.ask(produce, 9, produceTo(topic, joinedBytes(first, second)));
  }),
  scenario("InitProducerId in every version gives an id of its own and epoch 0", async (broker) => {
    await newProducer(broker);
    const ids = new Set<bigint>();
    for (const version of [0, 1, 2, 3, 4, 5]) {
      const request = { transactionalId: null, transactionTimeoutMs: 60_000 };
      const answer = await broker.ask(initProducerId, version, request);
      ids.add(answer!.producerId);
    }
    broker.note("different ids", ids.size);
  }),
  scenario(
    "InitProducerId without a transactional id: timeouts do not matter, ids must come with epochs",
    async (broker) => {
      await newProducer(broker);
      const request = { transactionalId: null, transactionTimeoutMs: 1000 };
      await broker.askEach(initProducerId, [3, 4, 5], {
        "timeout 0": { ...request, transactionTimeoutMs: 0 },
        "timeout -1": { ...request, transactionTimeoutMs: -1 },
        "longest timeout": { ...request, transactionTimeoutMs: 2 ** 31 - 1 },
        "id and epoch": { ...request, producerId: 7n, producerEpoch: 2 },
        "id alone": { ...request, producerId: 7n },
        "epoch alone": { ...request, producerEpoch: 2 },
        "no transactional id but an empty one": { ...request, transactionalId: "" },
      });
    },
  ),
];
