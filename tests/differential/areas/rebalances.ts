/** Rebalances in the middle: calls that come while others are held, twice, too late, or from somewhere else. */
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { type Broker, scenario } from "../scenario.ts";
import {
  bytes,
  committed,
  committing,
  hasMembers,
  joined,
  joining,
  type Member,
  newGroup,
  pair,
  protocols,
  rebalancing,
  syncing,
} from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

/** What a join was answered, without what depends on which of two came first. */
const outcome = (r: { errorCode: number; generationId: number; leader: string; memberId: string }) => ({
  errorCode: r.errorCode,
  generationId: r.generationId,
  isLeader: r.leader !== "" && r.leader === r.memberId,
});

async function state(broker: Broker, groupId: string, label: string): Promise<void> {
  await broker.ask(describeGroups, 5, { groups: [groupId], includeAuthorizedOperations: false }, (r) => [
    r.groups[0].groupState,
    r.groups[0].protocolType,
    r.groups[0].protocolData,
    r.groups[0].members.length,
  ], label);
}

/** A stable group of one, and a second member whose join is held until the first joins again. */
async function waiting(broker: Broker, group: string) {
  const first = await joined(broker, group);
  const other = broker.another();
  const held = other.send(joinGroup, 3, joining(group));
  await rebalancing(broker, group, first);
  await hasMembers(broker, group, 2);
  return { first, other, held };
}

/** Two members of whom the leader has not given the assignment yet. */
async function completing(broker: Broker, group: string) {
  const { first, other, held } = await waiting(broker, group);
  const again = (await broker.send(joinGroup, 3, joining(group, { memberId: first.memberId })))!;
  const second = (await held)!;
  const leader: Member = { memberId: again.memberId, generationId: again.generationId };
  const follower: Member = { memberId: second.memberId, generationId: second.generationId };
  return { leader, follower, other };
}

export const scenarios = [
  scenario("Heartbeats, commits and syncs of a member while its group waits for it", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { first, held } = await waiting(broker, group);
    const { memberId, generationId } = first;
    await broker.ask(heartbeat, 4, { groupId: group, ...first });
    await broker.ask(
      heartbeat,
      4,
      { groupId: group, memberId, generationId: 7 },
      undefined,
      "other generation",
    );
    await broker.ask(syncGroup, 3, syncing(group, first));
    const commit = { memberId, generationIdOrMemberEpoch: generationId };
    await broker.ask(offsetCommit, 8, committing(group, topic, commit));
    await broker.ask(offsetCommit, 8, committing(group, topic), undefined, "nobody");
    await state(broker, group, "joining");
    await broker.ask(joinGroup, 3, joining(group, { memberId }), outcome);
    await held;
  }),
  scenario("Heartbeats, commits and strangers while the assignment is awaited", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { leader, follower } = await completing(broker, group);
    for (const member of [leader, follower]) {
      const commit = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
      await broker.ask(heartbeat, 4, { groupId: group, ...member });
      await broker.ask(offsetCommit, 8, committing(group, topic, commit));
      const old = { ...commit, generationIdOrMemberEpoch: member.generationId - 1 };
      await broker.ask(offsetCommit, 8, committing(group, topic, old), undefined, "the generation before");
    }
    await broker.ask(
      heartbeat,
      4,
      { groupId: group, ...leader, generationId: 1 },
      undefined,
      "the generation before",
    );
    await state(broker, group, "completing");
  }),
  scenario(
    "A join that is repeated on another connection takes the place of the one that is held",
    async (broker) => {
      const group = await newGroup(broker);
      const { leader, follower, other } = await pair(broker, group);
      const changed = { memberId: follower.memberId, protocols: protocols({ range: "changed" }) };
      // Kafka never answers this one.
      other.send(joinGroup, 3, joining(group, changed));
      await rebalancing(broker, group, leader);
      const again = broker.another().send(joinGroup, 3, joining(group, changed));
      await hasMembers(broker, group, 2);
      await broker.ask(joinGroup, 3, joining(group, { memberId: leader.memberId }), outcome, "leader");
      other.tell(joinGroup, 3, await again, "again", outcome);
    },
  ),
  scenario("A leader that does not give the assignment in its rebalance timeout is out", async (broker) => {
    const group = await newGroup(broker);
    const short = { rebalanceTimeoutMs: 400 };
    const first = await joined(broker, group, short);
    const other = broker.another();
    const joins = other.send(joinGroup, 3, joining(group, short));
    await rebalancing(broker, group, first);
    await broker.send(joinGroup, 3, joining(group, { ...short, memberId: first.memberId }));
    const { memberId, generationId } = (await joins)!;
    const held = other.send(syncGroup, 3, syncing(group, { memberId, generationId }, { assignments: [] }));
    other.tell(syncGroup, 3, await held, "follower");
    await broker.ask(
      heartbeat,
      4,
      { groupId: group, memberId: first.memberId, generationId },
      undefined,
      "leader",
    );
    await other.ask(joinGroup, 3, joining(group, { ...short, memberId }), outcome, "follower");
  }),
  scenario("A member that leaves while others wait lets them go on", async (broker) => {
    const group = await newGroup(broker);
    const { first, other, held } = await waiting(broker, group);
    await broker.ask(leaveGroup, 2, { groupId: group, memberId: first.memberId, members: [] });
    const second = await held;
    other.tell(joinGroup, 3, second, "the one that waited", outcome);
    await other.ask(
      syncGroup,
      3,
      syncing(group, { memberId: second!.memberId, generationId: second!.generationId }),
    );
    await state(broker, group, "stable");
  }),
  scenario(
    "A leader that leaves while its assignment is awaited makes the others join again",
    async (broker) => {
      const group = await newGroup(broker);
      const { leader, follower, other } = await completing(broker, group);
      const held = other.send(syncGroup, 3, syncing(group, follower, { assignments: [] }));
      await broker.ask(leaveGroup, 2, { groupId: group, memberId: leader.memberId, members: [] });
      other.tell(syncGroup, 3, await held, "held");
      await other.ask(joinGroup, 3, joining(group, { memberId: follower.memberId }), outcome);
    },
  ),
  scenario("A held join can be left from another connection", async (broker) => {
    const group = await newGroup(broker);
    const { first } = await waiting(broker, group);
    const seen = await broker.send(describeGroups, 5, {
      groups: [group],
      includeAuthorizedOperations: false,
    });
    const second = seen!.groups[0].members.map((m) => m.memberId).find((id) => id !== first.memberId)!;
    await broker.ask(leaveGroup, 2, { groupId: group, memberId: second, members: [] });
    await state(broker, group, "joining");
    await broker.ask(joinGroup, 3, joining(group, { memberId: first.memberId }), outcome);
  }),
  scenario(
    "A member that joins while the assignment is awaited makes everybody join again",
    async (broker) => {
      const group = await newGroup(broker);
      const { leader, follower, other } = await completing(broker, group);
      const third = broker.another().send(joinGroup, 3, joining(group));
      await hasMembers(broker, group, 3);
      await broker.ask(heartbeat, 4, { groupId: group, ...leader }, undefined, "leader");
      const again = other.send(joinGroup, 3, joining(group, { memberId: follower.memberId }));
      await broker.ask(joinGroup, 3, joining(group, { memberId: leader.memberId }), outcome, "leader");
      other.tell(joinGroup, 3, await again, "follower", outcome);
      broker.note("third", (await third)!.generationId);
    },
  ),
  scenario("Who was given an id can join when everybody else has left meanwhile", async (broker) => {
    const group = await newGroup(broker);
    // Whether the group is empty already when it joins, and so its generation, is a matter of moments.
    const letIn = (r: { errorCode: number; leader: string; memberId: string }) => [
      r.errorCode,
      r.leader !== "" && r.leader === r.memberId,
    ];
    const cases = {
      "same protocols": {},
      "other protocols": { protocols: protocols({ other: "x" }) },
      "no protocols": { protocols: [] },
      "other type": { protocolType: "connect" },
    };
    for (const [i, [label, more]] of Object.entries(cases).entries()) {
      const groupId = `${group}${i}`;
      const first = await joined(broker, groupId);
      const { memberId } = (await broker.send(joinGroup, 4, joining(groupId, more)))!;
      if (memberId === "") {
        broker.note(label, "no id");
        continue;
      }
      await broker.send(leaveGroup, 2, { groupId, memberId: first.memberId, members: [] });
      await broker.ask(joinGroup, 4, joining(groupId, { ...more, memberId }), letIn, label);
    }
    // The id is given for what fits; what is brought then may be something else.
    for (const [i, [label, more]] of Object.entries(cases).entries()) {
      const groupId = `${group}-changed-${i}`;
      const first = await joined(broker, groupId);
      const { memberId } = (await broker.send(joinGroup, 4, joining(groupId)))!;
      await broker.send(leaveGroup, 2, { groupId, memberId: first.memberId, members: [] });
      await broker.ask(joinGroup, 4, joining(groupId, { ...more, memberId }), letIn, `changed: ${label}`);
    }
  }),
  scenario("Groups that rebalance are not deleted, nor are their offsets", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    const { first, held } = await waiting(broker, group);
    await broker.ask(deleteGroups, 2, { groupsNames: [group] });
    const topics = [{ name: topic, partitions: [{ partitionIndex: 0 }] }];
    await broker.ask(offsetDelete, 0, { groupId: group, topics });
    await broker.send(joinGroup, 3, joining(group, { memberId: first.memberId }));
    await held;
    await broker.ask(deleteGroups, 2, { groupsNames: [group] }, undefined, "assignment awaited");
  }),
  scenario("A member whose connection is gone stays until its session is over", async (broker) => {
    const group = await newGroup(broker);
    const gone = broker.another();
    const { memberId, generationId } = await joined(gone, group);
    await gone.close();
    await state(broker, group, "without the connection");
    await broker.ask(heartbeat, 4, { groupId: group, memberId, generationId }, undefined, "over another");
    await broker.ask(joinGroup, 3, joining(group, { memberId }), outcome, "over another");
  }),
  scenario("Generations count up with every rebalance, and old ones are refused", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const { memberId } = await joined(broker, group);
    for (let generation = 2; generation < 5; generation++) {
      await broker.ask(joinGroup, 3, joining(group, { memberId }), outcome);
      await broker.send(syncGroup, 3, syncing(group, { memberId, generationId: generation }));
      for (const generationId of [generation - 1, generation, generation + 1]) {
        await broker.ask(
          heartbeat,
          4,
          { groupId: group, memberId, generationId },
          undefined,
          `${generationId}`,
        );
        const commit = { memberId, generationIdOrMemberEpoch: generationId };
        await broker.ask(offsetCommit, 8, committing(group, topic, commit), undefined, `${generationId}`);
      }
    }
  }),
  scenario("A static member that was replaced hears it where its join or sync is held", async (broker) => {
    const group = await newGroup(broker);
    const first = await joined(broker, group);
    const held = broker.another().send(joinGroup, 5, joining(group, { groupInstanceId: "i" }));
    await rebalancing(broker, group, first);
    await hasMembers(broker, group, 2);
    const replacing = broker.another();
    const replaced = replacing.send(joinGroup, 5, joining(group, { groupInstanceId: "i" }));
    broker.tell(joinGroup, 5, await held, "the replaced one", (r) => r.errorCode);
    await broker.ask(joinGroup, 5, joining(group, { memberId: first.memberId }), outcome, "the dynamic one");
    replacing.tell(joinGroup, 5, await replaced, "the new one", outcome);
  }),
  scenario("Assignments and metadata of any bytes come back as they are", async (broker) => {
    const group = await newGroup(broker);
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    const answer = await broker.send(
      joinGroup,
      3,
      joining(group, { protocols: [{ name: "range", metadata: all }] }),
    );
    const { memberId, generationId } = answer!;
    const assignments = [{ memberId, assignment: all }];
    await broker.ask(syncGroup, 3, syncing(group, { memberId, generationId }, { assignments }));
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
    const none = [{ memberId, assignment: bytes("") }];
    await broker.send(
      joinGroup,
      3,
      joining(group, { memberId, protocols: [{ name: "range", metadata: all }] }),
    );
    await broker.ask(syncGroup, 3, syncing(group, { memberId, generationId: 2 }, { assignments: none }));
  }),
];
