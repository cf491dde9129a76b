/**
 * What the coordinator remembers of a transactional id. Transactions in the state are never changed in place: a fact
 * replaces the whole.
 */
import { EndingTransactions } from "./ending.ts";

/** By the names that DescribeTransactions reports, in the order of their numbers in the log. */
export const transactionStatuses = [
  "Empty",
  "Ongoing",
  "PrepareCommit",
  "PrepareAbort",
  "CompleteCommit",
  "CompleteAbort",
] as const;

export type TransactionStatus = typeof transactionStatuses[number];

/** Names that Kafka knows besides, of states that nothing here is ever seen in: about to be forgotten, or fenced. */
const PASSING_STATUSES = ["Dead", "PrepareEpochFence"];

/** What a filter may ask for. */
export const statusNames: ReadonlySet<string> = new Set([...transactionStatuses, ...PASSING_STATUSES]);

/** Partition indexes by topic name. */
export type PartitionSet = ReadonlyMap<string, ReadonlySet<number>>;

export interface Transaction {
  readonly transactionalId: string;
  readonly producerId: number;
  /** The id before the epochs of that one were used up, as long as its producer may still ask with it; -1: none. */
  readonly previousProducerId: number;
  /** The id that the producer goes on with once this transaction has ended; -1: with the present one. */
  readonly nextProducerId: number;
  readonly producerEpoch: number;
  /**
   * The epoch of the producer that may have the present one, so that its repeated request is known; -1: whoever has it came
   * without an epoch. It is not in the log: after a restart such a repetition is fenced, as in Kafka.
   */
  readonly lastProducerEpoch: number;
  /** {@link NO_TIMEOUT}: a two-phase commit, which nobody else may end. */
  readonly transactionTimeoutMs: number;
  readonly status: TransactionStatus;
  /** Those that take part; empty unless the transaction is under way or ending. */
  readonly partitions: PartitionSet;
  /** Wall time of the first partition; -1 where there was none. */
  readonly startMs: number;
  readonly lastUpdateMs: number;
  /** Which transaction protocol the client speaks: from 2 on the epoch is raised at each end (KIP-890). */
  readonly clientTransactionVersion: number;
}

/** The timeout of a two-phase commit (KIP-939). */
export const NO_TIMEOUT = 0x7fffffff;
/** The last epoch is kept for the coordinator, so that there is always one to fence a producer with. */
export const MAX_EPOCH = 0x7fff;

export function isEpochExhausted(epoch: number): boolean {
  return epoch >= MAX_EPOCH - 1;
}

/** The settings that the machine obeys, under their Kafka names in camel case. */
export interface TransactionsConfig {
  readonly transactionMaxTimeoutMs: number;
  readonly transactionTwoPhaseCommitEnable: boolean;
  readonly transactionalIdExpirationMs: number;
  readonly transactionAbortTimedOutTransactionCleanupIntervalMs: number;
  readonly transactionRemoveExpiredTransactionCleanupIntervalMs: number;
}

/** All transactional ids of one partition of `__transaction_state`. */
export interface TransactionsState {
  readonly config: TransactionsConfig;
  readonly transactions: Map<string, Transaction>;
  /** Ids of the transactions that are under way, which may time out. */
  readonly ongoing: Set<string>;
  /** Which end markers are still to be written. */
  readonly ending: EndingTransactions;
  /** Steady time of the next look for transactions past their timeout; Infinity while none is under way. */
  abortCheckAt: number;
  /** Steady time of the next look for ids that nobody uses any more; Infinity until the log is loaded. */
  expiryCheckAt: number;
}

/** An empty state, to replay a log into. */
export function emptyTransactionsState(config: TransactionsConfig): TransactionsState {
  return {
    config,
    transactions: new Map(),
    ongoing: new Set(),
    ending: new EndingTransactions(),
    abortCheckAt: Infinity,
    expiryCheckAt: Infinity,
  };
}

/** `set` with `added`; the same object when it has them all. */
export function withPartitions(
  set: PartitionSet,
  added: Iterable<{ topic: string; partition: number }>,
): PartitionSet {
  let larger: Map<string, Set<number>> | null = null;
  for (const { topic, partition } of added) {
    if ((larger ?? set).get(topic)?.has(partition)) continue;
    larger ??= new Map([...set].map(([name, partitions]) => [name, new Set(partitions)]));
    if (larger.has(topic)) larger.get(topic)!.add(partition);
    else larger.set(topic, new Set([partition]));
  }
  return larger ?? set;
}
