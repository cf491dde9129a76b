/** Fetch: what is read from where, how much of it, how long it waits, and whom it is refused. */
import { Compression } from "../../../src/codec/batch_format.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { eventually, scenario } from "../scenario.ts";
import { brief, filled, from, several } from "../setup/fetches.ts";
import { batchOf, fetching, fill, produceTo, told, type Wanted } from "../setup/records.ts";
import { createTopic, metadataOf, NO_SUCH_ID, ready } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario("Fetch in every version by name", async (broker) => {
    const topic = await filled(broker);
    for (const version of [4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      await broker.ask(fetch, version, fetching(topic, [from(0n)]), told);
    }
  }),
  scenario("Fetch in every version by id", async (broker) => {
    const topicId = await ready(broker, await filled(broker));
    for (const version of [13, 14, 15, 16, 17, 18]) {
      await broker.ask(fetch, version, fetching("", [from(0n)], { topicId }), told);
    }
  }),
  scenario("Fetch of zstd in versions that were made before it", async (broker) => {
    for (const type of ["producer", "zstd"]) {
      const topic = await createTopic(broker, type, { "compression.type": type });
      await fill(broker, topic, [batchOf(["a", "b"], { timestamp: BASE, compression: Compression.ZSTD })]);
      for (const version of [4, 9, 10]) {
        await broker.ask(fetch, version, fetching(topic, [from(0n)]), told, type);
      }
    }
  }),
  scenario("Fetch at the ends of what there is", async (broker) => {
    const topic = await filled(broker);
    for (const offset of [0n, 1n, 2n, 3n, 4n, -1n, -2n, -(2n ** 63n), 2n ** 53n, 2n ** 63n - 1n]) {
      await broker.ask(fetch, 11, fetching(topic, [from(offset)]), told, `${offset}`);
    }
  }),
  scenario("Fetch of an empty partition, and beyond its end", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const offset of [0n, 1n]) {
      await broker.ask(fetch, 11, fetching(topic, [from(offset)]), told, `${offset}`);
    }
  }),
  scenario("Fetch of what exists and what does not, together", async (broker) => {
    const topic = await filled(broker);
    const missing = broker.name("missing");
    await broker.askEach(fetch, [4, 8, 12], {
      "missing partition": fetching(topic, [from(0n), from(0n, 7), from(0n, -1)]),
      "missing topic": several([missing, [from(0n)]], [topic, [from(0n)]]),
      "bad name": several(["a b", [from(0n)]], ["", [from(0n)]]),
      "no partitions": several([topic, []]),
      "nothing": several(),
    }, told);
  }),
  scenario("Fetch by ids that exist and that do not, together", async (broker) => {
    const topicId = await ready(broker, await filled(broker));
    const ids = [NO_SUCH_ID, topicId, ZERO_UUID].map((id) =>
      fetching("", [from(0n)], { topicId: id }).topics[0]
    );
    for (const version of [13, 16]) {
      await broker.ask(fetch, version, { ...fetching("", []), topics: [ids[2]] }, brief, "the zero id");
      await broker.ask(fetch, version, { ...fetching("", []), topics: ids }, (r) => ({
        ...told(r),
        responses: told(r).responses.map((t) => t.partitions).sort((a, b) => a[0].errorCode - b[0].errorCode),
      }));
    }
  }),
  scenario("Fetch that names a partition twice, and a topic twice", async (broker) => {
    const topic = await filled(broker, "t", 2);
    await broker.ask(fetch, 11, fetching(topic, [from(0n), from(2n)]), brief, "partition twice");
    await broker.ask(fetch, 11, several([topic, [from(0n)]], [topic, [from(2n, 1)]]), brief, "topic twice");
  }),
  scenario("Fetch under isolation levels that there are and that there are not", async (broker) => {
    const topic = await filled(broker);
    for (const isolationLevel of [0, 1, 2, -1, 127]) {
      await broker.ask(
        fetch,
        11,
        fetching(topic, [from(0n)], { isolationLevel }),
        told,
        `level ${isolationLevel}`,
      );
    }
  }),
  scenario("Fetch waits for minBytes no longer than it may", async (broker) => {
    const topic = await filled(broker);
    const at = (fetchOffset: bigint, minBytes: number, maxWaitMs: number) =>
      fetching(topic, [from(fetchOffset)], { minBytes, maxWaitMs });
    await broker.askEach(fetch, 11, {
      "nothing wanted": at(3n, 0, 60_000),
      "less than nothing wanted": at(3n, -1, 60_000),
      "there already": at(0n, 1, 60_000),
      "more than there is": at(0n, 1_000_000, 50),
      "no time": at(3n, 1, 0),
      "negative time": at(3n, 1, -1),
      "out of range": at(9n, 1_000_000, 60_000),
    }, brief);
  }),
  scenario("Fetch of nothing waits for nothing, or its time", async (broker) => {
    await broker.ask(fetch, 11, { ...several(), maxWaitMs: 60_000, minBytes: 0 }, told);
    await broker.ask(fetch, 11, { ...several(), maxWaitMs: 50 }, told);
  }),
  scenario(
    "Fetch waits for what exists whatever does not, but not where an offset is out of range",
    async (broker) => {
      const topic = await filled(broker, "t", 2);
      const waiting = async (label: string, request: EncodableRequestOf<typeof fetch>, maxWaitMs: number) => {
        const start = performance.now();
        await broker.ask(fetch, 11, { ...request, minBytes: 1_000_000, maxWaitMs }, brief, label);
        broker.note(`${label}: waits`, performance.now() - start >= 300);
      };
      const missing = broker.name("missing");
      await waiting("missing partition", fetching(topic, [from(3n), from(0n, 7)]), 300);
      await waiting("missing topic", several([topic, [from(3n)]], [missing, [from(0n)]]), 300);
      await waiting("nothing but a missing topic", several([missing, [from(0n)]]), 60_000);
      await waiting("out of range", fetching(topic, [from(3n), from(9n, 1)]), 60_000);
    },
  ),
  scenario("Fetch that waits is woken by an append, and gives what came", async (broker) => {
    const topic = await filled(broker, "t", 2);
    const waits = broker.another().send(
      fetch,
      11,
      fetching(topic, [from(3n), from(3n, 1)], { maxWaitMs: 60_000, minBytes: 1 }),
    );
    await broker.send(produce, 9, produceTo(topic, batchOf(["d"]), { index: 1 }));
    broker.tell(fetch, 11, await waits, "", brief);
  }),
  scenario("Fetch with limits that are no room at all", async (broker) => {
    const topic = await filled(broker, "t", 2);
    const both = (partitionMaxBytes: number) =>
      [0, 1].map((partition) => ({ ...from(0n, partition), partitionMaxBytes }));
    await broker.askEach(fetch, [4, 11], {
      "maxBytes 0": fetching(topic, both(1 << 20), { maxBytes: 0 }),
      "maxBytes 1": fetching(topic, both(1 << 20), { maxBytes: 1 }),
      "partitions 0": fetching(topic, both(0)),
      "partitions 1": fetching(topic, both(1)),
      "all 0": fetching(topic, both(0), { maxBytes: 0 }),
    }, brief);
  }),
  scenario("Fetch with negative limits", async (broker) => {
    const topic = await filled(broker);
    const one = (partitionMaxBytes: number) => [{ ...from(0n), partitionMaxBytes }];
    await broker.ask(fetch, 11, fetching(topic, one(1 << 20), { maxBytes: -1 }), brief, "maxBytes");
    await broker.ask(fetch, 11, fetching(topic, one(-1)), brief, "partitionMaxBytes");
  }),
  scenario(
    "Fetch gives whole batches up to the limits, of partitions in the order that they are asked for",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 3);
      const batch = batchOf(["x".repeat(1000)], { timestamp: BASE });
      for (const index of [0, 1, 2]) await fill(broker, topic, [batch, batch, batch], index);
      const size = batch.length;
      const all = (order: number[], partitionMaxBytes: number) =>
        order.map((partition) => ({ ...from(0n, partition), partitionMaxBytes }));
      await broker.askEach(fetch, 11, {
        "one of each": fetching(topic, all([0, 1, 2], size)),
        "two of each": fetching(topic, all([0, 1, 2], 2 * size)),
        "one in all": fetching(topic, all([2, 1, 0], 1 << 20), { maxBytes: size }),
        "four in all": fetching(topic, all([1, 0, 2], 1 << 20), { maxBytes: 4 * size }),
        "four in all, two of each": fetching(topic, all([1, 0, 2], 2 * size), { maxBytes: 4 * size }),
      }, brief);
    },
  ),
  scenario("Fetch from the middle of a batch gives it whole, compressed or not", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const compression of [0, 1, 2, 3, 4]) {
      await fill(broker, topic, [batchOf(["a", "b", "c"], { compression, timestamp: BASE })]);
    }
    for (const offset of [1n, 5n, 8n, 11n, 13n]) {
      await broker.ask(fetch, 11, fetching(topic, [from(offset)]), brief, `${offset}`);
    }
  }),
  scenario(
    "Fetch holds the leader epoch and the last fetched epoch against what it knows",
    async (broker) => {
      const topic = await filled(broker);
      const epochs = (currentLeaderEpoch: number, lastFetchedEpoch: number, fetchOffset = 0n): Wanted[] => [
        { fetchOffset, currentLeaderEpoch, lastFetchedEpoch },
      ];
      await broker.askEach(fetch, 12, {
        "neither": fetching(topic, epochs(-1, -1)),
        "both right": fetching(topic, epochs(0, 0, 3n)),
        "leader ahead": fetching(topic, epochs(1, 0)),
        "leader ahead, out of range": fetching(topic, epochs(1, 0, 99n)),
        "leader -2": fetching(topic, epochs(-2, -1)),
        "last ahead": fetching(topic, epochs(0, 1, 1n)),
        "last right, beyond the end": fetching(topic, epochs(0, 0, 4n)),
        "last -2": fetching(topic, epochs(-1, -2)),
      }, told);
    },
  ),
  scenario(
    "Fetch under read_committed of a partition whose history parts says nothing of transactions",
    async (broker) => {
      const topic = await filled(broker);
      for (const isolationLevel of [0, 1]) {
        const parted = [{ fetchOffset: 9n, lastFetchedEpoch: 0 }];
        await broker.ask(fetch, 12, fetching(topic, parted, { isolationLevel, maxWaitMs: 0 }), told);
        const range = [{ fetchOffset: 9n }];
        await broker.ask(
          fetch,
          12,
          fetching(topic, range, { isolationLevel, maxWaitMs: 0 }),
          told,
          "out of range",
        );
      }
    },
  ),
  scenario(
    "Fetch under read_committed of a batch that does not fit says nothing of transactions",
    async (broker) => {
      const topic = await filled(broker, "t", 3);
      const wanted = [1 << 20, 50, 0].map((partitionMaxBytes, partition) => ({
        ...from(0n, partition),
        partitionMaxBytes,
      }));
      await broker.ask(fetch, 11, fetching(topic, wanted, { isolationLevel: 1 }), told);
    },
  ),
  scenario("Fetch by replicas: the broker itself, others, and debugging consumers", async (broker) => {
    const topic = await filled(broker);
    const topicId = await ready(broker, topic);
    for (const replicaId of [-1, -2, -3, 0, 1, 2]) {
      await broker.ask(
        fetch,
        11,
        { ...fetching(topic, [from(0n)]), replicaId },
        brief,
        `replica ${replicaId}`,
      );
    }
    for (const [replicaId, replicaEpoch] of [[-1, -1n], [-2, -1n], [2, -1n], [2, 5n]] as const) {
      const request = { ...fetching("", [from(0n)], { topicId }), replicaState: { replicaId, replicaEpoch } };
      await broker.ask(fetch, 16, request, brief, `replica ${replicaId} ${replicaEpoch}`);
    }
  }),
  scenario("Fetch with a rack and with a cluster id", async (broker) => {
    const topic = await filled(broker);
    await broker.ask(fetch, 11, { ...fetching(topic, [from(0n)]), rackId: "r1" }, brief, "rack");
    await broker.ask(
      fetch,
      12,
      { ...fetching(topic, [from(0n)]), clusterId: "another" },
      brief,
      "another cluster",
    );
    await broker.ask(fetch, 12, { ...fetching(topic, [from(0n)]), clusterId: "" }, brief, "empty cluster id");
  }),
  scenario("Fetch of a topic that was deleted, and of the one that took its name", async (broker) => {
    const topic = await filled(broker);
    const before = await ready(broker, topic);
    await broker.send(deleteTopics, 4, { topics: [], topicNames: [topic], timeoutMs: 5000 });
    await eventually("the topic stays", async () => {
      const named = await broker.send(metadata, 12, metadataOf([topic]));
      const byId = await broker.send(fetch, 13, fetching("", [from(0n)], { topicId: before, maxWaitMs: 0 }));
      return named!.topics[0].errorCode !== 0 && byId!.responses[0].partitions[0].errorCode !== 0
        ? true
        : null;
    });
    await broker.ask(fetch, 12, fetching(topic, [from(0n)]), brief);
    await broker.ask(fetch, 13, fetching("", [from(0n)], { topicId: before }), brief);
    await createTopic(broker, "t");
    await broker.ask(fetch, 12, fetching(topic, [from(0n)]), brief, "the new one");
    await broker.ask(fetch, 13, fetching("", [from(0n)], { topicId: before }), brief, "the old id");
  }),
];
