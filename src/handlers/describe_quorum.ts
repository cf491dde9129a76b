/**
 * Tells the quorum of controllers: this broker alone. The metadata is no log of Kafka's here; what stands for its end is
 * the number of commits, which grows with every change and over restarts.
 */
import { ErrorCode } from "../codec/errors.ts";
import type { describeQuorum, DescribeQuorumRequest } from "../codec/messages/describe_quorum.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { Handler, Services } from "./context.ts";

/** The one partition that a quorum is asked for. */
const METADATA_TOPIC = "__cluster_metadata", METADATA_PARTITION = 0;
/** A controller that is the only one was never elected. */
const NO_ELECTION_EPOCH = 0;

export const describeQuorumHandler: Handler<typeof describeQuorum> = ({ topics }, { services }) => {
  const isAnswered = isMetadata(topics);
  return {
    errorCode: ErrorCode.NONE,
    errorMessage: "",
    topics: topics.map(({ topicName, partitions }) => ({
      topicName,
      partitions: partitions.map(({ partitionIndex }) =>
        isAnswered ? describe(services) : unknown(partitionIndex)
      ),
    })),
    nodes: isAnswered ? nodes(services) : [],
  };
};

/** Nothing else may be asked for in the same request. */
function isMetadata([topic, ...others]: DescribeQuorumRequest["topics"]): boolean {
  return topic !== undefined && others.length === 0 && topic.topicName === METADATA_TOPIC &&
    topic.partitions.length === 1 && topic.partitions[0].partitionIndex === METADATA_PARTITION;
}

function describe({ cluster, clock, logs }: Services) {
  const now = clock.now();
  const leader = {
    replicaId: cluster.nodeId,
    replicaDirectoryId: logs.meta.directoryId ?? ZERO_UUID,
    logEndOffset: cluster.revision,
    lastFetchTimestamp: now,
    lastCaughtUpTimestamp: now,
  };
  return {
    partitionIndex: METADATA_PARTITION,
    errorCode: ErrorCode.NONE,
    errorMessage: "",
    leaderId: cluster.nodeId,
    leaderEpoch: NO_ELECTION_EPOCH,
    highWatermark: cluster.revision,
    currentVoters: [leader],
    observers: [],
  };
}

function unknown(partitionIndex: number) {
  return {
    partitionIndex,
    errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    errorMessage: "This server does not host this topic-partition.",
    leaderId: 0,
    leaderEpoch: 0,
    highWatermark: 0,
    currentVoters: [],
    observers: [],
  };
}

/** The broker is the controller, so the controller is where the broker listens. */
function nodes({ cluster: { image, nodeId } }: Services) {
  const { endpoints } = image.brokers.get(nodeId)!;
  return [{ nodeId, listeners: [...endpoints].map(([name, endpoint]) => ({ name, ...endpoint })) }];
}
