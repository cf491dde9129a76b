/**
 * Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete, and their end, by expiry (KIP-211) or with their topic.
 * Groups that only hold offsets, of consumers that assign partitions to themselves, come into being with a commit.
 */
import { ErrorCode } from "../../codec/errors.ts";
import { isLoggable } from "../loggable.ts";
import type { Ticket } from "../machine.ts";
import { CONSUMER_PROTOCOL_TYPE, isSubscribedTo, memberError } from "./group.ts";
import { renewSession } from "./membership.ts";
import type {
  CommitReply,
  CommitRequest,
  DeleteOffsetsReply,
  DeleteOffsetsRequest,
  FetchedOffset,
  FetchOffsetsReply,
  FetchOffsetsRequest,
} from "./requests.ts";
import type { Turn } from "./turn.ts";
import type { ClassicGroup, CommittedOffset, GroupOffsets } from "./types.ts";

/** From here on a commit to a group that does not exist is told so; before, the generation took the blame. */
const knowsGroupIdNotFound = 9;

/** OffsetCommit, and TxnOffsetCommit, whose offsets are pending until the producer's transaction ends. */
export function commitOffsets(turn: Turn, ticket: Ticket, request: CommitRequest): void {
  const { transaction } = request;
  const group = turn.group(request.groupId);
  const error = group === undefined ? missingGroupError(request) : commitError(group, request);
  if (error !== ErrorCode.NONE) return turn.reply(ticket, commitFailed(request, error));
  // A commit keeps the session alive like a heartbeat; one of a producer does not.
  if (transaction === undefined && group?.members.has(request.memberId)) {
    renewSession(turn, group, request.memberId);
  }
  turn.transaction = transaction;
  const { wallMs } = turn.now;
  // Any other negative retention is over already.
  const expireTimestamp = request.retentionTimeMs === -1 ? -1 : Math.max(0, wallMs + request.retentionTimeMs);
  const topics = request.topics.map(({ name, topicId, partitions }) => ({
    name,
    topicId,
    partitions: partitions.map((partition) => {
      const { partitionIndex } = partition;
      const metadata = partition.committedMetadata ?? "";
      if (metadata.length > turn.config.offsetMetadataMaxBytes || !isLoggable(metadata)) {
        return { partitionIndex, errorCode: ErrorCode.OFFSET_METADATA_TOO_LARGE };
      }
      turn.logOffset(request.groupId, name, partitionIndex, {
        offset: partition.committedOffset,
        leaderEpoch: partition.committedLeaderEpoch,
        metadata,
        commitTimestamp: partition.commitTimestamp < 0 ? wallMs : partition.commitTimestamp,
        expireTimestamp,
        topicId,
      });
      return { partitionIndex, errorCode: ErrorCode.NONE };
    }),
  }));
  turn.reply(ticket, { topics });
}

function missingGroupError(request: CommitRequest): number {
  if (request.generationIdOrMemberEpoch < 0) return ErrorCode.NONE;
  return request.transaction === undefined && request.apiVersion >= knowsGroupIdNotFound
    ? ErrorCode.GROUP_ID_NOT_FOUND
    : ErrorCode.ILLEGAL_GENERATION;
}

function commitError(group: ClassicGroup, request: CommitRequest): number {
  const { generationIdOrMemberEpoch: generation, memberId, groupInstanceId } = request;
  // Without a generation it comes from a tool or from a consumer that assigns partitions to itself.
  if (generation < 0 && group.state === "Empty") return ErrorCode.NONE;
  if (generation < 0 && memberId === "" && groupInstanceId === null) {
    // Producers did not name the member before KIP-447: they were fenced by their transactional id.
    return request.transaction === undefined ? ErrorCode.UNKNOWN_MEMBER_ID : ErrorCode.NONE;
  }
  const error = memberError(group, memberId, groupInstanceId);
  if (error !== ErrorCode.NONE) return error;
  if (generation !== group.generationId) return ErrorCode.ILLEGAL_GENERATION;
  // The member has no partitions yet, so it cannot have consumed any: it is to finish the rebalance first.
  return group.state === "CompletingRebalance" && request.transaction === undefined
    ? ErrorCode.REBALANCE_IN_PROGRESS
    : ErrorCode.NONE;
}

/** The same error for every partition. */
export function commitFailed(request: CommitRequest, errorCode: number): CommitReply {
  return {
    topics: request.topics.map(({ name, topicId, partitions }) => ({
      name,
      topicId,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
    })),
  };
}

export function fetchOffsets(turn: Turn, ticket: Ticket, request: FetchOffsetsRequest): void {
  const { groupId, requireStable } = request;
  const offsets = turn.offsets(groupId);
  const fetch = (topic: string, partition: number) =>
    requireStable && turn.isPending(groupId, topic, partition)
      ? fetched(partition, undefined, ErrorCode.UNSTABLE_OFFSET_COMMIT)
      : fetched(partition, offsets?.get(topic)?.get(partition));
  const topics = request.topics === null
    ? [...offsets ?? []].map(([name, partitions]) => ({
      name,
      partitions: [...partitions.keys()].map((partition) => fetch(name, partition)),
    }))
    : request.topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partition) => fetch(name, partition)),
    }));
  turn.reply(ticket, { groupId, errorCode: ErrorCode.NONE, topics });
}

function fetched(
  partitionIndex: number,
  offset: CommittedOffset | undefined,
  errorCode: number = ErrorCode.NONE,
): FetchedOffset {
  return {
    partitionIndex,
    committedOffset: offset?.offset ?? -1,
    committedLeaderEpoch: offset?.leaderEpoch ?? -1,
    metadata: offset?.metadata ?? "",
    errorCode,
  };
}

/** The group's error; versions 0 and 1 set it at every partition instead. */
export function fetchFailed(groupId: string, errorCode: number): FetchOffsetsReply {
  return { groupId, errorCode, topics: [] };
}

export function deleteOffsets(turn: Turn, ticket: Ticket, request: DeleteOffsetsRequest): void {
  const group = turn.group(request.groupId);
  if (group === undefined) return turn.reply(ticket, deleteOffsetsFailed(ErrorCode.GROUP_ID_NOT_FOUND));
  // Only of consumers is it known which topics they read.
  if (group.state !== "Empty" && group.protocolType !== CONSUMER_PROTOCOL_TYPE) {
    return turn.reply(ticket, deleteOffsetsFailed(ErrorCode.NON_EMPTY_GROUP));
  }
  const offsets = turn.partitionsWithOffsets(request.groupId);
  const topics = request.topics.map(({ name, partitions }) => {
    const errorCode = isSubscribedTo(group, name) ? ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC : ErrorCode.NONE;
    return {
      name,
      partitions: partitions.map(({ partitionIndex }) => {
        if (errorCode === ErrorCode.NONE && offsets.get(name)?.has(partitionIndex)) {
          turn.logOffset(request.groupId, name, partitionIndex, null);
        }
        return { partitionIndex, errorCode };
      }),
    };
  });
  turn.reply(ticket, { errorCode: ErrorCode.NONE, topics });
}

export function deleteOffsetsFailed(errorCode: number): DeleteOffsetsReply {
  return { errorCode, topics: [] };
}

/** Deletes all offsets of a group that is being deleted, also those that are pending. */
export function dropAllOffsets(turn: Turn, groupId: string): void {
  for (const [topic, partitions] of turn.partitionsWithOffsets(groupId)) {
    for (const partition of partitions) turn.logOffset(groupId, topic, partition, null);
  }
}

/** The topics are gone: so are all offsets of them. */
export function topicsDeleted(turn: Turn, topics: ReadonlySet<string>): void {
  turn.divisible = true;
  for (const groupId of turn.groupsWithOffsetsOf(topics)) {
    for (const [topic, partitions] of turn.partitionsWithOffsets(groupId)) {
      if (!topics.has(topic)) continue;
      for (const partition of partitions) turn.logOffset(groupId, topic, partition, null);
    }
  }
}

/**
 * Deletes the group's offsets whose time is over, and the group itself once it is empty and holds none. The time
 * runs from when the group became empty; for topics that a group of consumers no longer reads, and for groups
 * without a protocol, from the commit. An expiry that came with the commit goes before all that. What a transaction
 * may be about to move stays, and its group.
 */
export function expireOffsets(turn: Turn, groupId: string): void {
  const group = turn.group(groupId);
  // Deleted since its turn in the round was planned.
  if (group === undefined) return;
  turn.divisible = true;
  if (!mayExpire(group)) return;
  const left = expireWhatIsDue(turn, group, turn.offsets(groupId) ?? new Map());
  if (left > 0 || turn.hasPending(groupId)) return;
  if (group.state === "Empty" && group.pendingJoins.size === 0) turn.logGroupGone(groupId);
}

function mayExpire(group: ClassicGroup): boolean {
  if (group.protocolType === null || group.state === "Empty") return true;
  return group.state === "Stable" && group.subscribedTopics !== null;
}

function expireWhatIsDue(turn: Turn, group: ClassicGroup, offsets: GroupOffsets): number {
  const { settledMs } = turn.now;
  const emptySince = group.protocolType !== null && group.state === "Empty" ? group.stateTimestamp : -1;
  let left = 0;
  for (const [topic, partitions] of offsets) {
    const subscribed = isSubscribedTo(group, topic);
    for (const [partition, { expireTimestamp, commitTimestamp }] of partitions) {
      const base = emptySince === -1 ? commitTimestamp : emptySince;
      const at = expireTimestamp !== -1 ? expireTimestamp : base + turn.config.offsetsRetentionMs;
      const isOver = !subscribed && at <= settledMs && !turn.isPending(group.groupId, topic, partition);
      if (isOver) turn.logOffset(group.groupId, topic, partition, null);
      else left++;
    }
  }
  return left;
}
