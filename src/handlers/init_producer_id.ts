/**
 * Gives an idempotent producer its id. Without a transactional id every call gets a new one, whatever id the client
 * had. Transactional ids are not served yet, and FindCoordinator says so before a client comes here.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { initProducerId } from "../codec/messages/init_producer_id.ts";
import { StoreFailure } from "../cluster/store.ts";
import type { Handler } from "./context.ts";

export const initProducerIdHandler: Handler<typeof initProducerId> = async (request, { services }) => {
  const hasId = request.producerId !== -1n, hasEpoch = request.producerEpoch !== -1;
  if (hasId !== hasEpoch || request.transactionalId !== null) {
    return { errorCode: ErrorCode.INVALID_REQUEST, producerEpoch: -1 };
  }
  try {
    return { errorCode: ErrorCode.NONE, producerId: await services.producerIds.next(), producerEpoch: 0 };
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    return { errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE, producerEpoch: -1 };
  }
};
