/** Adds partitions to topics. */
import type { createPartitions } from "../codec/messages/create_partitions.ts";
import type { Handler } from "./context.ts";

export const createPartitionsHandler: Handler<typeof createPartitions> = async (request, { services }) => ({
  results: await services.cluster.createPartitions(request.topics, request.validateOnly),
});
