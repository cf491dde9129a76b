/** ListOffsets and OffsetForLeaderEpoch: which offsets belong to times and to leader epochs. */
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { offsetForLeaderEpoch } from "../../../src/codec/messages/offset_for_leader_epoch.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { buildBatch } from "../../../src/codec/batch.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { batchOf, fill } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;
const EARLIEST = -2n, LATEST = -1n, LARGEST_TIMESTAMP = -3n;

type Wanted = EncodableRequestOf<typeof listOffsets>["topics"][number]["partitions"][number];

function listing(
  name: string,
  partitions: Wanted[],
  more: Partial<EncodableRequestOf<typeof listOffsets>> = {},
): EncodableRequestOf<typeof listOffsets> {
  return { replicaId: -1, isolationLevel: 0, timeoutMs: 1000, topics: [{ name, partitions }], ...more };
}

const at = (timestamp: bigint, partitionIndex = 0): Wanted => ({ partitionIndex, timestamp });

/** A topic with three records, a second apart, in two batches. */
async function filled(broker: Broker, text = "t", configs: Record<string, string> = {}): Promise<string> {
  const topic = await createTopic(broker, text, configs, 2);
  const record = (ms: number) => ({ timestamp: BASE + ms, key: null, value: null });
  await fill(broker, topic, [buildBatch([record(0), record(1000)]), buildBatch([record(2000)])]);
  return topic;
}

export const scenarios = [
  scenario("ListOffsets in every version: the ends, the latest record, and by time", async (broker) => {
    const topic = await filled(broker);
    const wanted = { earliest: EARLIEST, latest: LATEST, "by time": BigInt(BASE + 500) };
    for (const version of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) {
      for (const [label, timestamp] of Object.entries(wanted)) {
        await broker.ask(listOffsets, version, listing(topic, [at(timestamp)]), undefined, label);
      }
    }
  }),
  scenario("ListOffsets by times around each record", async (broker) => {
    const topic = await filled(broker);
    for (const ms of [-1, 0, 1, 999, 1000, 1001, 1999, 2000, 2001]) {
      await broker.ask(listOffsets, 7, listing(topic, [at(BigInt(BASE + ms))]), undefined, `${ms} ms`);
    }
    for (const timestamp of [0n, 1n, 2n ** 53n, 2n ** 63n - 1n]) {
      await broker.ask(listOffsets, 7, listing(topic, [at(timestamp)]), undefined, `${timestamp}`);
    }
  }),
  scenario("ListOffsets of sentinels that a version does not know, and that none does", async (broker) => {
    const topic = await filled(broker);
    const sentinels = [LARGEST_TIMESTAMP, -4n, -5n, -6n, -7n, -8n, -100n, -(2n ** 63n)];
    for (const version of [1, 6, 7, 8, 9, 10, 11]) {
      for (const timestamp of sentinels) {
        await broker.ask(listOffsets, version, listing(topic, [at(timestamp)]), undefined, `${timestamp}`);
      }
    }
  }),
  scenario("ListOffsets of an empty partition", async (broker) => {
    const topic = await filled(broker);
    for (const timestamp of [EARLIEST, LATEST, LARGEST_TIMESTAMP, -4n, -5n, 0n, BigInt(BASE)]) {
      await broker.ask(listOffsets, 11, listing(topic, [at(timestamp, 1)]), undefined, `${timestamp}`);
    }
  }),
  scenario(
    "ListOffsets of times that go back and forth finds the first record that is late enough",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      for (const ms of [5000, 1000, 3000, 5000, 2000]) {
        await fill(broker, topic, [batchOf([String(ms)], { timestamp: BASE + ms })]);
      }
      for (const ms of [0, 1500, 2500, 4000, 5000]) {
        await broker.ask(listOffsets, 7, listing(topic, [at(BigInt(BASE + ms))]), undefined, `${ms} ms`);
      }
      await broker.ask(listOffsets, 7, listing(topic, [at(LARGEST_TIMESTAMP)]));
    },
  ),
  scenario("ListOffsets of records that go back and forth inside one compressed batch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const records = [5000, 1000, 3000, 5000, 2000].map((ms) => ({
      timestamp: BASE + ms,
      key: null,
      value: null,
    }));
    for (const compression of [0, 1, 2, 3, 4]) {
      await fill(broker, topic, [buildBatch(records, { compression })]);
    }
    for (const ms of [0, 1500, 4000, 5000, 5001]) {
      await broker.ask(listOffsets, 7, listing(topic, [at(BigInt(BASE + ms))]), undefined, `${ms} ms`);
    }
    await broker.ask(listOffsets, 7, listing(topic, [at(LARGEST_TIMESTAMP)]));
  }),
  scenario("ListOffsets of a LogAppendTime topic goes by the time of the append", async (broker) => {
    const topic = await createTopic(broker, "t", { "message.timestamp.type": "LogAppendTime" });
    for (let batch = 0; batch < 2; batch++) {
      await fill(broker, topic, [batchOf(["a", "b"], { timestamp: BASE })]);
      const now = Date.now();
      await eventually("time stands still", () => Promise.resolve(Date.now() > now + 1 ? true : null));
    }
    const offsets = (r: { topics: { partitions: { offset: bigint; errorCode: number }[] }[] }) =>
      r.topics[0].partitions.map((p) => [p.errorCode, p.offset]);
    await broker.ask(listOffsets, 7, listing(topic, [at(BigInt(BASE + 500))]), offsets);
    await broker.ask(listOffsets, 7, listing(topic, [at(LARGEST_TIMESTAMP)]), offsets);
  }),
  scenario("ListOffsets of what exists and what does not", async (broker) => {
    const topic = await filled(broker);
    await broker.askEach(listOffsets, [1, 7, 11], {
      "missing partitions": listing(topic, [at(LATEST, 7), at(LATEST, -1), at(LATEST)]),
      "missing topic": listing(broker.name("missing"), [at(LATEST)]),
      "bad name": listing("a b", [at(LATEST)]),
      "no name": listing("", [at(LATEST)]),
      "no partitions": listing(topic, []),
      "nothing": listing(topic, [], { topics: [] }),
    });
  }),
  scenario("ListOffsets that names a partition twice, or a topic twice", async (broker) => {
    const topic = await filled(broker);
    const one = { name: topic, partitions: [at(EARLIEST)] };
    await broker.askEach(listOffsets, [1, 5, 11], {
      "the same twice": listing(topic, [at(LATEST), at(LATEST)]),
      "three times, and another once": listing(topic, [at(LATEST), at(EARLIEST), at(LATEST, 1), at(LATEST)]),
      "topic twice, two partitions": listing("", [], {
        topics: [one, { name: topic, partitions: [at(LATEST, 1)] }],
      }),
      "topic twice, one partition": listing("", [], { topics: [one, one] }),
    });
  }),
  scenario("ListOffsets under isolation levels that there are and that there are not", async (broker) => {
    const topic = await filled(broker);
    for (const isolationLevel of [0, 1, 2, -1]) {
      for (const timestamp of [EARLIEST, LATEST, BigInt(BASE)]) {
        const request = listing(topic, [at(timestamp)], { isolationLevel });
        await broker.ask(listOffsets, 7, request, undefined, `level ${isolationLevel}, ${timestamp}`);
      }
    }
  }),
  scenario("ListOffsets by replicas and debugging consumers", async (broker) => {
    const topic = await filled(broker);
    for (const replicaId of [-1, -2, -3, 0, 1, 2]) {
      for (const timestamp of [EARLIEST, LATEST, BigInt(BASE)]) {
        const request = listing(topic, [at(timestamp)], { replicaId });
        await broker.ask(listOffsets, 7, request, undefined, `replica ${replicaId}, ${timestamp}`);
      }
    }
  }),
  scenario("ListOffsets holds the leader epoch against the partition's", async (broker) => {
    const topic = await filled(broker);
    for (const version of [4, 11]) {
      for (const currentLeaderEpoch of [-2, -1, 0, 1, 2 ** 31 - 1]) {
        const request = listing(topic, [{ ...at(LATEST), currentLeaderEpoch }]);
        await broker.ask(listOffsets, version, request, undefined, `epoch ${currentLeaderEpoch}`);
      }
    }
  }),
  scenario("ListOffsets with any timeout", async (broker) => {
    const topic = await filled(broker);
    for (const timeoutMs of [0, -1, 2 ** 31 - 1]) {
      await broker.ask(
        listOffsets,
        11,
        listing(topic, [at(LATEST)], { timeoutMs }),
        undefined,
        `${timeoutMs} ms`,
      );
    }
  }),
  scenario("OffsetForLeaderEpoch in every version", async (broker) => {
    const topic = await filled(broker);
    for (const version of [2, 3, 4]) {
      const partitions = [0, 1, 5, -1].map((leaderEpoch) => ({ partition: 0, leaderEpoch }));
      for (const one of partitions) {
        const request = { replicaId: -1, topics: [{ topic, partitions: [one] }] };
        await broker.ask(offsetForLeaderEpoch, version, request, undefined, `epoch ${one.leaderEpoch}`);
      }
    }
  }),
  scenario("OffsetForLeaderEpoch of epochs that cannot be, and of a leader that is not", async (broker) => {
    const topic = await filled(broker);
    for (const leaderEpoch of [-2, -(2 ** 31), 2 ** 31 - 1]) {
      const request = { replicaId: -1, topics: [{ topic, partitions: [{ partition: 0, leaderEpoch }] }] };
      await broker.ask(offsetForLeaderEpoch, 4, request, undefined, `epoch ${leaderEpoch}`);
    }
    for (const currentLeaderEpoch of [-2, -1, 0, 1]) {
      const partitions = [{ partition: 0, leaderEpoch: 0, currentLeaderEpoch }];
      const request = { replicaId: -1, topics: [{ topic, partitions }] };
      await broker.ask(offsetForLeaderEpoch, 4, request, undefined, `leader ${currentLeaderEpoch}`);
    }
  }),
  scenario(
    "OffsetForLeaderEpoch of an empty partition, of what is missing, of nothing, and of one twice",
    async (broker) => {
      const topic = await filled(broker);
      const of = (name: string, ...partitions: number[]) => ({
        replicaId: -1,
        topics: [{ topic: name, partitions: partitions.map((partition) => ({ partition, leaderEpoch: 0 })) }],
      });
      await broker.askEach(offsetForLeaderEpoch, [2, 4], {
        "empty": of(topic, 1),
        "missing partitions": of(topic, 7, -1),
        "missing topic": of(broker.name("missing"), 0),
        "bad name": of("a b", 0),
        "no partitions": of(topic),
        "nothing": { replicaId: -1, topics: [] },
        "twice": of(topic, 0, 0),
      });
    },
  ),
  scenario("OffsetForLeaderEpoch by replicas and debugging consumers", async (broker) => {
    const topic = await filled(broker);
    for (const replicaId of [-1, -2, 0, 1, 2]) {
      const request = { replicaId, topics: [{ topic, partitions: [{ partition: 0, leaderEpoch: 0 }] }] };
      await broker.ask(offsetForLeaderEpoch, 4, request, undefined, `replica ${replicaId}`);
    }
  }),
];
