/** Tells what the coordinator knows of transactional ids. */
import { ErrorCode } from "../codec/errors.ts";
import type { describeTransactions } from "../codec/messages/describe_transactions.ts";
import { describeFailed } from "../coordinators/transactions/admin.ts";
import type { DescribedTransaction } from "../coordinators/transactions/requests.ts";
import type { Handler } from "./context.ts";
import { LargeAnswer } from "./pacing.ts";

/** A few bytes that repeat a transactional id repeat all partitions of its transaction: so many go into one answer. */
const MAX_PARTITIONS = 100_000;
/** What a transaction costs, and a partition of it. */
const TRANSACTION_BYTES = 500;
const PARTITION_BYTES = 16;
/** So many are described at once: each may wait for its coordinator's log. */
const AT_ONCE = 64;

export const describeTransactionsHandler: Handler<typeof describeTransactions> = async (request, context) => {
  const { transactionalIds } = request;
  const answer = new LargeAnswer(context);
  const transactionStates: DescribedTransaction[] = [];
  let partitions = 0;
  const describe = async (transactionalId: string) => {
    if (partitions >= MAX_PARTITIONS) return describeFailed(transactionalId, ErrorCode.INVALID_REQUEST);
    const described = await context.services.transactions.describe(transactionalId);
    for (const topic of described.topics) partitions += topic.partitions.length;
    return described;
  };
  for (let from = 0, told = 0; from < transactionalIds.length; from += AT_ONCE) {
    const ids = transactionalIds.slice(from, from + AT_ONCE);
    const bytes = ids.length * TRANSACTION_BYTES + (partitions - told) * PARTITION_BYTES;
    if (!await answer.goesOn(bytes)) return null;
    told = partitions;
    transactionStates.push(...await Promise.all(ids.map(describe)));
  }
  return { transactionStates };
};
