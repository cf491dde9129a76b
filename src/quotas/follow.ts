/** Quotas that follow the metadata: what AlterClientQuotas changes holds for the next request. */
import type { Clock } from "../base/clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import { Quotas } from "./quotas.ts";

/** The quotas of a broker. Their windows are settings that only a restart changes. */
export function followQuotas(config: BrokerConfig, cluster: Cluster, clock: Clock): Quotas {
  const quotas = new Quotas({
    windows: {
      samples: config.get("quota.window.num"),
      sampleMs: config.get("quota.window.size.seconds") * 1000,
    },
    mutationWindows: {
      samples: config.get("controller.quota.window.num"),
      sampleMs: config.get("controller.quota.window.size.seconds") * 1000,
    },
    clock: () => clock.monotonic(),
  });
  const setLimits = () => quotas.setLimits([...cluster.image.clientQuotas.values()]);
  setLimits();
  cluster.onChange((change) => {
    if (change.clientQuotas.length > 0) setLimits();
  });
  return quotas;
}
