/** Tells the quotas of the clients that a filter matches. */
import { describeQuotas, ENTITY_TYPES } from "../cluster/client_quotas.ts";
import type { describeClientQuotas } from "../codec/messages/describe_client_quotas.ts";
import type { Handler } from "./context.ts";

export const describeClientQuotasHandler: Handler<typeof describeClientQuotas> = (request, { services }) => {
  const found = describeQuotas(services.cluster.image.clientQuotas, request.components, request.strict);
  const entries = found.entries?.map(({ entity, quotas }) => ({
    entity: ENTITY_TYPES.filter((type) => entity[type] !== undefined)
      .map((entityType) => ({ entityType, entityName: entity[entityType]! })),
    values: [...quotas].map(([key, value]) => ({ key, value })),
  }));
  return { errorCode: found.errorCode, errorMessage: found.errorMessage, entries: entries ?? null };
};
