/**
 * What a group may hold. All of a group goes into one record of the offsets topic when a rebalance is complete, so that
 * members that no such record has room for could join but never be told an assignment, and all the while the broker
 * would keep what they sent. They are refused when they come.
 */
import type { CommitRequest, JoinRequest } from "./requests.ts";
import type { ClassicGroup, GroupsConfig, Member, Protocol } from "./types.ts";

/** Kafka's default for `message.max.bytes`, which the offsets topic obeys. */
const DEFAULT_GROUP_MAX_BYTES = 1_048_588;
/** A member's part of the record without its texts and bytes, and the least that its assignment takes. */
const MEMBER_OVERHEAD_BYTES = 50;

/** More than any group has members, so that all of a group may come at once. */
export const DEFAULT_MAX_PENDING_MEMBERS = 5000;

/** Clients offer one protocol or two; every join looks at those of all members. */
export const MAX_PROTOCOLS = 100;

/** A client id of more UTF-16 units is cut off, before it becomes part of a member id that the protocol has no room for. */
export const MAX_CLIENT_ID_UNITS = 255;

/** Whether any record has room for a member with these protocols; nobody may bring more than its size in all of them. */
export function fitAlone(protocols: readonly Protocol[], config: GroupsConfig): boolean {
  let bytes = 0;
  for (const protocol of protocols) bytes += sizeOf(protocol);
  return bytes <= limitOf(config);
}

/**
 * Whether the group's record has room for who wants to join, as the member with `memberId` if it is one. What counts is
 * each member's largest protocol, since nobody knows yet which one will be chosen.
 */
export function hasBytesFor(group: ClassicGroup, request: JoinRequest, config: GroupsConfig): boolean {
  const replaced = request.memberId !== ""
    ? request.memberId
    : request.groupInstanceId === null
    ? undefined
    : group.staticMembers.get(request.groupInstanceId);
  let bytes = sizeOfMember(request, request.clientId.length);
  for (const member of group.members.values()) {
    if (member.memberId !== replaced) bytes += sizeOfMember(member, member.memberId.length);
  }
  return bytes <= limitOf(config);
}

/** The least that the record of one offset takes besides its texts: lengths, types, numbers. */
const OFFSET_OVERHEAD_BYTES = 41;

/**
 * Whether the offsets may fit into one batch, in which they have to go together. False is certain; it saves the work on
 * offsets in tens of thousands that could not be stored in the end.
 */
export function mayFitOneBatch({ groupId, topics }: CommitRequest, config: GroupsConfig): boolean {
  let bytes = 0;
  for (const { name, partitions } of topics) {
    bytes += partitions.length * (OFFSET_OVERHEAD_BYTES + groupId.length + name.length);
  }
  return bytes <= limitOf(config);
}

function limitOf(config: GroupsConfig): number {
  return config.groupMaxBytes ?? DEFAULT_GROUP_MAX_BYTES;
}

function sizeOfMember(member: Member | JoinRequest, memberIdUnits: number): number {
  let largest = 0;
  for (const protocol of member.protocols) largest = Math.max(largest, sizeOf(protocol));
  return MEMBER_OVERHEAD_BYTES + largest + memberIdUnits + (member.groupInstanceId?.length ?? 0) +
    member.clientId.length + member.clientHost.length;
}

function sizeOf({ name, metadata }: Protocol): number {
  return name.length + metadata.length;
}
