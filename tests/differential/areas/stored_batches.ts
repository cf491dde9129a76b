/** What a topic makes of a producer's batch: codec, timestamps, records that are refused; and finding it by time. */
import { batchesIn } from "../../../src/codec/batch.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, fetching, fill, newProducer, produceTo } from "../setup/records.ts";
import { createTopic, settled } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };
const TYPES = ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"];
/** Times from here on are the broker's own. */
const PRESENT = 1_750_000_000_000;
const told = (timestamp: number) => timestamp > PRESENT ? "<now>" : timestamp;

/** Writes down what is stored: of each batch its header, but for sizes, and its records. */
async function stored(broker: Broker, topic: string): Promise<void> {
  await broker.ask(
    fetch,
    12,
    fetching(topic, [{ fetchOffset: 0n }], { maxWaitMs: 0 }),
    (response) =>
      [...batchesIn(response.responses[0].partitions[0].records!)].map((batch) => ({
        offsets: [batch.baseOffset, batch.lastOffset],
        codec: batch.compression,
        timestampType: batch.timestampType,
        base: told(batch.baseTimestamp),
        max: told(batch.maxTimestamp),
        count: batch.recordCount,
        sequence: batch.baseSequence,
        records: [...batch.records()].map((record) => [
          record.offset,
          told(Number(record.timestamp)),
          record.key && new TextDecoder().decode(record.key),
          record.value && new TextDecoder().decode(record.value),
        ]),
      })),
  );
}

async function found(broker: Broker, topic: string, timestamps: number[]): Promise<void> {
  for (const timestamp of timestamps) {
    await broker.ask(listOffsets, 7, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 1000,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: BigInt(timestamp) }] }],
    }, ({ topics: [{ partitions: [{ errorCode, offset, timestamp }] }] }) => ({
      errorCode,
      offset,
      timestamp: told(Number(timestamp)),
    }));
  }
}

const recompressed = TYPES.flatMap((type) => [
  scenario(`A topic with compression.type=${type} stores batches of every codec`, async (broker) => {
    const topic = await createTopic(broker, "t", { "compression.type": type });
    for (const [name, compression] of Object.entries(CODECS)) {
      const values = Array.from({ length: 3 }, (_, i) => `${name} ${i} `.repeat(20));
      await broker.ask(produce, 9, produceTo(topic, batchOf(values, { timestamp: BASE + 10, compression })));
    }
    await stored(broker, topic);
    await found(broker, topic, [BASE, BASE + 11, BASE + 12, BASE + 13, -3]);
  }),
  scenario(
    `A topic with compression.type=${type} and LogAppendTime sets the times of all records`,
    async (broker) => {
      const topic = await createTopic(broker, "t", {
        "compression.type": type,
        "message.timestamp.type": "LogAppendTime",
      });
      for (const compression of Object.values(CODECS)) {
        await broker.ask(produce, 9, produceTo(topic, batchOf(["a", "b"], { timestamp: BASE, compression })));
      }
      await stored(broker, topic);
      await found(broker, topic, [BASE]);
    },
  ),
]);

const more = [
  scenario("Compression levels are taken, whatever the codec of the batch", async (broker) => {
    for (
      const [type, level] of [["gzip", "9"], ["gzip", "-1"], ["lz4", "17"], ["zstd", "-7"], ["zstd", "22"]]
    ) {
      const topic = await createTopic(broker, `${type}${level}`.replace("-", "m"), {
        "compression.type": type,
        [`compression.${type}.level`]: level,
      });
      for (const compression of Object.values(CODECS)) {
        await broker.send(
          produce,
          9,
          produceTo(topic, batchOf(["a", "b"], { timestamp: BASE, compression })),
        );
      }
      await stored(broker, topic);
    }
  }),
  scenario("compression.type changed while the topic is in use holds for what comes next", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a"], { timestamp: BASE, compression: 1 })]);
    for (
      const [value, shown] of [["zstd", "zstd"], ["uncompressed", "uncompressed"], ["producer", "producer"]]
    ) {
      await broker.send(incrementalAlterConfigs, 1, {
        validateOnly: false,
        resources: [{
          resourceType: 2,
          resourceName: topic,
          configs: [{ name: "compression.type", configOperation: 0, value }],
        }],
      });
      await settled(broker, topic, "compression.type", shown);
      await fill(broker, topic, [batchOf(["b"], { timestamp: BASE, compression: 1 })]);
    }
    await stored(broker, topic);
  }),
  scenario(
    "A recompressed batch keeps its producer and sequence, and is known when it comes again",
    async (broker) => {
      const topic = await createTopic(broker, "t", { "compression.type": "lz4" });
      const producerId = await newProducer(broker);
      const batch = (baseSequence: number) =>
        batchOf(["a", "b"], { timestamp: BASE, compression: 1, producerId, producerEpoch: 0, baseSequence });
      for (const sequence of [0, 2, 0, 2, 7]) {
        await broker.ask(produce, 9, produceTo(topic, batch(sequence)));
      }
      await stored(broker, topic);
    },
  ),
  scenario(
    "Records without keys are refused one by one on a compacted topic, in every codec",
    async (broker) => {
      for (const type of ["producer", "gzip"]) {
        const topic = await createTopic(broker, type, {
          "cleanup.policy": "compact",
          "compression.type": type,
        });
        for (const compression of Object.values(CODECS)) {
          for (const version of [7, 8, 11]) {
            const records = batchOf(["a", "b", "c"], { timestamp: BASE, compression, keys: false });
            await broker.ask(produce, version, produceTo(topic, records));
          }
          await broker.ask(produce, 9, produceTo(topic, batchOf(["a"], { timestamp: BASE, compression })));
        }
      }
    },
  ),
  scenario(
    "Records outside of the topic's limits of time are refused one by one, in every codec",
    async (broker) => {
      const limits = {
        "message.timestamp.before.max.ms": String(Date.now() - BASE + 600_000),
        "message.timestamp.after.max.ms": "1000",
      };
      for (const type of ["producer", "zstd"]) {
        const topic = await createTopic(broker, type, { ...limits, "compression.type": type });
        for (const compression of Object.values(CODECS)) {
          for (const version of [7, 8, 11]) {
            for (const timestamp of [BASE - 700_000, BASE, Date.now() + 100_000]) {
              await broker.ask(
                produce,
                version,
                produceTo(topic, batchOf(["a", "b"], { timestamp, compression })),
              );
            }
          }
        }
        await stored(broker, topic);
      }
    },
  ),
  scenario("Limits of time do not hold for LogAppendTime", async (broker) => {
    const topic = await createTopic(broker, "t", {
      "message.timestamp.type": "LogAppendTime",
      "message.timestamp.before.max.ms": "10",
      "message.timestamp.after.max.ms": "10",
    });
    for (const timestamp of [0, -1, BASE, Date.now() + 1e9]) {
      await broker.ask(produce, 9, produceTo(topic, batchOf(["a", "b"], { timestamp })));
    }
    await stored(broker, topic);
  }),
  scenario("Records without a time are stored without one, and found by no time", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const compression of Object.values(CODECS)) {
      const records = batchOf(["a", "b"], { timestamp: -1, compression });
      await broker.ask(produce, 9, produceTo(topic, records));
    }
    await found(broker, topic, [0, BASE, -3]);
  }),
  scenario("The latest record is found, of several with one time the first", async (broker) => {
    const topic = await createTopic(broker, "t");
    await found(broker, topic, [-3, 0]);
    for (const compression of [0, 1, 4]) {
      await fill(broker, topic, [batchOf(["a", "b", "c"], { timestamp: BASE + 5, compression })]);
      await found(broker, topic, [-3, BASE + 7, BASE + 8]);
    }
    await fill(broker, topic, [batchOf(["d"], { timestamp: BASE + 7 }), batchOf(["e"], { timestamp: BASE })]);
    await found(broker, topic, [-3, BASE + 6, BASE + 7, BASE + 8]);
    await fill(broker, topic, [batchOf(["f", "g"], { timestamp: BASE + 9, compression: 3 })]);
    await found(broker, topic, [-3, BASE + 8, BASE + 9, BASE + 10, BASE + 11]);
  }),
];

export const scenarios = [...recompressed, ...more];
