/** One decision in the making, and the ends of transactions, which several requests and time itself bring about. */
import { ErrorCode } from "../../codec/errors.ts";
import { RAISING_PROTOCOL } from "../../codec/transaction_version.ts";
import type { Decision, Instant, Reply, Ticket } from "../machine.ts";
import type { TransactionFact } from "./facts.ts";
import type { Notice, TopicPartition, TransactionsReply, WriteMarkers } from "./requests.ts";
import {
  MAX_EPOCH,
  type PartitionSet,
  type Transaction,
  type TransactionsConfig,
  type TransactionsState,
} from "./types.ts";

/** Changes of memory that go with a decision. */
export type TransactionsMark =
  | {
    readonly type: "markersAsked";
    readonly transactionalId: string;
    readonly partitions: PartitionSet;
    readonly retryAt: number;
  }
  | {
    readonly type: "markersWritten";
    readonly transactionalId: string;
    readonly partitions: readonly TopicPartition[];
  }
  | { readonly type: "findNextRetry" }
  | { readonly type: "abortCheckAt"; readonly at: number }
  | { readonly type: "expiryCheckAt"; readonly at: number };

export type TransactionsDecision = Decision<
  TransactionFact,
  TransactionsMark,
  TransactionsReply,
  WriteMarkers | Notice
>;

const NO_PARTITIONS: PartitionSet = new Map();

export class Turn {
  readonly facts: TransactionFact[] = [];
  readonly marks: TransactionsMark[] = [];
  readonly effects: (WriteMarkers | Notice)[] = [];
  readonly replies: Reply<TransactionsReply>[] = [];
  divisible = false;

  constructor(readonly state: TransactionsState, readonly now: Instant) {}

  get config(): TransactionsConfig {
    return this.state.config;
  }

  transaction(transactionalId: string): Transaction | undefined {
    return this.state.transactions.get(transactionalId);
  }

  log(value: Transaction): void {
    this.facts.push({ transactionalId: value.transactionalId, value });
  }

  reply(ticket: Ticket, body: TransactionsReply): void {
    this.replies.push({ ticket, body });
  }

  finish(): TransactionsDecision {
    const { facts, marks, effects, replies, divisible } = this;
    return { facts, marks, effects, replies, divisible };
  }

  /**
   * Decides the end of a transaction. With no partition it is complete at once; else when the markers are written. Gives
   * what the producer goes on with.
   */
  prepareEnd(transaction: Transaction, isCommit: boolean): Transaction {
    const prepared: Transaction = { ...transaction, status: isCommit ? "PrepareCommit" : "PrepareAbort" };
    this.log(prepared);
    const completed = this.completed(prepared);
    if (prepared.partitions.size === 0) this.log(completed);
    else this.askForMarkers(prepared, prepared.partitions);
    return completed;
  }

  /** What the transaction is once all its markers are there. */
  completed(transaction: Transaction): Transaction {
    const { producerId, producerEpoch, previousProducerId, nextProducerId } = transaction;
    const rotated = nextProducerId !== -1;
    return {
      ...transaction,
      status: transaction.status === "PrepareCommit" ? "CompleteCommit" : "CompleteAbort",
      producerId: rotated ? nextProducerId : producerId,
      previousProducerId: rotated ? producerId : previousProducerId,
      nextProducerId: -1,
      producerEpoch: rotated ? 0 : producerEpoch,
      partitions: NO_PARTITIONS,
      lastUpdateMs: this.now.wallMs,
    };
  }

  /** Has the markers written in `partitions`, and again later where that fails. */
  askForMarkers(prepared: Transaction, partitions: PartitionSet): void {
    const { transactionalId, producerId, producerEpoch, clientTransactionVersion, status } = prepared;
    const retryAt = this.now.steadyMs + this.state.ending.retryMs(transactionalId);
    this.marks.push({ type: "markersAsked", transactionalId, partitions, retryAt });
    this.effects.push({
      transactionalId,
      producerId,
      producerEpoch,
      isCommit: status === "PrepareCommit",
      transactionVersion: clientTransactionVersion,
      partitions: [...partitions].flatMap(([topic, indexes]) =>
        [...indexes].map((partition) => ({ topic, partition }))
      ),
    });
  }
}

/** Whether the markers of its end are being written. */
export function isEnding({ status }: Transaction): boolean {
  return status === "PrepareCommit" || status === "PrepareAbort";
}

/** Why the producer may not ask for this transaction; NONE when it may. */
export function producerError(
  transaction: Transaction | undefined,
  { producerId, producerEpoch }: { readonly producerId: number; readonly producerEpoch: number },
): number {
  if (transaction === undefined || transaction.producerId !== producerId) {
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING;
  }
  // It has no next one that could end a transaction.
  if (producerEpoch === MAX_EPOCH) return ErrorCode.PRODUCER_FENCED;
  return transaction.producerEpoch === producerEpoch ? ErrorCode.NONE : ErrorCode.PRODUCER_FENCED;
}

/** Whether each end raises the epoch for this client. */
export function raisesEpoch(transactionVersion: number): boolean {
  return transactionVersion >= RAISING_PROTOCOL;
}
