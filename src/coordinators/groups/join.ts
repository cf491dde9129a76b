/**
 * JoinGroup: a client becomes a member, or a member takes part in a rebalance, which its coming may have started.
 * The request is held until the join phase ends, unless there is nothing to wait for.
 */
import { ErrorCode } from "../../codec/errors.ts";
import type { Ticket } from "../machine.ts";
import {
  awaitingJoinCount,
  hasSameProtocols,
  memberError,
  readSubscribedTopics,
  selectProtocol,
  supportsProtocols,
} from "./group.ts";
import { DEFAULT_MAX_PENDING_MEMBERS, hasBytesFor } from "./limits.ts";
import {
  changeMember,
  completeJoinIfAllJoined,
  dropMember,
  joinedMembers,
  NEW_MEMBER_JOIN_TIMEOUT_MS,
  prepareRebalance,
  rebalance,
  syncReceived,
} from "./rebalance.ts";
import type { JoinReply, JoinRequest } from "./requests.ts";
import { joinError, NO_BYTES, syncError, type Turn } from "./turn.ts";
import type { ClassicGroup, GroupsConfig, Member } from "./types.ts";

/** From here on a new member first gets an id and joins again with it, so that a lost answer leaves none behind (KIP-394). */
const requiresKnownMemberId = 4;
/** From here on a restarted static leader can be told to keep the assignment (KIP-814). */
const supportsSkippingAssignment = 9;

export function join(turn: Turn, ticket: Ticket, request: JoinRequest, newMemberId: string): void {
  const { groupId, memberId } = request;
  const existing = turn.group(groupId);
  if (existing === undefined && memberId !== "") {
    return turn.reply(ticket, joinError(ErrorCode.UNKNOWN_MEMBER_ID, memberId));
  }
  const group = existing ?? turn.create(groupId);
  if (!hasRoomFor(turn, group, memberId)) {
    if (group.members.has(memberId)) {
      const draft = turn.edit(groupId);
      dropMember(turn, draft, memberId);
      completeJoinIfAllJoined(turn, draft);
    }
    return turn.reply(ticket, joinError(ErrorCode.GROUP_MAX_SIZE_REACHED, ""));
  }
  // Clients take this error as final, and it is the nearest to the truth: the group is as large as it can be.
  if (!hasBytesFor(group, request, turn.config)) {
    return turn.reply(ticket, joinError(ErrorCode.GROUP_MAX_SIZE_REACHED, memberId));
  }
  if (!supportsProtocols(group, request.protocolType, request.protocols)) {
    return turn.reply(ticket, joinError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, memberId));
  }
  if (memberId === "") return joinNew(turn, turn.edit(groupId), ticket, request, newMemberId);
  // Ids are only reserved for dynamic members. With an instance id beside it, it is nobody's: Kafka fails here.
  if (group.pendingJoins.has(memberId) && request.groupInstanceId === null) {
    return addMember(turn, turn.edit(groupId), ticket, request, memberId);
  }
  const error = memberError(group, memberId, request.groupInstanceId);
  if (error !== ErrorCode.NONE) return turn.reply(ticket, joinError(error, memberId));
  joinAgain(turn, group, ticket, request);
}

/**
 * Whether group.max.size has room. While members join again, those count who have: so a group that has become too
 * large for the limit loses the last to come.
 */
function hasRoomFor(turn: Turn, group: ClassicGroup, memberId: string): boolean {
  const limit = turn.config.groupMaxSize;
  switch (group.state) {
    case "Empty":
      return true;
    case "PreparingRebalance": {
      const hasJoined = (group.members.get(memberId)?.awaitingJoin ?? null) !== null;
      return hasJoined || awaitingJoinCount(group) < limit;
    }
    default:
      return group.members.has(memberId) || group.members.size < limit;
  }
}

/** Somebody without a member id. */
function joinNew(
  turn: Turn,
  group: ClassicGroup,
  ticket: Ticket,
  request: JoinRequest,
  newMemberId: string,
): void {
  if (request.groupInstanceId !== null) {
    const replaced = group.staticMembers.get(request.groupInstanceId);
    if (replaced === undefined) return addMember(turn, group, ticket, request, newMemberId);
    return replaceStaticMember(turn, group, ticket, request, replaced, newMemberId);
  }
  if (request.apiVersion < requiresKnownMemberId) return addMember(turn, group, ticket, request, newMemberId);
  group.pendingJoins.set(newMemberId, turn.now.steadyMs + request.sessionTimeoutMs);
  forgetOldestPending(group, turn.config);
  turn.reply(ticket, joinError(ErrorCode.MEMBER_ID_REQUIRED, newMemberId));
}

/**
 * Whoever asks for ids and never comes back must neither fill the memory nor keep others out: the id that has waited
 * longest is taken back. Its owner, if there is one, is told UNKNOWN_MEMBER_ID and asks for another, as clients do.
 */
function forgetOldestPending(group: ClassicGroup, config: GroupsConfig): void {
  const max = config.groupMaxPendingMembers ?? DEFAULT_MAX_PENDING_MEMBERS;
  for (const memberId of group.pendingJoins.keys()) {
    if (group.pendingJoins.size <= max) return;
    group.pendingJoins.delete(memberId);
  }
}

function addMember(
  turn: Turn,
  group: ClassicGroup,
  ticket: Ticket,
  request: JoinRequest,
  memberId: string,
): void {
  if (group.initialJoin !== null) group.initialJoin = { ...group.initialJoin, newMemberAdded: true };
  if (group.members.size === 0) group.protocolType = request.protocolType;
  group.leader ??= memberId;
  group.members.set(memberId, {
    memberId,
    groupInstanceId: request.groupInstanceId,
    clientId: request.clientId,
    clientHost: request.clientHost,
    sessionTimeoutMs: request.sessionTimeoutMs,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    protocols: request.protocols,
    assignment: NO_BYTES,
    isNew: true,
    awaitingJoin: ticket,
    awaitingSync: null,
    sessionDeadline: turn.now.steadyMs + NEW_MEMBER_JOIN_TIMEOUT_MS,
  });
  if (request.groupInstanceId !== null) group.staticMembers.set(request.groupInstanceId, memberId);
  group.pendingJoins.delete(memberId);
  rebalance(turn, group);
}

/** A member that the group knows. Nothing is to be done when it only repeats a join whose answer it missed. */
function joinAgain(turn: Turn, group: ClassicGroup, ticket: Ticket, request: JoinRequest): void {
  const { memberId } = request;
  const isLeader = group.leader === memberId;
  const isUnchanged = hasSameProtocols(group.members.get(memberId)!, request.protocols);
  // A leader that joins a stable group wants a rebalance, for reasons that only it sees: new partitions of a topic.
  const isRepetition = isUnchanged &&
    (group.state === "CompletingRebalance" || (group.state === "Stable" && !isLeader));
  if (isRepetition) return turn.reply(ticket, currentGeneration(group, memberId, isLeader, false));
  const draft = turn.edit(group.groupId);
  takeJoin(turn, draft, draft.members.get(memberId)!, ticket, request);
  rebalance(turn, draft);
}

/** The member waits for the rebalance now, with what it said this time. */
function takeJoin(
  turn: Turn,
  group: ClassicGroup,
  member: Member,
  ticket: Ticket,
  request: JoinRequest,
): Member {
  // The client has given up its earlier request, or it would not send another one; it still gets an answer.
  if (member.awaitingJoin !== null) {
    turn.reply(member.awaitingJoin, joinError(ErrorCode.REBALANCE_IN_PROGRESS, member.memberId));
  }
  return changeMember(group, member, {
    clientId: request.clientId,
    clientHost: request.clientHost,
    protocols: request.protocols,
    sessionTimeoutMs: request.sessionTimeoutMs,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    awaitingJoin: ticket,
    sessionDeadline: member.isNew ? member.sessionDeadline : Infinity,
  });
}

function currentGeneration(
  group: ClassicGroup,
  memberId: string,
  withMembers: boolean,
  skipAssignment: boolean,
): JoinReply {
  return {
    errorCode: ErrorCode.NONE,
    generationId: group.generationId,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    leader: group.leader ?? "",
    skipAssignment,
    memberId,
    members: withMembers ? joinedMembers(group) : [],
  };
}

/**
 * A static member's process came back without its member id: it gets a new id and its old place. A stable group
 * whose protocol stays the same goes on without a rebalance (KIP-345).
 */
function replaceStaticMember(
  turn: Turn,
  group: ClassicGroup,
  ticket: Ticket,
  request: JoinRequest,
  oldMemberId: string,
  newMemberId: string,
): void {
  const oldLeader = group.leader ?? "";
  const member = renameMember(turn, group, oldMemberId, newMemberId);
  switch (group.state) {
    case "Stable": {
      const before = group.protocolName;
      const joined = takeJoin(turn, group, member, ticket, request);
      if (selectProtocol(group) !== before) return rebalance(turn, group);
      changeMember(group, joined, {
        awaitingJoin: null,
        sessionDeadline: turn.now.steadyMs + request.sessionTimeoutMs,
      });
      group.subscribedTopics = readSubscribedTopics(group);
      turn.logGroup(group);
      if (request.apiVersion >= supportsSkippingAssignment) {
        const isLeader = group.leader === newMemberId;
        return turn.reply(ticket, currentGeneration(group, newMemberId, isLeader, isLeader));
      }
      // Older clients would compute an assignment if they saw that they lead; with the old id they do not.
      return turn.reply(ticket, {
        ...currentGeneration(group, newMemberId, false, false),
        leader: oldLeader,
      });
    }
    case "CompletingRebalance":
      // The leader assigns to the old id: without another rebalance the new one would get nothing.
      takeJoin(turn, group, member, ticket, request);
      return prepareRebalance(turn, group);
    default:
      takeJoin(turn, group, member, ticket, request);
      return completeJoinIfAllJoined(turn, group);
  }
}

/** Gives a static member a new id and fences whoever still waits under the old one. */
function renameMember(turn: Turn, group: ClassicGroup, oldId: string, newId: string): Member {
  const { groupInstanceId, ...old } = group.members.get(oldId)!;
  if (old.awaitingJoin !== null) turn.reply(old.awaitingJoin, joinError(ErrorCode.FENCED_INSTANCE_ID, oldId));
  if (old.awaitingSync !== null) turn.reply(old.awaitingSync, syncError(ErrorCode.FENCED_INSTANCE_ID));
  group.members.delete(oldId);
  syncReceived(group, oldId);
  group.staticMembers.set(groupInstanceId!, newId);
  if (group.leader === oldId) group.leader = newId;
  const member: Member = {
    ...old,
    groupInstanceId,
    memberId: newId,
    awaitingJoin: null,
    awaitingSync: null,
    sessionDeadline: turn.now.steadyMs + old.sessionTimeoutMs,
  };
  group.members.set(newId, member);
  return member;
}
