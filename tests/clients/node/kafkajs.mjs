/**
 * The adapter of kafkajs, the release of today or another that is installed under the name in KAFKAJS. The library can
 * consume in a group only, so `consume` uses a group of its own that it deletes; and it has no static members. Codecs
 * other than gzip come from packages that may fail to install.
 */

import { randomUUID } from "node:crypto";
import { chunksToProduce, heartbeatIntervalMs, main, sessionTimeoutMs, Unsupported } from "./adapter.mjs";

const { default: kafkajs } = await import(process.env.KAFKAJS ?? "kafkajs");
const { CompressionCodecs, CompressionTypes, Kafka, logLevel, Partitioners } = kafkajs;

/** Loads a codec's package when it is installed; all are loaded, since a consumer meets any of them. */
const codecs = {
  snappy: async () => CompressionCodecs[CompressionTypes.Snappy] = (await import("kafkajs-snappy")).default,
  lz4: async () =>
    CompressionCodecs[CompressionTypes.LZ4] = new (await import("kafkajs-lz4")).default().codec,
  zstd: async () => {
    await import("@sensejs/kafkajs-zstd-support"); // registers itself, with the kafkajs of today
    CompressionCodecs[CompressionTypes.ZSTD] =
      (await import("kafkajs")).default.CompressionCodecs[CompressionTypes.ZSTD];
  },
};
const missing = {};
for (const [name, load] of Object.entries(codecs)) {
  try {
    await load();
  } catch (error) {
    missing[name] = error.message.split("\n")[0];
  }
}

function connect(bootstrap) {
  const kafka = new Kafka({
    clientId: "kafkajs-adapter",
    brokers: [bootstrap],
    logLevel: logLevel.WARN,
    logCreator: () => ({ namespace, log }) => console.error(namespace, log.message, log.error ?? ""),
  });

  async function admin(call) {
    const client = kafka.admin();
    await client.connect();
    try {
      return await call(client);
    } finally {
      await client.disconnect();
    }
  }

  return {
    create: (topic, numPartitions) =>
      admin(async (a) => {
        const created = await a.createTopics({
          topics: [{ topic, numPartitions, replicationFactor: 1 }],
        });
        if (!created) {
          throw new Error(`Cannot create topic ${topic}: it exists`);
        }
      }),
    list: () => admin((a) => a.listTopics()),
    describe: (topic) =>
      admin(async (a) =>
        (await a.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions
          .length
      ),
    delete: (topic) => admin((a) => a.deleteTopics({ topics: [topic] })),

    async produce({ topic, codec, idempotent, partition, ...range }) {
      if (missing[codec]) {
        throw new Unsupported(`no ${codec} codec: ${missing[codec]}`);
      }
      const compression = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 }[codec];
      if (compression === undefined) throw new Error(`unknown codec ${codec}`);
      const producer = kafka.producer({
        idempotent,
        ...(idempotent ? { maxInFlightRequests: 1 } : {}),
        createPartitioner: Partitioners.DefaultPartitioner,
      });
      await producer.connect();
      const message = (key, value, timestamp) => ({
        key,
        value,
        timestamp: timestamp?.toString(),
        partition,
      });
      for (const messages of chunksToProduce(range, message)) {
        await producer.send({ topic, acks: -1, compression, messages });
      }
      await producer.disconnect();
    },

    async consume({ topic, fromMs, until }, emit) {
      const groupId = `kafkajs-consume-${randomUUID()}`;
      const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 500 });
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      const starts = fromMs === undefined
        ? []
        : await admin((a) => a.fetchTopicOffsetsByTimestamp(topic, fromMs));
      const start = new Map(
        starts.map(({ partition, offset }) => [partition, BigInt(offset)]),
      );
      await consumer.run({
        autoCommit: false,
        // A fetch from the beginning may be under way when the seeks are asked for.
        eachMessage: ({ partition, message: { offset, key, value } }) => {
          if (BigInt(offset) >= (start.get(partition) ?? 0n)) {
            emit(partition, offset, key, value);
          }
          return Promise.resolve();
        },
      });
      for (const { partition, offset } of starts) {
        consumer.seek({ topic, partition, offset });
      }
      await until;
      await consumer.disconnect();
      await admin((a) => a.deleteGroups([groupId]));
    },

    async member({ topic, group, instanceId, nextGen, until }, events) {
      if (instanceId) throw new Unsupported("kafkajs has no static members");
      if (nextGen) {
        throw new Unsupported("kafkajs has only the classic group protocol");
      }
      const consumer = kafka.consumer({
        groupId: group,
        sessionTimeout: sessionTimeoutMs,
        heartbeatInterval: heartbeatIntervalMs,
        maxWaitTimeInMs: 500,
      });
      consumer.on(
        consumer.events.GROUP_JOIN,
        ({ payload }) => events.assigned(payload.memberAssignment[topic] ?? []),
      );
      const crashed = new Promise((_, reject) =>
        consumer.on(
          consumer.events.CRASH,
          ({ payload }) => payload.restart || reject(payload.error),
        )
      );
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatch: async ({ batch, isStale }) => {
          if (isStale()) return;
          for (const { offset, value } of batch.messages) {
            events.record(batch.partition, offset, value);
          }
          const next = (BigInt(batch.lastOffset()) + 1n).toString();
          try {
            await consumer.commitOffsets([{
              topic,
              partition: batch.partition,
              offset: next,
            }]);
          } catch (refused) {
            events.commitRefused();
            throw refused;
          }
          events.committed();
        },
      });
      await Promise.race([until, crashed]);
      await consumer.disconnect();
    },

    committed: (topic, groupId) =>
      admin(async (a) => {
        const [{ partitions }] = await a.fetchOffsets({
          groupId,
          topics: [topic],
        });
        return partitions.filter(({ offset }) => offset !== "-1").sort((x, y) => x.partition - y.partition);
      }),
    groups: () => admin(async (a) => (await a.listGroups()).groups.map(({ groupId }) => groupId)),
    describeGroup: (group) =>
      admin(async (a) => {
        const [{ state, members, errorCode }] = (await a.describeGroups([group])).groups;
        if (errorCode !== 0) {
          throw new Error(`Cannot describe group ${group}: error ${errorCode}`);
        }
        return { state, members: members.length };
      }),
    deleteGroup: (group) => admin((a) => a.deleteGroups([group])),
  };
}

await main(connect);
