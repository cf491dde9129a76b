/**
 * Tells which brokers lead which partitions. A topic that does not exist is made on the way where broker and client
 * both want that; the answer then has it already, so that the client need not ask again.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { metadata, MetadataRequest, MetadataResponse } from "../codec/messages/metadata.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { TopicImage } from "../cluster/image.ts";
import { isInternalTopic, topicNameProblem } from "../cluster/topic_names.ts";
import type { Replicas } from "../replication/replicas.ts";
import { clusterOperations, operationsOmitted, topicOperations } from "./authorized_operations.ts";
import { brokerNodes } from "./broker_nodes.ts";
import type { Handler, RequestContext } from "./context.ts";
import { leadership } from "./leadership.ts";
import { mutationAllowance } from "./mutation_quota.ts";

/** Version 0 has no null: an empty list asks for all topics. */
const firstWithEmptyList = 1;
/** From this version a topic may be asked for by id; requests have the field from version 10 on, answers no way to use it. */
const firstWithTopicIds = 12;

export const metadataHandler: Handler<typeof metadata> = (request, context) => {
  if (
    context.version < firstWithTopicIds &&
    request.topics?.some((t) => t.name === null || t.topicId !== ZERO_UUID)
  ) {
    return refuseIds(request.topics);
  }
  const { image } = context.services.cluster;
  if (asksForAll(request, context.version)) {
    return answer({ found: [...image.topics.values()], missing: [], unknownIds: [] }, request, context);
  }
  const unknown = new Set<string>();
  for (const { name, topicId } of request.topics!) {
    if (topicId === ZERO_UUID && !image.topics.has(name ?? "")) unknown.add(name ?? "");
  }
  if (unknown.size === 0) return answer(findTopics(request, new Map(), context), request, context);
  return createMissing([...unknown], request, context)
    .then((errors) => answer(findTopics(request, errors, context), request, context));
};

/**
 * What an answer about all topics depends on besides the image and the version. Whoever asks for all gets the same, which
 * is worth keeping: it may be about thousands. Null for other requests.
 */
export function sharedMetadata(request: MetadataRequest, context: RequestContext): string | null {
  if (!asksForAll(request, context.version)) return null;
  const { includeClusterAuthorizedOperations, includeTopicAuthorizedOperations } = request;
  return `${includeClusterAuthorizedOperations} ${includeTopicAuthorizedOperations} ${context.listenerName}`;
}

function asksForAll(request: MetadataRequest, version: number): boolean {
  return request.topics === null || (version < firstWithEmptyList && request.topics.length === 0);
}

function answer(topics: Found, request: MetadataRequest, context: RequestContext): MetadataResponse {
  const { services, version, listenerName } = context;
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
      ...topics.found.map((topic) => describeTopic(topic, topicAuthorizedOperations, services.replicas)),
      ...topics.missing.map((topic) => ({ ...topic, topicAuthorizedOperations })),
    ],
  };
}

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

/** What was asked for, as far as it is there. */
interface Found {
  found: TopicImage[];
  missing: Missing[];
  unknownIds: Missing[];
}

/** Looks for the topics of a request that names some; `errors` says why those that are missing could not be made. */
function findTopics(
  request: MetadataRequest,
  errors: ReadonlyMap<string, number>,
  { services }: RequestContext,
): Found {
  const { topics, topicsById } = services.cluster.image;
  const found = new Map<string, TopicImage>();
  const missing: Missing[] = [], unknownIds: Missing[] = [];
  const wanted = new Set<string>();
  for (const { name, topicId } of request.topics!) {
    if (topicId !== ZERO_UUID) {
      const topic = topicsById.get(topicId);
      if (topic !== undefined) found.set(topic.name, topic);
      else unknownIds.push(absent(null, topicId, ErrorCode.UNKNOWN_TOPIC_ID));
    } else {
      wanted.add(name ?? "");
    }
  }
  for (const name of wanted) {
    const topic = topics.get(name);
    if (topic !== undefined) found.set(name, topic);
    else missing.push(absent(name, ZERO_UUID, errors.get(name) ?? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION));
  }
  return { found: [...found.values()], missing, unknownIds };
}

/** Makes the topics that may be made, and says of the others why not. */
async function createMissing(
  names: string[],
  request: MetadataRequest,
  context: RequestContext,
): Promise<Map<string, number>> {
  const { services } = context;
  const allowed = request.allowAutoTopicCreation && services.config.get("auto.create.topics.enable");
  const errors = new Map<string, number>();
  for (const name of names) {
    if (topicNameProblem(name) !== null) errors.set(name, ErrorCode.INVALID_TOPIC_EXCEPTION);
  }
  if (!allowed) return errors;
  const creatable = names.filter((name) => !errors.has(name));
  // Above its quota a client is not throttled for topics that it only named, and does not get them, as in Kafka.
  const results = await services.cluster.autoCreateTopics(creatable, mutationAllowance(context, 0));
  for (const { name, errorCode } of results) {
    if (errorCode !== ErrorCode.NONE && errorCode !== ErrorCode.THROTTLING_QUOTA_EXCEEDED) {
      errors.set(name, errorCode);
    }
  }
  return errors;
}

function absent(name: string | null, topicId: string, errorCode: number): Missing {
  return { errorCode, name, topicId, isInternal: name !== null && isInternalTopic(name), partitions: [] };
}

function describeTopic(topic: TopicImage, topicAuthorizedOperations: number, replicas: Replicas) {
  return {
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.internal,
    partitions: topic.partitions.map((p) => leadership(topic.name, p, replicas)),
    topicAuthorizedOperations,
  };
}
