/**
 * What goes into the transactions' machine and what comes out: plain objects with the field names of the protocol's
 * messages, so that handlers convert by copying.
 */
import type { Ticket } from "../machine.ts";
import type { Transaction } from "./types.ts";

/** A partition by its topic's name. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Who asks on behalf of a transactional id. */
export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface InitProducerIdRequest {
  /** Null: a producer that is idempotent only. */
  readonly transactionalId: string | null;
  readonly transactionTimeoutMs: number;
  /** -1: a producer that has no id yet. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly enable2Pc: boolean;
  readonly keepPreparedTxn: boolean;
}

export interface InitProducerIdReply {
  readonly errorCode: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly ongoingTxnProducerId: number;
  readonly ongoingTxnProducerEpoch: number;
}

/** `verifyOnly`: asks whether they are part of the transaction, and adds none. */
export interface AddPartitionsRequest extends TransactionalProducer {
  readonly partitions: readonly TopicPartition[];
  readonly verifyOnly: boolean;
  /** 2, the default: the client leaves it to the brokers to add partitions, and knows of raised epochs. */
  readonly clientTransactionVersion?: number;
}

/** An error code for each partition of the request, in its order. */
export interface AddPartitionsReply {
  readonly errorCodes: readonly number[];
}

export interface EndTxnRequest extends TransactionalProducer {
  readonly isCommit: boolean;
  /** 2 when the client knows that the epoch is raised at each end (EndTxn from version 5 on), else less. */
  readonly clientTransactionVersion: number;
}

/** Of version 2 the ids that the producer goes on with; -1 otherwise. */
export interface EndTxnReply {
  readonly errorCode: number;
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface DescribedTransaction {
  readonly errorCode: number;
  readonly transactionalId: string;
  readonly transactionState: string;
  readonly transactionTimeoutMs: number;
  readonly transactionStartTimeMs: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
}

export interface ListTransactionsRequest {
  /** Names of states; empty: all. */
  readonly stateFilters: ReadonlySet<string>;
  /** Empty: all. */
  readonly producerIdFilters: ReadonlySet<number>;
  /** Only those that have been under way for longer, in ms; below 0: all. */
  readonly durationFilter: number;
}

export interface ListTransactionsReply {
  readonly errorCode: number;
  readonly transactions: readonly Transaction[];
}

/** The decision needs a producer id that no producer has: it is to be asked for again, with one. */
export interface NeedsProducerId {
  readonly needsProducerId: true;
}

export type TransactionsReply =
  | InitProducerIdReply
  | AddPartitionsReply
  | EndTxnReply
  | DescribedTransaction
  | ListTransactionsReply
  | NeedsProducerId;

export type TransactionsInput =
  /** `newProducerId` is used up if the answer is not {@link NeedsProducerId}, which null may bring. */
  | { type: "initProducerId"; ticket: Ticket; request: TransactionalInit; newProducerId: number | null }
  | { type: "addPartitions"; ticket: Ticket; request: AddPartitionsRequest }
  | { type: "endTxn"; ticket: Ticket; request: EndTxnRequest; newProducerId: number | null }
  | { type: "describe"; ticket: Ticket; transactionalId: string }
  | { type: "list"; ticket: Ticket; request: ListTransactionsRequest }
  /** Markers of this end of the transaction are in these partitions, or those are no more. */
  | { type: "markersWritten"; ending: EndOfTransaction; partitions: readonly TopicPartition[] }
  /** The transaction is ending, and markers may be missing: ask for them. */
  | { type: "askForMarkers"; transactionalId: string }
  /** What was due has been asked for: find out when the next is. */
  | { type: "findNextRetry" }
  | { type: "abortIfTimedOut"; transactionalId: string }
  | { type: "forgetExpired"; transactionalIds: readonly string[] }
  | { type: "scheduleAbortCheck" }
  | { type: "scheduleExpiryCheck" };

/** What whoever runs the broker may want to know: why a producer finds that it was fenced. */
export interface Notice {
  readonly notice: string;
}

/** The request of a producer with a transactional id. */
export type TransactionalInit = InitProducerIdRequest & { readonly transactionalId: string };

/**
 * One end of a transaction. In the older protocol the next end of the same producer looks alike: it is not decided before
 * all markers of this one were heard of.
 */
export interface EndOfTransaction {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

/** Markers are to be written in these partitions. */
export interface WriteMarkers extends EndOfTransaction {
  readonly isCommit: boolean;
  readonly transactionVersion: number;
  readonly partitions: readonly TopicPartition[];
}
