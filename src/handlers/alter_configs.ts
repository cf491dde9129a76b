/** Replaces all settings of topics, brokers and groups: what is not named goes back to its default. */
import type { alterConfigs } from "../codec/messages/alter_configs.ts";
import type { Handler } from "./context.ts";

export const alterConfigsHandler: Handler<typeof alterConfigs> = async (request, { services }) => ({
  responses: await services.cluster.alterConfigs(request.resources, {
    incremental: false,
    validateOnly: request.validateOnly,
  }),
});
