/** Lists the moves of partitions to other brokers that are under way: none, as long as one broker is the cluster. */
import { ErrorCode } from "../codec/errors.ts";
import type { listPartitionReassignments } from "../codec/messages/list_partition_reassignments.ts";
import type { Handler } from "./context.ts";

export const listPartitionReassignmentsHandler: Handler<typeof listPartitionReassignments> = () => ({
  errorCode: ErrorCode.NONE,
  topics: [],
});
