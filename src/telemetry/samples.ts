/** Telemetry among the broker's metrics: what clients sent under their own names, and how that went. */
import { errorName } from "../codec/errors.ts";
import type { MetricSample } from "../observe/metrics.ts";
import type { Telemetry } from "./telemetry.ts";

export function* telemetrySamples(telemetry: Telemetry, now: number): Generator<MetricSample> {
  const { received } = telemetry;
  yield* received.all(now);
  const labels = {};
  yield { name: "telemetry_client_instances", labels, value: telemetry.instanceCount };
  yield { name: "telemetry_pushes_total", labels, value: telemetry.pushes };
  yield { name: "telemetry_series", labels, value: received.seriesCount };
  yield { name: "telemetry_dropped_total", labels, value: received.dropped };
  for (const [errorCode, value] of telemetry.refused) {
    yield { name: "telemetry_refused_pushes_total", labels: { error: errorName(errorCode) }, value };
  }
}
