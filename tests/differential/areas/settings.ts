/** What a broker's own settings change: limits of groups, sessions, sizes and topics, small enough to be reached. */
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { describeTopicPartitions } from "../../../src/codec/messages/describe_topic_partitions.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import type { Oracle } from "../areas.ts";
import { eventually, scenario } from "../scenario.ts";
import { bytes, committing, joined, joining, newGroup, pair, rebalancing, syncing } from "../setup/groups.ts";
import { batchOf, fetching, fill, produceTo, told } from "../setup/records.ts";
import { createTopic, creating, metadataOf, ready, topicsOnly } from "../setup/topics.ts";

export const oracle: Oracle = {
  settings: {
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "false",
    "fetch.max.bytes": "3000",
    "group.max.session.timeout.ms": "20000",
    "group.max.size": "2",
    "group.min.session.timeout.ms": "100",
    "max.request.partition.size.limit": "3",
    "message.max.bytes": "20000",
    "num.partitions": "2",
    "offset.metadata.max.bytes": "10",
    "socket.request.max.bytes": "100000",
  },
};

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario("group.max.size: a third member is refused, old members are not", async (broker) => {
    const group = await newGroup(broker);
    const { leader, follower, other } = await pair(broker, group);
    const third = broker.another();
    await third.ask(joinGroup, 3, joining(group));
    await third.ask(joinGroup, 9, joining(group));
    await third.ask(joinGroup, 5, joining(group, { groupInstanceId: "i" }), undefined, "static");
    await third.ask(joinGroup, 3, joining(group, { memberId: "stranger" }), undefined, "stranger");
    await other.ask(joinGroup, 3, joining(group, { memberId: follower.memberId }), undefined, "follower");
    await broker.ask(heartbeat, 4, { groupId: group, ...leader });
  }),
  scenario("group.max.size: ids that are not used yet do not count", async (broker) => {
    const group = await newGroup(broker);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await broker.ask(joinGroup, 9, joining(group)))!.memberId);
    await broker.ask(joinGroup, 9, joining(group, { memberId: ids[0] }), undefined, "the first id");
  }),
  scenario("Session timeouts have the limits of the broker", async (broker) => {
    const group = await newGroup(broker);
    for (const sessionTimeoutMs of [99, 100, 20_000, 20_001]) {
      const request = joining(`${group}${sessionTimeoutMs}`, { sessionTimeoutMs });
      await broker.ask(joinGroup, 3, request, undefined, `${sessionTimeoutMs} ms`);
    }
  }),
  scenario("A member that is not heard of in its session is out, and its group goes on", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const member = await joined(broker, group, { sessionTimeoutMs: 200 });
    await broker.ask(heartbeat, 4, { groupId: group, ...member }, undefined, "before");
    await eventually("the member stays", async () => {
      const seen = await broker.send(describeGroups, 5, {
        groups: [group],
        includeAuthorizedOperations: false,
      });
      return seen!.groups[0].members.length === 0 ? true : null;
    });
    await broker.ask(heartbeat, 4, { groupId: group, ...member }, undefined, "after");
    await broker.ask(syncGroup, 4, syncing(group, member));
    await broker.ask(offsetCommit, 8, committing(group, topic, { ...member, generationIdOrMemberEpoch: 1 }));
    await broker.ask(joinGroup, 3, joining(group, { memberId: member.memberId }), undefined, "the old id");
    await broker.ask(joinGroup, 3, joining(group), undefined, "anew");
  }),
  scenario(
    "A member that goes silent makes the others join again, and gives its partitions up",
    async (broker) => {
      const group = await newGroup(broker);
      const first = await joined(broker, group, { sessionTimeoutMs: 20_000 });
      const silent = broker.another().send(joinGroup, 3, joining(group, { sessionTimeoutMs: 300 }));
      await rebalancing(broker, group, first);
      await broker.send(joinGroup, 3, joining(group, { memberId: first.memberId }));
      const { memberId, generationId } = (await silent)!;
      const kept = { memberId: first.memberId, generationId };
      const assignments = [
        { memberId, assignment: bytes("silent") },
        { memberId: first.memberId, assignment: bytes("kept") },
      ];
      await broker.send(syncGroup, 3, syncing(group, kept, { assignments }));
      await rebalancing(broker, group, kept);
      await broker.ask(joinGroup, 3, joining(group, { memberId: first.memberId }));
      await broker.ask(heartbeat, 4, { groupId: group, memberId, generationId }, undefined, "silent");
    },
  ),
  scenario("An id that is not used in its session is taken back", async (broker) => {
    const group = await newGroup(broker);
    const pending = await broker.send(joinGroup, 4, joining(group, { sessionTimeoutMs: 150 }));
    const { memberId } = pending!;
    await eventually("the id stays", async () => {
      // Asked for with a protocol that nobody has, so that it is not used by asking.
      const beat = await broker.send(heartbeat, 4, { groupId: group, memberId, generationId: 0 });
      return beat!.errorCode !== 0 ? true : null;
    });
    const start = Date.now();
    await eventually("time stands still", () => Promise.resolve(Date.now() > start + 400 ? true : null));
    await broker.ask(joinGroup, 4, joining(group, { memberId, sessionTimeoutMs: 150 }));
  }),
  scenario("offset.metadata.max.bytes bounds what a commit brings along", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const metadata of ["x".repeat(10), "x".repeat(11), "äääää", "ääääää", "", null]) {
      await broker.ask(offsetCommit, 8, committing(group, topic, { metadata }), undefined, `${metadata}`);
      await broker.ask(offsetFetch, 5, { groupId: group, topics: null, groups: [] });
    }
  }),
  scenario("auto.create.topics.enable=false: Metadata makes nothing", async (broker) => {
    const name = broker.name("t");
    for (const version of [0, 1, 4, 12]) {
      const request = metadataOf([name], { allowAutoTopicCreation: true });
      await broker.ask(metadata, version, request, topicsOnly);
    }
    await broker.ask(produce, 9, produceTo(name, batchOf(["a"])));
  }),
  scenario("delete.topic.enable=false: DeleteTopics refuses everything alike", async (broker) => {
    const topic = await createTopic(broker, "t");
    const topicNames = [topic, broker.name("missing"), "a b"];
    for (const version of [1, 2, 3, 4, 5]) {
      await broker.ask(deleteTopics, version, { topics: [], topicNames, timeoutMs: 5000 });
    }
    const topics = [{ name: topic, topicId: ZERO_UUID }, { name: null, topicId: await ready(broker, topic) }];
    await broker.ask(deleteTopics, 6, { topics, topicNames: [], timeoutMs: 5000 });
  }),
  scenario("num.partitions is what CreateTopics takes for -1", async (broker) => {
    const topics = [creating(broker.name("t"), { numPartitions: -1, replicationFactor: -1 })];
    await broker.ask(
      createTopics,
      7,
      { topics },
      (r) => r.topics.map((t) => [t.numPartitions, t.replicationFactor]),
    );
  }),
  scenario("message.max.bytes bounds batches where the topic says nothing else", async (broker) => {
    const plain = await createTopic(broker, "plain");
    const small = await createTopic(broker, "small", { "max.message.bytes": "1000" });
    const large = await createTopic(broker, "large", { "max.message.bytes": "50000" });
    for (const topic of [plain, small, large]) {
      for (const size of [500, 15_000, 40_000]) {
        const request = produceTo(topic, batchOf(["x".repeat(size)], { timestamp: BASE }));
        await broker.ask(produce, 9, request, undefined, `${size} bytes`);
      }
    }
  }),
  scenario("fetch.max.bytes bounds what a fetch gives, but for its first batch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const batch = batchOf(["x".repeat(1000)], { timestamp: BASE });
    await fill(broker, topic, [batch, batch, batch, batch]);
    const large = await createTopic(broker, "large");
    await fill(broker, large, [batchOf(["x".repeat(10_000)], { timestamp: BASE }), batch]);
    for (const name of [topic, large]) {
      await broker.ask(
        fetch,
        11,
        fetching(name, [{ fetchOffset: 0n }]),
        (r) => told(r).responses[0].partitions[0].records!.map(([, baseOffset]) => baseOffset),
      );
    }
  }),
  scenario("max.request.partition.size.limit bounds the pages of DescribeTopicPartitions", async (broker) => {
    const name = await createTopic(broker, "t", {}, 5);
    for (const responsePartitionLimit of [2, 3, 4, 2000]) {
      const request = { topics: [{ name }], responsePartitionLimit };
      await broker.ask(describeTopicPartitions, 0, request, (r) => [
        r.topics.map((t) => t.partitions.length),
        r.nextCursor,
      ], `limit ${responsePartitionLimit}`);
    }
  }),
  scenario("socket.request.max.bytes: a larger frame closes the connection", async (broker) => {
    const topic = await createTopic(broker, "t", { "max.message.bytes": "200000" });
    const frame = broker.frame(
      produce,
      9,
      produceTo(topic, batchOf(["x".repeat(90_000)], { timestamp: BASE })),
    );
    await broker.askRaw("below", frame, () => "answered");
    const larger = broker.frame(
      produce,
      9,
      produceTo(topic, batchOf(["x".repeat(100_000)], { timestamp: BASE })),
    );
    await broker.askRaw("above", larger, () => "answered");
    await broker.ask(metadata, 12, metadataOf([]), (r) => r.topics.length, "served again");
  }),
];
