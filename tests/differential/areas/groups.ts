/** Classic groups: joining, syncing, committing, describing, and the errors on the way. */
import { deleteGroups } from "../../../src/codec/messages/delete_groups.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { leaveGroup } from "../../../src/codec/messages/leave_group.ts";
import { listGroups } from "../../../src/codec/messages/list_groups.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetDelete } from "../../../src/codec/messages/offset_delete.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { scenario } from "../scenario.ts";
import { bytes, committed, committing, joined, joining, newGroup } from "../setup/groups.ts";
import { createTopic } from "../setup/topics.ts";

export const scenarios = [
  scenario("JoinGroup from version 4 hands out a member id first", async (broker) => {
    const group = await newGroup(broker);
    for (const version of [4, 6, 9]) await broker.ask(joinGroup, version, joining(`${group}${version}`));
    await broker.ask(joinGroup, 3, joining(group));
    await broker.ask(joinGroup, 0, joining(`${group}0`));
  }),
  scenario("JoinGroup goes through to an assignment", async (broker) => {
    const group = await newGroup(broker);
    const first = await broker.ask(joinGroup, 7, joining(group));
    const again = await broker.ask(joinGroup, 7, joining(group, { memberId: first!.memberId }));
    const { memberId, generationId } = again!;
    await broker.ask(syncGroup, 5, {
      groupId: group,
      generationId,
      memberId,
      protocolType: "consumer",
      protocolName: "range",
      assignments: [{ memberId, assignment: bytes("mine") }],
    });
    await broker.ask(heartbeat, 4, { groupId: group, generationId, memberId });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: true });
    await broker.ask(leaveGroup, 4, { groupId: group, memberId: "", members: [{ memberId }] });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("JoinGroup refuses ids, timeouts, protocols and strangers", async (broker) => {
    const group = await newGroup(broker);
    await broker.ask(joinGroup, 5, joining(""));
    await broker.ask(joinGroup, 5, joining(group, { sessionTimeoutMs: 1 }));
    await broker.ask(joinGroup, 5, joining(group, { sessionTimeoutMs: 2_000_000_000 }));
    await broker.ask(joinGroup, 5, joining(group, { memberId: "stranger" }));
    await broker.ask(joinGroup, 5, joining(group, { protocols: [] }));
    await broker.ask(joinGroup, 5, joining(group, { protocolType: "" }));
    await joined(broker, group);
    await broker.ask(joinGroup, 5, joining(group, { memberId: "stranger" }));
    await broker.ask(joinGroup, 3, joining(group, { protocolType: "connect" }));
    await broker.ask(joinGroup, 3, joining(group, { protocols: [{ name: "other", metadata: bytes("x") }] }));
  }),
  scenario("SyncGroup, Heartbeat and LeaveGroup refuse strangers and other generations", async (broker) => {
    const group = await newGroup(broker);
    const { memberId, generationId } = await joined(broker, group);
    const sync = (
      more: Partial<{ groupId: string; memberId: string; generationId: number; protocolName: string | null }>,
    ) =>
      broker.ask(syncGroup, 5, {
        groupId: group,
        memberId,
        generationId,
        protocolType: "consumer",
        protocolName: "range",
        assignments: [],
        ...more,
      });
    await sync({ memberId: "stranger" });
    await sync({ generationId: 9 });
    await sync({ protocolName: "other" });
    await sync({ protocolName: null });
    await sync({ groupId: "" });
    await sync({ groupId: broker.name("none") });
    await sync({});
    const beat = (more: Partial<{ groupId: string; memberId: string; generationId: number }>) =>
      broker.ask(heartbeat, 4, { groupId: group, memberId, generationId, ...more });
    await beat({ memberId: "stranger" });
    await beat({ generationId: 9 });
    await beat({ groupId: "" });
    await beat({ groupId: broker.name("none") });
    await beat({ memberId: "" });
    await broker.ask(leaveGroup, 2, { groupId: group, memberId: "stranger", members: [] });
    await broker.ask(leaveGroup, 2, { groupId: broker.name("none"), memberId, members: [] });
    await broker.ask(leaveGroup, 4, {
      groupId: group,
      memberId: "",
      members: [{ memberId: "stranger" }, { memberId }, { memberId: "", groupInstanceId: "nobody" }],
    });
    await broker.ask(leaveGroup, 4, { groupId: "", memberId: "", members: [{ memberId }] });
    await broker.ask(leaveGroup, 4, { groupId: group, memberId: "", members: [] });
  }),
  scenario("Static members are replaced by their instance id", async (broker) => {
    const group = await newGroup(broker);
    const first = await broker.ask(joinGroup, 5, joining(group, { groupInstanceId: "i" }));
    const { memberId, generationId } = first!;
    const assignments = [{ memberId, assignment: bytes("a") }];
    await broker.ask(syncGroup, 3, {
      groupId: group,
      generationId,
      memberId,
      groupInstanceId: "i",
      assignments,
    });
    await broker.ask(joinGroup, 9, joining(group, { groupInstanceId: "i" }));
    await broker.ask(heartbeat, 3, { groupId: group, generationId, memberId, groupInstanceId: "i" });
    await broker.ask(
      offsetCommit,
      8,
      committing(group, "x", { memberId, generationIdOrMemberEpoch: generationId, groupInstanceId: "i" }),
    );
    await broker.ask(leaveGroup, 4, {
      groupId: group,
      memberId: "",
      members: [{ memberId: "", groupInstanceId: "i" }],
    });
    await broker.ask(describeGroups, 5, { groups: [group], includeAuthorizedOperations: false });
  }),
  scenario("OffsetCommit and OffsetFetch without members, version by version", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    for (const version of [2, 5, 6, 8, 9]) await broker.ask(offsetCommit, version, committing(group, topic));
    for (const version of [1, 2, 3, 5, 7]) {
      await broker.ask(offsetFetch, version, {
        groupId: group,
        topics: [{ name: topic, partitionIndexes: [0, 3] }],
        groups: [],
      });
    }
    await broker.ask(offsetFetch, 5, { groupId: group, topics: null, groups: [] });
    await broker.ask(offsetFetch, 8, {
      groupId: "",
      topics: [],
      groups: [{ groupId: group, topics: null }, { groupId: broker.name("none"), topics: null }, {
        groupId: group,
        topics: [{ name: broker.name("missing"), topicId: ZERO_UUID, partitionIndexes: [0] }],
      }],
    });
  }),
  scenario("OffsetCommit refuses what does not exist, long metadata, and strangers", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await broker.ask(offsetCommit, 8, committing(group, broker.name("missing")));
    await broker.ask(offsetCommit, 8, committing(group, topic, { partitionIndex: 9 }));
    await broker.ask(offsetCommit, 8, committing(group, topic, { metadata: "x".repeat(4097) }));
    await broker.ask(offsetCommit, 8, committing(group, topic, { metadata: null }));
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId: "m", generationIdOrMemberEpoch: 3 }),
    );
    const { memberId, generationId } = await joined(broker, group);
    await broker.ask(offsetCommit, 8, committing(group, topic));
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId, generationIdOrMemberEpoch: generationId + 1 }),
    );
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId: "stranger", generationIdOrMemberEpoch: generationId }),
    );
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId, generationIdOrMemberEpoch: generationId }),
    );
    await broker.ask(
      offsetCommit,
      8,
      committing(group, topic, { memberId, generationIdOrMemberEpoch: generationId, offset: -5n }),
    );
  }),
  scenario("OffsetDelete of groups with and without members", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    await committed(broker, group, topic);
    const remove = (groupId: string, name = topic, partitionIndex = 0) =>
      broker.ask(offsetDelete, 0, { groupId, topics: [{ name, partitions: [{ partitionIndex }] }] });
    await remove(broker.name("none"));
    await remove(group, broker.name("missing"));
    await remove(group, topic, 9);
    await remove(group);
    await broker.ask(offsetFetch, 5, { groupId: group, topics: null, groups: [] });
    await joined(broker, group);
    await remove(group);
  }),
  scenario("ListGroups by state and type", async (broker) => {
    const group = await newGroup(broker, "listed");
    await joined(broker, group);
    const mine = (r: { errorCode: number; groups: { groupId: string }[] }) => ({
      errorCode: r.errorCode,
      groups: r.groups.filter((g) => g.groupId === group),
    });
    await broker.ask(listGroups, 0, { statesFilter: [], typesFilter: [] }, mine);
    await broker.ask(listGroups, 4, { statesFilter: ["Stable"], typesFilter: [] }, mine);
    await broker.ask(listGroups, 4, { statesFilter: ["stable", "Empty"], typesFilter: [] }, mine);
    await broker.ask(listGroups, 4, { statesFilter: ["Empty"], typesFilter: [] }, mine);
    await broker.ask(listGroups, 4, { statesFilter: ["NoSuchState"], typesFilter: [] }, mine);
    await broker.ask(listGroups, 5, { statesFilter: [], typesFilter: ["classic"] }, mine);
    await broker.ask(listGroups, 5, { statesFilter: [], typesFilter: ["consumer"] }, mine);
    await broker.ask(listGroups, 5, { statesFilter: [], typesFilter: ["nonsense"] }, mine);
  }),
  scenario("DescribeGroups and DeleteGroups of groups that exist and that do not", async (broker) => {
    const group = await newGroup(broker);
    const topic = await createTopic(broker, "t");
    const none = broker.name("none");
    for (const version of [0, 3, 5, 6]) {
      await broker.ask(describeGroups, version, { groups: [none], includeAuthorizedOperations: false });
    }
    const { memberId } = await joined(broker, group);
    for (const version of [0, 4, 6]) {
      await broker.ask(describeGroups, version, { groups: [group], includeAuthorizedOperations: true });
    }
    await broker.ask(deleteGroups, 2, { groupsNames: [group, none] });
    await broker.ask(leaveGroup, 4, { groupId: group, memberId: "", members: [{ memberId }] });
    await committed(broker, group, topic);
    await broker.ask(deleteGroups, 2, { groupsNames: [group] });
    await broker.ask(offsetFetch, 5, { groupId: group, topics: null, groups: [] });
  }),
];
