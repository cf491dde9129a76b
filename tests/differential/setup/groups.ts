/** Classic groups for scenarios: joined and synced, without anything written down. */
import { ErrorCode } from "../../../src/codec/errors.ts";
import { describeGroups } from "../../../src/codec/messages/describe_groups.ts";
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { heartbeat } from "../../../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { offsetCommit } from "../../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
import type { EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually } from "../scenario.ts";

export const bytes = (text: string) => new TextEncoder().encode(text);

/** A group id, once its coordinator answers. */
export async function newGroup(broker: Broker, text = "g"): Promise<string> {
  const group = broker.name(text);
  return await eventually(`no coordinator for ${group}`, async () => {
    const found = await broker.send(findCoordinator, 4, { key: "", coordinatorKeys: [group] });
    if (found!.coordinators[0].errorCode !== 0) return null;
    const fetched = await broker.send(offsetFetch, 5, { groupId: group, topics: null, groups: [] });
    return fetched!.errorCode === 0 ? group : null;
  });
}

/** A JoinGroup request of a member with one protocol. */
export function joining(groupId: string, more: Partial<EncodableRequestOf<typeof joinGroup>> = {}) {
  return {
    groupId,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    memberId: "",
    protocolType: "consumer",
    protocols: protocols({ range: "m" }),
    ...more,
  };
}

/** Protocols by their name, with their metadata. */
export function protocols(metadata: Readonly<Record<string, string>>) {
  return Object.entries(metadata).map(([name, text]) => ({ name, metadata: bytes(text) }));
}

/** A member as its later requests name it. */
export interface Member {
  readonly memberId: string;
  readonly generationId: number;
}

/** One member that has joined and synced: generation 1 if the group is new, an assignment of its own. */
export async function joined(
  broker: Broker,
  groupId: string,
  more: Partial<EncodableRequestOf<typeof joinGroup>> = {},
): Promise<Member> {
  const { memberId, generationId } = (await broker.send(joinGroup, 3, joining(groupId, more)))!;
  await broker.send(syncGroup, 3, syncing(groupId, { memberId, generationId }));
  return { memberId, generationId };
}

/** A SyncGroup request of a leader that gives its members their own names. */
export function syncing(
  groupId: string,
  { memberId, generationId }: Member,
  more: Partial<EncodableRequestOf<typeof syncGroup>> = {},
) {
  return { groupId, memberId, generationId, assignments: [{ memberId, assignment: bytes("a") }], ...more };
}

/** A stable group of two: the leader has "a", the follower "b". Both speak over connections of their own. */
export async function pair(
  broker: Broker,
  groupId: string,
  more: Partial<EncodableRequestOf<typeof joinGroup>> = {},
) {
  const other = broker.another();
  const first = await joined(broker, groupId, more);
  const secondJoins = other.send(joinGroup, 3, joining(groupId, more));
  await rebalancing(broker, groupId, first);
  const again = (await broker.send(joinGroup, 3, joining(groupId, { ...more, memberId: first.memberId })))!;
  const second = (await secondJoins)!;
  const { generationId } = again;
  const leader = { memberId: again.memberId, generationId },
    follower = { memberId: second.memberId, generationId };
  const followerSyncs = other.send(syncGroup, 3, syncing(groupId, follower, { assignments: [] }));
  await broker.send(
    syncGroup,
    3,
    syncing(groupId, leader, {
      assignments: [
        { memberId: leader.memberId, assignment: bytes("a") },
        { memberId: follower.memberId, assignment: bytes("b") },
      ],
    }),
  );
  await followerSyncs;
  return { leader, follower, other };
}

/** Waits until the group has so many members. */
export async function hasMembers(broker: Broker, groupId: string, count: number): Promise<void> {
  await eventually(`${groupId} does not get ${count} members`, async () => {
    const seen = await broker.send(describeGroups, 5, {
      groups: [groupId],
      includeAuthorizedOperations: false,
    });
    return seen!.groups[0].members.length === count ? true : null;
  });
}

/** Waits until the member hears that its group rebalances. */
export async function rebalancing(broker: Broker, groupId: string, member: Member): Promise<void> {
  await eventually(`${groupId} does not rebalance`, async () => {
    const beat = await broker.send(heartbeat, 3, { groupId, ...member });
    return beat!.errorCode === ErrorCode.REBALANCE_IN_PROGRESS ? true : null;
  });
}

/** An OffsetCommit request for one partition. */
export function committing(
  groupId: string,
  topic: string,
  more: Partial<
    {
      memberId: string;
      generationIdOrMemberEpoch: number;
      groupInstanceId: string;
      partitionIndex: number;
      metadata: string | null;
      offset: bigint;
    }
  > = {},
) {
  const {
    memberId = "",
    generationIdOrMemberEpoch = -1,
    partitionIndex = 0,
    metadata = "meta",
    offset = 7n,
    groupInstanceId = null,
  } = more;
  return {
    groupId,
    memberId,
    generationIdOrMemberEpoch,
    groupInstanceId,
    topics: [{
      name: topic,
      topicId: ZERO_UUID,
      partitions: [{
        partitionIndex,
        committedOffset: offset,
        committedLeaderEpoch: 0,
        committedMetadata: metadata,
      }],
    }],
  };
}

/** Commits an offset without writing anything down; the coordinator of a new Kafka may have to load first. */
export async function committed(
  broker: Broker,
  groupId: string,
  topic: string,
  more: Parameters<typeof committing>[2] = {},
): Promise<void> {
  await eventually(`${groupId} cannot commit`, async () => {
    const answer = await broker.send(offsetCommit, 8, committing(groupId, topic, more));
    return answer!.topics[0].partitions[0].errorCode === 0 ? true : null;
  });
}
