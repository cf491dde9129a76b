/** Tells what the coordinator knows of transactional ids. */
import type { describeTransactions } from "../codec/messages/describe_transactions.ts";
import type { Handler } from "./context.ts";

export const describeTransactionsHandler: Handler<typeof describeTransactions> = async (
  request,
  { services },
) => ({ transactionStates: await services.transactions.describe(request.transactionalIds) });
