/**
 * How a member stays and how it goes: Heartbeat, LeaveGroup and the deadlines of a group. Heartbeats are by far the
 * most frequent request, so they touch one number of one member and copy nothing.
 */
import { ErrorCode } from "../../codec/errors.ts";
import type { Ticket } from "../machine.ts";
import { memberError } from "./group.ts";
import {
  dropMember,
  joinDeadlinePassed,
  pendingJoinPassed,
  rebalance,
  syncDeadlinePassed,
} from "./rebalance.ts";
import type { HeartbeatRequest, LeaveReply, LeaveRequest } from "./requests.ts";
import { earliestDeadline, type Turn } from "./turn.ts";
import type { ClassicGroup } from "./types.ts";

export function heartbeat(turn: Turn, ticket: Ticket, request: HeartbeatRequest): void {
  turn.reply(ticket, { errorCode: heartbeatResult(turn, request) });
}

function heartbeatResult(turn: Turn, request: HeartbeatRequest): number {
  const group = turn.group(request.groupId);
  if (group === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
  const error = memberError(group, request.memberId, request.groupInstanceId);
  if (error !== ErrorCode.NONE) return error;
  if (request.generationId !== group.generationId) return ErrorCode.ILLEGAL_GENERATION;
  renewSession(turn, group, request.memberId);
  return group.state === "PreparingRebalance" ? ErrorCode.REBALANCE_IN_PROGRESS : ErrorCode.NONE;
}

/** The member lives: its session starts anew, unless a held request speaks for it anyway. */
export function renewSession(turn: Turn, group: ClassicGroup, memberId: string): void {
  const member = group.members.get(memberId)!;
  const deadline = turn.now.steadyMs + member.sessionTimeoutMs;
  if (deadline > member.sessionDeadline) turn.marks.push({ type: "session", member, deadline });
}

export function leave(turn: Turn, ticket: Ticket, request: LeaveRequest): void {
  const group = turn.group(request.groupId);
  if (group === undefined) {
    const errorCode = ErrorCode.UNKNOWN_MEMBER_ID;
    return turn.reply(
      ticket,
      leaveReply(request.members.map((member) => ({ ...identity(member), errorCode }))),
    );
  }
  const members = request.members.map((member) => ({
    ...identity(member),
    errorCode: leaveOne(turn, request.groupId, member.memberId, member.groupInstanceId),
  }));
  turn.reply(ticket, leaveReply(members));
  if (members.some((member) => member.errorCode === ErrorCode.NONE)) {
    const draft = turn.edit(request.groupId);
    // Also when only a pending member has left, and the group was not waiting for it: as Kafka does.
    if (draft.state !== "Empty") rebalance(turn, draft);
  }
}

function identity(member: LeaveRequest["members"][number]) {
  return { memberId: member.memberId, groupInstanceId: member.groupInstanceId };
}

function leaveReply(members: LeaveReply["members"]): LeaveReply {
  return { errorCode: ErrorCode.NONE, members };
}

function leaveOne(turn: Turn, groupId: string, memberId: string, groupInstanceId: string | null): number {
  const group = turn.group(groupId)!;
  if (memberId === "") {
    // An administrator takes a static member out by its instance id (KIP-345).
    const current = groupInstanceId === null ? undefined : group.staticMembers.get(groupInstanceId);
    if (current === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
    dropMember(turn, turn.edit(groupId), current);
    return ErrorCode.NONE;
  }
  if (group.pendingJoins.has(memberId)) {
    turn.edit(groupId).pendingJoins.delete(memberId);
    return ErrorCode.NONE;
  }
  const error = memberError(group, memberId, groupInstanceId);
  if (error === ErrorCode.NONE) dropMember(turn, turn.edit(groupId), memberId);
  return error;
}

/** Does what the group's deadlines ask for, in the order in which they passed. */
export function tick(turn: Turn, groupId: string): void {
  const group = turn.group(groupId);
  // Deleted since the tick was asked for.
  if (group === undefined) return;
  const now = turn.now.steadyMs;
  const at = earliestDeadline(group);
  if (at > now) {
    turn.marks.push({ type: "groupWake", group, at });
    return;
  }
  const draft = turn.edit(groupId);
  for (let next = at; next <= now; next = earliestDeadline(draft)) passDeadline(turn, draft, next);
}

function passDeadline(turn: Turn, group: ClassicGroup, deadline: number): void {
  for (const [memberId, at] of group.pendingJoins) {
    if (at <= deadline) return pendingJoinPassed(turn, group, memberId);
  }
  for (const member of group.members.values()) {
    if (member.sessionDeadline > deadline) continue;
    dropMember(turn, group, member.memberId);
    return rebalance(turn, group);
  }
  if (group.joinDeadline <= deadline) return joinDeadlinePassed(turn, group);
  syncDeadlinePassed(turn, group);
}

/** The log was replayed: every member gets a session from now on, since nobody can say when it was last seen. */
export function groupLoaded(turn: Turn, groupId: string): void {
  const group = turn.edit(groupId);
  for (const member of group.members.values()) {
    group.members.set(member.memberId, {
      ...member,
      sessionDeadline: turn.now.steadyMs + member.sessionTimeoutMs,
    });
  }
  // group.max.size may have become smaller: the rebalance lets in as many as it allows.
  if (group.members.size > turn.config.groupMaxSize) rebalance(turn, group);
}
