/**
 * Questions about one classic group: who is missing, which protocol wins, whether a member is who it says. They
 * change nothing; what follows from the answers is in rebalance.ts and beside each request.
 */
import { ErrorCode } from "../../codec/errors.ts";
import { javaStringHash } from "../partitioner.ts";
import { topicsOfSubscription } from "./subscription.ts";
import { metadataFor } from "./turn.ts";
import type { ClassicGroup, Member, Protocol } from "./types.ts";

/** The protocol type of groups whose members are consumers, so that their subscriptions can be read. */
export const CONSUMER_PROTOCOL_TYPE = "consumer";

/** How long the members together want the join phase to be. */
export function rebalanceTimeoutMs(group: ClassicGroup): number {
  let longest = 0;
  for (const member of group.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs);
  return longest;
}

/** Whether nobody is left to wait for in the join phase. */
export function allMembersJoined(group: ClassicGroup): boolean {
  if (group.pendingJoins.size > 0) return false;
  for (const member of group.members.values()) if (member.awaitingJoin === null) return false;
  return true;
}

export function awaitingJoinCount(group: ClassicGroup): number {
  let count = 0;
  for (const member of group.members.values()) if (member.awaitingJoin !== null) count++;
  return count;
}

/** Names of the protocols that every member supports, in the first member's order. */
function commonProtocols(group: ClassicGroup): string[] {
  const [first, ...others] = group.members.values();
  if (first === undefined) return [];
  const names = others.map((member) => new Set(member.protocols.map((protocol) => protocol.name)));
  return first.protocols.map((protocol) => protocol.name).filter((name) =>
    names.every((set) => set.has(name))
  );
}

/** Whether somebody with these protocols can be in the group beside its members. */
export function supportsProtocols(
  group: ClassicGroup,
  protocolType: string,
  protocols: readonly Protocol[],
): boolean {
  // Members may have left while an id that was given out is waited for: then nobody is in the way either.
  if (group.members.size === 0) return protocolType !== "" && protocols.length > 0;
  if (protocolType !== group.protocolType) return false;
  const common = new Set(commonProtocols(group));
  return protocols.some((protocol) => common.has(protocol.name));
}

/** The protocol that most members prefer among those that all of them support. The group has members. */
export function selectProtocol(group: ClassicGroup): string {
  const votes = new Map<string, number>(commonProtocols(group).map((name) => [name, 0]));
  for (const member of group.members.values()) {
    const vote = member.protocols.find((protocol) => votes.has(protocol.name));
    if (vote !== undefined) votes.set(vote.name, votes.get(vote.name)! + 1);
  }
  const [winner] = [...votes].sort(([a, aVotes], [b, bVotes]) =>
    bVotes - aVotes || tieOrder(a) - tieOrder(b)
  );
  return winner[0];
}

/** Kafka settles a tie by the order of its hash table of 16 buckets, so that it does not matter who came first. */
function tieOrder(name: string): number {
  const hash = javaStringHash(name);
  return (hash ^ (hash >>> 16)) & 15;
}

/** Whether the member would bring nothing new with these protocols: same names, same order, same bytes. */
export function hasSameProtocols(member: Member, protocols: readonly Protocol[]): boolean {
  return member.protocols.length === protocols.length &&
    member.protocols.every(({ name, metadata }, i) =>
      name === protocols[i].name && sameBytes(metadata, protocols[i].metadata)
    );
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Whether a request speaks for a member of the group. A static member whose id was replaced is fenced
 * (KIP-345); who is not there at all is unknown.
 */
export function memberError(group: ClassicGroup, memberId: string, groupInstanceId: string | null): number {
  if (groupInstanceId !== null) {
    const current = group.staticMembers.get(groupInstanceId);
    if (current === undefined) return ErrorCode.UNKNOWN_MEMBER_ID;
    if (current !== memberId) return ErrorCode.FENCED_INSTANCE_ID;
  }
  return group.members.has(memberId) ? ErrorCode.NONE : ErrorCode.UNKNOWN_MEMBER_ID;
}

/** The topics that the members subscribe to, read from their metadata; null when that cannot be known. */
export function readSubscribedTopics(group: ClassicGroup): ReadonlySet<string> | null {
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return null;
  const all = new Set<string>();
  for (const member of group.members.values()) {
    const topics = topicsOfSubscription(metadataFor(member, group.protocolName));
    if (topics === null) return null;
    for (const topic of topics) all.add(topic);
  }
  return all;
}

/** Whether the group consumes the topic, as far as is known; consumers whose subscription is not known may. */
export function isSubscribedTo(group: ClassicGroup, topic: string): boolean {
  return group.subscribedTopics?.has(topic) ?? group.protocolType === CONSUMER_PROTOCOL_TYPE;
}
