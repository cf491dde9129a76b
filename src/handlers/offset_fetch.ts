/**
 * Reads committed offsets: of one group up to version 7, of many from version 8. Version 10 names topics by id.
 * From version 7 on a consumer may ask not to be told what a transaction is about to change (KIP-447).
 * Where nothing is committed the offset is -1, which is no error.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { offsetFetch, OffsetFetchRequest } from "../codec/messages/offset_fetch.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { FetchOffsetsReply } from "../coordinators/groups/requests.ts";
import type { Handler, RequestContext } from "./context.ts";
import { inSlices } from "./pacing.ts";

/** The first version that asks for many groups. */
const firstWithGroups = 8;
/** The first version that names topics by id. */
const firstWithTopicIds = 10;
/** The first version with an error of the whole group; before it every partition carries it. */
const firstWithGroupError = 2;

type AskedGroup = OffsetFetchRequest["groups"][number];
type AskedTopic = NonNullable<AskedGroup["topics"]>[number];

export const offsetFetchHandler: Handler<typeof offsetFetch> = async (request, context) => {
  if (context.version >= firstWithGroups) {
    return {
      topics: [],
      groups: await inSlices(
        groupsOnce(request.groups),
        context.services.clock,
        (group) => groupOffsets(group, request.requireStable, context),
      ),
    };
  }
  const reply = await context.services.groups.fetchOffsets({
    groupId: request.groupId,
    topics: request.topics === null ? null : topicsOnce(request.topics),
    requireStable: request.requireStable,
  });
  const { errorCode } = reply;
  if (errorCode === ErrorCode.NONE) return { topics: reply.topics, groups: [] };
  if (context.version >= firstWithGroupError) return { errorCode, topics: [], groups: [] };
  const topics = (request.topics ?? []).map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((index) => nothing(index, errorCode)),
  }));
  return { topics, groups: [] };
};

/**
 * Leaves out of every group what was asked of it before, and groups of which nothing is left: a few bytes that repeat a
 * name must not repeat all the offsets behind it.
 */
function groupsOnce(groups: readonly AskedGroup[]): AskedGroup[] {
  const asked = new Map<string, { all: boolean; partitions: Set<string> }>();
  return groups.flatMap((group) => {
    const before = asked.get(group.groupId);
    const now = before ?? { all: false, partitions: new Set<string>() };
    asked.set(group.groupId, now);
    if (group.topics === null) {
      if (now.all) return [];
      now.all = true;
      return [group];
    }
    const topics = topicsOnce(group.topics, now.partitions);
    return before !== undefined && topics.length === 0 ? [] : [{ ...group, topics }];
  });
}

/** Leaves out partitions that are in `asked` already, which it fills, and topics of which none is left. */
function topicsOnce<Topic extends { name: string; topicId?: string; partitionIndexes: number[] }>(
  topics: readonly Topic[],
  asked: Set<string> = new Set(),
): Topic[] {
  return topics.flatMap((topic) => {
    const partitionIndexes = topic.partitionIndexes.filter((index) => {
      const size = asked.size;
      return asked.add(`${index} ${topic.topicId} ${topic.name}`).size > size;
    });
    return partitionIndexes.length === 0 && topic.partitionIndexes.length > 0
      ? []
      : [{ ...topic, partitionIndexes }];
  });
}

async function groupOffsets(group: AskedGroup, requireStable: boolean, context: RequestContext) {
  const { services, version } = context;
  const image = services.cluster.image;
  const byId = version >= firstWithTopicIds;
  const nameOf = (topic: AskedTopic) => byId ? image.topicsById.get(topic.topicId)?.name : topic.name;
  const known = group.topics?.filter((topic) => nameOf(topic) !== undefined) ?? null;
  const reply = await services.groups.fetchOffsets({
    groupId: group.groupId,
    topics: known?.map((topic) => ({ name: nameOf(topic)!, partitionIndexes: topic.partitionIndexes })) ??
      null,
    requireStable,
  });
  const topics = reply.topics.map((topic) => ({
    ...topic,
    topicId: image.topics.get(topic.name)?.topicId ?? ZERO_UUID,
  }));
  const lost = group.topics?.filter((topic) => nameOf(topic) === undefined) ?? [];
  return {
    groupId: group.groupId,
    errorCode: reply.errorCode,
    topics: [
      // Asked for everything, a group may hold offsets of topics that are gone: those have no id to name them by.
      ...topics.filter((topic) => !byId || topic.topicId !== ZERO_UUID),
      ...(reply.errorCode === ErrorCode.NONE ? lost.map(unknownTopic) : []),
    ],
  };
}

function unknownTopic({ name, topicId, partitionIndexes }: AskedTopic) {
  const partitions = partitionIndexes.map((index) => nothing(index, ErrorCode.UNKNOWN_TOPIC_ID));
  return { name, topicId, partitions };
}

function nothing(
  partitionIndex: number,
  errorCode: number,
): FetchOffsetsReply["topics"][number]["partitions"][number] {
  return { partitionIndex, committedOffset: -1, committedLeaderEpoch: -1, metadata: "", errorCode };
}
