/** What OffsetCommit and TxnOffsetCommit do alike: offsets of partitions that exist go to the group, the others do not. */
import type { MetadataImage, TopicImage } from "../cluster/image.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { CommitReply, CommitRequest } from "../coordinators/groups/requests.ts";

/** A time this far away, longer than any offset can be kept, is still a number that can be counted with. */
export const MAX_RETENTION_MS = 2 ** 52;

export interface AskedTopic {
  readonly name: string;
  readonly topicId: string;
  readonly partitions: readonly {
    readonly partitionIndex: number;
    readonly committedOffset: bigint;
    readonly committedLeaderEpoch: number;
    readonly committedMetadata: string | null;
    /** Where the request has no time of its own: now. */
    readonly commitTimestamp?: bigint;
  }[];
}

/**
 * Has `commit` store what can be stored and answers for all. `byId`: topics are named by their ids. The group is not
 * asked when nothing is left.
 */
export async function commitTopics(
  asked: readonly AskedTopic[],
  byId: boolean,
  image: MetadataImage,
  commit: (topics: CommitRequest["topics"]) => Promise<CommitReply>,
) {
  const topics = asked.map((asked) => {
    const topic = byId ? image.topicsById.get(asked.topicId) : image.topics.get(asked.name);
    const unknown = byId ? ErrorCode.UNKNOWN_TOPIC_ID : ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    const problems = asked.partitions.map((p) => topic === undefined ? unknown : problemOf(topic, p));
    return { asked, topic, problems };
    // A topic that exists and of which nothing is asked is not in Kafka's answer either.
  }).filter(({ asked, topic }) => topic === undefined || asked.partitions.length > 0);
  const committable = topics.map(({ asked, topic, problems }) => ({
    name: topic?.name ?? "",
    topicId: topic?.topicId ?? asked.topicId,
    partitions: asked.partitions.filter((_, i) => problems[i] === ErrorCode.NONE).map((p) => ({
      ...p,
      committedOffset: Number(p.committedOffset),
      commitTimestamp: Math.min(Number(p.commitTimestamp ?? -1), MAX_RETENTION_MS),
    })),
  })).filter((topic) => topic.partitions.length > 0);
  const reply = committable.length === 0 ? { topics: [] } : await commit(committable);
  const answered = reply.topics.values();
  return topics.map(({ asked, problems }) => {
    // What cannot be stored comes first, as in Kafka.
    const refused = asked.partitions.flatMap(({ partitionIndex }, i) =>
      problems[i] === ErrorCode.NONE ? [] : [{ partitionIndex, errorCode: problems[i] }]
    );
    const others = refused.length < asked.partitions.length ? answered.next().value!.partitions : [];
    return { name: asked.name, topicId: asked.topicId, partitions: refused.concat(others) };
  });
}

/** Why an offset cannot be stored, before the group is even asked; NONE when it can. */
function problemOf(topic: TopicImage, asked: AskedTopic["partitions"][number]): number {
  if (topic.partitions[asked.partitionIndex] === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  // No log gets so far, so no consumer does. Kafka would store it.
  if (!Number.isSafeInteger(Number(asked.committedOffset))) return ErrorCode.INVALID_COMMIT_OFFSET_SIZE;
  return ErrorCode.NONE;
}
