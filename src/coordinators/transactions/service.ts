/**
 * The transaction coordinator of this broker, as handlers see it: every call goes to the shard of its transactional id
 * and gives a promise that always resolves, with an error code in the reply when something is wrong.
 */
import { ErrorCode } from "../../codec/errors.ts";
import { BackgroundWork } from "../background_work.ts";
import { type CoordinatorLog, Shard, type Timers } from "../shard.ts";
import { Shards } from "../shards.ts";
import { isLoggable } from "../loggable.ts";
import { describeFailed } from "./admin.ts";
import { endFailed } from "./end.ts";
import type { TransactionFact } from "./facts.ts";
import { initFailed } from "./init.ts";
import { transactionsMachine } from "./machine.ts";
import { MarkerSender, type MarkerSenderPorts } from "./marker_sender.ts";
import { addFailed } from "./partitions.ts";
import type {
  AddPartitionsReply,
  AddPartitionsRequest,
  DescribedTransaction,
  EndTxnReply,
  EndTxnRequest,
  InitProducerIdReply,
  InitProducerIdRequest,
  ListTransactionsReply,
  ListTransactionsRequest,
  NeedsProducerId,
  Notice,
  TransactionsInput,
  TransactionsReply,
  WriteMarkers,
} from "./requests.ts";
import type { TransactionsMark } from "./turn.ts";
import { emptyTransactionsState, type TransactionsConfig, type TransactionsState } from "./types.ts";

export type TransactionShard = Shard<
  TransactionsState,
  TransactionsInput,
  TransactionFact,
  TransactionsMark,
  TransactionsReply,
  WriteMarkers | Notice
>;

/** What the composition root supplies. */
export interface TransactionServicePorts extends MarkerSenderPorts {
  readonly config: TransactionsConfig;
  /** An id that no producer has; null when there is none to be had now. */
  readonly newProducerId: () => Promise<number | null>;
  /** Partitions of `__transaction_state`, or how many it will have. */
  readonly partitionCount: () => number;
  /** See {@link Shards}. */
  readonly ensureShard: (partition: number) => CoordinatorLog | number | Promise<CoordinatorLog | number>;
  /** The leader epoch of a partition of `__transaction_state`, which this broker leads. */
  readonly leaderEpoch: (partition: number) => number;
  readonly timers: Timers;
  readonly report: (problem: string) => void;
  /** Hears of transactions that end against their producers. */
  readonly inform: (text: string) => void;
}

export class TransactionService {
  private readonly shards: Shards<TransactionsInput, TransactionsReply, TransactionShard>;
  private readonly markers: MarkerSender;
  private readonly background: BackgroundWork;

  constructor(private readonly ports: TransactionServicePorts) {
    this.background = new BackgroundWork(ports.clock, ports.timers);
    this.markers = new MarkerSender(ports, this.background);
    this.shards = new Shards({
      partitionCount: ports.partitionCount,
      ensureLog: ports.ensureShard,
      make: (partition) => this.newShard(partition),
    });
  }

  private newShard(partition: number): TransactionShard {
    const { config, clock, timers, report, leaderEpoch } = this.ports;
    const shard: TransactionShard = new Shard({
      machine: transactionsMachine,
      state: emptyTransactionsState(config),
      clock,
      timers,
      background: this.background,
      onEffect: (effect) => {
        if ("notice" in effect) return this.ports.inform(effect.notice);
        this.markers.send(
          effect,
          leaderEpoch(partition),
          (partitions) => shard.tell({ type: "markersWritten", ending: effect, partitions }),
        );
      },
      report: (problem) => report(`__transaction_state-${partition}: ${problem}`),
    });
    return shard;
  }

  /** The partition of `__transaction_state` that holds the id; FindCoordinator answers with its leader. */
  partitionOf(transactionalId: string): number {
    return this.shards.partitionOf(transactionalId);
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

  /** Serves no more, and writes no more markers: the logs are about to be closed. */
  close(): void {
    this.background.close();
    this.shards.close();
  }

  /** Asks once more with a new producer id when it takes one: most requests do not, and ids are not to be wasted. */
  private askWithId<Reply extends TransactionsReply>(
    transactionalId: string,
    input: (ticket: number, newProducerId: number | null) => TransactionsInput,
    fail: (errorCode: number) => Reply,
  ): Promise<Reply> {
    return this.shards.ask<Reply | NeedsProducerId>(transactionalId, (ticket) => input(ticket, null), fail)
      .then((first) => {
        if (!("needsProducerId" in first)) return first;
        return this.ports.newProducerId().then((newProducerId) =>
          newProducerId === null
            ? fail(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            : this.shards.ask(transactionalId, (ticket) => input(ticket, newProducerId), fail)
        );
      });
  }

  /** Gives a producer its id and epoch; one without a transactional id gets a new id, whatever it had. */
  initProducerId(request: InitProducerIdRequest): Promise<InitProducerIdReply> {
    const { transactionalId } = request;
    if (transactionalId === null) return this.ports.newProducerId().then(idempotentOnly);
    const problem = this.initProblem(request, transactionalId);
    if (problem !== ErrorCode.NONE) return Promise.resolve(initFailed(problem));
    return this.askWithId(
      transactionalId,
      (ticket, newProducerId) => ({
        type: "initProducerId",
        ticket,
        request: { ...request, transactionalId },
        newProducerId,
      }),
      initFailed,
    );
  }

  private initProblem(request: InitProducerIdRequest, transactionalId: string): number {
    const { transactionTimeoutMs, enable2Pc, keepPreparedTxn } = request;
    const { transactionMaxTimeoutMs, transactionTwoPhaseCommitEnable } = this.ports.config;
    if (transactionalId === "" || !isLoggable(transactionalId)) return ErrorCode.INVALID_REQUEST;
    if (enable2Pc && !transactionTwoPhaseCommitEnable) return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    // Kafka has the field and does not do it yet.
    if (keepPreparedTxn) return ErrorCode.UNSUPPORTED_VERSION;
    const isAllowed = transactionTimeoutMs > 0 && transactionTimeoutMs <= transactionMaxTimeoutMs;
    return enable2Pc || isAllowed ? ErrorCode.NONE : ErrorCode.INVALID_TRANSACTION_TIMEOUT;
  }

  /** Adds partitions to a transaction, which begins with the first, or says which are part of it. */
  addPartitions(request: AddPartitionsRequest): Promise<AddPartitionsReply> {
    const fail = (errorCode: number) => addFailed(request, errorCode);
    if (request.transactionalId === "") return Promise.resolve(fail(ErrorCode.INVALID_REQUEST));
    return this.shards.ask(
      request.transactionalId,
      (ticket) => ({ type: "addPartitions", ticket, request }),
      fail,
    );
  }

  /** Commits or aborts; answered when that is decided for good, which may be before it can be seen everywhere. */
  endTxn(request: EndTxnRequest): Promise<EndTxnReply> {
    if (request.transactionalId === "") return Promise.resolve(endFailed(ErrorCode.INVALID_REQUEST));
    return this.askWithId(
      request.transactionalId,
      (ticket, newProducerId) => ({ type: "endTxn", ticket, request, newProducerId }),
      endFailed,
    );
  }

  describe(transactionalId: string): Promise<DescribedTransaction> {
    const fail = (errorCode: number) => describeFailed(transactionalId, errorCode);
    if (transactionalId === "") return Promise.resolve(fail(ErrorCode.INVALID_REQUEST));
    return this.shards.ask(
      transactionalId,
      (ticket) => ({ type: "describe", ticket, transactionalId }),
      fail,
    );
  }

  /** How many transactional ids the partitions that this broker leads hold. */
  get count(): number {
    let count = 0;
    for (const { state } of this.shards.all) count += state.transactions.size;
    return count;
  }

  /** The transactions of the partitions that this broker leads. */
  list(request: ListTransactionsRequest): Promise<ListTransactionsReply> {
    if (this.shards.isClosed) return Promise.resolve(listFailed(ErrorCode.COORDINATOR_NOT_AVAILABLE));
    const replies = [...this.shards.all].map((shard) =>
      shard.submit<ListTransactionsReply>((ticket) => ({ type: "list", ticket, request }), listFailed)
    );
    return Promise.all(replies).then(joinLists);
  }
}

function idempotentOnly(producerId: number | null): InitProducerIdReply {
  if (producerId === null) return initFailed(ErrorCode.COORDINATOR_NOT_AVAILABLE);
  return { ...initFailed(ErrorCode.NONE), producerId, producerEpoch: 0 };
}

function listFailed(errorCode: number): ListTransactionsReply {
  return { errorCode, transactions: [] };
}

/** One list of all; that of a partition that this broker has just lost is left out, one that is loading counts for all. */
function joinLists(replies: readonly ListTransactionsReply[]): ListTransactionsReply {
  const loading = replies.find(({ errorCode }) => errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  return loading ?? {
    errorCode: ErrorCode.NONE,
    transactions: replies.flatMap(({ transactions }) => transactions),
  };
}
