/** What is looked at first, where several things are wrong with one request. */
import { RECORD_COUNT_AT } from "../../../src/codec/batch_format.ts";
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetForLeaderEpoch } from "../../../src/codec/messages/offset_for_leader_epoch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { scenario } from "../scenario.ts";
import { committing, joined, joining, newGroup } from "../setup/groups.ts";
import { batchOf, fetching, fill, newProducer, produceTo, told, withHeader } from "../setup/records.ts";
import { createTopic, creating, ready } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario("Produce: the topic, the format, acks, then the batch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const missing = broker.name("missing");
    const one = batchOf(["a"]), damaged = one.slice(0, one.length - 1), old = one.slice();
    old[16] = 1;
    await broker.askEach(produce, [7, 9], {
      "missing topic, damaged": produceTo(missing, damaged),
      "missing topic, format 1": produceTo(missing, old),
      "missing partition, acks 5": produceTo(topic, one, { index: 7, acks: 5 }),
      "internal topic, damaged": produceTo("__consumer_offsets", damaged),
      "internal topic, format 1": produceTo("__consumer_offsets", old),
      "internal topic, acks 5": produceTo("__consumer_offsets", one, { acks: 5 }),
      "format 1, acks 5": produceTo(topic, old, { acks: 5 }),
      "damaged, acks 5": produceTo(topic, damaged, { acks: 5 }),
    });
    const zstd = batchOf(["a"], { compression: 4 });
    await broker.askEach(produce, 6, {
      "zstd, missing topic": produceTo(missing, zstd),
      "zstd, acks 5": produceTo(topic, zstd, { acks: 5 }),
      "zstd, damaged": produceTo(topic, zstd.slice(0, zstd.length - 1)),
    });
  }),
  scenario("Produce of what is no batch at all, among others", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = batchOf(["a"]), none = new Uint8Array(70), magic = one.slice();
    magic[16] = 9;
    for (
      const [label, bad] of Object.entries({ "no size": none, "magic 9": magic, "a byte": new Uint8Array(1) })
    ) {
      const partitionData = [{ index: 0, records: bad }, { index: 1, records: one }, {
        index: 7,
        records: one,
      }];
      const topicData = [{ name: topic, topicId: ZERO_UUID, partitionData }];
      for (const version of [3, 9]) {
        await broker.ask(produce, version, { acks: -1, timeoutMs: 5000, topicData }, undefined, label);
      }
    }
  }),
  scenario("Produce: damage, then size, then keys, then times, then sequences", async (broker) => {
    const topic = await createTopic(broker, "t", {
      "cleanup.policy": "compact",
      "max.message.bytes": "500",
      "message.timestamp.after.max.ms": "1000",
    });
    const producer = { producerId: await newProducer(broker), producerEpoch: 0 };
    const long = ["x".repeat(600)], short = ["x"];
    const late = { timestamp: Date.now() + 3_600_000 };
    const large = batchOf(long, { keys: false });
    await broker.askEach(produce, 9, {
      "large, damaged": produceTo(topic, large.slice(0, large.length - 1)),
      "large, without a key": produceTo(topic, large),
      "large, wrong count": produceTo(
        topic,
        withHeader(large, (header) => header.setInt32(RECORD_COUNT_AT, 2)),
      ),
      "without a key, late": produceTo(topic, batchOf(short, { keys: false, ...late })),
      "without a key, out of order": produceTo(
        topic,
        batchOf(short, { keys: false, ...producer, baseSequence: 7 }),
      ),
      "late, old epoch": produceTo(
        topic,
        batchOf(short, { ...late, ...producer, producerEpoch: -1, baseSequence: 0 }),
      ),
      "large, old sequence": produceTo(topic, batchOf(long, { ...producer, baseSequence: -5 })),
      "first": produceTo(topic, batchOf(short, { ...producer, baseSequence: 0 })),
      "late, out of order": produceTo(topic, batchOf(short, { ...late, ...producer, baseSequence: 9 })),
      "large, out of order": produceTo(topic, batchOf(long, { ...producer, baseSequence: 9 })),
      "late, again": produceTo(topic, batchOf(short, { ...late, ...producer, baseSequence: 0 })),
      "without a key, again": produceTo(topic, batchOf(short, { keys: false, ...producer, baseSequence: 0 })),
    });
  }),
  scenario("Produce: replicas in sync, before or after the batch", async (broker) => {
    const topic = await createTopic(broker, "t", { "min.insync.replicas": "2", "max.message.bytes": "500" });
    const one = batchOf(["a"]);
    await broker.askEach(produce, 9, {
      "too few, too large": produceTo(topic, batchOf(["x".repeat(600)])),
      "too few, damaged": produceTo(
        topic,
        withHeader(one, () => undefined).map((byte, i) => i === 20 ? byte ^ 1 : byte),
      ),
      "too few, late": produceTo(topic, batchOf(["a"], { timestamp: Date.now() + 7_200_000 })),
    });
  }),
  scenario("Fetch: the partition, its leader epoch, its offset", async (broker) => {
    const topic = await createTopic(broker, "t");
    const topicId = await ready(broker, topic);
    await fill(broker, topic, [batchOf(["a"], { timestamp: BASE })]);
    const wanted = (
      currentLeaderEpoch: number,
      fetchOffset: bigint,
      partition = 0,
      lastFetchedEpoch = -1,
    ) => [
      { partition, fetchOffset, currentLeaderEpoch, lastFetchedEpoch },
    ];
    await broker.askEach(fetch, 12, {
      "missing, epoch ahead": fetching(topic, wanted(5, 0n, 7), { maxWaitMs: 0 }),
      "epoch ahead, out of range": fetching(topic, wanted(5, 99n), { maxWaitMs: 0 }),
      "out of range, last epoch ahead": fetching(topic, wanted(0, 99n, 0, 5), { maxWaitMs: 0 }),
      "out of range, last epoch right": fetching(topic, wanted(0, 99n, 0, 0), { maxWaitMs: 0 }),
      "negative, last epoch right": fetching(topic, wanted(0, -5n, 0, 0), { maxWaitMs: 0 }),
    }, told);
    const replica = { ...fetching("", wanted(5, 99n), { topicId, maxWaitMs: 0 }), replicaId: 9 };
    await broker.ask(fetch, 13, replica, told, "a replica that is none, epoch ahead");
    const session = fetching("", wanted(5, 99n), { topicId, sessionId: 77, sessionEpoch: 9, maxWaitMs: 0 });
    await broker.ask(fetch, 13, session, told, "a session that is none, epoch ahead");
  }),
  scenario("ListOffsets: twice, sentinels, the partition, its leader epoch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const missing = broker.name("missing");
    const of = (name: string, ...partitions: { timestamp: bigint; currentLeaderEpoch?: number }[]) => ({
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 1000,
      topics: [{ name, partitions: partitions.map((p) => ({ partitionIndex: 0, ...p })) }],
    });
    await broker.askEach(listOffsets, [4, 11], {
      "twice, missing": of(missing, { timestamp: -1n }, { timestamp: -1n }),
      "twice, unknown sentinel": of(topic, { timestamp: -99n }, { timestamp: -1n }),
      "unknown sentinel, missing": of(missing, { timestamp: -99n }),
      "unknown sentinel, epoch ahead": of(topic, { timestamp: -99n, currentLeaderEpoch: 5 }),
      "missing, epoch ahead": of(missing, { timestamp: -1n, currentLeaderEpoch: 5 }),
    });
    const partitions = [{ partition: 7, leaderEpoch: 0, currentLeaderEpoch: 5 }];
    await broker.ask(offsetForLeaderEpoch, 4, { replicaId: -1, topics: [{ topic, partitions }] });
  }),
  scenario("OffsetCommit: topics, then the member, then what it commits", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const missing = broker.name("missing");
    const { memberId } = await joined(broker, group);
    const long = "x".repeat(5000);
    const several = (id: string, generationIdOrMemberEpoch: number) => ({
      groupId: group,
      memberId: id,
      generationIdOrMemberEpoch,
      topics: [[missing, "m"], [topic, long], [topic, "m"]].map(([name, committedMetadata], i) => ({
        name,
        topicId: ZERO_UUID,
        partitions: [{ partitionIndex: i === 2 ? 7 : 0, committedOffset: 1n, committedMetadata }],
      })).filter((_, i) => i < 2),
    });
    await broker.askEach(offsetCommit, [6, 8], {
      "missing topic, stranger": committing(group, missing, { memberId: "m", generationIdOrMemberEpoch: 1 }),
      "long metadata, stranger": committing(group, topic, { memberId: "m", metadata: long }),
      "long metadata, other generation": committing(group, topic, {
        memberId,
        generationIdOrMemberEpoch: 9,
        metadata: long,
      }),
      "no group, missing topic": committing("", missing, { memberId: "m", generationIdOrMemberEpoch: 1 }),
      "missing topic and long metadata, stranger": several("m", 1),
      "missing topic and long metadata, member": several(memberId, 1),
    });
  }),
  scenario("Members: the group, the instance, the member, the generation", async (broker) => {
    const group = await newGroup(broker);
    const { memberId, generationId } =
      (await broker.send(joinGroup, 5, joining(group, { groupInstanceId: "i" })))!;
    const beat = { groupId: group, memberId, generationId, groupInstanceId: "i" };
    await broker.askEach(heartbeat, 4, {
      "unknown group, other instance": { ...beat, groupId: broker.name("none"), groupInstanceId: "j" },
      "other instance, other member, other generation": {
        ...beat,
        groupInstanceId: "j",
        memberId: "m",
        generationId: 9,
      },
      "instance of another member, other generation": { ...beat, memberId: "m", generationId: 9 },
      "no instance, other generation": { ...beat, groupInstanceId: null, generationId: 9 },
    });
    await broker.askEach(leaveGroup, 4, {
      "unknown group, nobody": { groupId: broker.name("none"), memberId: "", members: [{ memberId: "" }] },
      "no group, nobody": { groupId: "", memberId: "", members: [] },
    });
    await broker.askEach(joinGroup, 9, {
      "session too long, instance bad": joining(group, { sessionTimeoutMs: 2 ** 30, groupInstanceId: "a b" }),
      "no group, instance bad": joining("", { groupInstanceId: "a b" }),
      "other protocols, instance of another": joining(group, {
        protocols: [{ name: "other", metadata: new Uint8Array(0) }],
        groupInstanceId: "i",
        memberId: "m",
      }),
      "other type, no member id": joining(group, { protocolType: "connect" }),
    });
  }),
  scenario("OffsetDelete and DeleteGroups: the group, before topics", async (broker) => {
    const topics = [{ name: broker.name("missing"), partitions: [{ partitionIndex: 0 }] }];
    const group = await newGroup(broker);
    await broker.ask(offsetDelete, 0, { groupId: broker.name("none"), topics }, undefined, "both missing");
    await joined(broker, group, { protocolType: "connect" });
    await broker.ask(offsetDelete, 0, { groupId: group, topics }, undefined, "in use, missing topic");
    await broker.ask(
      deleteGroups,
      2,
      { groupsNames: [group, broker.name("none"), group] },
      undefined,
      "twice, in use",
    );
  }),
  scenario("CreatePartitions: twice, the topic, the count, the assignment", async (broker) => {
    const name = await createTopic(broker, "t", {}, 2);
    const missing = broker.name("missing");
    const bad = [{ brokerIds: [9] }];
    const ask = (
      label: string,
      ...topics: { name: string; count: number; assignments: typeof bad | null }[]
    ) => broker.ask(createPartitions, 3, { topics, timeoutMs: 5000, validateOnly: true }, undefined, label);
    await ask("twice, missing", { name: missing, count: 1, assignments: null }, {
      name: missing,
      count: 2,
      assignments: null,
    });
    await ask("missing, fewer, bad assignment", { name: missing, count: 0, assignments: bad });
    await ask("fewer, bad assignment", { name, count: 1, assignments: bad });
    await ask("as many, bad assignment", { name, count: 2, assignments: bad });
    await ask("two more, one assigned, badly", { name, count: 4, assignments: bad });
    await ask("negative, bad assignment", { name, count: -1, assignments: bad });
  }),
  scenario("CreateTopics: reserved names, twice, and what else is wrong with them", async (broker) => {
    const codes = (r: { topics: { name: string; errorCode: number }[] }) => ({
      topics: r.topics.map(({ name, errorCode }) => ({ name, errorCode })),
    });
    const name = broker.name("t");
    const badConfig = { configs: [{ name: "no.such", value: "1" }] };
    await broker.askEach(createTopics, 7, {
      "reserved, no partitions": { topics: [creating("__cluster_metadata", { numPartitions: 0 })] },
      "reserved, twice": { topics: [creating("__cluster_metadata"), creating("__cluster_metadata")] },
      "twice, bad name": { topics: [creating("a b"), creating("a b")] },
      "twice, bad setting": { topics: [creating(name, badConfig), creating(name, badConfig)] },
      "null setting, bad count": {
        topics: [creating(name, { configs: [{ name: "retention.ms", value: null }], numPartitions: 0 })],
      },
      "unknown and null setting": {
        topics: [creating(name, { configs: [{ name: "no.such", value: null }] })],
      },
      "assignment and counts, bad setting": {
        topics: [creating(name, { ...badConfig, assignments: [{ partitionIndex: 0, brokerIds: [1] }] })],
      },
      "bad assignment and counts": {
        topics: [creating(name, { assignments: [{ partitionIndex: 0, brokerIds: [9] }] })],
      },
    }, codes);
  }),
];
