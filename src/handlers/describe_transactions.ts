/** Tells what the coordinator knows of transactional ids. */
import { ErrorCode } from "../codec/errors.ts";
import type { describeTransactions } from "../codec/messages/describe_transactions.ts";
import { describeFailed } from "../coordinators/transactions/admin.ts";
import type { Handler } from "./context.ts";
import { inSlices } from "./pacing.ts";

/** A few bytes that repeat a transactional id repeat all partitions of its transaction: so many go into one answer. */
const MAX_PARTITIONS = 100_000;

export const describeTransactionsHandler: Handler<typeof describeTransactions> = async (
  { transactionalIds },
  { services: { clock, transactions } },
) => {
  let partitions = 0;
  const describe = async (transactionalId: string) => {
    if (partitions >= MAX_PARTITIONS) return describeFailed(transactionalId, ErrorCode.INVALID_REQUEST);
    const described = await transactions.describe(transactionalId);
    for (const topic of described.topics) partitions += topic.partitions.length;
    return described;
  };
  return { transactionStates: await inSlices(transactionalIds, clock, describe) };
};
