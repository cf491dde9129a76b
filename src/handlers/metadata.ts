/**
 * Tells which brokers lead which partitions. A topic that does not exist is made on the way where broker and client
 * both want that; the answer then has it already, so that the client need not ask again.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { metadata, MetadataRequest } from "../codec/messages/metadata.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { TopicImage } from "../cluster/image.ts";
import { isInternalTopic, topicNameProblem } from "../cluster/topic_names.ts";
import { clusterOperations, operationsOmitted, topicOperations } from "./authorized_operations.ts";
import { brokerNodes } from "./broker_nodes.ts";
import type { Handler, RequestContext } from "./context.ts";

/** Version 0 has no null: an empty list asks for all topics. */
const firstWithEmptyList = 1;
/** From this version a topic may be asked for by id; requests have the field from version 10 on, answers no way to use it. */
const firstWithTopicIds = 12;

export const metadataHandler: Handler<typeof metadata> = async (request, context) => {
  const { services, version, listenerName } = context;
  if (
    version < firstWithTopicIds && request.topics?.some((t) => t.name === null || t.topicId !== ZERO_UUID)
  ) {
    return refuseIds(request.topics);
  }
  const topics = await findTopics(request, context);
  const topicAuthorizedOperations = request.includeTopicAuthorizedOperations
    ? topicOperations
    : operationsOmitted;
  const { image } = services.cluster;
  return {
    errorCode: ErrorCode.NONE,
    brokers: brokerNodes(image, listenerName),
    clusterId: image.clusterId,
    controllerId: image.controllerId,
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations && version >= 8
      ? clusterOperations
      : operationsOmitted,
    topics: [
      // Unknown ids come first and unknown names last, as in Kafka.
      ...topics.unknownIds.map((topic) => ({ ...topic, topicAuthorizedOperations: operationsOmitted })),
      ...topics.found.map((topic) => ({ ...describeTopic(topic), topicAuthorizedOperations })),
      ...topics.missing.map((topic) => ({ ...topic, topicAuthorizedOperations })),
    ],
  };
};

/** What Kafka answers to ids in the versions that only seem to have them. */
function refuseIds(topics: NonNullable<MetadataRequest["topics"]>) {
  return {
    errorCode: ErrorCode.INVALID_REQUEST,
    brokers: [],
    topics: topics.map(({ name, topicId }) => ({
      ...absent(name ?? "", topicId, ErrorCode.INVALID_REQUEST),
      topicAuthorizedOperations: operationsOmitted,
    })),
    clusterAuthorizedOperations: operationsOmitted,
  };
}

interface Missing {
  errorCode: number;
  name: string | null;
  topicId: string;
  isInternal: boolean;
  partitions: never[];
}

async function findTopics(request: MetadataRequest, context: RequestContext) {
  const { cluster } = context.services;
  const all = request.topics === null ||
    (context.version < firstWithEmptyList && request.topics.length === 0);
  if (all) return { found: [...cluster.image.topics.values()], missing: [], unknownIds: [] };

  const found = new Map<string, TopicImage>();
  const missing: Missing[] = [], unknownIds: Missing[] = [];
  const wanted = new Set<string>();
  for (const { name, topicId } of request.topics!) {
    if (topicId !== ZERO_UUID) {
      const topic = cluster.image.topicsById.get(topicId);
      if (topic !== undefined) found.set(topic.name, topic);
      else unknownIds.push(absent(null, topicId, ErrorCode.UNKNOWN_TOPIC_ID));
    } else {
      wanted.add(name ?? "");
    }
  }
  const unknown = [...wanted].filter((name) => !cluster.image.topics.has(name));
  const errors = await createMissing(unknown, request, context);
  for (const name of wanted) {
    const topic = cluster.image.topics.get(name);
    if (topic !== undefined) found.set(name, topic);
    else missing.push(absent(name, ZERO_UUID, errors.get(name) ?? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION));
  }
  return { found: [...found.values()], missing, unknownIds };
}

/** Makes the topics that may be made, and says of the others why not. */
async function createMissing(
  names: string[],
  request: MetadataRequest,
  { services }: RequestContext,
): Promise<Map<string, number>> {
  const allowed = request.allowAutoTopicCreation && services.config.get("auto.create.topics.enable");
  const errors = new Map<string, number>();
  for (const name of names) {
    if (topicNameProblem(name) !== null) errors.set(name, ErrorCode.INVALID_TOPIC_EXCEPTION);
  }
  if (!allowed) return errors;
  const creatable = names.filter((name) => !errors.has(name));
  for (const result of await services.cluster.autoCreateTopics(creatable)) {
    if (result.errorCode !== ErrorCode.NONE) errors.set(result.name, result.errorCode);
  }
  return errors;
}

function absent(name: string | null, topicId: string, errorCode: number): Missing {
  return { errorCode, name, topicId, isInternal: name !== null && isInternalTopic(name), partitions: [] };
}

function describeTopic(topic: TopicImage) {
  return {
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.internal,
    partitions: topic.partitions.map((p) => ({
      errorCode: ErrorCode.NONE,
      partitionIndex: p.partition,
      leaderId: p.leader,
      leaderEpoch: p.leaderEpoch,
      replicaNodes: p.replicas,
      isrNodes: p.isr,
      offlineReplicas: p.offlineReplicas,
    })),
  };
}
