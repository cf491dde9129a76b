/** What members of a classic group do: SyncGroup, Heartbeat, LeaveGroup, and members with an instance id (KIP-345). */
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { scenario } from "../scenario.ts";
import {
  bytes,
  committing,
  joined,
  joining,
  newGroup,
  pair,
  protocols,
  rebalancing,
  syncing,
} from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

export const scenarios = [
  scenario("Member ids are made of the client's id or the instance's, and a UUID", async (broker) => {
    const group = await newGroup(broker);
    const form = (r: { memberId: string }) =>
      r.memberId.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/, "<uuid>");
    for (const version of [3, 4, 9]) {
      await broker.ask(joinGroup, version, joining(`${group}${version}`), form);
    }
    for (const groupInstanceId of ["i", "an-instance"]) {
      await broker.ask(joinGroup, 9, joining(`${group}${groupInstanceId}`, { groupInstanceId }), form);
    }
  }),
  scenario("SyncGroup in every version gives the assignment", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [0, 1, 2, 3, 4, 5]) {
      const groupId = `${group}${version}`;
      const { memberId, generationId } = (await broker.send(joinGroup, 3, joining(groupId)))!;
      await broker.ask(
        syncGroup,
        version,
        syncing(groupId, { memberId, generationId }, { protocolType: "consumer", protocolName: "range" }),
      );
    }
  }),
  scenario(
    "SyncGroup gives the same assignment again, whatever the leader says the second time",
    async (broker) => {
      const group = await newGroup(broker);
      const member = await joined(broker, group);
      const assignments = [{ memberId: member.memberId, assignment: bytes("another") }];
      await broker.ask(syncGroup, 3, syncing(group, member, { assignments }));
    },
  ),
  scenario("SyncGroup gives an empty assignment to whom the leader forgot", async (broker) => {
    const group = await newGroup(broker);
    const first = (await broker.send(joinGroup, 3, joining(group)))!;
    const { memberId, generationId } = first;
    await broker.ask(syncGroup, 3, { groupId: group, memberId, generationId, assignments: [] });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("SyncGroup ignores assignments to strangers, and takes the last of two", async (broker) => {
    const group = await newGroup(broker);
    const { memberId, generationId } = (await broker.send(joinGroup, 3, joining(group)))!;
    await broker.ask(syncGroup, 3, {
      groupId: group,
      memberId,
      generationId,
      assignments: [
        { memberId: "stranger", assignment: bytes("s") },
        { memberId, assignment: bytes("first") },
        { memberId, assignment: bytes("second") },
      ],
    });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("SyncGroup of a follower waits for the leader's", async (broker) => {
    const group = await newGroup(broker);
    const { leader, follower, other } = await pair(broker, group);
    await other.ask(syncGroup, 3, syncing(group, follower, { assignments: [] }), undefined, "follower again");
    const forged = { assignments: [{ memberId: follower.memberId, assignment: bytes("forged") }] };
    await other.ask(syncGroup, 3, syncing(group, follower, forged), undefined, "follower assigns");
    await broker.ask(syncGroup, 3, syncing(group, leader, { assignments: [] }), undefined, "leader again");
  }),
  scenario("SyncGroup during a rebalance is refused", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const first = await joined(broker, group);
    const joins = broker.another().send(joinGroup, 3, joining(group));
    await rebalancing(broker, group, first);
    await broker.ask(syncGroup, 3, syncing(group, first));
    await broker.ask(heartbeat, 3, { groupId: group, ...first });
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId: first.memberId, generationIdOrMemberEpoch: first.generationId }),
    );
    await broker.send(leaveGroup, 2, { groupId: group, memberId: first.memberId, members: [] });
    const second = await joins;
    broker.tell(joinGroup, 3, second);
    // Now the assignment is awaited.
    const member = { memberId: second!.memberId, generationId: second!.generationId };
    await broker.ask(heartbeat, 3, { groupId: group, ...member }, undefined, "assignment awaited");
    const commit = { memberId: member.memberId, generationIdOrMemberEpoch: member.generationId };
    await broker.ask(offsetCommit, 8, committing(group, topic, commit), undefined, "assignment awaited");
  }),
  scenario("SyncGroup holds protocol type and name against the group's", async (broker) => {
    const group = await newGroup(broker);
    const member = await joined(broker, group);
    const right = { protocolType: "consumer", protocolName: "range" };
    await broker.askEach(syncGroup, 5, {
      "right": syncing(group, member, right),
      "other type": syncing(group, member, { ...right, protocolType: "connect" }),
      "other name": syncing(group, member, { ...right, protocolName: "other" }),
      "no type": syncing(group, member, { ...right, protocolType: null }),
      "no name": syncing(group, member, { ...right, protocolName: null }),
      "neither": syncing(group, member, { protocolType: null, protocolName: null }),
      "both empty": syncing(group, member, { protocolType: "", protocolName: "" }),
      "other name, other generation": syncing(group, { ...member, generationId: 9 }, {
        ...right,
        protocolName: "other",
      }),
      "other name, stranger": syncing(group, { ...member, memberId: "stranger" }, {
        ...right,
        protocolName: "other",
      }),
    });
  }),
  scenario("SyncGroup looks at group, member and generation in this order", async (broker) => {
    const group = await newGroup(broker);
    const member = await joined(broker, group);
    await broker.askEach(syncGroup, [0, 4], {
      "no group": syncing("", member),
      "unknown group, other generation": syncing(broker.name("none"), { ...member, generationId: 9 }),
      "stranger, other generation": syncing(group, { memberId: "stranger", generationId: 9 }),
      "no member id": syncing(group, { ...member, memberId: "" }),
      "generation before": syncing(group, { ...member, generationId: 0 }),
      "generation -1": syncing(group, { ...member, generationId: -1 }),
      "generation after": syncing(group, { ...member, generationId: 2 }),
    });
  }),
  scenario("Heartbeat in every version, of members and strangers", async (broker) => {
    const group = await newGroup(broker);
    const member = await joined(broker, group);
    const beat = { groupId: group, ...member };
    await broker.askEach(heartbeat, [0, 1, 2, 3, 4], {
      "member": beat,
      "stranger": { ...beat, memberId: "stranger" },
      "no member id": { ...beat, memberId: "" },
      "other generation": { ...beat, generationId: 9 },
      "generation -1": { ...beat, generationId: -1 },
      "stranger, other generation": { ...beat, memberId: "stranger", generationId: 9 },
      "no group": { ...beat, groupId: "" },
      "unknown group": { ...beat, groupId: broker.name("none") },
    });
    await broker.askEach(heartbeat, [3, 4], {
      "unknown instance": { ...beat, groupInstanceId: "i" },
      "unknown instance, no member id": { ...beat, memberId: "", groupInstanceId: "i" },
      "empty instance": { ...beat, groupInstanceId: "" },
    });
  }),
  scenario("Heartbeat of a group that everybody left", async (broker) => {
    const group = await newGroup(broker);
    const member = await joined(broker, group);
    await broker.send(leaveGroup, 2, { groupId: group, memberId: member.memberId, members: [] });
    await broker.ask(heartbeat, 4, { groupId: group, ...member });
    await broker.ask(syncGroup, 4, syncing(group, member));
  }),
  scenario("LeaveGroup in every version, once and again", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [0, 1, 2, 3, 4, 5]) {
      const groupId = `${group}${version}`;
      const { memberId } = await joined(broker, groupId);
      const leaving = { groupId, memberId, members: [{ memberId, reason: "enough" }] };
      await broker.ask(leaveGroup, version, leaving);
      await broker.ask(leaveGroup, version, leaving, undefined, "again");
    }
  }),
  scenario("LeaveGroup of a leader makes the other member leader", async (broker) => {
    const group = await newGroup(broker);
    const { leader, follower, other } = await pair(broker, group);
    await broker.ask(leaveGroup, 2, { groupId: group, memberId: leader.memberId, members: [] });
    await rebalancing(other, group, follower);
    await other.ask(joinGroup, 3, joining(group, { memberId: follower.memberId }), (r) => ({
      ...r,
      isLeader: r.leader === r.memberId,
      members: r.members.length,
    }));
  }),
  scenario("LeaveGroup of several members: each has its answer", async (broker) => {
    const group = await newGroup(broker);
    const { leader, follower } = await pair(broker, group);
    await broker.ask(leaveGroup, 5, {
      groupId: group,
      memberId: "",
      members: [
        { memberId: leader.memberId },
        { memberId: "stranger" },
        { memberId: leader.memberId },
        { memberId: follower.memberId, groupInstanceId: "nobody" },
        { memberId: "", groupInstanceId: "nobody" },
        { memberId: "", groupInstanceId: null },
        { memberId: "", groupInstanceId: "" },
        { memberId: follower.memberId },
      ],
    });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("LeaveGroup of no group, an unknown one, and nobody", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = await joined(broker, group);
    await broker.askEach(leaveGroup, [0, 2, 3, 5], {
      "no group": { groupId: "", memberId, members: [{ memberId }] },
      "unknown group": { groupId: broker.name("none"), memberId, members: [{ memberId }] },
      "unknown group, nobody": { groupId: broker.name("none"), memberId: "", members: [] },
      "nobody": { groupId: group, memberId: "", members: [] },
      "stranger": { groupId: group, memberId: "stranger", members: [{ memberId: "stranger" }] },
    });
  }),
  scenario(
    "Static members: a restart of the only one keeps its assignment and the generation",
    async (broker) => {
      const group = await newGroup(broker);
      const first = await joinedStatic(broker, group, "i");
      for (const version of [5, 8, 9]) {
        const again = await broker.ask(
          joinGroup,
          version,
          joining(group, { groupInstanceId: "i" }),
          (r) => ({ ...r, isLeader: r.leader === r.memberId, isNewId: r.memberId !== first.memberId }),
        );
        await broker.ask(syncGroup, 3, {
          ...syncing(group, { memberId: again!.memberId, generationId: again!.generationId }),
          groupInstanceId: "i",
          assignments: [],
        });
      }
    },
  ),
  scenario("Static members: a restart with other protocols starts a rebalance", async (broker) => {
    const group = await newGroup(broker);
    await joinedStatic(broker, group, "i");
    const changed = { groupInstanceId: "i", protocols: protocols({ range: "changed" }) };
    await broker.ask(joinGroup, 9, joining(group, changed));
    const other = { groupInstanceId: "i", protocols: protocols({ other: "x" }) };
    await broker.ask(joinGroup, 9, joining(group, other), undefined, "another protocol");
  }),
  scenario("Static members: who was replaced is fenced in every call", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const first = await joinedStatic(broker, group, "i");
    const again = (await broker.send(joinGroup, 9, joining(group, { groupInstanceId: "i" })))!;
    const fenced = { groupId: group, ...first, groupInstanceId: "i" };
    await broker.ask(heartbeat, 4, fenced);
    await broker.ask(heartbeat, 4, { ...fenced, generationId: 99 }, undefined, "other generation");
    await broker.ask(syncGroup, 4, { ...fenced, assignments: [] });
    await broker.ask(joinGroup, 9, joining(group, { memberId: first.memberId, groupInstanceId: "i" }));
    const commit = { memberId: first.memberId, generationIdOrMemberEpoch: 1, groupInstanceId: "i" };
    await broker.ask(offsetCommit, 8, committing(group, topic, commit));
    const members = [{ memberId: first.memberId, groupInstanceId: "i" }];
    await broker.ask(leaveGroup, 5, { groupId: group, memberId: "", members });
    // Without its instance id it is just unknown.
    await broker.ask(heartbeat, 4, { groupId: group, ...first }, undefined, "without instance");
    const now = { groupId: group, memberId: again.memberId, generationId: again.generationId };
    await broker.ask(heartbeat, 4, now, undefined, "the new one without instance");
    await broker.ask(heartbeat, 4, { ...now, groupInstanceId: "other" }, undefined, "another instance");
  }),
  scenario(
    "Static members: unknown ids with a known instance, known ids with an unknown one",
    async (broker) => {
      const group = await newGroup(broker);
      const { memberId } = await joinedStatic(broker, group, "i");
      await broker.askEach(joinGroup, [5, 9], {
        "stranger": joining(group, { memberId: "stranger", groupInstanceId: "i" }),
        "other instance": joining(group, { memberId, groupInstanceId: "j" }),
        "without instance": joining(group, { memberId }),
      });
    },
  ),
  scenario("Static members: leaving by the instance id alone", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = await joinedStatic(broker, group, "i");
    const leave = (id: string, groupInstanceId: string | null) =>
      broker.ask(leaveGroup, 5, {
        groupId: group,
        memberId: "",
        members: [{ memberId: id, groupInstanceId }],
      });
    await leave("stranger", "i");
    await leave("stranger", "j");
    await leave("", "j");
    await leave("", "i");
    await leave("", "i");
    await leave(memberId, null);
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("Static members leave by their member id in the versions without instances", async (broker) => {
    const group = await newGroup(broker);
    const { memberId } = await joinedStatic(broker, group, "i");
    await broker.ask(leaveGroup, 2, { groupId: group, memberId, members: [] });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("Static members: two of them, and one comes back without a rebalance", async (broker) => {
    const group = await newGroup(broker);
    const first = await joinedStatic(broker, group, "i");
    const other = broker.another();
    const joins = other.send(joinGroup, 5, joining(group, { groupInstanceId: "j" }));
    await rebalancing(broker, group, first);
    const again = (await broker.send(
      joinGroup,
      5,
      joining(group, { memberId: first.memberId, groupInstanceId: "i" }),
    ))!;
    const second = (await joins)!;
    const { generationId } = again;
    const assignments = [
      { memberId: again.memberId, assignment: bytes("a") },
      { memberId: second.memberId, assignment: bytes("b") },
    ];
    await broker.send(syncGroup, 3, {
      ...syncing(group, { memberId: again.memberId, generationId }, { assignments }),
      groupInstanceId: "i",
    });
    const back = await other.ask(
      joinGroup,
      5,
      joining(group, { groupInstanceId: "j" }),
      undefined,
      "follower",
    );
    await other.ask(syncGroup, 3, {
      ...syncing(group, { memberId: back!.memberId, generationId: back!.generationId }, { assignments: [] }),
      groupInstanceId: "j",
    });
    await broker.ask(heartbeat, 4, {
      groupId: group,
      memberId: again.memberId,
      generationId,
      groupInstanceId: "i",
    });
    for (const version of [8, 9]) {
      await broker.ask(joinGroup, version, joining(group, { groupInstanceId: "i" }), (r) => ({
        ...r,
        leader: "",
        members: r.members.map((m) => m.groupInstanceId).sort(),
      }), "leader");
    }
  }),
];

/** A group with one member that has an instance id. */
async function joinedStatic(
  broker: Parameters<typeof newGroup>[0],
  groupId: string,
  groupInstanceId: string,
) {
  const { memberId, generationId } =
    (await broker.send(joinGroup, 5, joining(groupId, { groupInstanceId })))!;
  await broker.send(syncGroup, 3, { ...syncing(groupId, { memberId, generationId }), groupInstanceId });
  return { memberId, generationId };
}
