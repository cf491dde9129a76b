/**
 * The group coordinator of this broker, as handlers see it: every call goes to the shard of its group id and gives a
 * promise that always resolves, with an error code in the reply when something is wrong. What can be said without
 * looking at a group is said here: ids and timeouts that no group accepts.
 */
import { shortCopy } from "../../base/short_copy.ts";
import type { Clock } from "../../base/clock.ts";
import { OFFSETS_TOPIC } from "../../cluster/topic_names.ts";
import { ErrorCode } from "../../codec/errors.ts";
import type { TransactionMarker } from "../../replication/transaction_marker.ts";
import { BackgroundWork } from "../background_work.ts";
import { isLoggable } from "../loggable.ts";
import { coordinatorError, type CoordinatorLog, Shard, type Timers } from "../shard.ts";
import { Shards } from "../shards.ts";
import { deleteFailed, describeFailed } from "./admin.ts";
import type { GroupsFact } from "./facts.ts";
import { fitAlone, MAX_CLIENT_ID_UNITS, MAX_PROTOCOLS, mayFitOneBatch } from "./limits.ts";
import { groupsMachine } from "./machine.ts";
import { commitFailed, deleteOffsetsFailed, fetchFailed } from "./offsets.ts";
import { ProducerCheck, type ProducerCheckPorts } from "./producer_check.ts";
import type {
  CommitReply,
  CommitRequest,
  DeletedGroup,
  DeleteOffsetsReply,
  DeleteOffsetsRequest,
  DescribedGroup,
  FetchOffsetsReply,
  FetchOffsetsRequest,
  GroupsInput,
  GroupsReply,
  HeartbeatReply,
  HeartbeatRequest,
  JoinReply,
  JoinRequest,
  LeaveReply,
  LeaveRequest,
  ListReply,
  ListRequest,
  SyncReply,
  SyncRequest,
  TransactionalCommitRequest,
} from "./requests.ts";
import { type GroupsMark, joinError, syncError } from "./turn.ts";
import { emptyGroupsState, type GroupsConfig, type GroupsState } from "./types.ts";

export type GroupShard = Shard<GroupsState, GroupsInput, GroupsFact, GroupsMark, GroupsReply>;

/** What the composition root supplies. */
export interface GroupServicePorts {
  readonly config: GroupsConfig;
  readonly clock: Clock;
  readonly timers: Timers;
  /** A random UUID in the usual form with dashes, for member ids. */
  readonly randomUuid: () => string;
  /** Partitions of `__consumer_offsets`, or how many it will have. */
  readonly partitionCount: () => number;
  /** See {@link Shards}. */
  readonly ensureShard: (partition: number) => CoordinatorLog | number | Promise<CoordinatorLog | number>;
  readonly report: (problem: string) => void;
  /** How to ask the transaction coordinator. */
  readonly transactions: ProducerCheckPorts;
}

/** From here on SyncGroup has to name protocol type and protocol (KIP-559). */
const syncNamesProtocol = 5;

export class GroupService {
  private readonly shards: Shards<GroupsInput, GroupsReply, GroupShard>;
  private readonly producers: ProducerCheck;
  private readonly background: BackgroundWork;

  constructor(private readonly ports: GroupServicePorts) {
    const { config, clock, timers, report, partitionCount, ensureShard } = ports;
    this.producers = new ProducerCheck(ports.transactions);
    this.background = new BackgroundWork(clock, timers);
    this.shards = new Shards({
      partitionCount,
      ensureLog: ensureShard,
      make: (partition) =>
        new Shard({
          machine: groupsMachine,
          state: emptyGroupsState(config),
          clock,
          timers,
          background: this.background,
          report: (problem) => report(`${OFFSETS_TOPIC}-${partition}: ${problem}`),
        }),
    });
  }

  /** The partition of `__consumer_offsets` that holds the group; FindCoordinator answers with its leader. */
  partitionOf(groupId: string): number {
    return this.shards.partitionOf(groupId);
  }

  /** See {@link Shards.open}. */
  open(partition: number): void {
    this.shards.open(partition);
  }

  /** See {@link Shards.retry}. */
  retry(): void {
    this.shards.retry();
  }

  /** See {@link Shards.resign}. */
  resign(partition: number): void {
    this.shards.resign(partition);
  }

  /** Answers everything that is held, and serves no more. */
  close(): void {
    this.background.close();
    this.shards.close();
  }

  /** Requests that are held at the moment, for metrics. */
  get heldRequests(): number {
    return this.shards.heldRequests;
  }

  /** Held until the join phase ends: at most the longest rebalance timeout in the group, or five minutes for a new member. */
  join(request: JoinRequest): Promise<JoinReply> {
    const { groupId, memberId, sessionTimeoutMs, apiVersion } = request;
    const { groupMinSessionTimeoutMs, groupMaxSessionTimeoutMs } = this.ports.config;
    const fail = (errorCode: number) => joinError(errorCode, memberId);
    if (groupId === "") return Promise.resolve(fail(ErrorCode.INVALID_GROUP_ID));
    if (sessionTimeoutMs < groupMinSessionTimeoutMs || sessionTimeoutMs > groupMaxSessionTimeoutMs) {
      return Promise.resolve(fail(ErrorCode.INVALID_SESSION_TIMEOUT));
    }
    const { groupInstanceId, protocolType, protocols } = request;
    if (!isLoggable(groupId)) return Promise.resolve(fail(ErrorCode.INVALID_GROUP_ID));
    if (!isLoggable(groupInstanceId)) return Promise.resolve(fail(ErrorCode.INVALID_REQUEST));
    const areNames = isLoggable(protocolType) && protocols.every(({ name }) => isLoggable(name));
    if (!areNames || protocols.length > MAX_PROTOCOLS) {
      return Promise.resolve(fail(ErrorCode.INCONSISTENT_GROUP_PROTOCOL));
    }
    if (!fitAlone(protocols, this.ports.config)) {
      return Promise.resolve(fail(ErrorCode.GROUP_MAX_SIZE_REACHED));
    }
    const clientId = shortCopy(request.clientId, MAX_CLIENT_ID_UNITS);
    const joining: JoinRequest = {
      ...request,
      clientId,
      // Version 0 has no rebalance timeout: the session's stands in for it.
      rebalanceTimeoutMs: apiVersion === 0 ? sessionTimeoutMs : Math.max(request.rebalanceTimeoutMs, 0),
      // The bytes are views on the connection's buffer, and members outlive it.
      protocols: protocols.map(({ name, metadata }) => ({ name, metadata: metadata.slice() })),
    };
    const newMemberId = `${
      (groupInstanceId ?? clientId).slice(0, MAX_CLIENT_ID_UNITS)
    }-${this.ports.randomUuid()}`;
    return this.shards.ask(
      groupId,
      (ticket) => ({ type: "join", ticket, request: joining, newMemberId }),
      fail,
    );
  }

  /** A follower's is held until the leader has brought the assignment, or the group's rebalance timeout has passed. */
  sync(request: SyncRequest): Promise<SyncReply> {
    const namesProtocol = request.protocolType !== null && request.protocolName !== null;
    if (request.apiVersion >= syncNamesProtocol && !namesProtocol) {
      return Promise.resolve(syncError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL));
    }
    if (request.groupId === "") return Promise.resolve(syncError(ErrorCode.INVALID_GROUP_ID));
    const assignments = request.assignments.map(({ memberId, assignment }) => ({
      memberId,
      assignment: assignment.slice(),
    }));
    const syncing: SyncRequest = { ...request, assignments };
    return this.shards.ask(
      request.groupId,
      (ticket) => ({ type: "sync", ticket, request: syncing }),
      syncError,
    );
  }

  heartbeat(request: HeartbeatRequest): Promise<HeartbeatReply> {
    if (request.groupId === "") return Promise.resolve({ errorCode: ErrorCode.INVALID_GROUP_ID });
    return this.shards.ask(
      request.groupId,
      (ticket) => ({ type: "heartbeat", ticket, request }),
      heartbeatFailed,
    );
  }

  leave(request: LeaveRequest): Promise<LeaveReply> {
    const fail = (errorCode: number): LeaveReply => ({ errorCode, members: [] });
    if (request.groupId === "") return Promise.resolve(fail(ErrorCode.INVALID_GROUP_ID));
    return this.shards.ask(request.groupId, (ticket) => ({ type: "leave", ticket, request }), fail);
  }

  /** Topics that do not exist are the handler's business. The empty group id is a group like any other here. */
  commitOffsets(request: CommitRequest): Promise<CommitReply> {
    return this.commit(request, () => this.shards.at(this.partitionOf(request.groupId)));
  }

  private commit(request: CommitRequest, shard: () => GroupShard): Promise<CommitReply> {
    // Kafka 4 says UNKNOWN_SERVER_ERROR when there are too many for one batch; before, it said what was wrong.
    const fail = (errorCode: number) =>
      commitFailed(
        request,
        errorCode === ErrorCode.UNKNOWN_SERVER_ERROR ? ErrorCode.INVALID_COMMIT_OFFSET_SIZE : errorCode,
      );
    if (!isLoggable(request.groupId)) return Promise.resolve(fail(ErrorCode.INVALID_GROUP_ID));
    if (!mayFitOneBatch(request, this.ports.config)) {
      return Promise.resolve(fail(ErrorCode.INVALID_COMMIT_OFFSET_SIZE));
    }
    if (this.shards.isClosed) return Promise.resolve(fail(ErrorCode.COORDINATOR_NOT_AVAILABLE));
    return shard().submit((ticket) => ({ type: "commitOffsets", ticket, request }), fail);
  }

  /** Offsets that count when the producer's transaction commits. Topics are the handler's business here too. */
  commitInTransaction(request: TransactionalCommitRequest): Promise<CommitReply> {
    const { groupId, transaction: { producerId, producerEpoch } } = request;
    if (groupId === "") return Promise.resolve(commitFailed(request, ErrorCode.INVALID_GROUP_ID));
    if (this.shards.isClosed) {
      return Promise.resolve(commitFailed(request, ErrorCode.COORDINATOR_NOT_AVAILABLE));
    }
    const partition = this.partitionOf(groupId);
    const shard = this.shards.at(partition);
    // To this shard and no other: one that takes its place may know of no transaction.
    const commit = () => this.commit(request, () => shard);
    const open = shard.state.transactions.get(producerId);
    if (!shard.isActive || open?.producerEpoch === producerEpoch) return commit();
    return this.producers.ask(
      partition,
      request,
      commit,
      (errorCode) => commitFailed(request, coordinatorError(errorCode)),
    );
  }

  /** Ends a transaction in a partition of `__consumer_offsets`; gives the error code once its marker is committed. */
  endTransaction(partition: number, marker: TransactionMarker): Promise<number> {
    if (this.shards.isClosed) return Promise.resolve(ErrorCode.COORDINATOR_NOT_AVAILABLE);
    this.producers.ended(partition, marker.producerId);
    return this.shards.at(partition).endTransaction(marker);
  }

  fetchOffsets(request: FetchOffsetsRequest): Promise<FetchOffsetsReply> {
    return this.shards.ask(
      request.groupId,
      (ticket) => ({ type: "fetchOffsets", ticket, request }),
      (errorCode) => fetchFailed(request.groupId, errorCode),
    );
  }

  deleteOffsets(request: DeleteOffsetsRequest): Promise<DeleteOffsetsReply> {
    if (request.groupId === "") return Promise.resolve(deleteOffsetsFailed(ErrorCode.INVALID_GROUP_ID));
    return this.shards.ask(
      request.groupId,
      (ticket) => ({ type: "deleteOffsets", ticket, request }),
      deleteOffsetsFailed,
    );
  }

  /** The groups of the partitions that this broker leads. */
  list(request: ListRequest): Promise<ListReply> {
    if (this.shards.isClosed) {
      return Promise.resolve({ errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE, groups: [] });
    }
    const fail = (errorCode: number): ListReply => ({ errorCode, groups: [] });
    const replies = [...this.shards.all].map((shard) =>
      shard.submit<ListReply>((ticket) => ({ type: "list", ticket, request }), fail)
    );
    return Promise.all(replies).then(joinLists);
  }

  describe(groupIds: readonly string[], apiVersion: number): Promise<DescribedGroup[]> {
    return Promise.all(groupIds.map((groupId) =>
      this.shards.ask(
        groupId,
        (ticket) => ({ type: "describe", ticket, groupId, apiVersion }),
        (errorCode) => describeFailed(groupId, errorCode),
      )
    ));
  }

  delete(groupIds: readonly string[]): Promise<DeletedGroup[]> {
    return Promise.all(groupIds.map((groupId) =>
      this.shards.ask(
        groupId,
        (ticket) => ({ type: "delete", ticket, groupId }),
        (errorCode) => deleteFailed(groupId, errorCode),
      )
    ));
  }

  /** Deletes the offsets of topics that no longer exist, in all groups of this broker. */
  topicsDeleted(names: Iterable<string>): void {
    const topics = new Set(names);
    for (const shard of this.shards.all) shard.insist({ type: "topicsDeleted", topics });
  }
}

/** Clients do not know the loading error here: a heartbeat that comes too early counts as heard. */
function heartbeatFailed(errorCode: number): HeartbeatReply {
  return { errorCode: errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS ? ErrorCode.NONE : errorCode };
}

/** One list of all; a shard that this broker has just lost has nothing to say, any other error counts for all. */
function joinLists(replies: readonly ListReply[]): ListReply {
  const bad = replies.find((reply) => !noErrorForLists.has(reply.errorCode));
  if (bad !== undefined) return { errorCode: bad.errorCode, groups: [] };
  return { errorCode: ErrorCode.NONE, groups: replies.flatMap((reply) => reply.groups) };
}

const noErrorForLists: ReadonlySet<number> = new Set([ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]);
