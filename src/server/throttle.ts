/**
 * For how long a client has to keep still after a request, by its quotas. Fetch has judged itself by then, since what it
 * answers depends on it; all other requests are answered in full, and their client is muted afterwards (KIP-219).
 */
import type { Api } from "../codec/schema.ts";
import { fetch } from "../codec/messages/fetch.ts";
import { produce } from "../codec/messages/produce.ts";
import { writeTxnMarkers } from "../codec/messages/write_txn_markers.ts";
import type { RequestContext } from "../handlers/context.ts";
import { percentOfSecond, recorded, throttled } from "../quotas/quotas.ts";

/** What brokers ask of each other is nobody's quota. */
const EXEMPT: ReadonlySet<number> = new Set([writeTxnMarkers.key]);

/** A response as far as throttling goes. */
interface Throttleable {
  readonly throttleTimeMs?: number;
}

/**
 * Counts a request that was handled and gives the time to keep still, which is for its response to tell; that is null
 * where none is sent. To be asked only where quotas are active.
 */
export function throttle(
  api: Api,
  context: RequestContext,
  requestBytes: number,
  response: Throttleable | null,
): number {
  // Absent where it did not come to the quota, as in an answer that the session does not exist.
  if (api.key === fetch.key && response?.throttleTimeMs !== undefined) return response.throttleTimeMs;
  const { services: { quotas, clock }, principal, clientId } = context;
  // Kafka does not count the time of what is not answered either.
  if (response === null || EXEMPT.has(api.key)) quotas.exemptMs += context.handlerTimeMs();
  if (EXEMPT.has(api.key)) return 0;
  const now = clock.monotonic();
  const ofBytes = api.key === produce.key ? quotas.produce.meter(principal.name, clientId, now) : null;
  const forBytesMs = recorded(ofBytes, requestBytes, now);
  const ofTime = response === null ? null : quotas.request.meter(principal.name, clientId, now);
  const forTimeMs = recorded(ofTime, percentOfSecond(context.handlerTimeMs()), now);
  if (forBytesMs > forTimeMs) throttled(ofBytes, forBytesMs);
  else throttled(ofTime, forTimeMs);
  return Math.max(forBytesMs, forTimeMs, response?.throttleTimeMs ?? 0);
}
