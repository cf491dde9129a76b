/**
 * The machine of all classic groups in one partition of `__consumer_offsets`: it hands each input to the file that
 * knows it, and makes facts and marks true. See ../machine.ts for the contract.
 */
import { unreachable } from "../../base/assert.ts";
import type { Instant, Machine, Producer } from "../machine.ts";
import { deleteGroup, describe, list } from "./admin.ts";
import { decodeFact, encodeFact, type GroupMetadata, type GroupsFact } from "./facts.ts";
import { readSubscribedTopics } from "./group.ts";
import { join } from "./join.ts";
import { groupLoaded, heartbeat, leave, tick } from "./membership.ts";
import { applyOffset, applyPendingOffset, endTransaction } from "./offset_store.ts";
import { commitOffsets, deleteOffsets, expireOffsets, fetchOffsets, topicsDeleted } from "./offsets.ts";
import type { GroupsInput, GroupsReply } from "./requests.ts";
import { sync } from "./sync.ts";
import { type GroupsDecision, type GroupsMark, Turn } from "./turn.ts";
import { type ClassicGroup, type GroupsState, newGroup } from "./types.ts";

export const groupsMachine: Machine<GroupsState, GroupsInput, GroupsFact, GroupsMark, GroupsReply> = {
  decide,
  applyFact,
  applyPending,
  endTransaction,
  applyMark,
  wakeAt: (state) => Math.min(state.wakeAt, state.offsetExpiryAt),
  due,
  loaded,
  encode: encodeFact,
  decode: decodeFact,
};

function decide(state: GroupsState, input: GroupsInput, now: Instant): GroupsDecision {
  const turn = new Turn(state, now);
  dispatch(turn, input);
  return turn.finish();
}

function dispatch(turn: Turn, input: GroupsInput): void {
  switch (input.type) {
    case "join":
      return join(turn, input.ticket, input.request, input.newMemberId);
    case "sync":
      return sync(turn, input.ticket, input.request);
    case "heartbeat":
      return heartbeat(turn, input.ticket, input.request);
    case "leave":
      return leave(turn, input.ticket, input.request);
    case "commitOffsets":
      return commitOffsets(turn, input.ticket, input.request);
    case "fetchOffsets":
      return fetchOffsets(turn, input.ticket, input.request);
    case "deleteOffsets":
      return deleteOffsets(turn, input.ticket, input.request);
    case "list":
      return list(turn, input.ticket, input.request);
    case "describe":
      return describe(turn, input.ticket, input.groupId, input.apiVersion);
    case "delete":
      return deleteGroup(turn, input.ticket, input.groupId);
    case "tick":
      return tick(turn, input.groupId);
    case "groupLoaded":
      return groupLoaded(turn, input.groupId);
    case "expireOffsets":
      return expireOffsets(turn, input.groupId);
    case "topicsDeleted":
      return topicsDeleted(turn, input.topics);
    case "scheduleOffsetExpiry": {
      const at = turn.now.steadyMs + turn.config.offsetsRetentionCheckIntervalMs;
      turn.marks.push({ type: "offsetExpiryAt", at });
      return;
    }
    case "findNextTick":
      turn.marks.push({ type: "findNextTick" });
      return;
    default:
      unreachable(input);
  }
}

function applyFact(state: GroupsState, fact: GroupsFact, offset: number): void {
  if (fact.type === "offsetCommit") return applyOffset(state, fact, offset);
  const groupId = fact.key.group;
  if (fact.value === null) state.groups.delete(groupId);
  else state.groups.set(groupId, groupOf(groupId, fact.value));
}

/** Offsets alone are committed in transactions. */
function applyPending(state: GroupsState, fact: GroupsFact, offset: number, producer: Producer): void {
  if (fact.type === "offsetCommit") applyPendingOffset(state, fact, offset, producer);
}

/** The group that a record describes. Only the chosen protocol of each member is in the log. */
function groupOf(groupId: string, value: GroupMetadata): ClassicGroup {
  const group = newGroup(groupId, value.currentStateTimestamp);
  if (value.members.length > 0) group.state = "Stable";
  group.protocolType = value.protocolType === "" ? null : value.protocolType;
  group.generationId = value.generation;
  group.protocolName = value.protocol;
  group.leader = value.leader;
  for (const member of value.members) {
    group.members.set(member.memberId, {
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      sessionTimeoutMs: member.sessionTimeout,
      rebalanceTimeoutMs: member.rebalanceTimeout,
      protocols: value.protocol === null ? [] : [{ name: value.protocol, metadata: member.subscription }],
      assignment: member.assignment,
      isNew: false,
      awaitingJoin: null,
      awaitingSync: null,
      sessionDeadline: Infinity,
    });
    if (member.groupInstanceId !== null) group.staticMembers.set(member.groupInstanceId, member.memberId);
  }
  group.subscribedTopics = readSubscribedTopics(group);
  return group;
}

function applyMark(state: GroupsState, mark: GroupsMark): void {
  switch (mark.type) {
    case "group":
      state.groups.set(mark.group.groupId, mark.group);
      state.wakeAt = Math.min(state.wakeAt, mark.group.wakeAt);
      return;
    case "session":
      mark.member.sessionDeadline = mark.deadline;
      return;
    case "groupWake":
      mark.group.wakeAt = mark.at;
      return;
    case "offsetExpiryAt":
      state.offsetExpiryAt = mark.at;
      return;
    case "findNextTick":
      state.wakeAt = Infinity;
      for (const group of state.groups.values()) state.wakeAt = Math.min(state.wakeAt, group.wakeAt);
      return;
    default:
      unreachable(mark);
  }
}

function due(state: GroupsState, now: Instant): GroupsInput[] {
  const inputs: GroupsInput[] = [];
  if (state.wakeAt <= now.steadyMs) {
    for (const group of state.groups.values()) {
      if (group.wakeAt <= now.steadyMs) inputs.push({ type: "tick", groupId: group.groupId });
    }
    inputs.push({ type: "findNextTick" });
  }
  if (state.offsetExpiryAt <= now.steadyMs) {
    for (const groupId of state.groups.keys()) inputs.push({ type: "expireOffsets", groupId });
    inputs.push({ type: "scheduleOffsetExpiry" });
  }
  return inputs;
}

function loaded(state: GroupsState): GroupsInput[] {
  const inputs: GroupsInput[] = [{ type: "scheduleOffsetExpiry" }];
  for (const group of state.groups.values()) {
    if (group.members.size > 0) inputs.push({ type: "groupLoaded", groupId: group.groupId });
  }
  return inputs;
}
