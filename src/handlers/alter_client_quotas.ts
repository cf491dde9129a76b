/** Sets and removes quotas of clients. They hold for the next request. */
import type { alterClientQuotas } from "../codec/messages/alter_client_quotas.ts";
import type { Handler } from "./context.ts";

export const alterClientQuotasHandler: Handler<typeof alterClientQuotas> = async (request, { services }) => ({
  entries: await services.cluster.alterClientQuotas(request.entries, request.validateOnly),
});
