/**
 * What goes into the groups' machine and what comes out: plain objects with the field names of the protocol's
 * messages, so that handlers convert by copying. Byte arrays belong to the machine: nobody else changes them.
 */
import type { Producer, Ticket } from "../machine.ts";
import type { Protocol } from "./types.ts";

export interface JoinRequest {
  readonly groupId: string;
  /** Empty: not a member yet. */
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly protocolType: string;
  readonly protocols: readonly Protocol[];
  readonly clientId: string;
  /** As Java prints an address: `/127.0.0.1`. */
  readonly clientHost: string;
  readonly apiVersion: number;
}

export interface JoinedMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly metadata: Uint8Array;
}

export interface JoinReply {
  readonly errorCode: number;
  readonly generationId: number;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly leader: string;
  /** Tells the leader to keep the assignment that it has (KIP-814). */
  readonly skipAssignment: boolean;
  readonly memberId: string;
  /** Filled in for the leader only. */
  readonly members: readonly JoinedMember[];
}

export interface SyncRequest {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[];
  readonly apiVersion: number;
}

export interface SyncReply {
  readonly errorCode: number;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly assignment: Uint8Array;
}

export interface HeartbeatRequest {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

export interface HeartbeatReply {
  readonly errorCode: number;
}

/** Versions 0–2 name one member; the handler makes a list of it. */
export interface LeaveRequest {
  readonly groupId: string;
  readonly members: readonly { readonly memberId: string; readonly groupInstanceId: string | null }[];
}

/** Versions 0–2 have no list: their error is the first of `errorCode` and the member's that is not NONE. */
export interface LeaveReply {
  readonly errorCode: number;
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly errorCode: number;
  }[];
}

export interface CommitRequest {
  readonly groupId: string;
  readonly generationIdOrMemberEpoch: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  /** -1: as the broker's offsets.retention.minutes says. */
  readonly retentionTimeMs: number;
  /** The offsets count when this producer's transaction commits. */
  readonly transaction?: Producer;
  readonly topics: readonly {
    readonly name: string;
    readonly topicId: string;
    readonly partitions: readonly {
      readonly partitionIndex: number;
      readonly committedOffset: number;
      readonly committedLeaderEpoch: number;
      /** Version 1 only; -1: now. */
      readonly commitTimestamp: number;
      readonly committedMetadata: string | null;
    }[];
  }[];
  readonly apiVersion: number;
}

/** Topics in the order of the request. */
export interface CommitReply {
  readonly topics: readonly {
    readonly name: string;
    readonly topicId: string;
    readonly partitions: readonly PartitionResult[];
  }[];
}

export interface PartitionResult {
  readonly partitionIndex: number;
  readonly errorCode: number;
}

/** An OffsetCommit within a transaction. */
export interface TransactionalCommitRequest extends CommitRequest {
  readonly transactionalId: string;
  readonly transaction: Producer;
}

export interface FetchOffsetsRequest {
  readonly groupId: string;
  /** Asks not for an offset that a transaction may be about to move (KIP-447). */
  readonly requireStable?: boolean;
  /** Null: all topics that the group has offsets for. */
  readonly topics: readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[] | null;
}

export interface FetchOffsetsReply {
  readonly groupId: string;
  /** Of the group. Versions 0 and 1, which have no place for it, set it at every partition that was asked for. */
  readonly errorCode: number;
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: readonly FetchedOffset[];
  }[];
}

export interface FetchedOffset {
  readonly partitionIndex: number;
  /** -1: nothing committed, which is no error. */
  readonly committedOffset: number;
  readonly committedLeaderEpoch: number;
  readonly metadata: string;
  readonly errorCode: number;
}

export interface DeleteOffsetsRequest {
  readonly groupId: string;
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: readonly { readonly partitionIndex: number }[];
  }[];
}

export interface DeleteOffsetsReply {
  readonly errorCode: number;
  readonly topics: readonly { readonly name: string; readonly partitions: readonly PartitionResult[] }[];
}

export interface ListRequest {
  /** State and type names, in any case; empty: all. */
  readonly statesFilter: readonly string[];
  readonly typesFilter: readonly string[];
}

export interface ListReply {
  readonly errorCode: number;
  readonly groups: readonly ListedGroup[];
}

export interface ListedGroup {
  readonly groupId: string;
  readonly protocolType: string;
  readonly groupState: string;
  readonly groupType: string;
}

export interface DescribedGroup {
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly groupId: string;
  readonly groupState: string;
  readonly protocolType: string;
  readonly protocolData: string;
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly clientId: string;
    readonly clientHost: string;
    readonly memberMetadata: Uint8Array;
    readonly memberAssignment: Uint8Array;
  }[];
}

export interface DeletedGroup {
  readonly groupId: string;
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

export type GroupsReply =
  | JoinReply
  | SyncReply
  | HeartbeatReply
  | LeaveReply
  | CommitReply
  | FetchOffsetsReply
  | DeleteOffsetsReply
  | ListReply
  | DescribedGroup
  | DeletedGroup;

/** What clients ask, with the ticket that names the answer. */
export type GroupsRequestInput =
  /** `newMemberId` is used if this request makes a new member. */
  | { type: "join"; ticket: Ticket; request: JoinRequest; newMemberId: string }
  | { type: "sync"; ticket: Ticket; request: SyncRequest }
  | { type: "heartbeat"; ticket: Ticket; request: HeartbeatRequest }
  | { type: "leave"; ticket: Ticket; request: LeaveRequest }
  | { type: "commitOffsets"; ticket: Ticket; request: CommitRequest }
  | { type: "fetchOffsets"; ticket: Ticket; request: FetchOffsetsRequest }
  | { type: "deleteOffsets"; ticket: Ticket; request: DeleteOffsetsRequest }
  | { type: "list"; ticket: Ticket; request: ListRequest }
  | { type: "describe"; ticket: Ticket; groupId: string; apiVersion: number }
  | { type: "delete"; ticket: Ticket; groupId: string };

export type GroupsInput =
  | GroupsRequestInput
  /** A deadline of this group may have passed. */
  | { type: "tick"; groupId: string }
  /** The log was replayed and this group has members: give them a session each. */
  | { type: "groupLoaded"; groupId: string }
  /** The log was replayed: start the clock of offset expiry. */
  | { type: "scheduleOffsetExpiry" }
  | { type: "expireOffsets"; groupId: string }
  /** The ticks before this one are done: find out when the next one is. */
  | { type: "findNextTick" }
  | { type: "topicsDeleted"; topics: ReadonlySet<string> };
