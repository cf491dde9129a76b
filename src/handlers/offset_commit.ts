/** Stores the offsets that a group has consumed to. Version 10 names topics by id. */
import { ErrorCode } from "../codec/errors.ts";
import type { offsetCommit, OffsetCommitRequest } from "../codec/messages/offset_commit.ts";
import type { Handler, RequestContext } from "./context.ts";

/** The first version that names topics by id. */
const firstWithTopicIds = 10;

/** Longer than any offset can be kept; a time this far away is still a number that can be counted with. */
const MAX_RETENTION_MS = 2 ** 52;

type AskedTopic = OffsetCommitRequest["topics"][number];
type AskedPartition = AskedTopic["partitions"][number];

export const offsetCommitHandler: Handler<typeof offsetCommit> = async (request, context) => {
  const topics = request.topics.map((asked) => {
    const topic = findTopic(asked, context);
    const problems = asked.partitions.map((p) => problemOf(topic, p, context.version));
    return { asked, topic, problems };
    // A topic that exists and of which nothing is asked is not in Kafka's answer either.
  }).filter(({ asked, topic }) => topic === undefined || asked.partitions.length > 0);
  const committable = topics.map(({ asked, topic, problems }) => ({
    name: topic?.name ?? "",
    topicId: topic?.topicId ?? asked.topicId,
    partitions: asked.partitions.filter((_, i) => problems[i] === ErrorCode.NONE).map((p) => ({
      ...p,
      committedOffset: Number(p.committedOffset),
      commitTimestamp: Math.min(Number(p.commitTimestamp), MAX_RETENTION_MS),
    })),
  })).filter((topic) => topic.partitions.length > 0);
  const reply = committable.length === 0 ? { topics: [] } : await context.services.groups.commitOffsets({
    ...request,
    retentionTimeMs: Math.min(Number(request.retentionTimeMs), MAX_RETENTION_MS),
    topics: committable,
    apiVersion: context.version,
  });
  const answered = reply.topics.values();
  return {
    topics: topics.map(({ asked, problems }) => {
      // What cannot be stored comes first, as in Kafka.
      const refused = asked.partitions.flatMap(({ partitionIndex }, i) =>
        problems[i] === ErrorCode.NONE ? [] : [{ partitionIndex, errorCode: problems[i] }]
      );
      const others = refused.length < asked.partitions.length ? answered.next().value!.partitions : [];
      return { name: asked.name, topicId: asked.topicId, partitions: refused.concat(others) };
    }),
  };
};

/** Why an offset cannot be stored, before the group is even asked; NONE when it can. */
function problemOf(topic: ReturnType<typeof findTopic>, asked: AskedPartition, version: number): number {
  if (topic === undefined) {
    return version >= firstWithTopicIds ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  }
  if (topic.partitions[asked.partitionIndex] === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  // No log gets so far, so no consumer does. Kafka would store it.
  if (!Number.isSafeInteger(Number(asked.committedOffset))) return ErrorCode.INVALID_COMMIT_OFFSET_SIZE;
  return ErrorCode.NONE;
}

function findTopic(asked: AskedTopic, { services, version }: RequestContext) {
  const { image } = services.cluster;
  return version >= firstWithTopicIds ? image.topicsById.get(asked.topicId) : image.topics.get(asked.name);
}
