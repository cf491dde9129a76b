/** Lists the transactional ids that this broker coordinates, by what is asked for. */
import { wholePattern } from "../base/linear_pattern.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { listTransactions } from "../codec/messages/list_transactions.ts";
import { isStatusName } from "../coordinators/transactions/types.ts";
import type { Handler } from "./context.ts";

export const listTransactionsHandler: Handler<typeof listTransactions> = async (request, { services }) => {
  const { transactionalIdPattern } = request;
  const pattern = wholePattern(transactionalIdPattern ?? "");
  if (pattern === null) return answer(ErrorCode.INVALID_REGULAR_EXPRESSION, []);
  const stateFilters = request.stateFilters.filter(isStatusName);
  const unknownStateFilters = [...new Set(request.stateFilters.filter((name) => !isStatusName(name)))];
  // Whoever names states none of which there is, is told of them, and of no transaction.
  if (unknownStateFilters.length > 0 && stateFilters.length === 0) {
    return answer(ErrorCode.NONE, unknownStateFilters);
  }
  const reply = await services.transactions.list({
    stateFilters,
    producerIdFilters: request.producerIdFilters.map(Number),
    durationFilter: Number(request.durationFilter),
    // An empty pattern stands for all, as none does.
    matches: transactionalIdPattern ? (transactionalId) => pattern.test(transactionalId) : null,
  });
  return { ...reply, unknownStateFilters };
};

function answer(errorCode: number, unknownStateFilters: string[]) {
  return { errorCode, unknownStateFilters, transactionStates: [] };
}
