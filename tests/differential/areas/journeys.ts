/** Ways through several calls, as clients go them: what one call leaves behind is what the next one sees. */
import { createPartitions } from "../../../src/codec/messages/create_partitions.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { offsetForLeaderEpoch } from "../../../src/codec/messages/offset_for_leader_epoch.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { eventually, scenario } from "../scenario.ts";
import { bytes, committing, joined, joining, newGroup, syncing } from "../setup/groups.ts";
import { batchOf, fetching, fill, newProducer, produceTo, stored, told } from "../setup/records.ts";
import { createTopic, creating, metadataOf, NO_SUCH_ID, ready, topicsOnly } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

export const scenarios = [
  scenario("A consumer of Java 4: from the coordinator to the first commit", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t", {}, 2);
    const topicId = await ready(broker, topic);
    await fill(broker, topic, [batchOf(["a", "b"], { timestamp: BASE })]);
    await broker.ask(findCoordinator, 6, { key: "", coordinatorKeys: [group] });
    const first = await broker.ask(
      joinGroup,
      9,
      joining(group, { sessionTimeoutMs: 45_000, reason: "start" }),
    );
    const again = joining(group, { sessionTimeoutMs: 45_000, memberId: first!.memberId });
    const { memberId, generationId } = (await broker.ask(joinGroup, 9, again))!;
    const member = { memberId, generationId };
    await broker.ask(
      syncGroup,
      5,
      syncing(group, member, { protocolType: "consumer", protocolName: "range" }),
    );
    const topics = [{ name: "", topicId, partitionIndexes: [0, 1] }];
    const committedSoFar = {
      groupId: "",
      topics: [],
      groups: [{ groupId: group, memberId, memberEpoch: -1, topics }],
      requireStable: true,
    };
    await broker.ask(offsetFetch, 10, committedSoFar);
    await broker.ask(listOffsets, 11, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 30_000,
      topics: [{
        name: topic,
        partitions: [0, 1].map((partitionIndex) => ({ partitionIndex, timestamp: -2n })),
      }],
    });
    const wanted = [0, 1].map((partition) => ({ partition, fetchOffset: 0n, currentLeaderEpoch: 0 }));
    const opened = await broker.ask(fetch, 17, fetching("", wanted, { topicId, sessionEpoch: 0 }), told);
    const { sessionId } = opened!;
    await broker.ask(
      fetch,
      17,
      fetching("", [{ fetchOffset: 2n }], { topicId, sessionId, sessionEpoch: 1 }),
      told,
    );
    await broker.ask(heartbeat, 4, { groupId: group, ...member });
    const partitions = [{
      partitionIndex: 0,
      committedOffset: 2n,
      committedLeaderEpoch: 0,
      committedMetadata: "",
    }];
    await broker.ask(offsetCommit, 10, {
      groupId: group,
      memberId,
      generationIdOrMemberEpoch: generationId,
      topics: [{ name: "", topicId, partitions }],
    });
    await broker.ask(offsetFetch, 10, committedSoFar);
    await broker.ask(leaveGroup, 5, {
      groupId: group,
      memberId: "",
      members: [{ memberId, reason: "done" }],
    });
    await broker.ask(fetch, 17, fetching("", [], { sessionId, sessionEpoch: -1, maxWaitMs: 0 }), told);
    await broker.ask(deleteGroups, 3, { groupsNames: [group] });
  }),
  scenario("A consumer of the first days: versions 0 from join to leave", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await broker.ask(findCoordinator, 0, { key: group, coordinatorKeys: [] });
    const answer = await broker.ask(joinGroup, 0, joining(group));
    const { memberId, generationId } = answer!;
    await broker.ask(syncGroup, 0, syncing(group, { memberId, generationId }));
    await broker.ask(offsetFetch, 1, {
      groupId: group,
      topics: [{ name: topic, partitionIndexes: [0] }],
      groups: [],
    });
    await broker.ask(heartbeat, 0, { groupId: group, memberId, generationId });
    const commit = { memberId, generationIdOrMemberEpoch: generationId };
    await broker.ask(offsetCommit, 2, committing(group, topic, commit));
    await broker.ask(offsetFetch, 1, {
      groupId: group,
      topics: [{ name: topic, partitionIndexes: [0] }],
      groups: [],
    });
    await broker.ask(leaveGroup, 0, { groupId: group, memberId, members: [] });
    await broker.ask(describeGroups, 0, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("An idempotent producer: retries, a lost answer, a new epoch", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producer = { producerId: await newProducer(broker), producerEpoch: 0, timestamp: BASE };
    const of = (baseSequence: number, ...values: string[]) => batchOf(values, { ...producer, baseSequence });
    await broker.ask(produce, 12, produceTo(topic, of(0, "a", "b")));
    await broker.ask(produce, 12, produceTo(topic, of(2, "c")));
    await broker.ask(produce, 12, produceTo(topic, of(2, "c")), undefined, "again");
    await broker.ask(produce, 12, produceTo(topic, of(4, "e")), undefined, "ahead");
    await broker.ask(produce, 12, produceTo(topic, of(3, "d")));
    await broker.ask(produce, 12, produceTo(topic, of(4, "e")));
    const next = batchOf(["f"], { ...producer, producerEpoch: 1, baseSequence: 0 });
    await broker.ask(produce, 12, produceTo(topic, next), undefined, "next epoch");
    await broker.ask(produce, 12, produceTo(topic, of(5, "g")), undefined, "old epoch");
    await stored(broker, topic);
  }),
  scenario("Requests that are sent at once are answered in their order", async (broker) => {
    const topic = await createTopic(broker, "t");
    await broker.client();
    const offsets = await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map(async (value) => {
        const answer = await broker.send(produce, 9, produceTo(topic, batchOf([value], { timestamp: BASE })));
        return [value, answer!.responses[0].partitionResponses[0].baseOffset];
      }),
    );
    broker.note("offsets", offsets);
    await stored(broker, topic);
  }),
  scenario("A topic that grows: new partitions are empty, old ones keep what they have", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a"], { timestamp: BASE })]);
    const topics = [{ name: topic, count: 3, assignments: null }];
    await broker.ask(createPartitions, 3, { topics, timeoutMs: 5000, validateOnly: false });
    await eventually("partitions do not come", async () => {
      const named = await broker.send(metadata, 12, metadataOf([topic]));
      return named!.topics[0].partitions.length === 3 ? true : null;
    });
    await ready(broker, topic);
    await broker.ask(metadata, 12, metadataOf([topic]), topicsOnly);
    await fill(broker, topic, [batchOf(["b"], { timestamp: BASE })], 2);
    const wanted = [0, 1, 2].map((partition) => ({ partition, fetchOffset: 0n }));
    await broker.ask(fetch, 11, fetching(topic, wanted), told);
    const partitions = [0, 1, 2].map((partition) => ({ partition, leaderEpoch: 0 }));
    await broker.ask(offsetForLeaderEpoch, 4, { replicaId: -1, topics: [{ topic, partitions }] });
  }),
  scenario("A topic that is made, deleted and made again begins anew", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const producer = { producerId: await newProducer(broker), producerEpoch: 0, timestamp: BASE };
    await fill(broker, topic, [batchOf(["a"], { ...producer, baseSequence: 0 })]);
    await broker.ask(offsetCommit, 8, committing(group, topic));
    await broker.ask(deleteTopics, 5, { topics: [], topicNames: [topic], timeoutMs: 5000 });
    await eventually("the topic stays", async () => {
      const named = await broker.send(metadata, 12, metadataOf([topic]));
      const left = await broker.send(offsetFetch, 7, { groupId: group, topics: null, groups: [] });
      return named!.topics[0].errorCode !== 0 && left!.topics.length === 0 ? true : null;
    });
    await broker.ask(produce, 9, produceTo(topic, batchOf(["b"], { ...producer, baseSequence: 1 })));
    await createTopic(broker, "t");
    await broker.ask(
      produce,
      9,
      produceTo(topic, batchOf(["b"], { ...producer, baseSequence: 1 })),
      undefined,
      "new",
    );
    await broker.ask(offsetFetch, 7, { groupId: group, topics: null, groups: [] });
    await stored(broker, topic);
  }),
  scenario("A fetch session is not bound to its connection", async (broker) => {
    const topic = await createTopic(broker, "t");
    await fill(broker, topic, [batchOf(["a"], { timestamp: BASE })]);
    const first = broker.another();
    const opened = await first.ask(
      fetch,
      11,
      fetching(topic, [{ fetchOffset: 0n }], { sessionEpoch: 0 }),
      told,
    );
    const { sessionId } = opened!;
    await first.close();
    await broker.ask(fetch, 11, fetching(topic, [], { sessionId, sessionEpoch: 1, maxWaitMs: 0 }), told);
  }),
  scenario("A group of one protocol type is not another's, before and after it is empty", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await broker.ask(offsetCommit, 8, committing(group, topic), undefined, "without members");
    const { memberId } = await joined(broker, group, { protocolType: "connect" });
    await broker.ask(joinGroup, 3, joining(group), undefined, "consumer");
    await broker.ask(offsetCommit, 8, committing(group, topic), undefined, "nobody");
    await broker.ask(offsetFetch, 7, { groupId: group, topics: null, groups: [] });
    await broker.ask(leaveGroup, 2, { groupId: group, memberId, members: [] });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
    await broker.ask(joinGroup, 3, joining(group), undefined, "consumer");
  }),
  scenario("Many partitions in one call: metadata, offsets, commits", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t", {}, 300);
    const indexes = Array.from({ length: 300 }, (_, i) => i);
    await broker.ask(metadata, 12, metadataOf([topic]), (r) => [
      r.topics[0].partitions.length,
      new Set(r.topics[0].partitions.map((p) => p.errorCode)).size,
    ]);
    const partitions = indexes.map((partitionIndex) => ({
      partitionIndex,
      committedOffset: BigInt(partitionIndex),
      committedMetadata: String(partitionIndex),
    }));
    await broker.ask(offsetCommit, 8, {
      groupId: group,
      memberId: "",
      topics: [{ name: topic, topicId: ZERO_UUID, partitions }],
    }, (r) => r.topics[0].partitions.filter((p) => p.errorCode === 0).length);
    await broker.ask(
      offsetFetch,
      7,
      { groupId: group, topics: null, groups: [] },
      (r) => r.topics[0].partitions.filter((p) => p.committedOffset === BigInt(p.partitionIndex)).length,
    );
  }),
  scenario("CreateTopics counts the new partitions of a request below 10,000", async (broker) => {
    const of = (...counts: number[]) => ({
      topics: counts.map((numPartitions, i) =>
        creating(broker.name(`${counts.length} ${i}`.replace(" ", "-")), { numPartitions })
      ),
      validateOnly: true,
    });
    const codes = (r: { topics: { name: string; errorCode: number }[] }) => ({
      topics: r.topics.map(({ name, errorCode }) => ({ name, errorCode })),
    });
    await broker.askEach(createTopics, 7, {
      "9,999": of(9_999),
      "10,000": of(10_000),
      "9,998 and 1": of(9_998, 1),
      "9,999 and 1": of(9_999, 1),
      "9,998 and the default": of(9_998, -1),
      "9,999 and the default": of(9_999, -1),
      "a bad one and 9,999": of(0, 9_999),
      "a bad one and 10,000": of(0, 10_000),
    }, codes);
    const twice = [
      creating(broker.name("twice")),
      creating(broker.name("twice")),
      creating("__cluster_metadata"),
    ];
    const large = [creating(broker.name("large"), { numPartitions: 10_000 }), ...twice];
    const larger = [creating(broker.name("larger"), { numPartitions: 10_001 }), ...twice];
    await broker.ask(
      createTopics,
      7,
      { topics: larger, validateOnly: true },
      codes,
      "10,001 and a name twice",
    );
    await broker.ask(
      createTopics,
      7,
      { topics: large, validateOnly: true },
      codes,
      "10,000 and a name twice",
    );
    const configs = [{ name: "retention.ms", value: "1" }, { name: "segment.ms", value: "2" }];
    const set = (
      numPartitions: number,
    ) => [creating(broker.name(`set${numPartitions}`), { numPartitions, configs })];
    for (const count of [9_997, 9_998]) {
      await broker.ask(
        createTopics,
        7,
        { topics: set(count), validateOnly: true },
        codes,
        `${count} with two settings`,
      );
    }
  }),
  scenario("Internal topics can be read, described and not grown by accident", async (broker) => {
    await newGroup(broker);
    const name = "__consumer_offsets";
    const read = (r: { errorCode: number; responses: { partitions: { errorCode: number }[] }[] }) => [
      r.errorCode,
      r.responses.map((t) => t.partitions.map((p) => p.errorCode)),
    ];
    await broker.ask(fetch, 11, fetching(name, [{ fetchOffset: 0n }], { maxWaitMs: 0 }), read);
    const topics = [{ name, count: 10, assignments: null }];
    await broker.ask(createPartitions, 3, { topics, timeoutMs: 5000, validateOnly: true });
    const wanted = [{ name, partitions: [{ partitionIndex: 0, timestamp: -2n }] }];
    const request = { replicaId: -1, isolationLevel: 0, timeoutMs: 1000, topics: wanted };
    await broker.ask(listOffsets, 7, request, (r) => r.topics[0].partitions[0].errorCode);
  }),
  scenario("Produce with a transactional id and a batch that is none of a transaction", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const version of [3, 9, 12]) {
      const request = { ...produceTo(topic, batchOf(["a"], { timestamp: BASE })), transactionalId: "tx" };
      await broker.ask(produce, version, request);
    }
  }),
  scenario("Old and new versions of one member: it may go up and down", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = (await broker.send(joinGroup, 0, joining(group)))!;
    await broker.ask(syncGroup, 5, {
      ...syncing(group, { memberId, generationId: 1 }),
      protocolType: "consumer",
      protocolName: "range",
    });
    await broker.ask(heartbeat, 0, { groupId: group, memberId, generationId: 1 });
    await broker.ask(joinGroup, 9, joining(group, { memberId }));
    await broker.ask(
      syncGroup,
      0,
      syncing(group, { memberId, generationId: 2 }, {
        assignments: [{ memberId, assignment: bytes("old") }],
      }),
    );
    await broker.ask(describeGroups, 6, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario(
    "What names nothing: the zero id, an id that is unknown, and no name, call by call",
    async (broker) => {
      const group = await newGroup(broker);
      const partition = { partitionIndex: 0, committedOffset: 1n, committedMetadata: "" };
      for (const topicId of [ZERO_UUID, NO_SUCH_ID]) {
        await broker.ask(produce, 13, produceTo("", batchOf(["a"]), { topicId }));
        await broker.ask(fetch, 13, fetching("", [{ fetchOffset: 0n }], { topicId, maxWaitMs: 0 }), told);
        const topics = [{ name: "", topicId, partitions: [partition] }];
        await broker.ask(offsetCommit, 10, { groupId: group, memberId: "", topics });
      }
      await broker.ask(produce, 9, produceTo("", batchOf(["a"])));
      await broker.ask(fetch, 11, fetching("", [{ fetchOffset: 0n }], { maxWaitMs: 0 }), told);
      await broker.ask(offsetCommit, 8, committing(group, ""));
      await broker.ask(deleteTopics, 5, { topics: [], topicNames: [""], timeoutMs: 5000 });
    },
  ),
];
