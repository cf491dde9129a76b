/** Stores the offsets that a group has consumed to. Version 10 names topics by id. */
import { ErrorCode } from "../codec/errors.ts";
import type { offsetCommit, OffsetCommitRequest } from "../codec/messages/offset_commit.ts";
import type { Handler, RequestContext } from "./context.ts";

/** The first version that names topics by id. */
const firstWithTopicIds = 10;

type AskedTopic = OffsetCommitRequest["topics"][number];

export const offsetCommitHandler: Handler<typeof offsetCommit> = async (request, context) => {
  const topics = request.topics.map((asked) => ({ asked, topic: findTopic(asked, context) }));
  const exists = (topic: { partitions: readonly unknown[] } | undefined, index: number) =>
    topic !== undefined && topic.partitions[index] !== undefined;
  const committable = topics.map(({ asked, topic }) => ({
    name: topic?.name ?? "",
    topicId: topic?.topicId ?? asked.topicId,
    partitions: asked.partitions.filter((p) => exists(topic, p.partitionIndex)).map((p) => ({
      ...p,
      committedOffset: Number(p.committedOffset),
      commitTimestamp: Number(p.commitTimestamp),
    })),
  })).filter((topic) => topic.partitions.length > 0);
  const reply = committable.length === 0 ? { topics: [] } : await context.services.groups.commitOffsets({
    ...request,
    retentionTimeMs: Number(request.retentionTimeMs),
    topics: committable,
    apiVersion: context.version,
  });
  const answered = reply.topics.values();
  return {
    topics: topics.map(({ asked, topic }) => {
      const errorCode: number = topic === undefined && context.version >= firstWithTopicIds
        ? ErrorCode.UNKNOWN_TOPIC_ID
        : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
      const lost = asked.partitions.filter((p) => !exists(topic, p.partitionIndex));
      const partitions = lost.map(({ partitionIndex }) => ({ partitionIndex, errorCode }));
      // What does not exist comes first, as in Kafka.
      if (lost.length < asked.partitions.length) partitions.push(...answered.next().value!.partitions);
      return { name: asked.name, topicId: asked.topicId, partitions };
    }),
  };
};

function findTopic(asked: AskedTopic, { services, version }: RequestContext) {
  const { image } = services.cluster;
  return version >= firstWithTopicIds ? image.topicsById.get(asked.topicId) : image.topics.get(asked.name);
}
