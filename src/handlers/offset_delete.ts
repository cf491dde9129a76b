/** Deletes committed offsets of a group, where no member is subscribed to the topic. */
import { ErrorCode } from "../codec/errors.ts";
import type { offsetDelete } from "../codec/messages/offset_delete.ts";
import type { Handler } from "./context.ts";

export const offsetDeleteHandler: Handler<typeof offsetDelete> = async (request, { services }) => {
  const { image } = services.cluster;
  const exists = (topic: string, index: number) => image.partition(topic, index) !== undefined;
  // A topic that exists and of which nothing is asked is not in Kafka's answer either.
  const topics = request.topics.filter((topic) =>
    topic.partitions.length > 0 || !image.topics.has(topic.name)
  );
  const reply = await services.groups.deleteOffsets({
    ...request,
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.filter((p) => exists(name, p.partitionIndex)),
    })),
  });
  if (reply.errorCode !== ErrorCode.NONE) return reply;
  return {
    errorCode: ErrorCode.NONE,
    topics: topics.map(({ name, partitions }, i) => ({
      name,
      partitions: [
        ...partitions.filter((p) => !exists(name, p.partitionIndex)).map(({ partitionIndex }) => ({
          partitionIndex,
          errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        })),
        ...reply.topics[i].partitions,
      ],
    })),
  };
};
