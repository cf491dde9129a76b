/**
 * CreatePartitions as a decision: which topics of a request grow, given the image. Codes and the order of the checks are
 * those of Kafka 4.4 (observed), but for internal topics, which must not grow.
 */
import { ErrorCode } from "../codec/errors.ts";
import { assignmentProblem } from "./assignment.ts";
import { MAX_NEW_PARTITIONS_PER_REQUEST, replicationProblem } from "./create_topics.ts";
import { type MetadataImage, newPartition, type TopicImage } from "./image.ts";
import { OVER_QUOTA, type PartitionAllowance } from "./partition_allowance.ts";
import { placeReplicas, type Random } from "./placement.ts";
import { isInternalTopic } from "./topic_names.ts";

/** A topic as a CreatePartitions request has it. */
export interface GrowingTopic {
  readonly name: string;
  /** How many partitions the topic shall have, the old ones included. */
  readonly count: number;
  /** The replicas of each new partition; null to let the broker choose. */
  readonly assignments: readonly { readonly brokerIds: readonly number[] }[] | null;
}

/** What a CreatePartitions response says of a topic. */
export interface CreatePartitionsResult {
  readonly name: string;
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

export interface CreatePartitionsPlan {
  /** One for each name, in the order of the request. */
  readonly results: readonly CreatePartitionsResult[];
  /** The topics that grow, as they will be. */
  readonly changed: readonly TopicImage[];
}

/**
 * Decides on a whole CreatePartitions request. A name that comes twice is refused once. What is asked for is taken off
 * `allowance`, without which there is no bound, before it is known where the partitions shall be.
 */
export function planCreatePartitions(
  image: MetadataImage,
  topics: readonly GrowingTopic[],
  random: Random,
  allowance?: PartitionAllowance,
): CreatePartitionsPlan {
  const byName = Map.groupBy(topics, (topic) => topic.name);
  const tooMany = addedPartitions(image, byName) > MAX_NEW_PARTITIONS_PER_REQUEST;
  const results: CreatePartitionsResult[] = [];
  const changed: TopicImage[] = [];
  for (const [name, [topic, ...duplicates]] of byName) {
    if (tooMany) {
      const text = `A request may create at most ${MAX_NEW_PARTITIONS_PER_REQUEST} partitions`;
      results.push(refuse(name, ErrorCode.POLICY_VIOLATION, text));
    } else if (duplicates.length > 0) {
      results.push(refuse(name, ErrorCode.INVALID_REQUEST, "The request names this topic more than once"));
    } else {
      const outcome = decide(image, topic, random, allowance);
      if ("errorCode" in outcome) results.push(outcome);
      else {
        results.push({ name, errorCode: ErrorCode.NONE, errorMessage: null });
        changed.push(outcome);
      }
    }
  }
  return { results, changed };
}

function refuse(name: string, errorCode: number, errorMessage: string | null): CreatePartitionsResult {
  return { name, errorCode, errorMessage };
}

/** Without topics that come twice: they are refused and do not take up room. */
function addedPartitions(
  image: MetadataImage,
  byName: ReadonlyMap<string, readonly GrowingTopic[]>,
): number {
  let total = 0;
  for (const [name, [{ count }, ...duplicates]] of byName) {
    const existing = image.topics.get(name)?.partitions.length;
    if (existing !== undefined && duplicates.length === 0) total += Math.max(0, count - existing);
  }
  return total;
}

function decide(
  image: MetadataImage,
  request: GrowingTopic,
  random: Random,
  allowance: PartitionAllowance | undefined,
): TopicImage | CreatePartitionsResult {
  const { name, count, assignments } = request;
  const topic = image.topics.get(name);
  // Without a text, as Kafka has it.
  if (topic === undefined) return refuse(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, null);
  const existing = topic.partitions.length;
  if (count <= existing) {
    const text = `The topic has ${existing} partitions already, so ${count} would not be an increase`;
    return refuse(name, ErrorCode.INVALID_PARTITIONS, text);
  }
  if (isInternalTopic(name)) {
    const text =
      `${name} keeps each name in the partition that its number of partitions gives: with more of them, ` +
      "what is there would not be found";
    return refuse(name, ErrorCode.INVALID_REQUEST, text);
  }
  const added = count - existing;
  const replicationFactor = topic.partitions[0].replicas.length;
  if (assignments !== null && assignments.length !== added) {
    const text = `${added} partitions would be added, but the replicas of ${assignments.length} are assigned`;
    return refuse(name, ErrorCode.INVALID_REPLICA_ASSIGNMENT, text);
  }
  if (allowance?.take(added) === false) return { name, ...OVER_QUOTA };
  if (assignments === null) {
    const problem = replicationProblem(replicationFactor, image.brokers.size);
    if (problem !== null) return refuse(name, ErrorCode.INVALID_REPLICATION_FACTOR, problem);
    return grown(topic, placeReplicas([...image.brokers.keys()], added, replicationFactor, random));
  }
  for (const { brokerIds } of assignments) {
    const problem = assignmentProblem(brokerIds, replicationFactor, image.brokers);
    if (problem !== null) return refuse(name, ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem);
  }
  return grown(topic, assignments.map(({ brokerIds }) => brokerIds));
}

/** `topic` with more partitions; its own stay as they are. */
function grown(topic: TopicImage, replicas: readonly (readonly number[])[]): TopicImage {
  const first = topic.partitions.length;
  const added = replicas.map((brokers, i) => newPartition(first + i, brokers));
  return { ...topic, partitions: [...topic.partitions, ...added] };
}
