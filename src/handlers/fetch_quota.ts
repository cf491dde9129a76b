/**
 * A fetch's part in quotas. Its answer is judged before it goes out: when it would be too much, the client gets an empty
 * one with the time to keep still, and asks for the same again. So nothing is sent that the quota has no room for, and
 * nothing is counted that is not sent.
 */
import { percentOfSecond, recorded, throttled } from "../quotas/quotas.ts";
import type { RequestContext } from "./context.ts";

/** The bytes of an answer, of a topic in it and of a partition without its records, as good as exactly. */
const ANSWER_BYTES = 18, TOPIC_BYTES = 20, PARTITION_BYTES = 41;

/** What an answer with these records will have. */
export function answerBytes(topics: number, partitions: number, recordBytes: number): number {
  return ANSWER_BYTES + topics * TOPIC_BYTES + partitions * PARTITION_BYTES + recordBytes;
}

/** The most that a fetch may ask for: more would be too much whatever came before, and so for ever (KIP-219). */
export function mostFetchBytes({ services, principal, clientId }: RequestContext): number {
  const { quotas, clock } = services;
  if (!quotas.isActive) return Infinity;
  return Math.floor(quotas.fetch.meter(principal.name, clientId, clock.monotonic())?.mostAtOnce ?? Infinity);
}

/** Counts an answer of `bytes`; for how long the client has to keep still, and gets nothing. 0 to send it. */
export function fetchThrottleMs(context: RequestContext, bytes: number): number {
  const { services: { quotas, clock }, principal, clientId } = context;
  if (!quotas.isActive) return 0;
  const now = clock.monotonic();
  const ofTime = quotas.request.meter(principal.name, clientId, now);
  const ofBytes = quotas.fetch.meter(principal.name, clientId, now);
  const forTimeMs = recorded(ofTime, percentOfSecond(context.handlerTimeMs()), now);
  const forBytesMs = recorded(ofBytes, bytes, now);
  if (forTimeMs === 0 && forBytesMs === 0) return 0;
  ofBytes?.note(-bytes, now);
  if (forBytesMs > forTimeMs) throttled(ofBytes, forBytesMs);
  else throttled(ofTime, forTimeMs);
  return Math.max(forTimeMs, forBytesMs);
}
