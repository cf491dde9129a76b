/** Commits or aborts a transaction. From version 5 on the producer goes on with the epoch that it is answered (KIP-890). */
import type { endTxn } from "../codec/messages/end_txn.ts";
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
    clientTransactionVersion: version >= firstRaisingEpoch ? 2 : 0,
  });
  return { ...reply, errorCode: fencedError(reply.errorCode, version >= firstWithFenced) };
};
