/** AddPartitionsToTxn, AddOffsetsToTxn, and what partitions ask before a producer writes to them (KIP-890). */
import { ErrorCode } from "../../codec/errors.ts";
import { RAISING_PROTOCOL } from "../../codec/transaction_version.ts";
import type { Ticket } from "../machine.ts";
import type { AddPartitionsReply, AddPartitionsRequest } from "./requests.ts";
import { isEnding, producerError, type Turn } from "./turn.ts";
import { withPartitions } from "./types.ts";

export function addPartitions(turn: Turn, ticket: Ticket, request: AddPartitionsRequest): void {
  const { transactionalId, verifyOnly, clientTransactionVersion = RAISING_PROTOCOL } = request;
  const transaction = turn.transaction(transactionalId);
  const error = producerError(transaction, request);
  if (transaction === undefined || error !== ErrorCode.NONE) {
    return turn.reply(ticket, addFailed(request, error));
  }
  if (isEnding(transaction)) return turn.reply(ticket, addFailed(request, ErrorCode.CONCURRENT_TRANSACTIONS));
  const isOngoing = transaction.status === "Ongoing";
  if (verifyOnly) {
    const isPart = ({ topic, partition }: { topic: string; partition: number }) =>
      transaction.partitions.get(topic)?.has(partition) === true;
    const errorCodes = request.partitions.map((each) =>
      isPart(each) ? ErrorCode.NONE : ErrorCode.TRANSACTION_ABORTABLE
    );
    return turn.reply(ticket, { errorCodes });
  }
  const partitions = withPartitions(transaction.partitions, request.partitions);
  if (!isOngoing || partitions !== transaction.partitions) {
    const { wallMs } = turn.now;
    turn.log({
      ...transaction,
      // The producer has heard of its id.
      previousProducerId: -1,
      status: "Ongoing",
      partitions,
      startMs: isOngoing ? transaction.startMs : wallMs,
      lastUpdateMs: wallMs,
      clientTransactionVersion,
    });
    if (turn.state.abortCheckAt === Infinity) scheduleAbortCheck(turn);
  }
  turn.reply(ticket, addFailed(request, ErrorCode.NONE));
}

/** From now on transactions are looked at, as long as one is under way. */
export function scheduleAbortCheck(turn: Turn): void {
  const at = turn.now.steadyMs + turn.config.transactionAbortTimedOutTransactionCleanupIntervalMs;
  turn.marks.push({ type: "abortCheckAt", at });
}

/** The same for every partition. */
export function addFailed({ partitions }: AddPartitionsRequest, errorCode: number): AddPartitionsReply {
  return { errorCodes: partitions.map(() => errorCode) };
}
