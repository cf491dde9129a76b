/**
 * One decision in the making. Groups are copied before they are changed, so that nothing happens to the state when
 * the decision's facts cannot be logged. Whoever changes a group here asks {@link Turn.edit} for it first.
 */
import { assert } from "../../base/assert.ts";
import type { Decision, Instant, Producer, Reply, Ticket } from "../machine.ts";
import type { GroupsFact } from "./facts.ts";
import { groupsWithOffsetsOf, isPending, partitionsWithOffsets } from "./offset_store.ts";
import type { GroupsReply, JoinReply, SyncReply } from "./requests.ts";
import {
  type ClassicGroup,
  type CommittedOffset,
  type GroupOffsets,
  type GroupsConfig,
  type GroupsState,
  type Member,
  newGroup,
} from "./types.ts";

/** Changes of memory that go with a decision. */
export type GroupsMark =
  /** The group as it is from now on. */
  | { readonly type: "group"; readonly group: ClassicGroup }
  /** A member showed that it lives. */
  | { readonly type: "session"; readonly member: Member; readonly deadline: number }
  /** The group has nothing to do before this time. */
  | { readonly type: "groupWake"; readonly group: ClassicGroup; readonly at: number }
  | { readonly type: "findNextTick" }
  | { readonly type: "offsetExpiryAt"; readonly at: number };

export type GroupsDecision = Decision<GroupsFact, GroupsMark, GroupsReply>;

export const NO_BYTES: Uint8Array = new Uint8Array(0);

export class Turn {
  readonly facts: GroupsFact[] = [];
  readonly marks: GroupsMark[] = [];
  readonly replies: Reply<GroupsReply>[] = [];
  divisible = false;
  /** The facts become part of this producer's transaction. */
  transaction: Producer | undefined = undefined;
  private readonly drafts = new Map<string, ClassicGroup>();

  constructor(private readonly state: GroupsState, readonly now: Instant) {}

  get config(): GroupsConfig {
    return this.state.config;
  }

  /** The group as this turn sees it: with the turn's changes. Not to be changed. */
  group(groupId: string): ClassicGroup | undefined {
    return this.drafts.get(groupId) ?? this.state.groups.get(groupId);
  }

  /** Every group of the state, in no order that means something. */
  groups(): Iterable<ClassicGroup> {
    return this.state.groups.values();
  }

  /** The group's committed offsets; not to be changed. */
  offsets(groupId: string): GroupOffsets | undefined {
    return this.state.offsets.get(groupId);
  }

  /** Every partition that the group has an offset of, committed or pending, by topic. */
  partitionsWithOffsets(groupId: string): ReadonlyMap<string, ReadonlySet<number>> {
    return partitionsWithOffsets(this.state, groupId);
  }

  /** The groups that have offsets of one of the topics, committed or pending. */
  groupsWithOffsetsOf(topics: ReadonlySet<string>): Iterable<string> {
    return groupsWithOffsetsOf(this.state, topics);
  }

  /** Whether transactions that have not ended may move offsets of the group. */
  hasPending(groupId: string): boolean {
    return this.state.pending.has(groupId);
  }

  /** Whether a transaction that has not ended may move the group's offset of this partition. */
  isPending(groupId: string, topic: string, partition: number): boolean {
    return isPending(this.state, groupId, topic, partition);
  }

  /** A copy of the group that this turn may change; the same one each time. Members are replaced, not changed. */
  edit(groupId: string): ClassicGroup {
    const draft = this.drafts.get(groupId);
    if (draft !== undefined) return draft;
    const group = this.state.groups.get(groupId);
    assert(group !== undefined, `edit of group ${groupId}, which does not exist`);
    const copy: ClassicGroup = {
      ...group,
      members: new Map(group.members),
      staticMembers: new Map(group.staticMembers),
      pendingJoins: new Map(group.pendingJoins),
      pendingSyncs: new Set(group.pendingSyncs),
    };
    this.drafts.set(groupId, copy);
    return copy;
  }

  /** A new, empty group, logged so that it survives even if nobody completes a join. */
  create(groupId: string): ClassicGroup {
    const group = newGroup(groupId, this.now.wallMs);
    this.drafts.set(groupId, group);
    this.logGroup(group);
    return group;
  }

  /** Logs the group as it is now. */
  logGroup(group: ClassicGroup): void {
    this.facts.push({
      type: "groupMetadata",
      key: { group: group.groupId },
      value: {
        protocolType: group.protocolType ?? "",
        generation: group.generationId,
        protocol: group.protocolName,
        leader: group.leader,
        currentStateTimestamp: group.stateTimestamp,
        members: [...group.members.values()].map((member) => ({
          memberId: member.memberId,
          groupInstanceId: member.groupInstanceId,
          clientId: member.clientId,
          clientHost: member.clientHost,
          rebalanceTimeout: member.rebalanceTimeoutMs,
          sessionTimeout: member.sessionTimeoutMs,
          subscription: metadataFor(member, group.protocolName),
          assignment: member.assignment,
        })),
      },
    });
  }

  /** Logs the group's end. */
  logGroupGone(groupId: string): void {
    this.drafts.delete(groupId);
    this.facts.push({ type: "groupMetadata", key: { group: groupId }, value: null });
  }

  /** Logs a committed offset; null deletes it. */
  logOffset(group: string, topic: string, partition: number, value: CommittedOffset | null): void {
    this.facts.push({ type: "offsetCommit", key: { group, topic, partition }, value });
  }

  reply(ticket: Ticket, body: GroupsReply): void {
    this.replies.push({ ticket, body });
  }

  /** The decision, complete. */
  finish(): GroupsDecision {
    for (const group of this.drafts.values()) {
      group.wakeAt = earliestDeadline(group);
      this.marks.push({ type: "group", group });
    }
    const { facts, marks, replies, divisible, transaction } = this;
    return { facts, marks, replies, divisible, transaction };
  }
}

/** When the group next has something to do if nobody asks. */
export function earliestDeadline(group: ClassicGroup): number {
  let at = Math.min(group.joinDeadline, group.syncDeadline);
  for (const deadline of group.pendingJoins.values()) if (deadline < at) at = deadline;
  for (const member of group.members.values()) if (member.sessionDeadline < at) at = member.sessionDeadline;
  return at;
}

/** What the member gave for a protocol; empty when there is none. */
export function metadataFor(member: Member, protocolName: string | null): Uint8Array {
  return member.protocols.find((protocol) => protocol.name === protocolName)?.metadata ?? NO_BYTES;
}

export function joinError(errorCode: number, memberId: string): JoinReply {
  return {
    errorCode,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: "",
    skipAssignment: false,
    memberId,
    members: [],
  };
}

export function syncError(errorCode: number): SyncReply {
  return { errorCode, protocolType: null, protocolName: null, assignment: NO_BYTES };
}
