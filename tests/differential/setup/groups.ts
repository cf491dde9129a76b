/** Classic groups for scenarios: joined and synced, without anything written down. */
import { findCoordinator } from "../../../src/codec/messages/find_coordinator.ts";
import { joinGroup } from "../../../src/codec/messages/join_group.ts";
import { offsetFetch } from "../../../src/codec/messages/offset_fetch.ts";
import { syncGroup } from "../../../src/codec/messages/sync_group.ts";
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
export function joining(
  groupId: string,
  more: Partial<
    {
      memberId: string;
      groupInstanceId: string;
      protocolType: string;
      sessionTimeoutMs: number;
      protocols: { name: string; metadata: Uint8Array }[];
    }
  > = {},
) {
  return {
    groupId,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    memberId: "",
    protocolType: "consumer",
    protocols: [{ name: "range", metadata: bytes("m") }],
    ...more,
  };
}

/** One member that has joined and synced: generation 1, an assignment of its own. */
export async function joined(broker: Broker, group: string) {
  const { memberId, generationId } = (await broker.send(joinGroup, 3, joining(group)))!;
  await broker.send(syncGroup, 3, {
    groupId: group,
    generationId,
    memberId,
    assignments: [{ memberId, assignment: bytes("a") }],
  });
  return { memberId, generationId };
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
