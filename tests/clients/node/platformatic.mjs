/**
 * The adapter of @platformatic/kafka. The library joins a group whenever it consumes, so `consume` uses a group of
 * its own that it deletes.
 */

import {
  Admin,
  Consumer,
  ProduceAcks,
  Producer,
  stringDeserializers,
  stringSerializers,
} from "@platformatic/kafka";
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { chunksToProduce, heartbeatIntervalMs, main, sessionTimeoutMs } from "./adapter.mjs";

const retryPauseMs = 300;

function connect(bootstrap) {
  const base = {
    clientId: "platformatic-adapter",
    bootstrapBrokers: [bootstrap],
  };

  async function closing(client, call) {
    try {
      return await call(client);
    } finally {
      await client.close(true);
    }
  }
  const admin = (call) => closing(new Admin(base), call);
  const openConsumer = (groupId, options = {}) =>
    new Consumer({
      ...base,
      groupId,
      deserializers: stringDeserializers,
      autocommit: false,
      maxWaitTime: 500,
      ...options,
    });

  return {
    create: (topic, partitions) => admin((a) => a.createTopics({ topics: [topic], partitions, replicas: 1 })),
    list: () => admin((a) => a.listTopics()),
    describe: (topic) =>
      admin(async (a) =>
        (await a.metadata({ topics: [topic] })).topics.get(topic)
          .partitionsCount
      ),
    delete: (topic) => admin((a) => a.deleteTopics({ topics: [topic] })),

    async produce({ topic, codec, idempotent, partition, ...range }) {
      const producer = new Producer({
        ...base,
        serializers: stringSerializers,
      });
      const message = (key, value, ms) => ({
        topic,
        key,
        value,
        ...(ms === undefined ? {} : { timestamp: BigInt(ms) }),
        ...(partition === undefined ? {} : { partition }),
      });
      await closing(producer, async () => {
        for (const messages of chunksToProduce(range, message)) {
          await producer.send({
            messages,
            acks: ProduceAcks.ALL,
            compression: codec,
            idempotent,
          });
        }
      });
    },

    async consume({ topic, fromMs, until }, emit) {
      const groupId = `platformatic-consume-${randomUUID()}`;
      const consumer = openConsumer(groupId);
      await closing(consumer, async () => {
        const offsetsAt = async (timestamp) =>
          (await consumer.listOffsets({ topics: [topic], timestamp })).get(
            topic,
          );
        const latest = await offsetsAt(-1n);
        const from = await offsetsAt(
          fromMs === undefined ? -2n : BigInt(fromMs),
        );
        // -1: the partition has no record at or after that time.
        const offsets = from.map((offset, partition) => ({
          topic,
          partition,
          offset: offset === -1n ? latest[partition] : offset,
        }));
        const stream = await consumer.consume({
          topics: [topic],
          mode: "manual",
          offsets,
        });
        const failed = new Promise((_, reject) => stream.on("error", reject));
        stream.on(
          "data",
          ({ partition, offset, key, value }) => emit(partition, offset, key, value),
        );
        await Promise.race([until, failed]);
      });
      await admin((a) => a.deleteGroups({ groups: [groupId] }));
    },

    async member({ topic, group, instanceId, nextGen, until }, events) {
      const consumer = openConsumer(group, {
        ...(nextGen ? { groupProtocol: "consumer" } : {
          sessionTimeout: sessionTimeoutMs,
          heartbeatInterval: heartbeatIntervalMs,
        }),
        ...(instanceId === undefined ? {} : { groupInstanceId: instanceId }),
      });
      const tellAssignment = () => {
        const assigned = consumer.assignments?.find((a) => a.topic === topic);
        if (consumer.assignments) events.assigned(assigned?.partitions ?? []);
      };
      consumer.on("consumer:group:join", tellAssignment);
      // Under the consumer protocol an assignment comes with a heartbeat and has no event of its own.
      consumer.on("consumer:heartbeat:end", tellAssignment);
      let leaving = false;
      const followed = (async () => {
        while (!leaving) {
          try {
            await follow(consumer, topic, events);
          } catch (error) {
            if (leaving) return;
            console.error("stream:", error); // as when the broker restarts
            // The next stream starts from what is committed: like a loss of everything and a new start.
            events.assigned([]);
            await setTimeout(retryPauseMs);
            tellAssignment();
          }
        }
      })();
      await Promise.race([until, followed]);
      leaving = true;
      await consumer.close(true);
    },

    committed: (topic, group) =>
      admin(async (a) => {
        const [{ topics }] = await a.listConsumerGroupOffsets({
          groups: [group],
        });
        const partitions = topics.find(({ name }) => name === topic)?.partitions ?? [];
        return partitions.filter((p) => p.committedOffset >= 0n)
          .map((p) => ({
            partition: p.partitionIndex,
            offset: p.committedOffset,
          }))
          .sort((x, y) => x.partition - y.partition);
      }),
    groups: () => admin(async (a) => [...(await a.listGroups()).keys()]),
    describeGroup: (group) =>
      admin(async (a) => {
        const described = (await a.describeGroups({ groups: [group] })).get(
          group,
        );
        return { state: described.state, members: described.members.size };
      }),
    deleteGroup: (group) => admin((a) => a.deleteGroups({ groups: [group] })),
  };
}

/** Prints and commits until the consumer is closed. The stream has no polls: what it has buffered counts as one. */
async function follow(consumer, topic, events) {
  const stream = await consumer.consume({
    topics: [topic],
    mode: "committed",
    fallbackMode: "earliest",
  });
  let last = new Map();
  for await (const message of stream) {
    events.record(message.partition, message.offset, message.value);
    last.set(message.partition, message);
    if (stream.readableLength > 0) continue;
    const commits = [...last.values()].map((m) => m.commit());
    last = new Map();
    await Promise.all(commits);
    events.committed();
  }
}

await main(connect);
