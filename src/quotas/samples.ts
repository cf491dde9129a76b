/** Quotas among the broker's metrics: of everybody who was counted in the last hour, and the time that was nobody's. */
import type { MetricSample } from "../observe/metrics.ts";
import type { Quotas } from "./quotas.ts";

export function* quotaSamples(quotas: Quotas, now: number): Generator<MetricSample> {
  for (const { quota, user, clientId, limit, rate, throttles, throttledMs } of quotas.uses(now)) {
    const labels = { quota, user, client_id: clientId };
    yield { name: "client_quota_limit", labels, value: limit };
    if (rate !== null) yield { name: "client_quota_rate", labels, value: rate };
    yield { name: "client_quota_throttles_total", labels, value: throttles };
    yield { name: "client_quota_throttled_ms_total", labels, value: throttledMs };
  }
  yield { name: "client_quota_exempt_ms_total", labels: {}, value: quotas.exemptMs };
}
