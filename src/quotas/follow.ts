/** Quotas that follow the metadata: what AlterClientQuotas changes holds for the next request. */
import type { Clock } from "../base/clock.ts";
import type { ClientQuotas } from "../cluster/client_quotas.ts";
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
  const change = (changed: readonly ClientQuotas[]) =>
    quotas.change(changed, cluster.image.clientQuotas.values());
  change([...cluster.image.clientQuotas.values()]);
  cluster.onChange(({ clientQuotas }) => change(clientQuotas));
  return quotas;
}
