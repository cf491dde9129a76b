/**
 * The versions that Kafka 4.0 took away, with the message formats that go with them: scenarios whose answers were
 * recorded from Kafka 3.9, the last release that has them.
 */
import {
  batchesIn,
  type BatchOptions,
  type BatchView,
  buildBatch,
  Compression,
} from "../../../src/codec/batch.ts";
import { buildMessageSet, checkMessage, MessageView, readMessage } from "../../../src/codec/legacy.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetForLeaderEpoch } from "../../../src/codec/messages/offset_for_leader_epoch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, scenario } from "../scenario.ts";
import { createTopic } from "../setup/topics.ts";
import { batchOf, fetchFrom, produceTo } from "../../protocol/requests.ts";

const BASE = 1_700_000_000_000;
const utf8 = new TextEncoder();
const text = new TextDecoder();

const codecs = {
  none: Compression.NONE,
  gzip: Compression.GZIP,
  snappy: Compression.SNAPPY,
  lz4: Compression.LZ4,
};

/** Messages with these values, numbered from `firstOffset` on. */
function setOf(
  magic: 0 | 1,
  values: readonly string[],
  { compression = Compression.NONE as number, firstOffset = 0, timestamp = BASE } = {},
): Uint8Array {
  const records = values.map((value, i) => ({
    offset: firstOffset + i,
    timestamp: magic === 0 ? -1 : timestamp + i,
    key: utf8.encode(`k${i}`),
    value: utf8.encode(value),
  }));
  return buildMessageSet(records, { magic, compression });
}

const string = (bytes: Uint8Array | null) => bytes === null ? null : text.decode(bytes);

/** A batch of format 2 as one line: base offset, codec, and each record's offset, timestamp, key and value. */
function toldBatch(batch: BatchView): unknown[] {
  const cursor = batch.cursor(10_000_000);
  const records: unknown[] = [];
  while (cursor.next()) {
    records.push([cursor.offset, cursor.timestamp, string(cursor.key), string(cursor.value)]);
  }
  return [`batch ${batch.baseOffset} codec ${batch.compression} type ${batch.timestampType}`, ...records];
}

/** A message of formats 0 and 1, the same way; a wrapper with what is in it. */
function toldMessage(message: MessageView): unknown[] {
  const { records } = readMessage(message);
  return [
    `message ${message.offset} format ${message.magic} codec ${message.compression} type ${message.timestampType}`,
    ...(records ?? []).map((r) => [r.offset, r.timestamp, string(r.key), string(r.value)]),
  ];
}

/** The messages before the one that is cut off. */
function wholeMessages(bytes: Uint8Array): MessageView[] {
  const whole: MessageView[] = [];
  for (let at = 0; at < bytes.length && checkMessage(bytes, at, bytes.length) === null;) {
    const message = new MessageView(bytes, at);
    whole.push(message);
    at += message.sizeInBytes;
  }
  return whole;
}

/** A fetch answer without its records. */
function told(response: DecodedResponseOf<typeof fetch>): unknown {
  return response.responses.flatMap((t) =>
    t.partitions.map(({ partitionIndex, errorCode, highWatermark, records }) => ({
      partitionIndex,
      errorCode,
      highWatermark,
      hasRecords: (records?.length ?? 0) > 0,
    }))
  );
}

/** Appends and writes the answer down. */
function append(broker: Broker, topic: string, records: Uint8Array | null, version: number) {
  return broker.ask(produce, version, produceTo(topic, records));
}

/**
 * Reads the topic's first partition from `start` to its end in each of these versions, and writes down what was read. As
 * a consumer does: how much one answer brings, and where it cuts a message off, is every broker's own affair.
 */
async function readIn(
  broker: Broker,
  topic: string,
  versions: readonly number[],
  start = 0,
  tell: (message: MessageView) => unknown = toldMessage,
): Promise<void> {
  for (const version of versions) {
    const read: unknown[] = [];
    for (let offset = start;;) {
      const response = await broker.send(fetch, version, fetchFrom(topic, [[0, offset]]));
      const { errorCode, records } = response!.responses[0].partitions[0];
      if (errorCode !== 0) read.push(`error ${errorCode}`);
      if (errorCode !== 0 || records === null || records.length === 0) break;
      const isBatch = records[16] === 2;
      const whole = isBatch ? [...batchesIn(records)] : wholeMessages(records);
      const next = whole.map((one) => one instanceof MessageView ? one.offset + 1 : one.nextOffset).at(-1);
      if (next === undefined || next <= offset) {
        throw new Error(`no progress at offset ${offset} of ${topic}`);
      }
      read.push(...whole.map((one) => one instanceof MessageView ? tell(one) : toldBatch(one)));
      offset = next;
    }
    broker.note(`Fetch v${version} from ${start}`, read);
  }
}

/** Appends a batch of format 2 without writing anything down. */
async function fill(
  broker: Broker,
  topic: string,
  values: string[],
  options: BatchOptions & { timestamp?: number } = {},
) {
  await broker.send(produce, 9, produceTo(topic, batchOf(values, { timestamp: BASE, ...options })));
}

const VALUES = ["first", "second", "third"];

/** The last release that has these versions. */
export const oracle: Oracle = { kafka: "3.9.1" };

export const scenarios = [
  ...Object.entries(codecs).flatMap(([codec, compression]) =>
    ([0, 1] as const).map((magic) =>
      scenario(`Produce 0 to 2 of format ${magic}, ${codec}, is read in every format`, async (broker) => {
        const topic = await createTopic(broker, "t");
        for (const version of [0, 1, 2]) {
          await append(broker, topic, setOf(magic, VALUES, { compression }), version);
        }
        await readIn(broker, topic, [0, 1, 2, 3, 4, 11]);
      })
    )
  ),
  ...Object.entries({ ...codecs, zstd: Compression.ZSTD }).map(([codec, compression]) =>
    scenario(`Fetch 0 to 3 of batches, ${codec}, gives the old formats`, async (broker) => {
      const topic = await createTopic(broker, "t");
      await fill(broker, topic, VALUES, { compression });
      await fill(broker, topic, ["later"], { compression, timestamp: BASE + 5000 });
      await readIn(broker, topic, [0, 1, 2, 3]);
      // In the middle of a batch: what is compressed comes whole, the reader drops what it did not ask for.
      await readIn(broker, topic, [0, 2], 1);
      await readIn(broker, topic, [0, 2], 3);
    })
  ),
  // Versions 4 to 9 are asked of Kafka 4.4, which gives the batches there too.
  scenario("Fetch 0 to 3 of zstd, which the old formats do not have", async (broker) => {
    for (const type of ["producer", "zstd"]) {
      const topic = await createTopic(broker, type, { "compression.type": type });
      await fill(broker, topic, VALUES, { compression: Compression.ZSTD });
      await readIn(broker, topic, [0, 3]);
    }
  }),
  scenario("Fetch 0 to 3 leaves out headers, which the old formats do not have", async (broker) => {
    const topic = await createTopic(broker, "t");
    const headers = [{ key: "h", value: utf8.encode("v") }];
    const batch = buildBatch([{ timestamp: BASE, key: null, value: utf8.encode("a"), headers }]);
    await broker.send(produce, 9, produceTo(topic, batch));
    await readIn(broker, topic, [0, 3]);
  }),
  scenario("Fetch 0 to 3 of a LogAppendTime topic", async (broker) => {
    const topic = await createTopic(broker, "t", { "message.timestamp.type": "LogAppendTime" });
    await append(broker, topic, setOf(1, VALUES), 2);
    await append(broker, topic, setOf(0, VALUES), 0);
    const withoutTime = (m: MessageView) => [m.offset, m.magic, m.timestampType, m.timestamp > BASE];
    await readIn(broker, topic, [0, 2, 3], 0, withoutTime);
  }),
  scenario("Fetch below version 3 has hard limits, version 3 gives one message at least", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, ["x".repeat(200)]);
    await fill(broker, topic, ["y".repeat(200)]);
    for (const [version, bytes] of [[3, 10], [3, 100], [3, 300], [3, 1000], [2, 100], [2, 300], [2, 1000]]) {
      const response = await broker.send(fetch, version, fetchFrom(topic, [[0, 0, bytes]]));
      const { errorCode, records } = response!.responses[0].partitions[0];
      const offsets = wholeMessages(records!).map((m) => m.offset);
      broker.note(`Fetch v${version} of ${bytes} bytes`, [errorCode, offsets]);
    }
  }),
  scenario("Fetch 0 to 3 beyond the end, before the start, of what does not exist", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, VALUES);
    for (const version of [0, 1, 2, 3]) {
      for (const offset of [3, 4, -1]) {
        await broker.ask(fetch, version, fetchFrom(topic, [[0, offset]]), told);
      }
      await broker.ask(fetch, version, fetchFrom(topic, [[9, 0]]), told);
      await broker.ask(fetch, version, fetchFrom(broker.name("missing"), [[0, 0]]), told);
    }
  }),
  // Left out, for Trackway refuses them and Kafka 3.9 did not: a set whose end is cut off, of which Kafka took the whole
  // messages and dropped the rest without a word, and batches of format 2, which no client sends in these versions.
  scenario("Produce 0 to 2 refuses damage and what does not exist", async (broker) => {
    const topic = await createTopic(broker, "t");
    const good = setOf(1, VALUES);
    const damaged = good.slice();
    damaged[damaged.length - 1] ^= 1;
    for (const version of [0, 2]) {
      await append(broker, topic, damaged, version);
    }
    await broker.ask(produce, 2, produceTo(broker.name("missing"), good));
    await broker.ask(produce, 1, produceTo(topic, good, { partition: 7 }));
    await append(broker, topic, good, 2);
  }),
  scenario("Produce 0 to 2 to topics with limits", async (broker) => {
    const small = await createTopic(broker, "s", { "max.message.bytes": "200" });
    await append(broker, small, setOf(1, ["x".repeat(300)]), 2);
    await append(broker, small, setOf(0, ["x".repeat(300)]), 0);
    await append(broker, small, setOf(1, ["x"]), 2);
    const compacted = await createTopic(broker, "c", { "cleanup.policy": "compact" });
    const withoutKey = buildMessageSet([{ offset: 0, timestamp: BASE, key: null, value: utf8.encode("a") }], {
      magic: 1,
    });
    await append(broker, compacted, withoutKey, 2);
    await append(broker, compacted, setOf(1, ["a"]), 2);
  }),
  scenario("Produce 2 with acks=0 is not answered, and stored", async (broker) => {
    const topic = await createTopic(broker, "t");
    const client = await broker.client();
    await client.sendOnly(produce, 2, produceTo(topic, setOf(1, VALUES), { acks: 0 }));
    await append(broker, topic, setOf(1, VALUES), 2);
    await readIn(broker, topic, [2]);
  }),
  scenario("ListOffsets 0 gives a list of offsets", async (broker) => {
    const topic = await createTopic(broker, "t");
    const ask = async (...asked: [timestamp: bigint, maxNumOffsets: number, partition?: number][]) => {
      for (const [timestamp, maxNumOffsets, partitionIndex = 0] of asked) {
        await broker.ask(listOffsets, 0, {
          replicaId: -1,
          isolationLevel: 0,
          timeoutMs: 0,
          topics: [{ name: topic, partitions: [{ partitionIndex, timestamp, maxNumOffsets }] }],
        });
      }
    };
    await ask([-1n, 1], [-2n, 1], [-1n, 10], [-2n, 10]);
    await fill(broker, topic, VALUES);
    await ask([-1n, 1], [-2n, 1], [-1n, 10], [-2n, 10], [-1n, 0], [-1n, 1, 7]);
    // Times in between are left out: Kafka goes by when a segment's file was written, Trackway by its records.
    await ask([BigInt(BASE + 3_000_000_000_000), 10], [-3n, 10]);
  }),
  scenario("ListOffsets 0 of a topic without partitions, of nothing, and of one twice", async (broker) => {
    const topic = await createTopic(broker, "t");
    const of = (...topics: [string, number[]][]) => ({
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 0,
      topics: topics.map(([name, indexes]) => ({
        name,
        partitions: indexes.map((partitionIndex) => ({ partitionIndex, timestamp: -1n, maxNumOffsets: 1 })),
      })),
    });
    await broker.askEach(listOffsets, 0, {
      "no partitions": of([topic, []], [broker.name("missing"), []]),
      "nothing": of(),
      "twice": of([topic, [0, 0]]),
    });
  }),
  scenario("ListOffsets 0 knows segments", async (broker) => {
    const topic = await createTopic(broker, "t", { "segment.bytes": "1048576" });
    for (let i = 0; i < 5; i++) {
      await fill(broker, topic, ["x".repeat(700_000)], { timestamp: BASE + i * 1000 });
    }
    for (const [timestamp, maxNumOffsets] of [[-1n, 1], [-1n, 2], [-1n, 10], [-2n, 10]] as const) {
      await broker.ask(listOffsets, 0, {
        replicaId: -1,
        isolationLevel: 0,
        timeoutMs: 0,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp, maxNumOffsets }] }],
      });
    }
  }),
  scenario("CreateTopics 0 and 1, DeleteTopics 0, Metadata 0", async (broker) => {
    const create = (version: number, name: string, more = {}, validateOnly = false) =>
      broker.ask(createTopics, version, {
        timeoutMs: 5000,
        validateOnly,
        topics: [{ name, numPartitions: 2, replicationFactor: 1, assignments: [], configs: [], ...more }],
      });
    await create(1, broker.name("v"), {}, true);
    for (const version of [0, 1]) {
      const name = broker.name(`t${version}`);
      await create(version, name);
      await create(version, name);
      await create(version, broker.name("bad name"));
      await create(version, broker.name("r"), { replicationFactor: 9 });
      await create(version, broker.name("n"), { numPartitions: 0 });
      await create(version, broker.name("c"), { configs: [{ name: "no.such", value: "1" }] });
      await create(version, broker.name("d"), { numPartitions: -1, replicationFactor: -1 });
    }
    const name = await createTopic(broker, "m");
    await broker.ask(metadata, 0, {
      topics: [{ topicId: ZERO_UUID, name }],
      includeClusterAuthorizedOperations: false,
      includeTopicAuthorizedOperations: false,
    });
    for (let i = 0; i < 2; i++) {
      await broker.ask(deleteTopics, 0, { topics: [], topicNames: [name], timeoutMs: 5000 });
    }
  }),
  scenario("OffsetForLeaderEpoch 0 and 1, DescribeConfigs 0", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, VALUES);
    for (const version of [0, 1]) {
      for (const [partition, leaderEpoch] of [[0, 0], [0, 5], [7, 0]]) {
        await broker.ask(offsetForLeaderEpoch, version, {
          replicaId: -1,
          topics: [{ topic, partitions: [{ partition, leaderEpoch }] }],
        });
      }
    }
    await broker.ask(describeConfigs, 0, {
      resources: [{
        resourceType: 2,
        resourceName: topic,
        configurationKeys: ["retention.ms", "cleanup.policy"],
      }],
    }, (r) =>
      // Without isDefault, which Kafka leaves false for everything.
      r.results.map(({ configs, ...result }) => ({
        ...result,
        configs: configs.map((c) => `${c.name}=${c.value}`).sort(),
      })));
  }),
];
