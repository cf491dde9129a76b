/** Changes single settings of topics, brokers, loggers, groups and client metrics: set, delete, append, subtract (KIP-339). */
import { ResourceType } from "../cluster/alter_configs.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { incrementalAlterConfigs } from "../codec/messages/incremental_alter_configs.ts";
import { alterLoggers } from "./broker_loggers.ts";
import type { Handler } from "./context.ts";

export const incrementalAlterConfigsHandler: Handler<typeof incrementalAlterConfigs> = async (
  { resources, validateOnly },
  { services },
) => {
  const isLogger = ({ resourceType }: { resourceType: number }) =>
    resourceType === ResourceType.BROKER_LOGGER;
  const stored = services.cluster.alterConfigs(resources.filter((resource) => !isLogger(resource)), {
    incremental: true,
    validateOnly,
  });
  const loggers = alterLoggers(resources.filter(isLogger), services.cluster.nodeId, validateOnly).values();
  const others = (await stored).values();
  return {
    responses: resources.map((resource) => {
      if (!isLogger(resource)) return others.next().value!;
      const { resourceType, resourceName } = resource;
      const refusal = loggers.next().value;
      return {
        ...(refusal ?? { errorCode: ErrorCode.NONE, errorMessage: null }),
        resourceType,
        resourceName,
      };
    }),
  };
};
