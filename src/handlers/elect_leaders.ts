/** Elects leaders, the preferred ones or out of sync (KIP-460). */
import { ErrorCode } from "../codec/errors.ts";
import type { electLeaders } from "../codec/messages/elect_leaders.ts";
import { elect, type PartitionOutcome } from "../cluster/reassignment.ts";
import type { Handler } from "./context.ts";
import { isLate } from "./late.ts";

const PREFERRED = 0, UNCLEAN = 1;

export const electLeadersHandler: Handler<typeof electLeaders> = (request, { services }) => {
  const { topicPartitions, electionType, timeoutMs } = request;
  if (topicPartitions?.length === 0) return { errorCode: ErrorCode.NONE, replicaElectionResults: [] };
  const { image } = services.cluster;
  const refused = refusal(electionType, timeoutMs);
  // Of all partitions those are told that were elected.
  const asked = topicPartitions ??
    (refused === null ? [...image.topics.keys()].map((topic) => ({ topic, partitions: [] })) : []);
  return {
    errorCode: refused?.errorCode ?? ErrorCode.NONE,
    replicaElectionResults: asked.map(({ topic, partitions }) => ({
      topic,
      partitionResult: partitions.map((partitionId) => ({
        partitionId,
        ...refused ?? elect(image, topic, partitionId),
      })),
    })),
  };
};

/** Why nothing is looked at; null when it is. */
function refusal(electionType: number, timeoutMs: number): PartitionOutcome | null {
  if (isLate(timeoutMs)) return { errorCode: ErrorCode.REQUEST_TIMED_OUT, errorMessage: null };
  if (electionType === PREFERRED || electionType === UNCLEAN) return null;
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage: `Unknown election type ${electionType}` };
}
