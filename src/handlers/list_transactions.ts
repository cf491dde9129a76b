/** Lists the transactional ids that this broker coordinates, by what is asked for. */
import { wholePattern } from "../base/linear_pattern.ts";
import { ErrorCode } from "../codec/errors.ts";
import { WrittenArray } from "../codec/written_array.ts";
import { listTransactions } from "../codec/messages/list_transactions.ts";
import { statusNames, type Transaction } from "../coordinators/transactions/types.ts";
import type { Handler } from "./context.ts";
import { LargeAnswer } from "./pacing.ts";

/** A request of a few bytes asks for all ids: a million of the usual length. Filters ask for less. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** What an id costs in the answer beside its own bytes, and while it is one of many that may go into it. */
const LISTED_BYTES = 25;
const FOUND_BYTES = 16;

export const listTransactionsHandler: Handler<typeof listTransactions> = async (request, context) => {
  const stateFilters = new Set(request.stateFilters);
  const unknownStateFilters = [...stateFilters].filter((name) => !statusNames.has(name));
  for (const name of unknownStateFilters) stateFilters.delete(name);
  const failed = (errorCode: number) => ({ errorCode, unknownStateFilters, transactionStates: [] });

  // An empty pattern stands for all, as none does.
  const text = request.transactionalIdPattern ?? "";
  const pattern = wholePattern(text);
  if (pattern === null) return { ...failed(ErrorCode.INVALID_REGULAR_EXPRESSION), unknownStateFilters: [] };
  // Whoever names states none of which there is, is told of them, and of no transaction.
  if (unknownStateFilters.length > 0 && stateFilters.size === 0) return failed(ErrorCode.NONE);

  const { transactions } = context.services;
  const answer = new LargeAnswer(context);
  if (!await answer.goesOn(transactions.count * FOUND_BYTES)) return null;
  const found = await transactions.list({
    stateFilters,
    producerIdFilters: new Set(request.producerIdFilters.map(Number)),
    durationFilter: Number(request.durationFilter),
  });
  if (found.errorCode !== ErrorCode.NONE) return failed(found.errorCode);

  const states = new WrittenArray<Listed>(
    listTransactions.response.elements(context.version, "transactionStates"),
  );
  let bytes = 0;
  for (const transaction of found.transactions) {
    const { transactionalId } = transaction;
    if (transactionalId.length > pattern.longestText) return failed(ErrorCode.INVALID_REGULAR_EXPRESSION);
    const isListed = text === "" || pattern.test(transactionalId);
    const listedBytes = isListed ? LISTED_BYTES + bytesOf(transactionalId) : 0;
    bytes += listedBytes;
    if (bytes > MAX_ANSWER_BYTES) return failed(ErrorCode.INVALID_REQUEST);
    if (!await answer.goesOn(listedBytes)) return null;
    if (isListed) states.push(listed(transaction));
  }
  return { errorCode: ErrorCode.NONE, unknownStateFilters, transactionStates: states.asArray };
};

type Listed = ReturnType<typeof listed>;

function listed({ transactionalId, producerId, status }: Transaction) {
  return { transactionalId, producerId, transactionState: status };
}

/** At most, in UTF-8. */
function bytesOf(text: string): number {
  // deno-lint-ignore no-control-regex -- ASCII is what it looks for
  return /^[\x00-\x7f]*$/.test(text) ? text.length : 3 * text.length;
}
