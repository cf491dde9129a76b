/** The topics that the broker keeps its own state in, and how they are made when they are first needed. */
import type { BrokerConfig } from "../config/broker_config.ts";
import type { CreatableTopic } from "./create_topics.ts";

export { isInternalTopic } from "./topic_names.ts";

/**
 * The request that creates the internal topic `name`. Replicas and in-sync minimum are capped at `brokerCount`: on a
 * small cluster Kafka's defaults of 3 and 2 would leave every client waiting for its coordinator.
 */
export function internalTopicRequest(
  name: string,
  config: BrokerConfig,
  brokerCount: number,
): CreatableTopic {
  const topic = (
    numPartitions: number,
    replicas: number,
    configs: Record<string, string>,
  ): CreatableTopic => ({
    name,
    numPartitions,
    replicationFactor: Math.min(replicas, brokerCount),
    assignments: [],
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
  });
  const capped = (minIsr: number) => String(Math.min(minIsr, brokerCount));
  switch (name) {
    case "__consumer_offsets":
      return topic(
        config.get("offsets.topic.num.partitions"),
        config.get("offsets.topic.replication.factor"),
        {
          "cleanup.policy": "compact",
          "compression.type": "producer",
          "segment.bytes": String(config.get("offsets.topic.segment.bytes")),
        },
      );
    case "__transaction_state":
      return topic(
        config.get("transaction.state.log.num.partitions"),
        config.get("transaction.state.log.replication.factor"),
        {
          "cleanup.policy": "compact",
          "compression.type": "uncompressed",
          "min.insync.replicas": capped(config.get("transaction.state.log.min.isr")),
          "segment.bytes": String(config.get("transaction.state.log.segment.bytes")),
          "unclean.leader.election.enable": "false",
        },
      );
    case "__share_group_state":
      return topic(
        config.get("share.coordinator.state.topic.num.partitions"),
        config.get("share.coordinator.state.topic.replication.factor"),
        {
          // Not compacted: the share coordinator deletes what its snapshots have made redundant.
          "cleanup.policy": "delete",
          "compression.type": "producer",
          "min.insync.replicas": capped(config.get("share.coordinator.state.topic.min.isr")),
          "retention.ms": "-1",
          "segment.bytes": String(config.get("share.coordinator.state.topic.segment.bytes")),
        },
      );
    default:
      throw new RangeError(`"${name}" is no internal topic`);
  }
}
