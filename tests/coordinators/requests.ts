/** Requests of an ordinary client, for tests that are about something else. */
import type {
  CommitRequest,
  JoinReply,
  JoinRequest,
  TransactionalCommitRequest,
} from "../../src/coordinators/groups/requests.ts";
import type { GroupService } from "../../src/coordinators/groups/service.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export function joinRequest(groupId: string, memberId: string, more: Partial<JoinRequest> = {}): JoinRequest {
  return {
    groupId,
    memberId,
    groupInstanceId: null,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    protocolType: "consumer",
    protocols: [{ name: "range", metadata: bytes("x") }],
    clientId: "c",
    clientHost: "/127.0.0.1",
    apiVersion: 9,
    ...more,
  };
}

/** Joins as a new member with the id that the coordinator gives it. */
export async function joinAsNew(
  service: GroupService,
  groupId: string,
  more: Partial<JoinRequest> = {},
): Promise<JoinReply> {
  const { memberId } = await service.join(joinRequest(groupId, "", more));
  return service.join(joinRequest(groupId, memberId, more));
}

export function syncRequest(groupId: string, joined: JoinReply, assignments: Record<string, string> = {}) {
  return {
    groupId,
    generationId: joined.generationId,
    memberId: joined.memberId,
    groupInstanceId: null,
    protocolType: joined.protocolType,
    protocolName: joined.protocolName,
    assignments: Object.entries(assignments).map(([memberId, text]) => ({
      memberId,
      assignment: bytes(text),
    })),
    apiVersion: 5,
  };
}

export function heartbeatRequest(groupId: string, joined: JoinReply) {
  return { groupId, generationId: joined.generationId, memberId: joined.memberId, groupInstanceId: null };
}

/** Offsets by `topic:partition`; of nobody when there is no member. */
export function commitRequest(
  groupId: string,
  offsets: Record<string, number>,
  joined: JoinReply | null = null,
  more: Partial<CommitRequest> = {},
): CommitRequest {
  return {
    groupId,
    generationIdOrMemberEpoch: joined?.generationId ?? -1,
    memberId: joined?.memberId ?? "",
    groupInstanceId: null,
    retentionTimeMs: -1,
    topics: Object.entries(offsets).map(([where, committedOffset]) => {
      const [name, partition] = where.split(":");
      return {
        name,
        topicId: ZERO_UUID,
        partitions: [{
          partitionIndex: Number(partition),
          committedOffset,
          committedLeaderEpoch: -1,
          commitTimestamp: -1,
          committedMetadata: null,
        }],
      };
    }),
    apiVersion: 9,
    ...more,
  };
}

/** The same in a producer's transaction. */
export function transactional(
  request: CommitRequest,
  producerId = 100,
  producerEpoch = 0,
  apiVersion = 5,
): TransactionalCommitRequest {
  return {
    ...request,
    transactionalId: `x${producerId}`,
    transaction: { producerId, producerEpoch },
    apiVersion,
  };
}

/** What is committed, as `topic:partition` to offset. */
export async function committed(service: GroupService, groupId: string): Promise<Record<string, number>> {
  const { topics } = await service.fetchOffsets({ groupId, topics: null });
  return Object.fromEntries(
    topics.flatMap(({ name, partitions }) =>
      partitions.map((p) => [`${name}:${p.partitionIndex}`, p.committedOffset])
    ),
  );
}

/** A promise's value if it has one by now. */
export async function ifSettled<T>(promise: Promise<T>): Promise<T | "held"> {
  const held = new Promise<"held">((resolve) => setTimeout(() => resolve("held"), 0));
  return await Promise.race([promise, held]);
}
