/** Adds partitions to topics. */
import type { createPartitions } from "../codec/messages/create_partitions.ts";
import type { Handler } from "./context.ts";
import { isLate, LATE } from "./late.ts";
import { mutationAllowance } from "./mutation_quota.ts";

/** The first version that knows THROTTLING_QUOTA_EXCEEDED (KIP-599). */
const firstWithQuotaErrors = 3;

export const createPartitionsHandler: Handler<typeof createPartitions> = async (request, context) => {
  const { cluster } = context.services;
  if (isLate(request.timeoutMs)) return { results: request.topics.map(({ name }) => ({ name, ...LATE })) };
  const allowance = mutationAllowance(context, firstWithQuotaErrors);
  const results = await cluster.createPartitions(request.topics, request.validateOnly, allowance);
  return { throttleTimeMs: allowance?.throttleMs() ?? 0, results };
};
