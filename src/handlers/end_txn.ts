/** Commits or aborts a transaction. From version 5 on the producer goes on with the epoch that it is answered (KIP-890). */
import type { endTxn } from "../codec/messages/end_txn.ts";
import { FIRST_PROTOCOL, RAISING_PROTOCOL } from "../codec/transaction_version.ts";
import type { Handler } from "./context.ts";
import { fencedError } from "./transactional.ts";

/** The first version that knows PRODUCER_FENCED (KIP-588). */
const firstWithFenced = 2;
/** The first version of transaction protocol 2. */
const firstRaisingEpoch = 5;

export const endTxnHandler: Handler<typeof endTxn> = async (request, { services, version }) => {
  const reply = await services.transactions.endTxn({
    transactionalId: request.transactionalId,
    producerId: Number(request.producerId),
    producerEpoch: request.producerEpoch,
    isCommit: request.committed,
    clientTransactionVersion: version >= firstRaisingEpoch ? RAISING_PROTOCOL : FIRST_PROTOCOL,
  });
  return { ...reply, errorCode: fencedError(reply.errorCode, version >= firstWithFenced) };
};
