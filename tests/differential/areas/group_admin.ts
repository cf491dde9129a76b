/** Groups as an operator sees them: DescribeGroups, ListGroups, DeleteGroups, FindCoordinator. */
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { type Broker, scenario } from "../scenario.ts";
import { committed, committing, joined, joining, newGroup, pair, rebalancing } from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

/** ListGroups for the groups of this scenario. */
async function list(
  broker: Broker,
  version: number,
  statesFilter: string[] = [],
  typesFilter: string[] = [],
) {
  const own = broker.name("");
  await broker.ask(listGroups, version, { statesFilter, typesFilter }, (r) => ({
    ...r,
    groups: r.groups.filter((g) => g.groupId.startsWith(own)),
  }), `${statesFilter} ${typesFilter}`);
}

export const scenarios = [
  scenario("DescribeGroups in every version: two members with what they brought and got", async (broker) => {
    const group = await newGroup(broker);
    await pair(broker, group);
    for (const version of [0, 1, 2, 3, 4, 5, 6]) {
      await broker.ask(
        describeGroups,
        version,
        { groups: [group], includeAuthorizedOperations: true },
        (r) => ({
          ...r,
          groups: r.groups.map((g) => ({
            ...g,
            members: g.members.map((m) => ({
              ...m,
              memberMetadata: new TextDecoder().decode(m.memberMetadata),
              memberAssignment: new TextDecoder().decode(m.memberAssignment),
            })).sort((a, b) => a.memberAssignment < b.memberAssignment ? -1 : 1),
          })),
        }),
      );
    }
  }),
  scenario("DescribeGroups in every state of a group", async (broker) => {
    const group = await newGroup(broker);
    const show = (label: string) =>
      broker.ask(
        describeGroups,
        5,
        { groups: [group], includeAuthorizedOperations: false },
        undefined,
        label,
      );
    await show("unknown");
    const { memberId } = (await broker.send(joinGroup, 4, joining(group)))!;
    await broker.send(joinGroup, 4, joining(group, { memberId }));
    await show("assignment awaited");
    await broker.send(leaveGroup, 2, { groupId: group, memberId, members: [] });
    await show("empty");
    const first = await joined(broker, group);
    const joins = broker.another().send(joinGroup, 3, joining(group));
    await rebalancing(broker, group, first);
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false }, (r) => ({
      ...r.groups[0],
      members: r.groups[0].members.length,
    }), "joining");
    await broker.send(leaveGroup, 2, { groupId: group, memberId: first.memberId, members: [] });
    await joins;
    await broker.send(deleteGroups, 2, { groupsNames: [group] });
    await show("not deleted");
  }),
  scenario("DescribeGroups of none, of odd names, and of a group with offsets only", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    for (const version of [0, 5, 6]) {
      const includeAuthorizedOperations = true;
      await broker.ask(describeGroups, version, { groups: [], includeAuthorizedOperations });
      await broker.ask(describeGroups, version, { groups: [group], includeAuthorizedOperations });
      await broker.ask(describeGroups, version, {
        groups: [broker.name("a b")],
        includeAuthorizedOperations,
      });
    }
  }),
  scenario("DescribeGroups and OffsetFetch name a group twice", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    await broker.ask(describeGroups, 5, { groups: [group, group], includeAuthorizedOperations: false });
    const groups = [group, group].map((groupId) => ({ groupId, topics: null }));
    await broker.ask(offsetFetch, 8, { groupId: "", topics: [], groups });
  }),
  scenario("ListGroups in every version", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await joined(broker, `${group}1`);
    await joined(broker, `${group}2`, { protocolType: "connect" });
    await committed(broker, `${group}3`, topic);
    for (const version of [0, 1, 2, 3, 4, 5]) await list(broker, version);
  }),
  scenario("ListGroups of groups in each state", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await joined(broker, `${group}-stable`);
    await committed(broker, `${group}-empty`, topic);
    await broker.send(joinGroup, 4, joining(`${group}-pending`));
    await broker.send(joinGroup, 3, joining(`${group}-completing`));
    const first = await joined(broker, `${group}-preparing`);
    const joins = broker.another().send(joinGroup, 3, joining(`${group}-preparing`));
    await rebalancing(broker, `${group}-preparing`, first);
    for (
      const state of [
        "Stable",
        "Empty",
        "CompletingRebalance",
        "PreparingRebalance",
        "Dead",
        "Assigning",
        "STABLE",
      ]
    ) await list(broker, 4, [state]);
    await list(broker, 5, ["Stable", "Empty", "Stable", "nonsense", ""]);
    await list(broker, 5, [""]);
    await list(broker, 5, ["preparingrebalance"]);
    await broker.send(leaveGroup, 2, {
      groupId: `${group}-preparing`,
      memberId: first.memberId,
      members: [],
    });
    await joins;
  }),
  scenario("ListGroups by type, in any case, and by types that are not there", async (broker) => {
    const group = await newGroup(broker);
    await joined(broker, group);
    for (const type of ["Classic", "CLASSIC", "Consumer", "Share", "Streams", "unknown", ""]) {
      await list(broker, 5, [], [type]);
    }
    await list(broker, 5, ["Empty"], ["classic"]);
    await list(broker, 5, ["Stable"], ["consumer", "classic"]);
  }),
  scenario("DeleteGroups in every version, of what is empty, in use, unknown and twice", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const version of [0, 1, 2, 3]) {
      const [empty, used, none] = ["empty", "used", "none"].map((text) => `${group}${version}-${text}`);
      await committed(broker, empty, topic);
      await joined(broker, used);
      await broker.ask(deleteGroups, version, { groupsNames: [empty, used, none] });
      await broker.ask(deleteGroups, version, { groupsNames: [empty] }, undefined, "again");
    }
  }),
  scenario("DeleteGroups of a group named twice, and of no group", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    await broker.ask(deleteGroups, 2, { groupsNames: [] });
    const other = broker.name("other");
    await broker.ask(deleteGroups, 2, { groupsNames: [other, other] });
  }),
  scenario(
    "DeleteGroups of a group whose only member is pending, and of one that everybody left",
    async (broker) => {
      const group = await newGroup(broker);
      await broker.send(joinGroup, 4, joining(group));
      await broker.ask(deleteGroups, 2, { groupsNames: [group] });
      const { memberId } = await joined(broker, `${group}2`);
      await broker.send(leaveGroup, 2, { groupId: `${group}2`, memberId, members: [] });
      await broker.ask(deleteGroups, 2, { groupsNames: [`${group}2`] });
      await broker.ask(heartbeat, 4, { groupId: `${group}2`, memberId, generationId: 1 });
      await broker.ask(joinGroup, 3, joining(`${group}2`), undefined, "a new group of the name");
    },
  ),
  scenario("DeleteGroups takes the offsets along", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    await broker.ask(deleteGroups, 2, { groupsNames: [group] });
    const wanted = { groupId: group, topics: [{ name: topic, partitionIndexes: [0] }], groups: [] };
    await broker.ask(offsetFetch, 7, wanted);
    await broker.ask(offsetFetch, 7, { ...wanted, topics: null });
    await list(broker, 4);
  }),
  scenario("The group without a name has offsets, and nobody can join it", async (broker) => {
    // Nothing else in the suite may ask for it: it is the same for all.
    await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await broker.send(deleteGroups, 2, { groupsNames: [""] });
    const wanted = { groupId: "", topics: [{ name: topic, partitionIndexes: [0] }], groups: [] };
    const remove = { groupId: "", topics: [{ name: topic, partitions: [{ partitionIndex: 0 }] }] };
    const describe = { groups: [""], includeAuthorizedOperations: false };
    for (const label of ["before", "after"]) {
      await broker.ask(offsetFetch, 7, wanted, undefined, label);
      for (const version of [0, 6]) await broker.ask(describeGroups, version, describe, undefined, label);
      if (label === "before") {
        await broker.ask(offsetDelete, 0, remove, undefined, label);
        await broker.ask(offsetCommit, 2, committing("", topic));
      }
    }
    await broker.ask(offsetCommit, 8, committing("", topic, { memberId: "m", generationIdOrMemberEpoch: 1 }));
    await broker.ask(joinGroup, 9, joining(""));
    await broker.ask(offsetDelete, 0, remove, undefined, "after");
    await broker.ask(deleteGroups, 2, { groupsNames: ["", ""] });
    await broker.ask(deleteGroups, 2, { groupsNames: [""] });
  }),
  scenario("FindCoordinator in every version, of a group", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [0, 1, 2, 3, 4, 5]) {
      await broker.ask(findCoordinator, version, { key: group, coordinatorKeys: [group] });
    }
  }),
  scenario(
    "FindCoordinator of odd names, of types that are unknown, and of share partitions",
    async (broker) => {
      const group = await newGroup(broker);
      const of = (keyType: number, ...coordinatorKeys: string[]) => ({
        keyType,
        key: coordinatorKeys[0] ?? "",
        coordinatorKeys,
      });
      await broker.askEach(findCoordinator, [3, 4, 6], {
        "empty": of(0, ""),
        "type 3": of(3, group),
        "type -1": of(-1, group),
      });
      await broker.askEach(findCoordinator, [4, 5, 6], {
        "none": of(0),
        "twice": of(0, group, group),
        "some bad": of(0, group, "", broker.name("ä b")),
        "type 9, none": of(9),
        "type 9, two": of(9, group, ""),
      });
      await broker.askEach(findCoordinator, [4, 5, 6], { "share, not a key": of(2, "a") });
      await broker.askEach(findCoordinator, [5, 6], { "share, bad id": of(2, "a:b:c") });
    },
  ),
];
