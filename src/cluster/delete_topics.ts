/**
 * DeleteTopics as a decision: which topics of a request go, given the image. Internal topics can be deleted, as in
 * Kafka: their coordinators then start from nothing. Codes and the order of the checks are those of Kafka 4.4 (observed).
 */
import { ErrorCode } from "../codec/errors.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { MetadataImage, TopicImage } from "./image.ts";
import { OVER_QUOTA, type PartitionAllowance } from "./partition_allowance.ts";

/** A topic as a DeleteTopics request has it: by its name, or by its id with a null name. */
export interface DeletableTopic {
  readonly name: string | null;
  readonly topicId: string;
}

/** What a DeleteTopics response says of a topic. */
export interface DeleteTopicResult {
  readonly name: string | null;
  readonly topicId: string;
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

export interface DeleteTopicsPlan {
  readonly results: readonly DeleteTopicResult[];
  readonly deleted: readonly TopicImage[];
}

/**
 * Decides on a whole DeleteTopics request. A topic that comes twice is refused once. With `deletionEnabled` false all
 * are refused with TOPIC_DELETION_DISABLED; versions of the API below 3 do not know that code and take INVALID_REQUEST.
 * Partitions that go are taken off `allowance`, without which there is no bound.
 */
export function planDeleteTopics(
  image: MetadataImage,
  topics: readonly DeletableTopic[],
  deletionEnabled: boolean,
  allowance?: PartitionAllowance,
): DeleteTopicsPlan {
  if (!deletionEnabled) {
    return {
      results: topics.map((topic) =>
        refused(topic, ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
      ),
      deleted: [],
    };
  }
  const results: DeleteTopicResult[] = [];
  const deleted: TopicImage[] = [];
  for (const [, [topic, ...duplicates]] of Map.groupBy(topics, identity(image))) {
    const problem = referenceProblem(topic);
    if (problem !== null) {
      // Each such element is answered by itself: it names no topic that others could name too.
      for (const each of [topic, ...duplicates]) {
        results.push(refused(each, ErrorCode.INVALID_REQUEST, problem));
      }
    } else if (duplicates.length > 0) {
      results.push(
        refused(
          together(topic, duplicates),
          ErrorCode.INVALID_REQUEST,
          "The request names this topic more than once",
        ),
      );
    } else {
      const found = topic.name === null ? image.topicsById.get(topic.topicId) : image.topics.get(topic.name);
      if (found === undefined) results.push(notFound(topic));
      else if (allowance?.take(found.partitions.length) === false) {
        results.push({ name: found.name, topicId: found.topicId, ...OVER_QUOTA });
      } else {
        results.push({
          name: found.name,
          topicId: found.topicId,
          errorCode: ErrorCode.NONE,
          errorMessage: null,
        });
        deleted.push(found);
      }
    }
  }
  return { results, deleted };
}

/** Gives equal text for elements that mean the same topic, whether by name or by id. */
function identity(image: MetadataImage): (topic: DeletableTopic) => string {
  return (topic) => {
    if (referenceProblem(topic) !== null) return `invalid ${topic.name} ${topic.topicId}`;
    const id = topic.name === null ? topic.topicId : image.topics.get(topic.name)?.topicId;
    return id === undefined ? `name ${topic.name}` : `id ${id}`;
  };
}

/** What the request gives of a topic that comes more than once: its name, its id, or both. */
function together(topic: DeletableTopic, duplicates: readonly DeletableTopic[]): DeletableTopic {
  const other = duplicates.find((one) => (one.name === null) !== (topic.name === null));
  if (other === undefined) return topic;
  return { name: topic.name ?? other.name, topicId: topic.name === null ? topic.topicId : other.topicId };
}

function referenceProblem({ name, topicId }: DeletableTopic): string | null {
  if (name === null && topicId === ZERO_UUID) return "The request gives neither a name nor an id";
  if (name !== null && topicId !== ZERO_UUID) return "The request gives both a name and an id";
  return null;
}

function notFound(topic: DeletableTopic): DeleteTopicResult {
  return topic.name === null
    ? refused(topic, ErrorCode.UNKNOWN_TOPIC_ID, "There is no topic with this id")
    : refused(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no topic with this name");
}

function refused(topic: DeletableTopic, errorCode: number, errorMessage: string): DeleteTopicResult {
  return { name: topic.name, topicId: topic.topicId, errorCode, errorMessage };
}
