/** Committed offsets: OffsetCommit, OffsetFetch and OffsetDelete. */
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { metadata } from "../../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { eventually, scenario } from "../scenario.ts";
import { bytes, committed, committing, joined, newGroup, protocols } from "../setup/groups.ts";
import { createTopic, metadataOf, NO_SUCH_ID, ready } from "../setup/topics.ts";

type Commit = EncodableRequestOf<typeof offsetCommit>;
type Fetched = EncodableRequestOf<typeof offsetFetch>;

/** OffsetFetch below version 8: one group. */
function fetchOf(groupId: string, topics: Fetched["topics"], requireStable = false): Fetched {
  return { groupId, topics, groups: [], requireStable };
}

/** OffsetFetch from version 8 on: groups in a batch. */
function fetchAll(groups: Partial<Fetched["groups"][number]>[], requireStable = false): Fetched {
  const whole = groups.map((g) => ({ groupId: "", topics: null, ...g }));
  return { groupId: "", topics: [], groups: whole, requireStable };
}

/** A commit of several partitions of one topic. */
function committingAll(
  groupId: string,
  name: string,
  partitions: Commit["topics"][number]["partitions"],
): Commit {
  return { groupId, memberId: "", topics: [{ name, topicId: ZERO_UUID, partitions }] };
}

/** A consumer's metadata of version 1 that subscribes to these topics, as clients send it. */
function subscription(...topics: string[]): Uint8Array {
  const text = topics.flatMap((name) => [0, name.length, ...bytes(name)]);
  return new Uint8Array([0, 1, 0, 0, 0, topics.length, ...text, 255, 255, 255, 255, 0, 0, 0, 0]);
}

export const scenarios = [
  scenario("OffsetCommit in every version, without a member", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const version of [2, 3, 4, 5, 6, 7, 8, 9]) {
      await broker.ask(offsetCommit, version, committing(group, topic, { offset: BigInt(version) }));
      await broker.ask(offsetFetch, 7, fetchOf(group, null));
    }
  }),
  scenario("OffsetCommit 10 goes by topic ids", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const topicId = await ready(broker, topic);
    const of = (id: string, partitionIndex = 0): Commit => ({
      groupId: group,
      memberId: "",
      topics: [{
        name: "",
        topicId: id,
        partitions: [{ partitionIndex, committedOffset: 3n, committedMetadata: "by id" }],
      }],
    });
    await broker.askEach(offsetCommit, 10, {
      "known": of(topicId),
      "unknown": of(NO_SUCH_ID),
      "zero": of(ZERO_UUID),
      "partition 7": of(topicId, 7),
    });
    const topics = (id: string) => [{ name: "", topicId: id, partitionIndexes: [0, 7] }];
    await broker.askEach(offsetFetch, 10, {
      "all": fetchAll([{ groupId: group }]),
      "known": fetchAll([{ groupId: group, topics: topics(topicId) }]),
      "unknown": fetchAll([{ groupId: group, topics: topics(NO_SUCH_ID) }]),
      "zero": fetchAll([{ groupId: group, topics: topics(ZERO_UUID) }]),
      "known and unknown": fetchAll([{
        groupId: group,
        topics: [...topics(topicId), ...topics(NO_SUCH_ID)],
      }]),
    });
  }),
  scenario("OffsetCommit 10 with one unknown id among others", async (broker) => {
    const group = await newGroup(broker);
    const topicId = await ready(broker, await createTopic(broker, "t"));
    const partitions = [{ partitionIndex: 0, committedOffset: 3n, committedMetadata: "m" }];
    const topics = [topicId, NO_SUCH_ID].map((id) => ({ name: "", topicId: id, partitions }));
    await broker.ask(offsetCommit, 10, { groupId: group, memberId: "", topics });
    await broker.ask(offsetFetch, 10, fetchAll([{ groupId: group }]));
  }),
  scenario("OffsetCommit takes any offset, also below the log's start and beyond its end", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const offset of [0n, 1n, -1n, -2n, 1_000_000n, 2n ** 53n - 1n]) {
      await broker.ask(offsetCommit, 8, committing(group, topic, { offset }));
      await broker.ask(offsetFetch, 7, fetchOf(group, null), (r) => r.topics);
    }
  }),
  scenario("OffsetCommit keeps the leader epoch and the metadata", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const of = (committedLeaderEpoch: number, committedMetadata: string | null) =>
      committingAll(group, topic, [{
        partitionIndex: 0,
        committedOffset: 5n,
        committedLeaderEpoch,
        committedMetadata,
      }]);
    const cases: [number, string | null][] = [[-1, ""], [0, null], [7, "ä"], [2 ** 31 - 1, "x"], [
      -5,
      "\u0000",
    ]];
    for (const [epoch, text] of cases) {
      await broker.ask(offsetCommit, 8, of(epoch, text));
      for (const version of [1, 5]) await broker.ask(offsetFetch, version, fetchOf(group, topicOf(topic)));
    }
  }),
  scenario("OffsetCommit bounds the metadata by its bytes", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const metadata of ["x".repeat(4096), "x".repeat(4097), "ä".repeat(2048), "ä".repeat(2049)]) {
      await broker.ask(
        offsetCommit,
        8,
        committing(group, topic, { metadata }),
        undefined,
        `${metadata.length}`,
      );
    }
    const partitions = [4097, 3].map((length, partitionIndex) => ({
      partitionIndex,
      committedOffset: 1n,
      committedMetadata: "x".repeat(length),
    }));
    const two = await createTopic(broker, "two", {}, 2);
    await broker.ask(offsetCommit, 8, committingAll(group, two, partitions), undefined, "one of two");
    await broker.ask(offsetFetch, 7, fetchOf(group, topicOf(two, 0, 1)));
  }),
  scenario("OffsetCommit of some partitions that exist and some that do not", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t", {}, 2);
    const at = (partitionIndex: number) => ({ partitionIndex, committedOffset: 1n, committedMetadata: "" });
    for (const version of [2, 9]) {
      await broker.ask(offsetCommit, version, committingAll(group, topic, [at(0), at(5), at(1), at(-1)]));
    }
    await broker.ask(offsetFetch, 7, fetchOf(group, null));
  }),
  scenario(
    "OffsetCommit of nothing, of a topic without partitions, and of a partition twice",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t");
      await broker.ask(offsetCommit, 8, { groupId: group, memberId: "", topics: [] }, undefined, "nothing");
      await broker.ask(offsetCommit, 8, committingAll(group, topic, []), undefined, "no partitions");
      const missing = broker.name("missing");
      await broker.ask(
        offsetCommit,
        8,
        committingAll(group, missing, []),
        undefined,
        "none of a missing topic",
      );
      const twice = [1n, 2n].map((committedOffset) => ({
        partitionIndex: 0,
        committedOffset,
        committedMetadata: "",
      }));
      await broker.ask(offsetCommit, 8, committingAll(group, topic, twice), undefined, "twice");
      await broker.ask(offsetFetch, 7, fetchOf(group, null));
    },
  ),
  scenario("OffsetCommit of bad topic names", async (broker) => {
    const group = await newGroup(broker);
    for (const name of ["", ".", "a b", "x".repeat(250), broker.name("missing")]) {
      await broker.ask(offsetCommit, 8, committing(group, name));
    }
  }),
  scenario(
    "OffsetCommit asks members for their generation, and others for an empty group",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t");
      const unknown = { memberId: "m", generationIdOrMemberEpoch: 1 };
      await broker.askEach(offsetCommit, [2, 6, 8], {
        "unknown group, member": committing(group, topic, unknown),
        "unknown group, generation -1, member": committing(group, topic, { memberId: "m" }),
        "unknown group, generation 0": committing(group, topic, { generationIdOrMemberEpoch: 0 }),
      });
      const { memberId } = await joined(broker, group);
      await broker.askEach(offsetCommit, [2, 6, 8], {
        "member": committing(group, topic, { memberId, generationIdOrMemberEpoch: 1 }),
        "member, generation -1": committing(group, topic, { memberId }),
        "member, generation 0": committing(group, topic, { memberId, generationIdOrMemberEpoch: 0 }),
        "member, generation 2": committing(group, topic, { memberId, generationIdOrMemberEpoch: 2 }),
        "stranger": committing(group, topic, unknown),
        "nobody, generation 1": committing(group, topic, { generationIdOrMemberEpoch: 1 }),
        "nobody": committing(group, topic),
      });
      await broker.send(leaveGroup, 2, { groupId: group, memberId, members: [] });
      await broker.askEach(offsetCommit, [2, 8], {
        "left, member": committing(group, topic, { memberId, generationIdOrMemberEpoch: 1 }),
        "left, generation 3": committing(group, topic, { generationIdOrMemberEpoch: 3 }),
        "left, nobody": committing(group, topic),
      });
    },
  ),
  scenario("OffsetCommit names instances only of members", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { memberId } = await joined(broker, group);
    const commit = { memberId, generationIdOrMemberEpoch: 1 };
    await broker.askEach(offsetCommit, [7, 9], {
      "unknown instance": committing(group, topic, { ...commit, groupInstanceId: "i" }),
      "empty instance": committing(group, topic, { ...commit, groupInstanceId: "" }),
    });
  }),
  scenario("OffsetFetch in every version, of known, unknown and missing partitions", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t", {}, 2);
    await committed(broker, group, topic);
    const missing = { name: broker.name("missing"), partitionIndexes: [0, 1] };
    for (const version of [1, 2, 3, 4, 5, 6, 7]) {
      await broker.ask(offsetFetch, version, fetchOf(group, [...topicOf(topic, 0, 1, 9), missing]));
      if (version >= 2) await broker.ask(offsetFetch, version, fetchOf(group, null), undefined, "all");
    }
    for (const version of [8, 9]) {
      const topics = [...topicOf(topic, 0, 1, 9), missing].map((t) => ({ ...t, topicId: ZERO_UUID }));
      await broker.ask(offsetFetch, version, fetchAll([{ groupId: group, topics }]));
      await broker.ask(offsetFetch, version, fetchAll([{ groupId: group }]), undefined, "all");
    }
  }),
  scenario("OffsetFetch of groups that are unknown, without a name, or none at all", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const none = broker.name("none");
    await broker.askEach(offsetFetch, [1, 2, 5, 7], {
      "unknown": fetchOf(none, topicOf(topic, 0)),
      "no topics": fetchOf(group, []),
      "no partitions": fetchOf(group, [{ name: topic, partitionIndexes: [] }]),
    });
    await broker.askEach(offsetFetch, [8, 9, 10], {
      "no groups": fetchAll([]),
      "some": fetchAll([{ groupId: none }, { groupId: group, topics: [] }]),
      "with a member": fetchAll([{ groupId: group, memberId: "m", memberEpoch: 3 }]),
      "with an epoch": fetchAll([{ groupId: group, memberEpoch: 3 }]),
      "unknown with a member": fetchAll([{ groupId: none, memberId: "m", memberEpoch: 0 }]),
    });
  }),
  scenario("OffsetFetch holds a member and its epoch against a classic group's", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { memberId } = await joined(broker, group);
    await committed(broker, group, topic, { memberId, generationIdOrMemberEpoch: 1 });
    const cases = { "member": [memberId, 1], "stranger": ["stranger", 1], "epoch 9": [memberId, 9] } as const;
    for (const [label, [member, memberEpoch]] of Object.entries(cases)) {
      const request = fetchAll([{ groupId: group, memberId: member, memberEpoch }]);
      await broker.ask(offsetFetch, 9, request, undefined, label);
    }
  }),
  scenario("OffsetFetch names a partition twice, and a topic twice", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t", {}, 2);
    await committed(broker, group, topic);
    await broker.ask(offsetFetch, 7, fetchOf(group, [...topicOf(topic, 0), ...topicOf(topic, 1)]));
  }),
  scenario("OffsetFetch that requires stable offsets, without any transaction", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    await broker.ask(offsetFetch, 7, fetchOf(group, null, true));
    await broker.ask(offsetFetch, 8, fetchAll([{ groupId: group }], true));
  }),
  scenario("OffsetFetch after the topic is gone: its offsets are gone too", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    await broker.send(deleteTopics, 4, { topics: [], topicNames: [topic], timeoutMs: 5000 });
    await eventually("offsets of a deleted topic stay", async () => {
      const named = await broker.send(metadata, 12, metadataOf([topic]));
      const left = await broker.send(offsetFetch, 7, fetchOf(group, null));
      return named!.topics[0].errorCode !== 0 && left!.topics.length === 0 ? true : null;
    });
    await broker.ask(offsetFetch, 7, fetchOf(group, topicOf(topic, 0)));
    await broker.ask(offsetCommit, 8, committing(group, topic));
  }),
  scenario(
    "OffsetDelete of what nobody subscribes to, of what somebody does, and of both",
    async (broker) => {
      const group = await newGroup(broker);
      const [a, b] = [await createTopic(broker, "a"), await createTopic(broker, "b")];
      for (const topic of [a, b]) await committed(broker, group, topic);
      await joined(broker, group, { protocols: [{ name: "range", metadata: subscription(a) }] });
      const of = (...names: string[]) => ({
        groupId: group,
        topics: names.map((name) => ({ name, partitions: [{ partitionIndex: 0 }] })),
      });
      await broker.ask(offsetDelete, 0, of(a, b));
      await broker.ask(offsetFetch, 7, fetchOf(group, null));
      await broker.ask(offsetDelete, 0, of(b), undefined, "again");
    },
  ),
  scenario(
    "OffsetDelete of a group of another kind with members, and with metadata that cannot be read",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t");
      const of = (groupId: string) => ({
        groupId,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0 }] }],
      });
      await joined(broker, `${group}1`, { protocolType: "connect" });
      await broker.ask(offsetDelete, 0, of(`${group}1`), undefined, "connect");
      await joined(broker, `${group}2`, { protocols: protocols({ range: "not a subscription" }) });
      await broker.ask(offsetDelete, 0, of(`${group}2`), undefined, "unreadable");
    },
  ),
  scenario(
    "OffsetDelete of nothing, of no partitions, of missing topics, and of a partition twice",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t");
      await committed(broker, group, topic);
      const of = (name: string, ...partitions: number[]) => ({
        groupId: group,
        topics: [{ name, partitions: partitions.map((partitionIndex) => ({ partitionIndex })) }],
      });
      await broker.askEach(offsetDelete, 0, {
        "nothing": { groupId: group, topics: [] },
        "no partitions": of(topic),
        "no partitions of a missing topic": of(broker.name("missing")),
        "missing topic": of(broker.name("missing"), 0, 1),
        "bad name": of("a b", 0),
        "missing partitions": of(topic, 5, -1),
        "twice": of(topic, 0, 0),
      });
      await broker.ask(offsetFetch, 7, fetchOf(group, null));
    },
  ),
  scenario(
    "OffsetDelete of a partition without an offset, and of a group without offsets",
    async (broker) => {
      const group = await newGroup(broker);
      const topic = await createTopic(broker, "t", {}, 2);
      await committed(broker, group, topic);
      const remove = (label: string, partitionIndex: number) =>
        broker.ask(
          offsetDelete,
          0,
          { groupId: group, topics: [{ name: topic, partitions: [{ partitionIndex }] }] },
          undefined,
          label,
        );
      await remove("without an offset", 1);
      await remove("the last offset", 0);
      await remove("none is left", 0);
    },
  ),
];

function topicOf(name: string, ...partitionIndexes: number[]) {
  return [{ name, partitionIndexes: partitionIndexes.length === 0 ? [0] : partitionIndexes }];
}
