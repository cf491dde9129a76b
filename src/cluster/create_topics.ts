/**
 * CreateTopics as a decision: what becomes of each topic of a request, given the image. Nothing is changed here. Codes
 * and the order of the checks are those of Kafka 4.4 (observed; tests/cluster/create_topics_test.ts holds the table).
 */
import { ErrorCode } from "../codec/errors.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import { assignmentProblem } from "./assignment.ts";
import { type MetadataImage, newTopic, type TopicImage } from "./image.ts";
import { OVER_QUOTA, type PartitionAllowance } from "./partition_allowance.ts";
import { placeReplicas, type Random } from "./placement.ts";
import { CLUSTER_METADATA_TOPIC, topicNameProblem } from "./topic_names.ts";

/** A topic as a CreateTopics request has it. */
export interface CreatableTopic {
  readonly name: string;
  /** -1 for the broker's default, or with `assignments`. */
  readonly numPartitions: number;
  /** -1 for the broker's default, or with `assignments`. */
  readonly replicationFactor: number;
  readonly assignments: readonly { readonly partitionIndex: number; readonly brokerIds: readonly number[] }[];
  readonly configs: readonly { readonly name: string; readonly value: string | null }[];
}

/** What a CreateTopics response says of a topic; the settings in force are the handler's to add. */
export interface CreateTopicResult {
  readonly name: string;
  readonly topicId: string;
  readonly errorCode: number;
  readonly errorMessage: string | null;
  readonly numPartitions: number;
  readonly replicationFactor: number;
  /** What was set for the topic; empty with an error. */
  readonly configs: ReadonlyMap<string, string>;
}

/** What the decision depends on besides the image. */
export interface CreateTopicsContext {
  readonly defaultPartitions: number;
  readonly defaultReplicationFactor: number;
  readonly random: Random;
  newTopicId(): string;
  /** Why a topic cannot have these settings together, in one line; null when it can. */
  settingsProblem(overrides: ReadonlyMap<string, string>): string | null;
}

export interface CreateTopicsPlan {
  /** One for each name, in the order of the request; one for each element of a request that is too large. */
  readonly results: readonly CreateTopicResult[];
  readonly created: readonly TopicImage[];
}

/** Bounds what one request can make the broker do; Kafka's controller has the same bound. */
export const MAX_NEW_PARTITIONS_PER_REQUEST = 10_000;
/** So many records Kafka's controller writes for one request: one for a topic, for each of its settings and partitions. */
const MAX_RECORDS_PER_REQUEST = 10_000;

const TOO_MUCH: Refusal = {
  errorCode: ErrorCode.POLICY_VIOLATION,
  errorMessage:
    `A request may create at most ${MAX_NEW_PARTITIONS_PER_REQUEST} partitions, with topics and settings`,
};

/** Why a topic is refused. */
interface Refusal {
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

/**
 * Decides on a whole CreateTopics request. A name that comes twice is refused once. Topics that are right are taken off
 * `allowance`, without which there is no bound.
 */
export function planCreateTopics(
  image: MetadataImage,
  topics: readonly CreatableTopic[],
  context: CreateTopicsContext,
  allowance?: PartitionAllowance,
): CreateTopicsPlan {
  const byName = Map.groupBy(topics, (topic) => topic.name);
  const refuseAll = () => ({ results: topics.map(({ name }) => refused(name, TOO_MUCH)), created: [] });
  if (requestedPartitions(byName, context) > MAX_NEW_PARTITIONS_PER_REQUEST) return refuseAll();
  const results: CreateTopicResult[] = [];
  const created: TopicImage[] = [];
  for (const [name, [topic, ...duplicates]] of byName) {
    let outcome: TopicImage | Refusal;
    if (duplicates.length > 0) {
      outcome = refuse(ErrorCode.INVALID_REQUEST, "The request names this topic more than once");
    } else {
      outcome = decide(image, topic, context);
      if ("partitions" in outcome && allowance?.take(outcome.partitions.length) === false) {
        outcome = OVER_QUOTA;
      }
    }
    if ("errorCode" in outcome) results.push(refused(name, outcome));
    else {
      created.push(outcome);
      results.push(accepted(outcome));
    }
  }
  const records = created.reduce((sum, topic) => sum + 1 + topic.configs.size + topic.partitions.length, 0);
  return records > MAX_RECORDS_PER_REQUEST ? refuseAll() : { results, created };
}

/** The result for a topic that exists now. */
export function accepted(topic: TopicImage): CreateTopicResult {
  return {
    name: topic.name,
    topicId: topic.topicId,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    numPartitions: topic.partitions.length,
    replicationFactor: topic.partitions[0].replicas.length,
    configs: topic.configs,
  };
}

/** The result for a topic that was not created. */
export function refused(name: string, { errorCode, errorMessage }: Refusal): CreateTopicResult {
  return {
    name,
    topicId: ZERO_UUID,
    errorCode,
    errorMessage,
    numPartitions: -1,
    replicationFactor: -1,
    configs: new Map(),
  };
}

function refuse(errorCode: number, errorMessage: string): Refusal {
  return { errorCode, errorMessage };
}

/** Without topics that are refused for what the request alone shows: they do not take up room. */
function requestedPartitions(
  byName: ReadonlyMap<string, readonly CreatableTopic[]>,
  context: CreateTopicsContext,
): number {
  let total = 0;
  for (const [name, [{ numPartitions, assignments }, ...duplicates]] of byName) {
    if (duplicates.length > 0 || name === CLUSTER_METADATA_TOPIC) continue;
    if (assignments.length > 0) total += assignments.length;
    else total += numPartitions === -1 ? context.defaultPartitions : Math.max(0, numPartitions);
  }
  return total;
}

/** The topic as it would be, or why not. Settings are judged before numbers, as in Kafka. */
function decide(
  image: MetadataImage,
  topic: CreatableTopic,
  context: CreateTopicsContext,
): TopicImage | Refusal {
  const name = topic.name;
  const refusal = nameRefusal(image, name);
  if (refusal) return refusal;

  const configs = overridesOf(topic.configs);
  if (!(configs instanceof Map)) return configs;
  const problem = configs.size > 0 ? context.settingsProblem(configs) : null;
  if (problem !== null) return refuse(ErrorCode.INVALID_CONFIG, problem);

  const replicas = topic.assignments.length > 0
    ? assignedReplicas(image, topic)
    : placedReplicas(image, topic, context);
  if ("errorCode" in replicas) return replicas;
  return newTopic(name, context.newTopicId(), replicas, configs);
}

function nameRefusal(image: MetadataImage, name: string): Refusal | null {
  if (name === CLUSTER_METADATA_TOPIC) {
    return refuse(ErrorCode.INVALID_REQUEST, `The name ${name} is reserved`);
  }
  const problem = topicNameProblem(name);
  if (problem !== null) return refuse(ErrorCode.INVALID_TOPIC_EXCEPTION, problem);
  if (image.topics.has(name)) {
    return refuse(ErrorCode.TOPIC_ALREADY_EXISTS, `Topic '${name}' already exists.`);
  }
  // Only topics that exist count: Kafka lets one request create two topics that collide.
  const collisions = image.collisions(name);
  if (collisions.length > 0) {
    return refuse(
      ErrorCode.INVALID_TOPIC_EXCEPTION,
      `Topic '${name}' differs from an existing one only in '.' and '_': ${collisions.join(", ")}`,
    );
  }
  return null;
}

/** The last value wins when a setting comes twice. */
function overridesOf(configs: CreatableTopic["configs"]): Map<string, string> | Refusal {
  const overrides = new Map<string, string>();
  const nulls: string[] = [];
  for (const { name, value } of configs) {
    if (value === null) nulls.push(name);
    else overrides.set(name, value);
  }
  if (nulls.length === 0) return overrides;
  return refuse(
    ErrorCode.INVALID_CONFIG,
    `A topic setting must have a value, null is none: ${nulls.join(", ")}`,
  );
}

function assignedReplicas(image: MetadataImage, topic: CreatableTopic): (readonly number[])[] | Refusal {
  if (topic.replicationFactor !== -1) {
    return refuse(
      ErrorCode.INVALID_REQUEST,
      `Replicas are assigned, so the replication factor must be -1, not ${topic.replicationFactor}`,
    );
  }
  if (topic.numPartitions !== -1) {
    return refuse(
      ErrorCode.INVALID_REQUEST,
      `Replicas are assigned, so the number of partitions must be -1, not ${topic.numPartitions}`,
    );
  }
  const byPartition = new Map<number, readonly number[]>();
  let replicationFactor: number | null = null;
  for (const { partitionIndex, brokerIds } of topic.assignments) {
    if (byPartition.has(partitionIndex)) {
      return refuse(ErrorCode.INVALID_REPLICA_ASSIGNMENT, `Partition ${partitionIndex} is assigned twice`);
    }
    const problem = assignmentProblem(brokerIds, replicationFactor, image.brokers);
    if (problem !== null) return refuse(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem);
    replicationFactor = brokerIds.length;
    byPartition.set(partitionIndex, brokerIds);
  }
  const replicas: (readonly number[])[] = [];
  for (let partition = 0; partition < byPartition.size; partition++) {
    const brokerIds = byPartition.get(partition);
    if (brokerIds === undefined) {
      return refuse(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        `Partitions must be numbered from 0 without gaps: ${partition} is missing`,
      );
    }
    replicas.push(brokerIds);
  }
  return replicas;
}

function placedReplicas(
  image: MetadataImage,
  { numPartitions, replicationFactor }: CreatableTopic,
  context: CreateTopicsContext,
): number[][] | Refusal {
  if (replicationFactor === 0 || replicationFactor < -1) {
    return refuse(
      ErrorCode.INVALID_REPLICATION_FACTOR,
      `The replication factor must be above 0, or -1 for the default, not ${replicationFactor}`,
    );
  }
  if (numPartitions === 0 || numPartitions < -1) {
    return refuse(
      ErrorCode.INVALID_PARTITIONS,
      `The number of partitions must be above 0, or -1 for the default, not ${numPartitions}`,
    );
  }
  const factor = replicationFactor === -1 ? context.defaultReplicationFactor : replicationFactor;
  const problem = replicationProblem(factor, image.brokers.size);
  if (problem !== null) return refuse(ErrorCode.INVALID_REPLICATION_FACTOR, problem);
  const count = numPartitions === -1 ? context.defaultPartitions : numPartitions;
  return placeReplicas([...image.brokers.keys()], count, factor, context.random);
}

/** Why partitions cannot have this many replicas, in one line; null when they can. */
export function replicationProblem(replicationFactor: number, brokerCount: number): string | null {
  if (replicationFactor <= brokerCount) return null;
  return `A replication factor of ${replicationFactor} needs as many brokers, and ${brokerCount} are registered`;
}
