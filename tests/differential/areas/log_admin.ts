/** Looking after logs: DeleteRecords, and what reading and writing answer afterwards. */
import { deleteRecords } from "../../../src/codec/messages/delete_records.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { type Broker, scenario } from "../scenario.ts";
import { committing, newGroup } from "../setup/groups.ts";
import { batchOf, fetching, fill, produceTo } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

/** Appends `count` batches of two records. */
async function filled(broker: Broker, topic: string, count = 3): Promise<void> {
  await fill(broker, topic, Array.from({ length: count }, () => batchOf(["a", "b"])));
}

type Deletion = { partitionIndex: number; offset: bigint };

function deleteFrom(broker: Broker, version: number, topics: Record<string, Deletion[]>, timeoutMs = 5000) {
  return broker.ask(deleteRecords, version, {
    topics: Object.entries(topics).map(([name, partitions]) => ({ name, partitions })),
    timeoutMs,
  });
}

/** The offsets that a consumer sees: earliest, latest. */
async function ends(broker: Broker, topic: string): Promise<void> {
  for (const timestamp of [-2n, -1n, -4n]) {
    await broker.ask(listOffsets, 8, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 1000,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp }] }],
    }, (r) => r.topics[0].partitions.map(({ errorCode, offset }) => ({ errorCode, offset })));
  }
}

async function read(broker: Broker, topic: string, fetchOffset: bigint): Promise<void> {
  await broker.ask(
    fetch,
    12,
    fetching(topic, [{ fetchOffset }], { maxWaitMs: 0 }),
    (response) =>
      response.responses.map((t) =>
        t.partitions.map(({ errorCode, highWatermark, logStartOffset, records }) => ({
          errorCode,
          highWatermark,
          logStartOffset,
          bytes: records?.length ?? null,
        }))
      ),
  );
}

/** A group's commit makes `__consumer_offsets`. */
async function offsetsTopic(broker: Broker): Promise<string> {
  const topic = await createTopic(broker, "committed");
  await broker.send(offsetCommit, 7, committing(await newGroup(broker), topic));
  return "__consumer_offsets";
}

const deletions = [
  scenario("DeleteRecords moves the log's start, in every version", async (broker) => {
    for (const version of [0, 1, 2]) {
      const topic = await createTopic(broker, `t${version}`);
      await filled(broker, topic);
      await deleteFrom(broker, version, { [topic]: [{ partitionIndex: 0, offset: 3n }] });
      await ends(broker, topic);
      for (const offset of [0n, 2n, 3n, 4n, 6n, 7n]) await read(broker, topic, offset);
    }
  }),
  scenario("DeleteRecords at or below the start changes nothing and tells the start", async (broker) => {
    const topic = await createTopic(broker, "t");
    await filled(broker, topic);
    for (const offset of [0n, 4n, 4n, 3n, 0n]) {
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset }] });
    }
    await ends(broker, topic);
  }),
  scenario("DeleteRecords up to the high watermark by -1, and of an empty log", async (broker) => {
    const topic = await createTopic(broker, "t");
    await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: -1n }] });
    await filled(broker, topic);
    await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: -1n }] });
    await ends(broker, topic);
    await read(broker, topic, 6n);
    await filled(broker, topic, 1);
    await ends(broker, topic);
    await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: 8n }] });
    await ends(broker, topic);
  }),
  scenario("DeleteRecords beyond the high watermark, below -1 and at the ends of int64", async (broker) => {
    const topic = await createTopic(broker, "t");
    await filled(broker, topic);
    for (const offset of [7n, -2n, 1n << 62n, (1n << 63n) - 1n, -(1n << 63n)]) {
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset }] });
    }
    await ends(broker, topic);
  }),
  scenario("DeleteRecords of what does not exist", async (broker) => {
    const topic = await createTopic(broker, "t");
    await filled(broker, topic);
    for (const version of [0, 2]) {
      await deleteFrom(broker, version, { [topic]: [{ partitionIndex: 1, offset: 1n }] });
      await deleteFrom(broker, version, { [topic]: [{ partitionIndex: -1, offset: 1n }] });
      await deleteFrom(broker, version, { [broker.name("missing")]: [{ partitionIndex: 0, offset: 1n }] });
      await deleteFrom(broker, version, { "": [{ partitionIndex: 0, offset: 1n }] });
      await deleteFrom(broker, version, { "not/a/name": [{ partitionIndex: 0, offset: 1n }] });
    }
    await broker.send(deleteTopics, 5, { topicNames: [topic], timeoutMs: 5000, topics: [] });
    await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: 1n }] });
  }),
  scenario("DeleteRecords with nothing named, or a topic without partitions", async (broker) => {
    const topic = await createTopic(broker, "t");
    await deleteFrom(broker, 2, {});
    await deleteFrom(broker, 0, {});
    await deleteFrom(broker, 2, { [topic]: [] });
  }),
  scenario("DeleteRecords of some partitions that exist and some that do not", async (broker) => {
    const [one, two] = [await createTopic(broker, "one"), await createTopic(broker, "two")];
    await filled(broker, one, 2);
    await filled(broker, two, 2);
    await deleteFrom(broker, 2, {
      [one]: [{ partitionIndex: 0, offset: 2n }],
      [broker.name("missing")]: [{ partitionIndex: 0, offset: 1n }],
      [two]: [{ partitionIndex: 0, offset: 99n }],
    });
    await ends(broker, one);
    await ends(broker, two);
  }),
  scenario("DeleteRecords that names a partition twice goes by the last", async (broker) => {
    const topic = await createTopic(broker, "t");
    await filled(broker, topic);
    await deleteFrom(broker, 2, {
      [topic]: [{ partitionIndex: 0, offset: 4n }, { partitionIndex: 0, offset: 2n }],
    });
    await ends(broker, topic);
    await broker.ask(deleteRecords, 2, {
      topics: [
        { name: topic, partitions: [{ partitionIndex: 0, offset: 3n }] },
        { name: topic, partitions: [{ partitionIndex: 0, offset: 5n }] },
      ],
      timeoutMs: 5000,
    });
    await ends(broker, topic);
  }),
  scenario("DeleteRecords by cleanup policy", async (broker) => {
    const policies = ["compact", "compact,delete", "delete", ""];
    for (const [i, policy] of policies.entries()) {
      const topic = await createTopic(broker, `t${i}`, { "cleanup.policy": policy });
      await filled(broker, topic);
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: 2n }] });
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: 99n }] });
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: -5n }] });
      await ends(broker, topic);
    }
  }),
  scenario("DeleteRecords of an internal topic", async (broker) => {
    const topic = await offsetsTopic(broker);
    for (const offset of [0n, -1n, 999_999n]) {
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset }] });
    }
    await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 999, offset: 0n }] });
    await deleteFrom(broker, 2, { "__cluster_metadata": [{ partitionIndex: 0, offset: 0n }] });
  }),
  scenario("DeleteRecords waits for nothing, whatever the timeout", async (broker) => {
    const topic = await createTopic(broker, "t");
    await filled(broker, topic);
    let offset = 1n;
    for (const timeoutMs of [0, 1, -1, -(2 ** 31), 2 ** 31 - 1]) {
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: offset++ }] }, timeoutMs);
    }
  }),
  scenario(
    "DeleteRecords into the middle of a compressed batch; Produce tells the new start",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      await broker.send(produce, 9, produceTo(topic, batchOf(["a", "b", "c", "d"], { compression: 1 })));
      await deleteFrom(broker, 2, { [topic]: [{ partitionIndex: 0, offset: 2n }] });
      await ends(broker, topic);
      await read(broker, topic, 1n);
      await read(broker, topic, 2n);
      await broker.ask(produce, 9, produceTo(topic, batchOf(["e"])));
    },
  ),
];

export const scenarios = [...deletions];
