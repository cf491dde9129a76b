/**
 * When committed offsets expire (KIP-211). Time that clients give along with a commit (versions 2 to 4) is short; what the
 * broker's own retention does takes a minute at least, and is tested with a clock in tests/coordinators.
 */
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { consumerProtocolSubscription } from "../../../src/codec/records/consumer_protocol.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { committing, joined, joining, newGroup, rebalancing } from "../setup/groups.ts";
import { end, stageOffset, transactional } from "../setup/transactions.ts";
import { createTopic } from "../setup/topics.ts";

/** With one partition one look is at all groups. */
export const oracle: Oracle = {
  settings: { "offsets.retention.check.interval.ms": "100", "offsets.topic.num.partitions": "1" },
};

/** Commits one offset that expires `retentionTimeMs` later. */
async function commitFor(
  broker: Broker,
  groupId: string,
  topic: string,
  retentionTimeMs: bigint,
  more: Parameters<typeof committing>[2] = {},
  version = 2,
): Promise<number> {
  const request = { ...committing(groupId, topic, more), retentionTimeMs };
  const answer = await broker.send(offsetCommit, version, request);
  return answer!.topics[0].partitions[0].errorCode;
}

async function offsets(broker: Broker, groupId: string) {
  const answer = await broker.send(offsetFetch, 5, { groupId, topics: null, groups: [] });
  return answer!.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset }) => `${name}-${partitionIndex}: ${committedOffset}`)
  ).sort();
}

/** Waits until the broker has looked for expired offsets twice: what was due before is gone afterwards. */
async function looked(broker: Broker, topic: string): Promise<void> {
  for (const marker of ["first", "second"]) {
    const groupId = broker.name(marker);
    await commitFor(broker, groupId, topic, 0n);
    await eventually("nothing expires", async () => (await offsets(broker, groupId)).length === 0 || null);
  }
}

/** What is left of a group: its offsets, its state, whether it is listed. */
async function tell(broker: Broker, label: string, groupId: string): Promise<void> {
  const { groups } = (await broker.send(describeGroups, 5, {
    groups: [groupId],
    includeAuthorizedOperations: false,
  }))!;
  const listed = (await broker.send(listGroups, 4, { statesFilter: [], typesFilter: [] }))!.groups;
  broker.note(label, {
    offsets: await offsets(broker, groupId),
    state: groups[0].groupState,
    isListed: listed.some((each) => each.groupId === groupId),
  });
}

/** A consumer's metadata that says what it reads. */
const reads = (...topics: string[]) => ({
  protocols: [{ name: "range", metadata: subscription(topics) }],
});

function subscription(topics: string[]): Uint8Array {
  const body = consumerProtocolSubscription.encode(0, { topics, userData: null, ownedPartitions: [] });
  return new Uint8Array([0, 0, ...body]);
}

export const scenarios = [
  scenario("offsets with a time of their own expire, and the group with the last one", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    for (const version of [2, 3, 4]) {
      const group = await newGroup(broker, `g${version}`);
      await commitFor(broker, group, topic, 1n, {}, version);
      await commitFor(broker, group, topic, 3_600_000n, { partitionIndex: 1 }, version);
      await looked(broker, topic);
      await tell(broker, `v${version}, one of two`, group);
      await commitFor(broker, group, topic, 1n, { partitionIndex: 1 }, version);
      await looked(broker, topic);
      await tell(broker, `v${version}, both`, group);
    }
  }),
  scenario("a retention of -1 is the broker's own; other negative ones are over at once", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const retention of [-1n, -2n, -(2n ** 63n), 0n, 2n ** 62n]) {
      const group = await newGroup(broker, `g${retention}`);
      broker.note(`${retention}`, await commitFor(broker, group, topic, retention));
      await looked(broker, topic);
      await tell(broker, `${retention}`, group);
    }
  }),
  scenario("the last commit of an offset says when it expires", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const group = await newGroup(broker);
    await commitFor(broker, group, topic, 200n);
    await broker.send(offsetCommit, 8, committing(group, topic, { offset: 8n }));
    await commitFor(broker, group, topic, 3_600_000n, { partitionIndex: 1 });
    await commitFor(broker, group, topic, 1n, { partitionIndex: 1, offset: 9n });
    await looked(broker, topic);
    await looked(broker, topic);
    await tell(broker, "overwritten", group);
  }),
  scenario("members keep offsets of what they read, whatever time was given", async (broker) => {
    const [read, other] = [await createTopic(broker, "read"), await createTopic(broker, "other")];
    const group = await newGroup(broker);
    const member = await joined(broker, group, reads(read));
    const as = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
    for (const topic of [read, other]) broker.note(topic, await commitFor(broker, group, topic, 1n, as));
    await looked(broker, read);
    await tell(broker, "while it reads", group);
    await broker.send(leaveGroup, 0, { groupId: group, memberId: member.memberId, members: [] });
    await looked(broker, read);
    await tell(broker, "after it left", group);
  }),
  scenario("a member that reads nothing keeps no offset, and its group is there", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const member = await joined(broker, group, reads());
    const as = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
    await commitFor(broker, group, topic, 1n, as);
    await looked(broker, topic);
    await tell(broker, "reads nothing", group);
  }),
  scenario("groups that are no consumers keep offsets as long as they have members", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const member = await joined(broker, group, { protocolType: "connect" });
    const as = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
    await commitFor(broker, group, topic, 1n, as);
    await looked(broker, topic);
    await tell(broker, "with a member", group);
    await broker.send(leaveGroup, 0, { groupId: group, memberId: member.memberId, members: [] });
    await looked(broker, topic);
    await tell(broker, "without", group);
  }),
  scenario("consumers whose metadata is nonsense keep offsets as long as they are there", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const member = await joined(broker, group);
    const as = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
    await commitFor(broker, group, topic, 1n, as);
    await looked(broker, topic);
    await tell(broker, "with a member", group);
    await broker.send(leaveGroup, 0, { groupId: group, memberId: member.memberId, members: [] });
    await looked(broker, topic);
    await tell(broker, "without", group);
  }),
  scenario("no offset expires while members rebalance", async (broker) => {
    const [read, other] = [await createTopic(broker, "read"), await createTopic(broker, "other")];
    const group = await newGroup(broker);
    const first = await joined(broker, group, reads(read));
    const second = broker.another();
    const joins = second.send(joinGroup, 3, joining(group, reads(read)));
    await rebalancing(broker, group, first);
    const as = { memberId: first.memberId, generationIdOrMemberEpoch: first.generationId };
    broker.note("commits", await commitFor(broker, group, other, 1n, as));
    await looked(broker, read);
    await tell(broker, "while they join", group);
    await broker.send(leaveGroup, 0, { groupId: group, memberId: first.memberId, members: [] });
    const { memberId } = (await joins)!;
    await looked(broker, read);
    await tell(broker, "before they have an assignment", group);
    await second.send(leaveGroup, 0, { groupId: group, memberId, members: [] });
    await looked(broker, read);
    await tell(broker, "when they have left", group);
  }),
  scenario("a group whose offsets were deleted goes with the next look", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    await broker.send(offsetCommit, 8, committing(group, topic));
    await broker.send(offsetDelete, 0, {
      groupId: group,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0 }] }],
    });
    await looked(broker, topic);
    await tell(broker, "deleted", group);
  }),
  scenario("a group that its members left without an offset goes with the next look", async (broker) => {
    const topic = await createTopic(broker, "t");
    const group = await newGroup(broker);
    const { memberId } = await joined(broker, group, reads(topic));
    await looked(broker, topic);
    await tell(broker, "with a member", group);
    await broker.send(leaveGroup, 0, { groupId: group, memberId, members: [] });
    await looked(broker, topic);
    await tell(broker, "without", group);
  }),
  scenario(
    "no offset expires that a transaction may be about to move, and no group with one",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      for (const commits of [false, true]) {
        const group = await newGroup(broker, `g${commits}`), alone = await newGroup(broker, `a${commits}`);
        const producer = await transactional(broker, `p${commits}`);
        await stageOffset(broker, producer, group, topic, { offset: 9n });
        await stageOffset(broker, producer, alone, topic, { offset: 9n });
        for (const partitionIndex of [0, 1]) await commitFor(broker, group, topic, 1n, { partitionIndex });
        await looked(broker, topic);
        await tell(broker, "pending", group);
        await tell(broker, "pending, and nothing else", alone);
        await end(broker, producer, commits);
        await looked(broker, topic);
        await tell(broker, commits ? "committed" : "aborted", group);
        await tell(broker, `${commits ? "committed" : "aborted"}, and nothing else`, alone);
      }
    },
  ),
];
