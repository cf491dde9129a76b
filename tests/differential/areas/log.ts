/** Reading: Fetch with its sessions and limits, ListOffsets, OffsetForLeaderEpoch. */
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetForLeaderEpoch } from "../../../src/codec/messages/offset_for_leader_epoch.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { scenario } from "../scenario.ts";
import { batchOf, fetching, fill, old, told } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario(
    "Fetch reads whole batches from the one that holds the offset, version by version",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      await fill(broker, topic, [batchOf(["a", "b", "c"]), batchOf(["d"]), batchOf(["e", "f"])]);
      for (const version of [4, 5, 7, 9, 11, 12]) {
        await broker.ask(
          fetch,
          version,
          fetching(topic, [{ fetchOffset: 1n }]),
          told,
        );
      }
      await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 3n }]), told);
      await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 6n }]), told);
      await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 7n }]), told);
      await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: -1n }]), told);
      await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 2n ** 63n - 1n }]), told);
    },
  ),
  scenario("Fetch by topic id, unknown ids, unknown partitions", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a"])]);
    const named = await broker.send(metadata, 12, {
      topics: [{ name: topic, topicId: ZERO_UUID }],
      includeClusterAuthorizedOperations: false,
      includeTopicAuthorizedOperations: false,
    });
    const { topicId } = named!.topics[0];
    await broker.ask(
      fetch,
      13,
      fetching("", [{ fetchOffset: 0n }, { partition: 5, fetchOffset: 0n }], { topicId }),
      told,
    );
    await broker.ask(
      fetch,
      16,
      fetching("", [{ fetchOffset: 0n }], { topicId: "AAAAAAAAAAAAAAAAAAAABA" }),
      told,
    );
    await broker.ask(fetch, 12, fetching(broker.name("missing"), [{ fetchOffset: 0n }]), told);
  }),
  scenario("Fetch gives the first batch whole although it is above every limit (KIP-74)", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const index of [0, 1]) {
      await fill(broker, topic, [
        batchOf(["x".repeat(5000)], { timestamp: BASE }),
        batchOf(["y".repeat(5000)], { timestamp: BASE }),
      ], index);
    }
    const both = (
      partitionMaxBytes: number,
    ) => [{ fetchOffset: 0n, partitionMaxBytes }, { partition: 1, fetchOffset: 0n, partitionMaxBytes }];
    await broker.ask(fetch, 12, fetching(topic, both(10)), told);
    await broker.ask(fetch, 12, fetching(topic, both(1 << 20), { maxBytes: 10 }), told);
    await broker.ask(fetch, 12, fetching(topic, both(11_000), { maxBytes: 12_000 }), told);
    await broker.ask(fetch, 12, fetching(topic, both(0)), told);
    await broker.ask(fetch, 12, fetching(topic, both(1 << 20)), told);
  }),
  scenario("Fetch holds the reader's leader epoch against the partition's", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a"])]);
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 0n, currentLeaderEpoch: 0 }]), told);
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 0n, currentLeaderEpoch: 9 }]), told);
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 0n, lastFetchedEpoch: 0 }]), told);
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 5n, lastFetchedEpoch: 0 }]), told);
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 0n, lastFetchedEpoch: 4 }]), told);
    await broker.ask(fetch, 9, fetching(topic, [{ fetchOffset: 0n, currentLeaderEpoch: 9 }]), told);
  }),
  scenario(
    "Fetch under read_committed has an empty list of aborted transactions, otherwise none",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      await fill(broker, topic, [batchOf(["a"])]);
      for (const isolationLevel of [0, 1]) {
        await broker.ask(
          fetch,
          11,
          fetching(topic, [{ fetchOffset: 0n }], { isolationLevel }),
          told,
        );
      }
    },
  ),
  scenario("Fetch sessions: full, then only what is new, then forgotten", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 3);
    await fill(broker, topic, [batchOf(["a"])]);
    const all = [0, 1, 2].map((partition) => ({ partition, fetchOffset: 0n }));
    const first = await broker.ask(fetch, 12, fetching(topic, all, { sessionEpoch: 0 }), told);
    const sessionId = first!.sessionId;
    await broker.ask(fetch, 12, fetching(topic, [{ fetchOffset: 1n }], { sessionId, sessionEpoch: 1 }), told);
    await fill(broker, topic, [batchOf(["b"])], 1);
    await broker.ask(fetch, 12, fetching(topic, [], { sessionId, sessionEpoch: 2 }), told);
    await broker.ask(
      fetch,
      12,
      fetching(topic, [{ partition: 1, fetchOffset: 1n }], { sessionId, sessionEpoch: 3, forgotten: [0] }),
      told,
    );
    await broker.ask(fetch, 12, fetching(topic, [], { sessionId, sessionEpoch: 3 }), told);
    await broker.ask(fetch, 12, fetching(topic, [], { sessionId: 12345, sessionEpoch: 3 }), told);
    await broker.ask(fetch, 12, fetching(topic, [], { sessionId, sessionEpoch: -1 }), told);
    await broker.ask(fetch, 12, fetching(topic, [], { sessionId, sessionEpoch: 4 }), told);
  }),
  scenario("Fetch below version 4 converts to the old message formats", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a", "b"], { timestamp: BASE })]);
    // Kafka 4 has no such versions any more; its answer is that it closes the connection.
    await broker.ask(fetch, 4, fetching(topic, [{ fetchOffset: 0n }]), old);
  }),
  scenario("ListOffsets by sentinel, version by version", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [
      batchOf(["a", "b"], { timestamp: BASE }),
      batchOf(["c"], { timestamp: BASE - 5000 }),
    ]);
    for (const version of [1, 4, 7, 8, 9, 11]) {
      for (const timestamp of [-1n, -2n, -3n, -4n, -5n, -6n, -7n]) {
        await broker.ask(listOffsets, version, {
          replicaId: -1,
          isolationLevel: 0,
          timeoutMs: 1000,
          topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp }] }],
        });
      }
    }
  }),
  scenario("ListOffsets by time finds the exact record, in compressed batches too", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [
      batchOf(["a", "b", "c"], { timestamp: BASE }),
      batchOf(["d", "e", "f"], { timestamp: BASE + 1000, compression: 1 }),
      batchOf(["g", "h", "i"], { timestamp: BASE + 500, compression: 2 }),
      batchOf(["j", "k", "l"], { timestamp: BASE + 2000, compression: 3 }),
      batchOf(["m", "n", "o"], { timestamp: BASE + 3000, compression: 4 }),
    ]);
    for (const after of [-1, 0, 1, 2, 3, 500, 999, 1000, 1001, 1002, 1003, 2001, 3002, 3003]) {
      await broker.ask(listOffsets, 7, {
        replicaId: -1,
        isolationLevel: 0,
        timeoutMs: 1000,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: BigInt(BASE + after) }] }],
      });
    }
    await broker.ask(listOffsets, 7, {
      replicaId: -1,
      isolationLevel: 1,
      timeoutMs: 1000,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -3n }] }],
    });
  }),
  scenario("ListOffsets refuses what does not exist, wrong epochs, and a partition twice", async (broker) => {
    const topic = await createTopic(broker, "t");
    const list = (
      version: number,
      partitions: { partitionIndex: number; timestamp: bigint; currentLeaderEpoch?: number }[],
      name = topic,
    ) =>
      broker.ask(listOffsets, version, {
        replicaId: -1,
        isolationLevel: 0,
        timeoutMs: 1000,
        topics: [{ name, partitions }],
      });
    await list(4, [{ partitionIndex: 3, timestamp: -1n }]);
    await list(4, [{ partitionIndex: 0, timestamp: -1n }], broker.name("missing"));
    await list(4, [{ partitionIndex: 0, timestamp: -1n, currentLeaderEpoch: 5 }]);
    await list(4, [{ partitionIndex: 0, timestamp: -1n }, { partitionIndex: 0, timestamp: -2n }]);
    await list(4, [{ partitionIndex: 0, timestamp: -1n }]);
  }),
  scenario("OffsetForLeaderEpoch of past, present and future epochs", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a", "b"])]);
    const at = (leaderEpoch: number, currentLeaderEpoch = -1, name = topic, partition = 0) =>
      broker.ask(offsetForLeaderEpoch, 4, {
        replicaId: -1,
        topics: [{ topic: name, partitions: [{ partition, leaderEpoch, currentLeaderEpoch }] }],
      });
    await at(0);
    await at(5);
    await at(-1);
    await at(0, 0);
    await at(0, 7);
    await at(0, -1, broker.name("missing"));
    await at(0, -1, topic, 9);
  }),
];
