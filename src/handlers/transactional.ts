/** What the APIs of transactions have in common. */
import { ErrorCode } from "../codec/errors.ts";

/** Clients that do not know PRODUCER_FENCED (KIP-588) are told of an epoch that is not valid. */
export function fencedError(errorCode: number, knowsFenced: boolean): number {
  return errorCode === ErrorCode.PRODUCER_FENCED && !knowsFenced
    ? ErrorCode.INVALID_PRODUCER_EPOCH
    : errorCode;
}
