/** Offsets in transactions: who may commit them, and what groups show of them until the transaction has ended. */
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { deleteTopics } from "../../../src/codec/messages/delete_topics.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { txnOffsetCommit } from "../../../src/codec/messages/txn_offset_commit.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { committing, joined, joining, newGroup, rebalancing, syncing } from "../setup/groups.ts";
import {
  add,
  addOffsets,
  committingOffset,
  end,
  inEpoch,
  initialized,
  type Producer,
  renamed,
  stageOffset,
  stranger,
  transactional,
} from "../setup/transactions.ts";
import { createTopic, NO_SUCH_ID, ready } from "../setup/topics.ts";

const VERSIONS = [0, 1, 2, 3, 4, 5];

type Staged = DecodedResponseOf<typeof txnOffsetCommit>;

/** The error of each partition, in their order. */
const errors = (r: Staged) => r.topics.flatMap(({ partitions }) => partitions.map((p) => p.errorCode));

/** What OffsetFetch says of a group: with and without waiting for transactions, of two partitions and of all. */
async function tell(broker: Broker, label: string, groupId: string, topic: string): Promise<void> {
  const told: Record<string, string[]> = {};
  for (const requireStable of [false, true]) {
    for (const topics of [[{ name: topic, partitionIndexes: [0, 1] }], null]) {
      const answer = await broker.send(offsetFetch, 7, { groupId, topics, groups: [], requireStable });
      told[`${topics === null ? "all" : "two"}${requireStable ? ", stable" : ""}`] = answer!.topics.flatMap((
        t,
      ) =>
        t.partitions.map((p) =>
          `${p.partitionIndex}: ${p.committedOffset} "${p.metadata}" ${p.committedLeaderEpoch} error ${p.errorCode}`
        )
      ).sort();
    }
  }
  broker.note(label, told);
}

/** Whether and how a group shows where groups are listed and described. */
async function tellGroup(broker: Broker, label: string, groupId: string): Promise<void> {
  const { groups } = (await broker.send(describeGroups, 6, {
    groups: [groupId],
    includeAuthorizedOperations: false,
  }))!;
  const listed = (await broker.send(listGroups, 5, { statesFilter: [], typesFilter: [] }))!.groups
    .find((each) => each.groupId === groupId);
  broker.note(label, {
    described: [groups[0].errorCode, groups[0].groupState, groups[0].protocolType],
    listed: listed === undefined ? null : [listed.groupState, listed.protocolType, listed.groupType],
  });
}

function deleting(groupId: string, topic: string, ...partitions: number[]) {
  const indexes = partitions.map((partitionIndex) => ({ partitionIndex }));
  return { groupId, topics: [{ name: topic, partitions: indexes }] };
}

/** A TxnOffsetCommit for several partitions of several topics. */
function committingAll(
  producer: Producer,
  groupId: string,
  ...topics: [name: string, topicId: string, ...partitions: number[]][]
): EncodableRequestOf<typeof txnOffsetCommit> {
  return {
    ...producer,
    groupId,
    topics: topics.map(([name, topicId, ...partitions]) => ({
      name,
      topicId,
      partitions: partitions.map((partitionIndex) => ({
        partitionIndex,
        committedOffset: 5n,
        committedMetadata: null,
      })),
    })),
  };
}

export const scenarios = [
  scenario("TxnOffsetCommit stages an offset in every version", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const group = await newGroup(broker);
    let producer = await transactional(broker);
    for (const version of VERSIONS) {
      if (version < 5) await addOffsets(broker, producer, group);
      const request = committingOffset(producer, group, topic, { offset: BigInt(10 + version) });
      await broker.ask(txnOffsetCommit, version, request);
      await tell(broker, `v${version}, pending`, group, topic);
      producer = await end(broker, producer, true, version < 5 ? 4 : 5);
      await tell(broker, `v${version}, committed`, group, topic);
    }
  }),
  scenario("TxnOffsetCommit 6 goes by topic ids", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const topicId = await ready(broker, topic);
    const group = await newGroup(broker);
    const producer = await transactional(broker);
    await broker.askEach(txnOffsetCommit, 6, {
      "known": committingAll(producer, group, ["", topicId, 0]),
      "unknown": committingAll(producer, group, ["", NO_SUCH_ID, 0, 1]),
      "none": committingAll(producer, group, ["", ZERO_UUID, 0]),
      "all of it": committingAll(producer, group, ["", NO_SUCH_ID, 0], ["", topicId, 7, 1, 0]),
    }, errors);
    await end(broker, producer, true);
    await tell(broker, "committed", group, topic);
  }),
  scenario("TxnOffsetCommit answers for topics and partitions that do not exist", async (broker) => {
    const [one, two] = [await createTopic(broker, "one", {}, 2), await createTopic(broker, "two")];
    const group = await newGroup(broker);
    const producer = await transactional(broker);
    await addOffsets(broker, producer, group);
    const missing = broker.name("missing");
    for (const version of [0, 3, 5]) {
      await broker.askEach(txnOffsetCommit, version, {
        "no topic": committingAll(producer, group, [missing, ZERO_UUID, 0, 1]),
        "no partition": committingAll(producer, group, [one, ZERO_UUID, 2, -1]),
        "some": committingAll(producer, group, [one, ZERO_UUID, 2, 1, 0], [missing, ZERO_UUID, 0], [
          two,
          ZERO_UUID,
          0,
        ]),
        "nothing of a topic": committingAll(producer, group, [one, ZERO_UUID]),
        "nothing of no topic": committingAll(producer, group, [missing, ZERO_UUID]),
        "nothing": committingAll(producer, group),
      });
    }
  }),
  scenario("TxnOffsetCommit refuses groups without a name and metadata that is too long", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const producer = await transactional(broker);
    await addOffsets(broker, producer, group);
    await broker.askEach(txnOffsetCommit, VERSIONS, {
      "no group": committingOffset(producer, "", topic),
      "4096 characters": committingOffset(producer, group, topic, { metadata: "x".repeat(4096) }),
      "4097 characters": committingOffset(producer, group, topic, { metadata: "x".repeat(4097) }),
      "a negative offset": committingOffset(producer, group, topic, { offset: -5n }),
    }, errors);
  }),
  scenario("TxnOffsetCommit goes by the transaction that the group's offsets are part of", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const producer = await transactional(broker);
    // Version 4 is told to abort (120); Kafka says 48, as to older ones, when it asks about an old one's at the same time.
    for (const version of VERSIONS.slice(0, 5)) {
      await broker.ask(
        txnOffsetCommit,
        version,
        committingOffset(producer, group, topic),
        errors,
        "no transaction",
      );
    }
    await add(broker, producer, [topic, 0]);
    await broker.askEach(txnOffsetCommit, VERSIONS.slice(0, 5), {
      "another partition's": committingOffset(producer, group, topic),
      "a stranger's": committingOffset(stranger(producer), group, topic),
      "an older epoch's": committingOffset(inEpoch(producer, producer.producerEpoch - 1), group, topic),
      "a later epoch's": committingOffset(inEpoch(producer, producer.producerEpoch + 1), group, topic),
      "another id's": committingOffset(renamed(producer, broker.name("other")), group, topic),
      "an id without a name": committingOffset(renamed(producer, ""), group, topic),
    }, errors);
    await broker.askEach(txnOffsetCommit, 5, {
      "a stranger's": committingOffset(stranger(producer), group, topic),
      "an older epoch's": committingOffset(inEpoch(producer, producer.producerEpoch - 1), group, topic),
      "a later epoch's": committingOffset(inEpoch(producer, producer.producerEpoch + 1), group, topic),
      "another id's": committingOffset(renamed(producer, broker.name("other")), group, topic),
      "an id without a name": committingOffset(renamed(producer, ""), group, topic),
    }, errors);
    await tell(broker, "nothing is staged", group, topic);
    await tellGroup(broker, "nothing is staged", group);
  }),
  scenario(
    "TxnOffsetCommit of a producer that has a pending offset is not asked for again",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const group = await newGroup(broker);
      const producer = await transactional(broker);
      await addOffsets(broker, producer, group);
      await stageOffset(broker, producer, group, topic, { version: 3 });
      for (const version of [0, 4, 5]) {
        await broker.askEach(txnOffsetCommit, version, {
          "another id's": committingOffset(renamed(producer, broker.name("other")), group, topic, {
            offset: 8n,
          }),
          "an older epoch's": committingOffset(inEpoch(producer, producer.producerEpoch - 1), group, topic),
          "a later epoch's": committingOffset(inEpoch(producer, producer.producerEpoch + 1), group, topic),
        }, errors);
      }
      await end(broker, producer, true, 4);
      await tell(broker, "committed", group, topic);
    },
  ),
  scenario("TxnOffsetCommit fences producers whose transactional id has gone on", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const old = await transactional(broker);
    await addOffsets(broker, old, group);
    await stageOffset(broker, old, group, topic, { version: 3 });
    const young = await initialized(broker, old.transactionalId);
    await tell(broker, "after another took its place", group, topic);
    for (const version of VERSIONS) {
      await broker.ask(txnOffsetCommit, version, committingOffset(old, group, topic), errors, "the old one");
    }
    await stageOffset(broker, young, group, topic, { offset: 9n });
    for (const version of VERSIONS) {
      await broker.ask(
        txnOffsetCommit,
        version,
        committingOffset(old, group, topic),
        errors,
        "the old one again",
      );
    }
    await end(broker, young, true);
    await tell(broker, "committed", group, topic);
  }),
  scenario("TxnOffsetCommit goes by member and generation", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const missing = await newGroup(broker, "missing");
    const { memberId, generationId } = await joined(broker, group);
    const producer = await transactional(broker);
    await addOffsets(broker, producer, group);
    await addOffsets(broker, producer, missing);
    const at = (
      generationIdOrMemberEpoch: number,
      memberId: string,
      groupInstanceId: string | null = null,
    ) => ({
      generationIdOrMemberEpoch,
      memberId,
      groupInstanceId,
    });
    await broker.askEach(txnOffsetCommit, [3, 4, 5], {
      "the member": committingOffset(producer, group, topic, at(generationId, memberId)),
      "nobody": committingOffset(producer, group, topic, at(-1, "")),
      "the member without a generation": committingOffset(producer, group, topic, at(-1, memberId)),
      "a generation without a member": committingOffset(producer, group, topic, at(generationId, "")),
      "an earlier generation": committingOffset(producer, group, topic, at(generationId - 1, memberId)),
      "a later generation": committingOffset(producer, group, topic, at(generationId + 1, memberId)),
      "a stranger": committingOffset(producer, group, topic, at(generationId, "stranger")),
      "a stranger without a generation": committingOffset(producer, group, topic, at(-1, "stranger")),
      "an instance that is none": committingOffset(producer, group, topic, at(generationId, memberId, "i")),
      "an instance alone": committingOffset(producer, group, topic, at(-1, "", "i")),
      "no group": committingOffset(producer, missing, topic, at(1, "m")),
      "no group, and a member without a generation": committingOffset(producer, missing, topic, at(-1, "m")),
    }, errors);
    await broker.askEach(txnOffsetCommit, [0, 1, 2], {
      "of a group with members": committingOffset(producer, group, topic),
    }, errors);
    await broker.send(leaveGroup, 0, { groupId: group, memberId, members: [] });
    await broker.askEach(txnOffsetCommit, [0, 3, 5], {
      "nobody, when the group is empty": committingOffset(producer, group, topic),
    }, errors);
    await broker.askEach(txnOffsetCommit, [3, 5], {
      "a stranger, when the group is empty": committingOffset(producer, group, topic, at(-1, "stranger")),
      "its last generation": committingOffset(producer, group, topic, at(generationId, memberId)),
    }, errors);
  }),
  scenario("TxnOffsetCommit fences a static member that was replaced", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const join = async (memberId: string) =>
      (await broker.send(joinGroup, 5, joining(group, { groupInstanceId: "i", memberId })))!;
    const first = await join("");
    await broker.send(syncGroup, 3, {
      ...syncing(group, first),
      groupInstanceId: "i",
    });
    const second = await join("");
    const producer = await transactional(broker);
    const at = (
      memberId: string,
      groupInstanceId: string | null = "i",
      generation = second.generationId,
    ) => ({
      memberId,
      groupInstanceId,
      generationIdOrMemberEpoch: generation,
    });
    await broker.askEach(txnOffsetCommit, 5, {
      "the second": committingOffset(producer, group, topic, at(second.memberId)),
      "the second without its instance": committingOffset(producer, group, topic, at(second.memberId, null)),
      "the first": committingOffset(producer, group, topic, at(first.memberId)),
      "the first without its instance": committingOffset(producer, group, topic, at(first.memberId, null)),
      "the first in no generation": committingOffset(producer, group, topic, at(first.memberId, "i", -1)),
      "another instance": committingOffset(producer, group, topic, at(second.memberId, "j")),
    }, errors);
  }),
  scenario("TxnOffsetCommit is taken while the group rebalances", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const first = await joined(broker, group);
    const second = broker.another();
    const joins = second.send(joinGroup, 3, joining(group));
    await rebalancing(broker, group, first);
    const producer = await transactional(broker);
    const as = ({ memberId, generationId }: { memberId: string; generationId: number }) =>
      committingOffset(producer, group, topic, { memberId, generationIdOrMemberEpoch: generationId });
    await broker.ask(txnOffsetCommit, 5, as(first), errors, "while they join");
    const again = (await broker.send(joinGroup, 3, joining(group, { memberId: first.memberId })))!;
    await joins;
    await broker.ask(
      txnOffsetCommit,
      5,
      as(first),
      errors,
      "before the assignment, of the generation before",
    );
    await broker.ask(txnOffsetCommit, 5, as(again), errors, "before the assignment");
  }),
  scenario("offsets of several partitions become visible together, or never", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const group = await newGroup(broker);
    await broker.send(offsetCommit, 8, committing(group, topic, { offset: 1n, metadata: "before" }));
    let producer = await transactional(broker);
    for (const committed of [false, true]) {
      const offset = committed ? 20n : 10n;
      await stageOffset(broker, producer, group, topic, { offset });
      await stageOffset(broker, producer, group, topic, { offset: offset + 1n });
      await stageOffset(broker, producer, group, topic, { offset: offset + 2n, partitionIndex: 1 });
      await tell(broker, "pending", group, topic);
      producer = await end(broker, producer, committed);
      await tell(broker, committed ? "committed" : "aborted", group, topic);
    }
  }),
  scenario("OffsetFetch from version 8 on says of each group what is pending", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const topicId = await ready(broker, topic);
    const [one, two] = [await newGroup(broker, "one"), await newGroup(broker, "two")];
    for (const group of [one, two]) await broker.send(offsetCommit, 8, committing(group, topic));
    const producer = await transactional(broker);
    await stageOffset(broker, producer, one, topic);
    await stageOffset(broker, producer, two, topic, { partitionIndex: 1 });
    const of = (groupId: string) => ({
      groupId,
      memberId: null,
      memberEpoch: -1,
      topics: [{ name: topic, topicId, partitionIndexes: [0, 1] }],
    });
    for (const version of [8, 9, 10]) {
      for (const requireStable of [false, true]) {
        const request = { groupId: "", topics: [], groups: [of(one), of(two)], requireStable };
        await broker.ask(offsetFetch, version, request, (r) => r.groups, `stable: ${requireStable}`);
        const all = { ...request, groups: [{ ...of(two), topics: null }] };
        await broker.ask(offsetFetch, version, all, (r) => r.groups, `all, stable: ${requireStable}`);
      }
    }
  }),
  scenario("an ordinary commit and a pending one: the later in the log counts", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const group = await newGroup(broker);
    let producer = await transactional(broker);
    await stageOffset(broker, producer, group, topic, { offset: 10n });
    await broker.ask(offsetCommit, 8, committing(group, topic, { offset: 11n }), undefined, "after it");
    await tell(broker, "both", group, topic);
    producer = await end(broker, producer, true);
    await tell(broker, "the transaction committed", group, topic);
    await broker.send(offsetCommit, 8, committing(group, topic, { offset: 12n }));
    await stageOffset(broker, producer, group, topic, { offset: 9n });
    producer = await end(broker, producer, true);
    await tell(broker, "the transaction was later", group, topic);
  }),
  scenario(
    "of two transactions the one with the later offset counts, whichever ends first",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      const group = await newGroup(broker);
      const one = await transactional(broker, "one"), two = await transactional(broker, "two");
      await stageOffset(broker, one, group, topic, { offset: 1n });
      await stageOffset(broker, two, group, topic, { offset: 2n });
      await stageOffset(broker, two, group, topic, { offset: 2n, partitionIndex: 1 });
      await stageOffset(broker, one, group, topic, { offset: 1n, partitionIndex: 1 });
      await end(broker, two, true);
      await tell(broker, "the second committed", group, topic);
      await end(broker, one, true);
      await tell(broker, "the first too", group, topic);
    },
  ),
  scenario("a group that has pending offsets only is there, and goes with an abort", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const committed of [true, false]) {
      const group = await newGroup(broker, `g${committed}`);
      await tellGroup(broker, "before", group);
      const producer = await transactional(broker, `p${committed}`);
      await stageOffset(broker, producer, group, topic);
      await tellGroup(broker, "pending", group);
      await end(broker, producer, committed);
      await tellGroup(broker, committed ? "committed" : "aborted", group);
    }
  }),
  scenario("DeleteGroups takes pending offsets with it", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const hasCommitted of [false, true]) {
      const group = await newGroup(broker, `g${hasCommitted}`);
      if (hasCommitted) await broker.send(offsetCommit, 8, committing(group, topic));
      const producer = await transactional(broker, `p${hasCommitted}`);
      await stageOffset(broker, producer, group, topic, { offset: 9n });
      await stageOffset(broker, producer, group, topic, { offset: 9n, partitionIndex: 1 });
      await broker.ask(deleteGroups, 2, { groupsNames: [group] });
      await tellGroup(broker, "deleted", group);
      await tell(broker, "deleted", group, topic);
      await end(broker, producer, true);
      await tellGroup(broker, "the transaction committed", group);
      await tell(broker, "the transaction committed", group, topic);
    }
  }),
  scenario("OffsetDelete takes a pending offset with it", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const hasCommitted of [false, true]) {
      const group = await newGroup(broker, `g${hasCommitted}`);
      if (hasCommitted) await broker.send(offsetCommit, 8, committing(group, topic));
      const producer = await transactional(broker, `p${hasCommitted}`);
      await stageOffset(broker, producer, group, topic, { offset: 9n });
      await stageOffset(broker, producer, group, topic, { offset: 9n, partitionIndex: 1 });
      await broker.ask(offsetDelete, 0, deleting(group, topic, 0));
      await tell(broker, "deleted", group, topic);
      await end(broker, producer, true);
      await tell(broker, "the transaction committed", group, topic);
    }
  }),
  scenario("a topic that is deleted takes pending offsets with it", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2), kept = await createTopic(broker, "kept", {}, 2);
    const group = await newGroup(broker);
    await broker.send(offsetCommit, 8, committing(group, topic));
    const producer = await transactional(broker);
    await stageOffset(broker, producer, group, topic, { offset: 9n, partitionIndex: 1 });
    await stageOffset(broker, producer, group, kept, { offset: 9n });
    await broker.send(deleteTopics, 5, { topics: [], topicNames: [topic], timeoutMs: 5000 });
    await eventually("the offsets stay", async () => {
      const answer = await broker.send(offsetFetch, 7, { groupId: group, topics: null, groups: [] });
      return answer!.topics.length === 0 || null;
    });
    await tell(broker, "deleted", group, topic);
    await end(broker, producer, true);
    await tell(broker, "the transaction committed", group, topic);
    await tell(broker, "the other topic", group, kept);
  }),
];
