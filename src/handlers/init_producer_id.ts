/** Gives a producer its id and epoch, and fences who had its transactional id before. */
import { ErrorCode } from "../codec/errors.ts";
import type { initProducerId } from "../codec/messages/init_producer_id.ts";
import type { Handler } from "./context.ts";
import { fencedError } from "./transactional.ts";

/** The first version that knows PRODUCER_FENCED (KIP-588). */
const firstWithFenced = 4;

export const initProducerIdHandler: Handler<typeof initProducerId> = async (request, context) => {
  const { services: { transactions }, version } = context;
  const hasId = request.producerId !== -1n, hasEpoch = request.producerEpoch !== -1;
  if (hasId !== hasEpoch) return { errorCode: ErrorCode.INVALID_REQUEST, producerEpoch: -1 };
  const reply = await transactions.initProducerId({ ...request, producerId: Number(request.producerId) });
  return { ...reply, errorCode: fencedError(reply.errorCode, version >= firstWithFenced) };
};
