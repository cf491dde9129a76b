/**
 * Reassignments and elections as decisions on the image, with the codes and the order of Kafka 4.4 (observed). As long as
 * one broker is the cluster, every partition is where it can be only, so what is right changes nothing.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { MetadataImage } from "./image.ts";

/** What a response says of a partition. */
export interface PartitionOutcome {
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

const DONE: PartitionOutcome = { errorCode: ErrorCode.NONE, errorMessage: null };

/** Moves a partition to `replicas`; null calls off a move that is under way. */
export function reassign(
  image: MetadataImage,
  topicName: string,
  index: number,
  replicas: readonly number[] | null,
): PartitionOutcome {
  const topic = image.topics.get(topicName);
  if (topic === undefined) return unknown(`Unable to find a topic named ${topicName}.`);
  const partition = topic.partitions[index];
  if (partition === undefined) return unknown(`Unable to find partition ${topicName}:${index}.`);
  // Without a text: tools take the call for done when there is nothing to call off.
  if (replicas === null) return { errorCode: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, errorMessage: null };
  const problem = replicasProblem(image, replicas);
  return problem === null ? DONE : { errorCode: ErrorCode.INVALID_REPLICA_ASSIGNMENT, errorMessage: problem };
}

function replicasProblem({ brokers }: MetadataImage, replicas: readonly number[]): string | null {
  const assignment = "The manual partition assignment includes";
  if (replicas.length === 0) return `${assignment} an empty replica list.`;
  const seen = new Set<number>();
  for (const id of replicas.toSorted((a, b) => a - b)) {
    if (!brokers.has(id)) return `${assignment} broker ${id}, but no such broker is registered.`;
    if (seen.has(id)) return `${assignment} the broker ${id} more than once.`;
    seen.add(id);
  }
  return null;
}

/** Elects a leader for a partition: it has the only one that it can have. */
export function elect(image: MetadataImage, topicName: string, index: number): PartitionOutcome {
  const topic = image.topics.get(topicName);
  if (topic === undefined) return unknown(`No such topic as ${topicName}`);
  if (topic.partitions[index] === undefined) return unknown(`No such partition as ${topicName}-${index}`);
  return {
    errorCode: ErrorCode.ELECTION_NOT_NEEDED,
    errorMessage: "Leader election not needed for topic partition.",
  };
}

function unknown(errorMessage: string): PartitionOutcome {
  return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage };
}
