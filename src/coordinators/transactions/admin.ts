/** DescribeTransactions, ListTransactions, and the end of transactional ids that nobody uses. */
import { ErrorCode } from "../../codec/errors.ts";
import type { Ticket } from "../machine.ts";
import type { DescribedTransaction, ListTransactionsRequest } from "./requests.ts";
import { isEnding, type Turn } from "./turn.ts";

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
  const { durationFilter, matches } = request;
  const states = new Set<string>(request.stateFilters);
  const producerIds = new Set(request.producerIdFilters);
  const latestStartMs = durationFilter >= 0 ? turn.now.wallMs - durationFilter : Infinity;
  const transactionStates = [];
  for (const { transactionalId, producerId, status, startMs } of turn.state.transactions.values()) {
    if (states.size > 0 && !states.has(status)) continue;
    if (producerIds.size > 0 && !producerIds.has(producerId)) continue;
    if (startMs >= latestStartMs) continue;
    if (matches !== null && !matches(transactionalId)) continue;
    transactionStates.push({ transactionalId, producerId, transactionState: status });
  }
  turn.reply(ticket, { errorCode: ErrorCode.NONE, transactionStates });
}

/** Forgets transactional ids that nobody used for `transactional.id.expiration.ms`, unless a transaction is open. */
export function forgetExpired(turn: Turn): void {
  turn.divisible = true;
  const expiredUpTo = turn.now.settledMs - turn.config.transactionalIdExpirationMs;
  for (const transaction of turn.state.transactions.values()) {
    const { transactionalId, status, lastUpdateMs } = transaction;
    if (status === "Ongoing" || isEnding(transaction) || lastUpdateMs > expiredUpTo) continue;
    turn.facts.push({ transactionalId, value: null });
  }
}

export function scheduleExpiryCheck(turn: Turn): void {
  const at = turn.now.steadyMs + turn.config.transactionRemoveExpiredTransactionCleanupIntervalMs;
  turn.marks.push({ type: "expiryCheckAt", at });
}
