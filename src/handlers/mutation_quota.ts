/** What a request may change of topics by its client's quota (KIP-599). */
import type { MutationAllowance } from "../quotas/mutation_quota.ts";
import type { RequestContext } from "./context.ts";

/**
 * The allowance of this request; undefined when nobody has a quota. Versions from `strictSince` on know
 * THROTTLING_QUOTA_EXCEEDED; those before it go through and are throttled afterwards.
 */
export function mutationAllowance(
  context: RequestContext,
  strictSince: number,
): MutationAllowance | undefined {
  const { services: { quotas }, principal, clientId, version } = context;
  if (!quotas.mutations.isSet) return undefined;
  return quotas.mutations.allowance(principal.name, clientId, version >= strictSince);
}
