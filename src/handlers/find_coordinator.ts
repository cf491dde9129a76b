/**
 * Tells which broker coordinates a group or a transactional id. On one machine that is always this one, on the address of
 * the listener that was asked. Share groups are not served yet; for them the answer is a final error, so that a client
 * gives up with a reason instead of asking for ever.
 */
import { ErrorCode, errorText } from "../codec/errors.ts";
import type { findCoordinator } from "../codec/messages/find_coordinator.ts";
import { OFFSETS_TOPIC, TRANSACTIONS_TOPIC } from "../cluster/topic_names.ts";
import { brokerNode } from "./broker_nodes.ts";
import type { Handler, RequestContext } from "./context.ts";

/** The first version that asks for many keys at once. */
const firstWithBatches = 4;

const GROUP = 0, TRANSACTION = 1;

interface Coordinator {
  key: string;
  nodeId: number;
  host: string;
  port: number;
  errorCode: number;
  errorMessage: string | null;
}

export const findCoordinatorHandler: Handler<typeof findCoordinator> = async (request, context) => {
  const keys = context.version >= firstWithBatches ? request.coordinatorKeys : [request.key];
  // On one machine the answer is the same for all keys.
  const found = await find(request.keyType, context);
  const coordinators: Coordinator[] = keys.map((key) => ({ key, ...found }));
  // Up to version 3 the one answer stands in the response itself, and says "NONE" where it is no error.
  const only = keys.length > 0 ? found : failed(ErrorCode.INVALID_REQUEST);
  const errorMessage = only.errorCode === ErrorCode.NONE ? "NONE" : only.errorMessage;
  return { ...only, errorMessage, coordinators };
};

async function find(
  keyType: number,
  { services, listenerName }: RequestContext,
): Promise<Omit<Coordinator, "key">> {
  const topic = topicOf(keyType);
  if (topic === null) return failed(ErrorCode.INVALID_REQUEST);
  const errorCode = await services.ensureInternalTopic(topic);
  if (errorCode !== ErrorCode.NONE) return failed(errorCode);
  const { image } = services.cluster;
  const nodeId = services.config.get("node.id");
  const node = brokerNode(image.brokers.get(nodeId)!, listenerName);
  if (node === null) return failed(ErrorCode.COORDINATOR_NOT_AVAILABLE);
  const { host, port } = node;
  return { nodeId, host, port, errorCode, errorMessage: "" };
}

/** The internal topic whose leaders coordinate keys of this type; null when the type is not known. */
function topicOf(keyType: number): string | null {
  if (keyType === GROUP) return OFFSETS_TOPIC;
  return keyType === TRANSACTION ? TRANSACTIONS_TOPIC : null;
}

function failed(errorCode: number, errorMessage = errorText(errorCode)): Omit<Coordinator, "key"> {
  return { nodeId: -1, host: "", port: -1, errorCode, errorMessage };
}
