/**
 * InitProducerId of a transactional id: the producer gets an id and an epoch that nobody has, and whoever had the
 * transactional id before is fenced; what that one left open is aborted first (KIP-98, 360, 588, 890).
 */
import { ErrorCode } from "../../codec/errors.ts";
import { FIRST_PROTOCOL } from "../../codec/transaction_version.ts";
import type { Ticket } from "../machine.ts";
import { abortFencing } from "./end.ts";
import type { InitProducerIdReply, TransactionalInit } from "./requests.ts";
import { isEnding, type Turn } from "./turn.ts";
import { isEpochExhausted, MAX_EPOCH, NO_TIMEOUT, type Transaction } from "./types.ts";

const NONE = -1;

export function initProducerId(
  turn: Turn,
  ticket: Ticket,
  request: TransactionalInit,
  newProducerId: number | null,
): void {
  const transaction = turn.transaction(request.transactionalId);
  if (transaction === undefined) {
    if (newProducerId === null) return turn.reply(ticket, { needsProducerId: true });
    return begin(turn, ticket, request, newTransaction(turn, request, newProducerId));
  }
  if (!mayBeOf(transaction, request)) return turn.reply(ticket, initFailed(ErrorCode.PRODUCER_FENCED));
  const hasEpoch = request.producerId !== NONE;
  if (isEnding(transaction)) return turn.reply(ticket, initFailed(ErrorCode.CONCURRENT_TRANSACTIONS));
  if (transaction.status === "Ongoing") {
    if (isEpochExhausted(transaction.producerEpoch) && newProducerId === null) {
      return turn.reply(ticket, { needsProducerId: true });
    }
    const reason = hasEpoch ? "its producer begins anew" : "another producer came with its transactional id";
    abortFencing(turn, transaction, newProducerId, reason);
    // The client asks again: one without an epoch gets the next one then, its own producer the one that this end has.
    return turn.reply(ticket, initFailed(ErrorCode.CONCURRENT_TRANSACTIONS));
  }
  const { producerEpoch } = transaction;
  // A timeout took the last epoch, which no producer is given: the one before it gets a new id.
  const isFencedLast = producerEpoch === MAX_EPOCH && request.producerEpoch === transaction.lastProducerEpoch;
  const isCurrent = request.producerEpoch === producerEpoch;
  if (isEpochExhausted(producerEpoch) && (!hasEpoch || isCurrent || isFencedLast)) {
    if (newProducerId === null) return turn.reply(ticket, { needsProducerId: true });
    return begin(turn, ticket, request, {
      ...transaction,
      // Of one that came without an id nobody is to be taken for the producer before it.
      previousProducerId: hasEpoch ? transaction.producerId : NONE,
      producerId: newProducerId,
      producerEpoch: 0,
      lastProducerEpoch: request.producerEpoch,
    });
  }
  if (!hasEpoch || isCurrent) {
    return begin(turn, ticket, request, {
      ...transaction,
      producerEpoch: producerEpoch + 1,
      lastProducerEpoch: hasEpoch ? producerEpoch : NONE,
    });
  }
  // Asked for again by who did not hear the answer: had another producer come since, the last epoch would be gone.
  if (request.producerEpoch === transaction.lastProducerEpoch) {
    return begin(turn, ticket, request, transaction);
  }
  turn.reply(ticket, initFailed(ErrorCode.PRODUCER_FENCED));
}

function newTransaction(turn: Turn, { transactionalId }: TransactionalInit, producerId: number): Transaction {
  return {
    transactionalId,
    producerId,
    previousProducerId: NONE,
    nextProducerId: NONE,
    producerEpoch: 0,
    lastProducerEpoch: NONE,
    transactionTimeoutMs: 0,
    status: "Empty",
    partitions: new Map(),
    startMs: NONE,
    lastUpdateMs: turn.now.wallMs,
    clientTransactionVersion: FIRST_PROTOCOL,
  };
}

/** Whether the producer that asks may be the one that has the transactional id, or that got this id for its last epoch. */
function mayBeOf(transaction: Transaction, { producerId, producerEpoch }: TransactionalInit): boolean {
  return producerId === NONE || producerId === transaction.producerId ||
    (producerId === transaction.previousProducerId && producerEpoch === transaction.lastProducerEpoch);
}

/** The producer is ready to begin a transaction. */
function begin(turn: Turn, ticket: Ticket, request: TransactionalInit, transaction: Transaction): void {
  const { producerId, producerEpoch } = transaction;
  turn.log({
    ...transaction,
    transactionTimeoutMs: request.enable2Pc ? NO_TIMEOUT : request.transactionTimeoutMs,
    status: "Empty",
    partitions: new Map(),
    startMs: NONE,
    lastUpdateMs: turn.now.wallMs,
  });
  turn.reply(ticket, { ...initFailed(ErrorCode.NONE), producerId, producerEpoch });
}

export function initFailed(errorCode: number): InitProducerIdReply {
  return {
    errorCode,
    producerId: NONE,
    producerEpoch: NONE,
    ongoingTxnProducerId: NONE,
    ongoingTxnProducerEpoch: NONE,
  };
}
