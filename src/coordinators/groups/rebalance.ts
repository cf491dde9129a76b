/**
 * The life of a generation: members are asked to join again (PreparingRebalance), get the result of the join
 * (CompletingRebalance), and the leader's assignment makes the group Stable. Everything that makes a group take a
 * step on this way is here; requests and deadlines only say which step.
 */
import { assert } from "../../base/assert.ts";
import { ErrorCode } from "../../codec/errors.ts";
import {
  allMembersJoined,
  CONSUMER_PROTOCOL_TYPE,
  readSubscribedTopics,
  rebalanceTimeoutMs,
  selectProtocol,
} from "./group.ts";
import type { JoinedMember } from "./requests.ts";
import { joinError, metadataFor, NO_BYTES, syncError, type Turn } from "./turn.ts";
import type { ClassicGroup, GroupState, Member } from "./types.ts";

/**
 * How long a new member's JoinGroup is held. The member has no id to send heartbeats with and its connection may be
 * gone unnoticed, so without an end every retry of a client would leave a dead member behind.
 */
export const NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000;

export function setState(turn: Turn, group: ClassicGroup, state: GroupState): void {
  group.state = state;
  group.stateTimestamp = turn.now.wallMs;
}

/** Replaces a member by a copy with changes; the place in the order of joining stays. */
export function changeMember(group: ClassicGroup, member: Member, change: Partial<Member>): Member {
  const changed = { ...member, ...change };
  group.members.set(changed.memberId, changed);
  return changed;
}

/** What the leader's JoinGroup tells about everybody. */
export function joinedMembers(group: ClassicGroup): JoinedMember[] {
  return [...group.members.values()].map((member) => ({
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    metadata: metadataFor(member, group.protocolName),
  }));
}

/** The members have changed: starts a rebalance, or goes on with the one that runs. */
export function rebalance(turn: Turn, group: ClassicGroup): void {
  if (group.state === "PreparingRebalance") completeJoinIfAllJoined(turn, group);
  else prepareRebalance(turn, group);
}

/** Everybody has to join again. */
export function prepareRebalance(turn: Turn, group: ClassicGroup): void {
  if (group.state === "CompletingRebalance") dropAssignments(turn, group);
  group.syncDeadline = Infinity;
  const isInitial = group.state === "Empty";
  setState(turn, group, "PreparingRebalance");
  if (isInitial) {
    const delayMs = turn.config.groupInitialRebalanceDelayMs;
    const remainingMs = Math.max(rebalanceTimeoutMs(group) - delayMs, 0);
    group.initialJoin = { delayMs, remainingMs, newMemberAdded: false };
    group.joinDeadline = turn.now.steadyMs + delayMs;
  } else if (allMembersJoined(group) || group.members.size === 0) {
    // Ids that were given out are not waited for where no member's timeout says how long.
    completeJoin(turn, group);
  } else {
    group.joinDeadline = turn.now.steadyMs + rebalanceTimeoutMs(group);
  }
}

/** Members that wait for an assignment learn that it will never come. */
function dropAssignments(turn: Turn, group: ClassicGroup): void {
  for (const member of group.members.values()) {
    if (member.awaitingSync !== null) {
      turn.reply(member.awaitingSync, syncError(ErrorCode.REBALANCE_IN_PROGRESS));
    }
    changeMember(group, member, {
      assignment: NO_BYTES,
      awaitingSync: null,
      sessionDeadline: member.awaitingSync === null
        ? member.sessionDeadline
        : turn.now.steadyMs + member.sessionTimeoutMs,
    });
  }
}

/** Ends the join phase early when nobody is missing; the first one of an empty group always waits its time. */
export function completeJoinIfAllJoined(turn: Turn, group: ClassicGroup): void {
  if (group.state === "PreparingRebalance" && group.initialJoin === null && allMembersJoined(group)) {
    completeJoin(turn, group);
  }
}

/** A member id was given out and nobody came back with it. Kafka lets this end even the first delay. */
export function pendingJoinPassed(turn: Turn, group: ClassicGroup, memberId: string): void {
  group.pendingJoins.delete(memberId);
  if (group.state === "PreparingRebalance" && allMembersJoined(group)) completeJoin(turn, group);
}

/** The join deadline has passed. */
export function joinDeadlinePassed(turn: Turn, group: ClassicGroup): void {
  const initial = group.initialJoin;
  if (initial === null || !initial.newMemberAdded || initial.remainingMs === 0) {
    return completeJoin(turn, group);
  }
  // Members keep coming: give them another delay, as long as the members' own timeouts allow.
  const delayMs = Math.min(turn.config.groupInitialRebalanceDelayMs, initial.remainingMs);
  const remainingMs = Math.max(initial.remainingMs - initial.delayMs, 0);
  group.initialJoin = { delayMs, remainingMs, newMemberAdded: false };
  group.joinDeadline = turn.now.steadyMs + delayMs;
}

/** Ends the join phase: who has not joined is out, unless static; the others are a new generation. */
function completeJoin(turn: Turn, group: ClassicGroup): void {
  group.joinDeadline = Infinity;
  for (const member of [...group.members.values()]) {
    if (member.awaitingJoin === null && member.groupInstanceId === null) {
      dropMember(turn, group, member.memberId);
    }
  }
  if (group.members.size > 0 && !electLeaderAmongJoined(group)) {
    // Only static members that are away: their session timeouts decide, so look again later.
    group.joinDeadline = turn.now.steadyMs + rebalanceTimeoutMs(group);
    return;
  }
  group.initialJoin = null;
  group.generationId++;
  group.pendingSyncs.clear();
  if (group.members.size === 0) becomeEmpty(turn, group);
  else startSync(turn, group);
}

/** Keeps the leader if it has joined, else the first who has takes over. False when nobody has. */
function electLeaderAmongJoined(group: ClassicGroup): boolean {
  const isJoined = (member: Member | undefined) => member !== undefined && member.awaitingJoin !== null;
  if (group.leader !== null && isJoined(group.members.get(group.leader))) return true;
  const next = [...group.members.values()].find(isJoined);
  if (next === undefined) return false;
  group.leader = next.memberId;
  return true;
}

function becomeEmpty(turn: Turn, group: ClassicGroup): void {
  group.protocolName = null;
  group.subscribedTopics = group.protocolType === CONSUMER_PROTOCOL_TYPE ? new Set() : null;
  setState(turn, group, "Empty");
  turn.logGroup(group);
}

/** Answers every JoinGroup and waits for the members to ask for their assignment. */
function startSync(turn: Turn, group: ClassicGroup): void {
  const { protocolType, generationId } = group;
  const protocolName = group.protocolName = selectProtocol(group);
  const leader = group.leader;
  assert(leader !== null, `group ${group.groupId} has members but no leader`);
  group.subscribedTopics = readSubscribedTopics(group);
  setState(turn, group, "CompletingRebalance");
  for (const member of group.members.values()) {
    if (member.awaitingJoin !== null) {
      turn.reply(member.awaitingJoin, {
        errorCode: ErrorCode.NONE,
        generationId,
        protocolType,
        protocolName,
        leader,
        skipAssignment: false,
        memberId: member.memberId,
        members: member.memberId === leader ? joinedMembers(group) : [],
      });
    }
    changeMember(group, member, {
      awaitingJoin: null,
      isNew: false,
      sessionDeadline: turn.now.steadyMs + member.sessionTimeoutMs,
    });
    group.pendingSyncs.add(member.memberId);
  }
  group.syncDeadline = turn.now.steadyMs + rebalanceTimeoutMs(group);
}

/** The leader's assignment is there: logs it, hands it out, and the group is stable. */
export function completeSync(
  turn: Turn,
  group: ClassicGroup,
  assignments: ReadonlyMap<string, Uint8Array>,
): void {
  setState(turn, group, "Stable");
  for (const member of group.members.values()) {
    // A member without partitions gets an empty assignment, never none.
    const assignment = assignments.get(member.memberId) ?? NO_BYTES;
    if (member.awaitingSync === null) {
      changeMember(group, member, { assignment });
      continue;
    }
    turn.reply(member.awaitingSync, {
      errorCode: ErrorCode.NONE,
      protocolType: group.protocolType,
      protocolName: group.protocolName,
      assignment,
    });
    changeMember(group, member, {
      assignment,
      awaitingSync: null,
      sessionDeadline: turn.now.steadyMs + member.sessionTimeoutMs,
    });
  }
  turn.logGroup(group);
}

/** Nobody waits for this member's SyncGroup any more. */
export function syncReceived(group: ClassicGroup, memberId: string): void {
  group.pendingSyncs.delete(memberId);
  if (group.pendingSyncs.size === 0) group.syncDeadline = Infinity;
}

/** The sync deadline has passed: members that got the join's result but never asked for an assignment are out. */
export function syncDeadlinePassed(turn: Turn, group: ClassicGroup): void {
  group.syncDeadline = Infinity;
  if (group.pendingSyncs.size === 0) return;
  for (const memberId of [...group.pendingSyncs]) dropMember(turn, group, memberId);
  prepareRebalance(turn, group);
}

/** Takes a member out, answering whatever it waits for: with an unknown id a client starts from the beginning. */
export function dropMember(turn: Turn, group: ClassicGroup, memberId: string): void {
  const member = group.members.get(memberId);
  assert(member !== undefined, `group ${group.groupId} drops ${memberId}, which is no member`);
  if (member.awaitingJoin !== null) {
    turn.reply(member.awaitingJoin, joinError(ErrorCode.UNKNOWN_MEMBER_ID, ""));
  }
  if (member.awaitingSync !== null) {
    turn.reply(member.awaitingSync, syncError(ErrorCode.UNKNOWN_MEMBER_ID));
  }
  group.members.delete(memberId);
  syncReceived(group, memberId);
  const { groupInstanceId } = member;
  if (groupInstanceId !== null && group.staticMembers.get(groupInstanceId) === memberId) {
    group.staticMembers.delete(groupInstanceId);
  }
  if (group.leader === memberId) group.leader = group.members.keys().next().value ?? null;
}
