/**
 * Topics that were found as partition directories, without metadata of ours: a data directory that Kafka wrote, or whose
 * metadata file was lost. Their settings cannot be known from the directories and are the broker's defaults.
 */
import type { BrokerConfig } from "../config/broker_config.ts";
import { newPartition, newTopic, type TopicImage } from "./image.ts";
import { internalTopicRequest, isInternalTopic } from "./internal_topics.ts";

/** A topic as its directories show it. */
export interface AdoptableTopic {
  readonly name: string;
  /** From `partition.metadata`; null when no directory has one. */
  readonly topicId: string | null;
  readonly partitions: readonly {
    readonly partition: number;
    /** The last in `leader-epoch-checkpoint`; -1 for none. */
    readonly leaderEpoch: number;
  }[];
}

/**
 * The topic, led by `nodeId` alone. Partition numbers without a directory lived on other brokers: they become empty
 * partitions, since partitions are numbered without gaps.
 */
export function adoptedTopic(
  { name, topicId, partitions }: AdoptableTopic,
  nodeId: number,
  config: BrokerConfig,
  newTopicId: () => string,
): TopicImage {
  const count = 1 + Math.max(...partitions.map(({ partition }) => partition));
  const replicas = Array.from({ length: count }, () => [nodeId]);
  const topic = newTopic(name, topicId ?? newTopicId(), replicas, adoptedConfigs(name, config));
  const epochs = new Map(partitions.map(({ partition, leaderEpoch }) => [partition, leaderEpoch]));
  return {
    ...topic,
    // A new reign: its records must not claim an epoch that the log has seen under another leader (KIP-101).
    partitions: topic.partitions.map(({ partition, replicas }) =>
      newPartition(partition, replicas, 1 + (epochs.get(partition) ?? -1))
    ),
  };
}

/** Internal topics are told apart by name, so at least these get back what they cannot work without. */
function adoptedConfigs(name: string, config: BrokerConfig): ReadonlyMap<string, string> {
  const configs = isInternalTopic(name) ? internalTopicRequest(name, config, 1).configs : [];
  return new Map(configs.map(({ name, value }) => [name, value!]));
}
