/** DescribeTransactions, ListTransactions, and the end of transactional ids that nobody uses. */
import { ErrorCode } from "../../codec/errors.ts";
import type { Instant, Ticket } from "../machine.ts";
import type { DescribedTransaction, ListTransactionsRequest } from "./requests.ts";
import { isEnding, type Turn } from "./turn.ts";
import type { Transaction, TransactionsConfig, TransactionsState } from "./types.ts";

export function describe(turn: Turn, ticket: Ticket, transactionalId: string): void {
  const transaction = turn.transaction(transactionalId);
  if (transaction === undefined) {
    return turn.reply(ticket, describeFailed(transactionalId, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND));
  }
  // Of an end that is under way, only where it is not complete yet.
  const partitions = isEnding(transaction)
    ? turn.state.ending.left(transactionalId) ?? transaction.partitions
    : transaction.partitions;
  turn.reply(ticket, {
    errorCode: ErrorCode.NONE,
    transactionalId,
    transactionState: transaction.status,
    transactionTimeoutMs: transaction.transactionTimeoutMs,
    transactionStartTimeMs: transaction.startMs,
    producerId: transaction.producerId,
    producerEpoch: transaction.producerEpoch,
    topics: [...partitions].map(([topic, indexes]) => ({ topic, partitions: [...indexes] })),
  });
}

export function describeFailed(transactionalId: string, errorCode: number): DescribedTransaction {
  return {
    errorCode,
    transactionalId,
    transactionState: "",
    transactionTimeoutMs: 0,
    transactionStartTimeMs: 0,
    producerId: 0,
    producerEpoch: 0,
    topics: [],
  };
}

export function list(turn: Turn, ticket: Ticket, request: ListTransactionsRequest): void {
  const { durationFilter, stateFilters, producerIdFilters } = request;
  const latestStartMs = durationFilter >= 0 ? turn.now.wallMs - durationFilter : Infinity;
  const transactions = [];
  for (const transaction of turn.state.transactions.values()) {
    if (stateFilters.size > 0 && !stateFilters.has(transaction.status)) continue;
    if (producerIdFilters.size > 0 && !producerIdFilters.has(transaction.producerId)) continue;
    if (transaction.startMs >= latestStartMs) continue;
    transactions.push(transaction);
  }
  turn.reply(ticket, { errorCode: ErrorCode.NONE, transactions });
}

/** How many ids are forgotten at a time; there may be millions. */
const FORGOTTEN_AT_ONCE = 500;

/** The ids that nobody used for `transactional.id.expiration.ms`, unless a transaction is open, some at a time. */
export function expiredIds(state: TransactionsState, now: Instant): string[][] {
  const ids: string[] = [];
  for (const transaction of state.transactions.values()) {
    if (isExpired(transaction, state.config, now)) ids.push(transaction.transactionalId);
  }
  return Array.from(
    { length: Math.ceil(ids.length / FORGOTTEN_AT_ONCE) },
    (_, i) => ids.slice(i * FORGOTTEN_AT_ONCE, (i + 1) * FORGOTTEN_AT_ONCE),
  );
}

function isExpired(transaction: Transaction, config: TransactionsConfig, { settledMs }: Instant): boolean {
  if (transaction.status === "Ongoing" || isEnding(transaction)) return false;
  return transaction.lastUpdateMs <= settledMs - config.transactionalIdExpirationMs;
}

/** Forgets those of the ids that nobody has used since. */
export function forgetExpired(turn: Turn, transactionalIds: readonly string[]): void {
  turn.divisible = true;
  for (const transactionalId of transactionalIds) {
    const transaction = turn.transaction(transactionalId);
    if (transaction === undefined || !isExpired(transaction, turn.config, turn.now)) continue;
    turn.facts.push({ transactionalId, value: null });
  }
}

export function scheduleExpiryCheck(turn: Turn): void {
  const at = turn.now.steadyMs + turn.config.transactionRemoveExpiredTransactionCleanupIntervalMs;
  turn.marks.push({ type: "expiryCheckAt", at });
}
