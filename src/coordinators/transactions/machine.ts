/**
 * The machine of all transactional ids in one partition of `__transaction_state`: it hands each input to the file that
 * knows it, and makes facts and marks true. See ../machine.ts for the contract.
 */
import { unreachable } from "../../base/assert.ts";
import type { Instant, Machine } from "../machine.ts";
import { describe, expiredIds, forgetExpired, list, scheduleExpiryCheck } from "./admin.ts";
import { abortIfTimedOut, askForMarkers, endTxn, markersWritten, rescheduleAbortCheck } from "./end.ts";
import { decodeFact, encodeFact, type TransactionFact } from "./facts.ts";
import { initProducerId } from "./init.ts";
import { addPartitions } from "./partitions.ts";
import type { Notice, TransactionsInput, TransactionsReply, WriteMarkers } from "./requests.ts";
import { isEnding, type TransactionsDecision, type TransactionsMark, Turn } from "./turn.ts";
import type { TransactionsState } from "./types.ts";

export const transactionsMachine: Machine<
  TransactionsState,
  TransactionsInput,
  TransactionFact,
  TransactionsMark,
  TransactionsReply,
  WriteMarkers | Notice
> = {
  decide,
  applyFact,
  applyMark,
  wakeAt: ({ ending, abortCheckAt, expiryCheckAt }) => Math.min(ending.wakeAt, abortCheckAt, expiryCheckAt),
  due,
  loaded,
  encode: encodeFact,
  decode: decodeFact,
};

function decide(state: TransactionsState, input: TransactionsInput, now: Instant): TransactionsDecision {
  const turn = new Turn(state, now);
  dispatch(turn, input);
  return turn.finish();
}

function dispatch(turn: Turn, input: TransactionsInput): void {
  switch (input.type) {
    case "initProducerId":
      return initProducerId(turn, input.ticket, input.request, input.newProducerId);
    case "addPartitions":
      return addPartitions(turn, input.ticket, input.request);
    case "endTxn":
      return endTxn(turn, input.ticket, input.request, input.newProducerId);
    case "describe":
      return describe(turn, input.ticket, input.transactionalId);
    case "list":
      return list(turn, input.ticket, input.request);
    case "markersWritten":
      return markersWritten(turn, input.ending, input.partitions);
    case "askForMarkers":
      return askForMarkers(turn, input.transactionalId);
    case "abortIfTimedOut":
      return abortIfTimedOut(turn, input.transactionalId);
    case "forgetExpired":
      return forgetExpired(turn, input.transactionalIds);
    case "findNextRetry":
      turn.marks.push({ type: "findNextRetry" });
      return;
    case "scheduleAbortCheck":
      return rescheduleAbortCheck(turn);
    case "scheduleExpiryCheck":
      return scheduleExpiryCheck(turn);
    default:
      unreachable(input);
  }
}

function applyFact(state: TransactionsState, { transactionalId, value }: TransactionFact): void {
  if (value === null) state.transactions.delete(transactionalId);
  else state.transactions.set(transactionalId, value);
  if (value?.status === "Ongoing") state.ongoing.add(transactionalId);
  else state.ongoing.delete(transactionalId);
  if (value === null || !isEnding(value)) state.ending.ended(transactionalId);
}

function applyMark(state: TransactionsState, mark: TransactionsMark): void {
  switch (mark.type) {
    case "markersAsked":
      return state.ending.asked(mark.transactionalId, mark.partitions, mark.retryAt);
    case "markersWritten":
      return state.ending.written(mark.transactionalId, mark.partitions);
    case "findNextRetry":
      return state.ending.findNext();
    case "abortCheckAt":
      state.abortCheckAt = mark.at;
      return;
    case "expiryCheckAt":
      state.expiryCheckAt = mark.at;
      return;
    default:
      unreachable(mark);
  }
}

function due(state: TransactionsState, now: Instant): TransactionsInput[] {
  const inputs: TransactionsInput[] = [];
  if (state.ending.wakeAt <= now.steadyMs) {
    for (const transactionalId of state.ending.due(now.steadyMs)) {
      inputs.push({ type: "askForMarkers", transactionalId });
    }
    inputs.push({ type: "findNextRetry" });
  }
  if (state.abortCheckAt <= now.steadyMs) {
    for (const transactionalId of state.ongoing) inputs.push({ type: "abortIfTimedOut", transactionalId });
    inputs.push({ type: "scheduleAbortCheck" });
  }
  if (state.expiryCheckAt <= now.steadyMs) {
    for (const transactionalIds of expiredIds(state, now)) {
      inputs.push({ type: "forgetExpired", transactionalIds });
    }
    inputs.push({ type: "scheduleExpiryCheck" });
  }
  return inputs;
}

function loaded(state: TransactionsState): TransactionsInput[] {
  const inputs: TransactionsInput[] = [{ type: "scheduleAbortCheck" }, { type: "scheduleExpiryCheck" }];
  for (const transaction of state.transactions.values()) {
    const { transactionalId } = transaction;
    if (isEnding(transaction)) inputs.push({ type: "askForMarkers", transactionalId });
  }
  return inputs;
}
