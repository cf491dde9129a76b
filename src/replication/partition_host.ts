/**
 * Keeps the partitions that this broker hosts in step with the metadata: opens and makes logs for topics that exist,
 * takes those away that do not, and hands topic settings on to the logs. The metadata is the truth; directories follow.
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { TopicImage } from "../cluster/image.ts";
import type { ClusterChange } from "../cluster/image_changes.ts";
import type { ProducerIds } from "../cluster/producer_ids.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import { TopicSettings } from "../config/resource_settings.ts";
import type { Log } from "../storage/log.ts";
import type { LogManager } from "../storage/log_manager.ts";
import { logConfigOf } from "../storage/topic_log_config.ts";
import { Partition } from "./partition.ts";
import type { Replicas } from "./replicas.ts";

export interface PartitionHostOptions {
  readonly logs: LogManager;
  readonly cluster: Cluster;
  readonly replicas: Replicas;
  readonly config: BrokerConfig;
  readonly report: (problem: string) => void;
}

export class PartitionHost {
  /** Topics with partitions whose log could not be made or opened. */
  private readonly incomplete = new Set<string>();

  constructor(private readonly o: PartitionHostOptions) {}

  /**
   * At start: hosts every topic of the metadata. A data directory without metadata of ours was written by Kafka, or
   * has lost its metadata file: its topics are adopted. Directories of topics that are gone are removed.
   */
  async takeOver(producerIds: ProducerIds): Promise<void> {
    const { cluster, logs } = this.o;
    if (cluster.isNew) await this.adopt(producerIds);
    for (const log of [...logs.all()]) {
      const topic = cluster.image.topics.get(log.topic);
      if (topic === undefined || log.partition >= topic.partitions.length || !isSame(log, topic)) {
        this.remove(log);
      }
    }
    for (const topic of cluster.image.topics.values()) this.host(topic);
  }

  private async adopt(producerIds: ProducerIds): Promise<void> {
    const byTopic = Map.groupBy(this.o.logs.all(), (log) => log.topic);
    if (byTopic.size === 0) return;
    let lastProducerId = -1;
    const topics = [...byTopic].map(([name, logs]) => ({
      name,
      topicId: logs.find((log) => log.topicId !== ZERO_UUID)?.topicId ?? null,
      partitions: logs.map((log) => {
        for (const { producerId } of log.activeProducers()) {
          lastProducerId = Math.max(lastProducerId, producerId);
        }
        return { partition: log.partition, leaderEpoch: log.leaderEpochAt(log.nextOffset) };
      }),
    }));
    // An id that a producer of the former broker still uses must not be given to another. First, because a crash after
    // the adoption would not come here again.
    if (lastProducerId >= 0) await producerIds.skipPast(lastProducerId);
    await this.o.cluster.adoptTopics(topics);
    this.o.report(`Took over ${topics.length} topics that were in the data directory already`);
  }

  /** Takes a change of the metadata over. */
  apply(change: ClusterChange): void {
    for (const topic of change.deleted) {
      const partitions = this.o.replicas.ofTopic(topic.name);
      this.o.replicas.removeTopic(topic.name);
      for (const partition of partitions) if (partition !== undefined) this.remove(partition.log);
    }
    for (const topic of change.created) this.host(topic);
    for (const { after } of change.changed) this.host(after);
  }

  /** Hands the settings on anew: the broker's, which topics inherit, have changed. */
  settingsChanged(): void {
    for (const topic of this.o.cluster.image.topics.values()) this.host(topic);
  }

  /** Tries again to make the logs that could not be made: the disk may have room by now. */
  retry(): void {
    for (const name of [...this.incomplete]) {
      const topic = this.o.cluster.image.topics.get(name);
      if (topic === undefined) this.incomplete.delete(name);
      else this.host(topic);
    }
  }

  /** Makes or opens what is not there yet, and brings the settings up to date. */
  private host(topic: TopicImage): void {
    const { replicas, config } = this.o;
    const settings = new TopicSettings(topic.configs, config);
    const logConfig = logConfigOf(settings, config.get("producer.id.expiration.ms"));
    const minInsyncReplicas = settings.get("min.insync.replicas");
    let isComplete = true;
    for (const { partition: index, leader, leaderEpoch, isr, replicas: assigned } of topic.partitions) {
      let partition = replicas.get(topic.name, index);
      if (partition === undefined) {
        const log = this.openLog(topic, index);
        if (log === null) {
          isComplete = false;
          continue;
        }
        partition = new Partition(log, topic.topicId, leader, leaderEpoch, isr);
        replicas.add(partition);
      }
      partition.log.config = logConfig;
      // More than there are could never be met: settings for a large cluster have to work on a small one.
      partition.minInsyncReplicas = Math.min(minInsyncReplicas, assigned.length);
    }
    if (isComplete) this.incomplete.delete(topic.name);
    else this.incomplete.add(topic.name);
  }

  private openLog(topic: TopicImage, index: number): Log | null {
    const { logs, report } = this.o;
    try {
      const found = logs.get(topic.name, index);
      if (found !== undefined && isSame(found, topic)) {
        // Else the directory would be taken for any later topic of this name too.
        if (found.topicId === ZERO_UUID) logs.setTopicId(found, topic.topicId);
        return found;
      }
      // Of an earlier topic of this name, and could not be removed when that went.
      if (found !== undefined) logs.remove(topic.name, index);
      return logs.create(topic.name, index, topic.topicId);
    } catch (error) {
      // The topic exists all the same: its clients hear that the disk is to blame. Told once, not at each retry.
      if (!this.incomplete.has(topic.name)) {
        report(`Cannot make the log of ${topic.name}-${index}: ${error}; will try again`);
      }
      return null;
    }
  }

  private remove(log: Log): void {
    try {
      this.o.logs.remove(log.topic, log.partition);
    } catch (error) {
      this.o.report(`Cannot remove the log of ${log.topic}-${log.partition}: ${error}`);
    }
  }
}

/** Whether the directory belongs to this topic, and not to an earlier one of the same name. */
function isSame(log: Log, topic: TopicImage): boolean {
  return log.topicId === topic.topicId || log.topicId === ZERO_UUID;
}
