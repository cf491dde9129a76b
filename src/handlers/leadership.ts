/** Who leads a partition, as Metadata and DescribeTopicPartitions tell it. */
import type { TopicImage } from "../cluster/image.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { Replicas } from "../replication/replicas.ts";

/** A partition whose disk is away has no leader and nobody in sync, as in Kafka: clients wait, and tools list it. */
export function leadership(topic: string, p: TopicImage["partitions"][number], replicas: Replicas) {
  const isOffline = replicas.isOffline(topic, p.partition);
  return {
    errorCode: isOffline ? ErrorCode.LEADER_NOT_AVAILABLE : ErrorCode.NONE,
    partitionIndex: p.partition,
    leaderId: isOffline ? -1 : p.leader,
    leaderEpoch: p.leaderEpoch,
    replicaNodes: p.replicas,
    isrNodes: isOffline ? [] : p.isr,
    offlineReplicas: isOffline ? p.replicas : p.offlineReplicas,
  };
}
