/** Moves partitions to other brokers (KIP-455). */
import { ErrorCode } from "../codec/errors.ts";
import type { alterPartitionReassignments } from "../codec/messages/alter_partition_reassignments.ts";
import { reassign } from "../cluster/reassignment.ts";
import type { Handler } from "./context.ts";
import { isLate } from "./late.ts";

export const alterPartitionReassignmentsHandler: Handler<typeof alterPartitionReassignments> = (
  { topics, timeoutMs, allowReplicationFactorChange },
  { services },
) => {
  // The text is empty, as Kafka has it.
  if (topics.length === 0) return { errorCode: ErrorCode.NONE, errorMessage: "", responses: [] };
  const isTooLate = isLate(timeoutMs);
  const tooLate = { errorCode: ErrorCode.REQUEST_TIMED_OUT, errorMessage: null };
  return {
    allowReplicationFactorChange: isTooLate || allowReplicationFactorChange,
    errorCode: isTooLate ? ErrorCode.REQUEST_TIMED_OUT : ErrorCode.NONE,
    responses: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex, replicas }) => ({
        partitionIndex,
        ...isTooLate ? tooLate : reassign(services.cluster.image, name, partitionIndex, replicas),
      })),
    })),
  };
};
