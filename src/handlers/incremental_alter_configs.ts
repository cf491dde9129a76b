/** Changes single settings of topics, brokers and groups: set, delete, append, subtract (KIP-339). */
import type { incrementalAlterConfigs } from "../codec/messages/incremental_alter_configs.ts";
import type { Handler } from "./context.ts";

export const incrementalAlterConfigsHandler: Handler<typeof incrementalAlterConfigs> = async (
  request,
  { services },
) => ({
  responses: await services.cluster.alterConfigs(request.resources, {
    incremental: true,
    validateOnly: request.validateOnly,
  }),
});
