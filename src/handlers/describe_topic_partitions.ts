/**
 * Tells the partitions of topics in pages: topics by name, at most `responsePartitionLimit` partitions, and a cursor
 * where to go on.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { describeTopicPartitions } from "../codec/messages/describe_topic_partitions.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { TopicImage } from "../cluster/image.ts";
import { topicNameProblem } from "../cluster/topic_names.ts";
import { operationsOmitted, topicOperations } from "./authorized_operations.ts";
import type { Replicas } from "../replication/replicas.ts";
import type { Handler } from "./context.ts";
import { leadership } from "./leadership.ts";

export const describeTopicPartitionsHandler: Handler<typeof describeTopicPartitions> = (
  request,
  { services },
) => {
  const { image } = services.cluster;
  const { cursor } = request;
  const askedAll = request.topics.length === 0;
  const isAsked = (topic: string) => askedAll || request.topics.some(({ name }) => name === topic);
  if (cursor !== null && (cursor.partitionIndex < 0 || !isAsked(cursor.topicName))) {
    return {
      topics: request.topics.map(({ name }) => ({
        ...absent(name, ErrorCode.INVALID_REQUEST),
        topicAuthorizedOperations: operationsOmitted,
      })),
    };
  }
  const names = [...new Set(askedAll ? image.topics.keys() : request.topics.map((t) => t.name))].sort();
  let left = Math.max(
    1,
    Math.min(request.responsePartitionLimit, services.config.get("max.request.partition.size.limit")),
  );
  const topics = [];
  for (const name of names.filter((n) => cursor === null || n >= cursor.topicName)) {
    const first = cursor !== null && cursor.topicName === name ? cursor.partitionIndex : 0;
    if (left === 0) return { topics, nextCursor: { topicName: name, partitionIndex: first } };
    const topic = image.topics.get(name);
    if (topic === undefined) {
      const invalid = topicNameProblem(name) !== null;
      topics.push(
        absent(name, invalid ? ErrorCode.INVALID_TOPIC_EXCEPTION : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
      );
      continue;
    }
    const shown = topic.partitions.slice(first, first + left);
    topics.push(describe(topic, shown, services.replicas));
    left -= shown.length;
    const next = first + shown.length;
    if (next < topic.partitions.length) {
      return { topics, nextCursor: { topicName: name, partitionIndex: next } };
    }
  }
  return { topics };
};

function absent(name: string, errorCode: number) {
  return { errorCode, name, topicId: ZERO_UUID, partitions: [], topicAuthorizedOperations: topicOperations };
}

function describe(topic: TopicImage, partitions: TopicImage["partitions"], replicas: Replicas) {
  return {
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.internal,
    partitions: partitions.map((p) => ({
      ...leadership(topic.name, p, replicas),
      eligibleLeaderReplicas: p.elr,
      lastKnownElr: [],
    })),
    topicAuthorizedOperations: topicOperations,
  };
}
