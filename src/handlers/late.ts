/** Requests to the controller that give it no time at all. Kafka's refuses them before it looks at what they ask. */
import { ErrorCode } from "../codec/errors.ts";

/** What each topic of such a request is answered. */
export const LATE = {
  errorCode: ErrorCode.REQUEST_TIMED_OUT,
  errorMessage: "The request's timeout was over before it came",
} as const;

/** Whether a timeout is over when the request comes. */
export function isLate(timeoutMs: number): boolean {
  return timeoutMs <= 0;
}
