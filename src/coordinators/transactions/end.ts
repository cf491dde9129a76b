/**
 * How transactions end: by EndTxn, by a new producer with their transactional id, by their timeout. The end is decided
 * in the log first; then the markers are written, and when the last one is, the end is complete. After a crash in
 * between it goes on from what was decided.
 */
import { ErrorCode } from "../../codec/errors.ts";
import { FIRST_PROTOCOL, RAISING_PROTOCOL } from "../../codec/transaction_version.ts";
import type { Ticket } from "../machine.ts";
import { scheduleAbortCheck } from "./partitions.ts";
import type { EndOfTransaction, EndTxnReply, EndTxnRequest, TopicPartition } from "./requests.ts";
import { isEnding, producerError, raisesEpoch, type Turn } from "./turn.ts";
import { isEpochExhausted, MAX_EPOCH, NO_TIMEOUT, type Transaction } from "./types.ts";

/** How much of a transactional id is told. */
const MAX_NAME_UNITS = 255;

export function endTxn(
  turn: Turn,
  ticket: Ticket,
  request: EndTxnRequest,
  newProducerId: number | null,
): void {
  const transaction = turn.transaction(request.transactionalId);
  if (transaction === undefined) return turn.reply(ticket, endFailed(ErrorCode.INVALID_PRODUCER_ID_MAPPING));
  if (raisesEpoch(request.clientTransactionVersion)) {
    return endRaisingEpoch(turn, ticket, request, transaction, newProducerId);
  }
  const error = producerError(transaction, request);
  if (error !== ErrorCode.NONE) return turn.reply(ticket, endFailed(error));
  if (transaction.status === "Ongoing") {
    const { clientTransactionVersion } = request;
    const { wallMs: lastUpdateMs } = turn.now;
    turn.prepareEnd({ ...transaction, lastUpdateMs, clientTransactionVersion }, request.isCommit);
    return turn.reply(ticket, endFailed(ErrorCode.NONE));
  }
  turn.reply(ticket, endFailed(repeatedEndError(transaction, request.isCommit)));
}

/** What a client is told that ends what is not under way: it may be the same end once more. */
function repeatedEndError({ status }: Transaction, isCommit: boolean): number {
  if (status === (isCommit ? "CompleteCommit" : "CompleteAbort")) return ErrorCode.NONE;
  if (status === (isCommit ? "PrepareCommit" : "PrepareAbort")) return ErrorCode.CONCURRENT_TRANSACTIONS;
  return ErrorCode.INVALID_TXN_STATE;
}

/**
 * The newer protocol (KIP-890): the epoch is one higher after each end, so that a request with the epoch before it is a
 * repetition, and one with the present epoch is about the next transaction, which may be aborted without having begun.
 */
function endRaisingEpoch(
  turn: Turn,
  ticket: Ticket,
  request: EndTxnRequest,
  transaction: Transaction,
  newProducerId: number | null,
): void {
  const { isCommit } = request;
  const retry = isRetry(transaction, request);
  const error = epochError(transaction, request, retry);
  if (error !== ErrorCode.NONE) return turn.reply(ticket, endFailed(error));
  const { status, producerId, producerEpoch } = transaction;
  const isNew = status === "Ongoing" || (!retry && !isCommit && !isEnding(transaction));
  if (!isNew) {
    const errorCode = retry ? repeatedEndError(transaction, isCommit) : ErrorCode.INVALID_TXN_STATE;
    const isRepeated = errorCode === ErrorCode.NONE;
    // Its timeout ended it at the last epoch, which no producer is given: it has to ask for a new id.
    if (isRepeated && producerEpoch === MAX_EPOCH) {
      return turn.reply(ticket, endFailed(ErrorCode.PRODUCER_FENCED));
    }
    return turn.reply(ticket, isRepeated ? { errorCode, producerId, producerEpoch } : endFailed(errorCode));
  }
  const raised = withRaisedEpoch(turn, transaction, request.clientTransactionVersion, newProducerId);
  if (raised === null) return turn.reply(ticket, { needsProducerId: true });
  const next = turn.prepareEnd(raised, isCommit);
  turn.reply(ticket, {
    errorCode: ErrorCode.NONE,
    producerId: next.producerId,
    producerEpoch: next.producerEpoch,
  });
}

/** Whether the client asks again for an end that was decided already. */
function isRetry(transaction: Transaction, { producerId, producerEpoch }: EndTxnRequest): boolean {
  if (transaction.producerId === producerId) return transaction.producerEpoch === producerEpoch + 1;
  return transaction.previousProducerId === producerId && transaction.producerEpoch === 0 &&
    producerEpoch === MAX_EPOCH - 1;
}

function epochError(transaction: Transaction, request: EndTxnRequest, retry: boolean): number {
  if (retry && transaction.status !== "Ongoing" && transaction.status !== "Empty") return ErrorCode.NONE;
  const error = producerError(transaction, request);
  if (error !== ErrorCode.NONE) return error;
  // Of what is ending nobody was told this epoch yet.
  return isEnding(transaction) ? ErrorCode.PRODUCER_FENCED : ErrorCode.NONE;
}

/**
 * The transaction with the epoch that its end has. When epochs are used up the producer goes on with a new id; null when
 * that is missing.
 */
function withRaisedEpoch(
  turn: Turn,
  transaction: Transaction,
  clientTransactionVersion: number,
  newProducerId: number | null,
): Transaction | null {
  const { producerEpoch, status } = transaction;
  const isExhausted = isEpochExhausted(producerEpoch);
  if (isExhausted && newProducerId === null) return null;
  const { wallMs } = turn.now;
  return {
    ...transaction,
    producerEpoch: producerEpoch + 1,
    lastProducerEpoch: producerEpoch,
    nextProducerId: isExhausted ? newProducerId! : -1,
    // One that has not begun, begins and ends now.
    startMs: status === "Ongoing" ? transaction.startMs : wallMs,
    lastUpdateMs: wallMs,
    clientTransactionVersion,
  };
}

/**
 * Aborts a transaction that is under way against its producer, which is fenced by an epoch that it was not told. That may
 * be the last one, which no producer is given; then `newProducerId` is the id to go on with.
 */
export function abortFencing(
  turn: Turn,
  transaction: Transaction,
  newProducerId: number | null,
  reason: string,
): void {
  const { transactionalId, producerId, producerEpoch } = transaction;
  const name = JSON.stringify(transactionalId.slice(0, MAX_NAME_UNITS));
  turn.effects.push({
    notice:
      `Aborting the transaction of ${name}, producer ${producerId} with epoch ${producerEpoch}: ${reason}`,
  });
  // Only in a log of another broker's: nothing is higher, so the marker has the epoch that the records have.
  const isHighest = producerEpoch === MAX_EPOCH;
  turn.prepareEnd({
    ...transaction,
    producerEpoch: isHighest ? MAX_EPOCH : producerEpoch + 1,
    // The producer may go on if it asks for that before another one comes.
    lastProducerEpoch: producerEpoch,
    // One may have been brought for another reason, which was over before it came.
    nextProducerId: isEpochExhausted(producerEpoch) && newProducerId !== null ? newProducerId : -1,
    lastUpdateMs: turn.now.wallMs,
    clientTransactionVersion: isHighest ? FIRST_PROTOCOL : RAISING_PROTOCOL,
  }, false);
}

/** Markers are written: the transaction is complete when they all are. */
export function markersWritten(
  turn: Turn,
  { transactionalId, producerId, producerEpoch }: EndOfTransaction,
  partitions: readonly TopicPartition[],
): void {
  const transaction = turn.transaction(transactionalId);
  // Markers of an earlier end may have been asked for twice.
  if (transaction === undefined || !isEnding(transaction)) return;
  if (transaction.producerId !== producerId || transaction.producerEpoch !== producerEpoch) return;
  turn.marks.push({ type: "markersWritten", transactionalId, partitions });
  if (turn.state.ending.isLast(transactionalId, partitions)) turn.log(turn.completed(transaction));
}

/** Asks for the markers of an end that are still missing: after a restart, or when some could not be written. */
export function askForMarkers(turn: Turn, transactionalId: string): void {
  const transaction = turn.transaction(transactionalId);
  if (transaction === undefined || !isEnding(transaction)) return;
  const left = turn.state.ending.left(transactionalId) ?? transaction.partitions;
  if (left.size === 0) turn.log(turn.completed(transaction));
  else turn.askForMarkers(transaction, left);
}

/** Aborts the transaction when its producer has taken longer than it asked for, whether or not it wrote anything. */
export function abortIfTimedOut(turn: Turn, transactionalId: string): void {
  const transaction = turn.transaction(transactionalId);
  if (transaction?.status !== "Ongoing") return;
  const { startMs, transactionTimeoutMs } = transaction;
  if (transactionTimeoutMs === NO_TIMEOUT || startMs + transactionTimeoutMs >= turn.now.settledMs) return;
  abortFencing(
    turn,
    transaction,
    null,
    `it took longer than the ${transactionTimeoutMs} ms that its producer asked for`,
  );
}

/** Looks at all transactions that are under way again after the interval; not at all where there are none. */
export function rescheduleAbortCheck(turn: Turn): void {
  if (turn.state.ongoing.size > 0) scheduleAbortCheck(turn);
  else turn.marks.push({ type: "abortCheckAt", at: Infinity });
}

export function endFailed(errorCode: number): EndTxnReply {
  return { errorCode, producerId: -1, producerEpoch: -1 };
}
