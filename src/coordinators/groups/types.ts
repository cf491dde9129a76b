/**
 * A classic consumer group and what the coordinator remembers about it. Groups in the state are never changed in
 * place: a decision works on a copy (turn.ts) that replaces the group when its facts are in the log. The only
 * exceptions are `sessionDeadline` and `wakeAt`, which a heartbeat moves without copying the group.
 */
import type { Ticket } from "../machine.ts";

/** States by the names that DescribeGroups and ListGroups report. A group that does not exist is "Dead" there. */
export type GroupState = "Empty" | "PreparingRebalance" | "CompletingRebalance" | "Stable";

export interface Protocol {
  readonly name: string;
  readonly metadata: Uint8Array;
}

export interface Member {
  readonly memberId: string;
  /** Not null: a static member (KIP-345), which stays in the group while its process restarts. */
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** In the member's order of preference. */
  readonly protocols: readonly Protocol[];
  readonly assignment: Uint8Array;
  /** Its first JoinGroup has not been answered, so it does not know its id yet and cannot send heartbeats. */
  readonly isNew: boolean;
  /** The JoinGroup that waits for the rebalance. */
  readonly awaitingJoin: Ticket | null;
  /** The SyncGroup that waits for the leader's assignment. */
  readonly awaitingSync: Ticket | null;
  /** Steady time at which the member is given up; Infinity while a held request proves that it lives. */
  sessionDeadline: number;
}

/** The first rebalance of an empty group waits for more members (group.initial.rebalance.delay.ms). */
export interface InitialJoin {
  readonly delayMs: number;
  readonly remainingMs: number;
  readonly newMemberAdded: boolean;
}

export interface ClassicGroup {
  readonly groupId: string;
  state: GroupState;
  /** Wall time of the last change of `state`; -1 if the log does not tell. Offsets of empty groups expire by it. */
  stateTimestamp: number;
  /** Null: a simple group, which only holds offsets, or one that nobody has joined yet. */
  protocolType: string | null;
  generationId: number;
  protocolName: string | null;
  leader: string | null;
  /** By member id, in the order in which they joined. */
  members: Map<string, Member>;
  /** Member id by group instance id. */
  staticMembers: Map<string, string>;
  /** Ids given out with MEMBER_ID_REQUIRED whose owner has not come back, with the steady time of their end. */
  pendingJoins: Map<string, number>;
  /** Members of this generation that have not sent SyncGroup. */
  pendingSyncs: Set<string>;
  /** Steady time at which the join phase ends, whoever is missing. */
  joinDeadline: number;
  /** Not null while preparing the first rebalance of an empty group. */
  initialJoin: InitialJoin | null;
  /** Steady time at which members in `pendingSyncs` are given up. */
  syncDeadline: number;
  /** Topics that the members of this generation subscribe to; null if not known, or not consumers. */
  subscribedTopics: ReadonlySet<string> | null;
  /** No deadline of this group is earlier. Heartbeats leave it behind; the next tick sets it right. */
  wakeAt: number;
}

/** An empty group that nobody has joined: what a simple group is for ever. */
export function newGroup(groupId: string, wallMs: number): ClassicGroup {
  return {
    groupId,
    state: "Empty",
    stateTimestamp: wallMs,
    protocolType: null,
    generationId: 0,
    protocolName: null,
    leader: null,
    members: new Map(),
    staticMembers: new Map(),
    pendingJoins: new Map(),
    pendingSyncs: new Set(),
    joinDeadline: Infinity,
    initialJoin: null,
    syncDeadline: Infinity,
    subscribedTopics: null,
    wakeAt: Infinity,
  };
}

/** A committed offset; the fields of OffsetCommitValue with numbers for its int64s. */
export interface CommittedOffset {
  readonly offset: number;
  /** -1: not known. */
  readonly leaderEpoch: number;
  readonly metadata: string;
  readonly commitTimestamp: number;
  /** From clients that still send a retention (OffsetCommit v2–4); -1 otherwise. */
  readonly expireTimestamp: number;
  /** The all-zero uuid if not known. */
  readonly topicId: string;
}

export interface LoggedOffset extends CommittedOffset {
  /** Where its record is in the log: of two commits the later one counts. */
  readonly logOffset: number;
}

/** Offsets of one group by topic and partition. */
export type GroupOffsets = Map<string, Map<number, LoggedOffset>>;

/** A producer's transaction that has offsets here and has not ended. */
export interface OpenTransaction {
  /** Of its last commit. */
  producerEpoch: number;
  /** The groups that it has pending offsets of. */
  readonly groups: Set<string>;
}

/** The settings that the machine obeys, under their Kafka names in camel case. */
export interface GroupsConfig {
  readonly groupMinSessionTimeoutMs: number;
  readonly groupMaxSessionTimeoutMs: number;
  readonly groupMaxSize: number;
  /** The largest record that the offsets topic takes, which all of a group has to fit into. Default: 1,048,588. */
  readonly groupMaxBytes?: number;
  /** Ids given out with MEMBER_ID_REQUIRED that nobody came back with yet. Default: 5,000. */
  readonly groupMaxPendingMembers?: number;
  readonly groupInitialRebalanceDelayMs: number;
  /** In UTF-16 code units, as Kafka counts it. */
  readonly offsetMetadataMaxBytes: number;
  readonly offsetsRetentionMs: number;
  readonly offsetsRetentionCheckIntervalMs: number;
}

/** All groups of one partition of `__consumer_offsets`. */
export interface GroupsState {
  readonly config: GroupsConfig;
  readonly groups: Map<string, ClassicGroup>;
  readonly offsets: Map<string, GroupOffsets>;
  /** What transactions will commit, by group and producer id. */
  readonly pending: Map<string, Map<number, GroupOffsets>>;
  /** By producer id. */
  readonly transactions: Map<number, OpenTransaction>;
  /** No group's `wakeAt` is earlier. */
  wakeAt: number;
  /** Steady time of the next look for expired offsets; Infinity until the log is loaded. */
  offsetExpiryAt: number;
}

/** An empty state, to replay a log into. */
export function emptyGroupsState(config: GroupsConfig): GroupsState {
  return {
    config,
    groups: new Map(),
    offsets: new Map(),
    pending: new Map(),
    transactions: new Map(),
    wakeAt: Infinity,
    offsetExpiryAt: Infinity,
  };
}
