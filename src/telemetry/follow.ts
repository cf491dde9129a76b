/** Telemetry that follows the metadata: a client-metrics resource that changes holds for the next request. */
import type { Cluster } from "../cluster/cluster.ts";
import { newUuid } from "../codec/uuid.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import { Telemetry } from "./telemetry.ts";

/** The telemetry of a broker. */
export function followTelemetry(config: BrokerConfig, cluster: Cluster): Telemetry {
  const telemetry = new Telemetry(
    () => config.get("telemetry.max.bytes"),
    () => newUuid((bytes) => crypto.getRandomValues(bytes)),
  );
  const setSubscriptions = () => telemetry.setSubscriptions(cluster.image.clientMetricsConfigs.values());
  setSubscriptions();
  cluster.onChange((change) => {
    if (change.clientMetricsConfigs.length > 0) setSubscriptions();
  });
  return telemetry;
}
