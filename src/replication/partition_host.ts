/**
 * Keeps the partitions that this broker hosts in step with the metadata: opens and makes logs for topics that exist,
 * takes those away that do not, and hands topic settings on to the logs. The metadata is the truth; directories follow.
 * Data is deleted only because a topic was: a directory that the metadata does not explain is set aside and kept.
 *
 * A topic can have ten thousand partitions, so all of it is done in slices, and one change after the other.
 */
import type { Clock } from "../base/clock.ts";
import { Slices } from "../base/slices.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { TopicImage } from "../cluster/image.ts";
import type { ClusterChange } from "../cluster/image_changes.ts";
import type { ProducerIds } from "../cluster/producer_ids.ts";
import { ZERO_UUID } from "../codec/uuid.ts";
import type { BrokerConfig } from "../config/broker_config.ts";
import { TopicSettings } from "../config/resource_settings.ts";
import { IoError } from "../storage/files/files.ts";
import type { Log } from "../storage/log/log.ts";
import type { LogDirectories } from "../storage/manager/log_directories.ts";
import { isSameTopic } from "../storage/manager/moved_logs.ts";
import { PARTITION_METADATA_FILE, partitionDirectory } from "../storage/directory/names.ts";
import { logConfigOf } from "../storage/manager/topic_log_config.ts";
import { lastProducerIdIn } from "./adopted_ids.ts";
import { Partition } from "./partition.ts";
import type { Replicas } from "./replicas.ts";

/** The logs of one data directory or of several. */
export type HostedLogs =
  & Pick<
    LogDirectories,
    "all" | "get" | "create" | "remove" | "setAside" | "setTopicId" | "reachedBefore" | "syncDirectory"
  >
  & { readonly isPartlyOffline?: boolean };

export interface PartitionHostOptions {
  readonly logs: HostedLogs;
  readonly cluster: Cluster;
  readonly replicas: Replicas;
  readonly config: BrokerConfig;
  readonly clock: Clock;
  readonly report: (problem: string) => void;
}

/** How many directories a warning names. */
const NAMED_MAX = 10;

export class PartitionHost {
  /** Topics with partitions whose log could not be made or opened. */
  private readonly incomplete = new Set<string>();
  /** Logs of deleted topics that could not be taken away. */
  private leftOver: Log[] = [];
  /** Changes that are not taken over yet, and the last of them. */
  private waiting = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly o: PartitionHostOptions) {}

  /**
   * At start: hosts every topic of the metadata. A data directory without metadata of ours was written by Kafka, or
   * has lost its metadata file: its topics are adopted. Deletions that were cut short are finished; other directories
   * that the metadata does not know are set aside.
   */
  async takeOver(producerIds: ProducerIds): Promise<void> {
    const { cluster, logs, clock, config } = this.o;
    if (cluster.isNew) await this.adopt(producerIds);
    const slices = new Slices(clock);
    const strays = new Map<string, string>();
    // Of a deleted topic nobody knows the settings any more.
    const configOfDeleted = logConfigOf(
      new TopicSettings(new Map(), config),
      config.get("producer.id.expiration.ms"),
    );
    for (const log of [...logs.all()]) {
      const topic = cluster.image.topics.get(log.topic);
      if (topic !== undefined && log.partition < topic.partitions.length && isSame(log, topic)) continue;
      const isReached = logs.get(log.topic, log.partition) === log;
      if (isReached && cluster.deletions.has(log.topicId)) {
        log.config = configOfDeleted;
        this.remove(log);
      } else this.setAside(log, strays);
      if (slices.isOver) await slices.next();
    }
    this.tellOf(strays);
    await this.finish([...cluster.deletions]);
    if (logs.isPartlyOffline === true) this.noteHidden(strays);
    this.tellOfMissing(strays);
    for (const topic of [...cluster.image.topics.values()]) await this.host(topic, slices);
  }

  private async adopt(producerIds: ProducerIds): Promise<void> {
    const { logs: all } = this.o;
    // Of an earlier topic of the same name there may be one in another directory.
    const reached = [...all.all()].filter((log) => all.get(log.topic, log.partition) === log);
    const byTopic = Map.groupBy(reached, (log) => log.topic);
    if (byTopic.size === 0) return;
    let lastProducerId = -1;
    const topics = [...byTopic].map(([name, logs]) => ({
      name,
      topicId: logs.find((log) => log.topicId !== ZERO_UUID)?.topicId ?? null,
      partitions: logs.map((log) => {
        const { producerId, leaderEpoch } = this.lastIdsOf(log);
        lastProducerId = Math.max(lastProducerId, producerId);
        return { partition: log.partition, leaderEpoch };
      }),
    }));
    // An id that a producer of the former broker still uses must not be given to another. First, because a crash after
    // the adoption would not come here again.
    if (lastProducerId >= 0) await producerIds.skipPast(lastProducerId);
    await this.o.cluster.adoptTopics(topics);
    this.o.report(`Took over ${topics.length} topics that were in the data directory already`);
  }

  /** The highest producer id and the last leader epoch in a log; -1 where there are none, or the log is offline. */
  private lastIdsOf(log: Log): { producerId: number; leaderEpoch: number } {
    try {
      return { producerId: lastProducerIdIn(log), leaderEpoch: log.leaderEpochAt(log.nextOffset) };
    } catch (error) {
      // Why it is offline has been told; its topic must not keep the others from starting.
      if (!(error instanceof IoError)) throw error;
      return { producerId: -1, leaderEpoch: -1 };
    }
  }

  /** Takes a change of the metadata over: at once what fits into a slice. Resolves when all of it is done. */
  apply(change: ClusterChange): Promise<void> {
    return this.inTurn(async () => {
      const slices = new Slices(this.o.clock);
      for (const topic of change.deleted) await this.unhost(topic, slices);
      for (const topic of change.created) await this.host(topic, slices);
      for (const { after } of change.changed) await this.host(after, slices);
      // Not waited for: the store takes it after the change that is being taken over here.
      void this.finish(change.deleted.map((topic) => topic.topicId));
    });
  }

  /** Hands the settings on anew: the broker's, which topics inherit, have changed. */
  settingsChanged(): Promise<void> {
    return this.hostAll(() => this.o.cluster.image.topics.keys());
  }

  /** Tries again to make the logs that could not be made: the disk may have room by now. */
  retry(): Promise<void> {
    if (this.incomplete.size === 0 && this.leftOver.length === 0) return Promise.resolve();
    return this.hostAll(() => {
      const left = this.leftOver;
      this.leftOver = [];
      for (const log of left) this.remove(log, false);
      void this.finish([...new Set(left.map((log) => log.topicId))]);
      return this.incomplete;
    });
  }

  private hostAll(names: () => Iterable<string>): Promise<void> {
    return this.inTurn(async () => {
      const slices = new Slices(this.o.clock);
      for (const name of [...names()]) {
        const topic = this.o.cluster.image.topics.get(name);
        if (topic === undefined) this.incomplete.delete(name);
        else await this.host(topic, slices);
      }
    });
  }

  /** Runs `work` when what came before it is done; if nothing did, its first slice at once. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = (this.waiting++ === 0 ? work() : this.last.then(work)).finally(() => this.waiting--);
    // A failure belongs to its caller; those who come after it go on.
    this.last = done.catch(() => {});
    return done;
  }

  /** Takes a topic's partitions away: from readers and writers at once, then from the disk. */
  private async unhost(topic: TopicImage, slices: Slices): Promise<void> {
    const { replicas } = this.o;
    const partitions = replicas.ofTopic(topic.name);
    replicas.removeTopic(topic.name);
    for (const partition of partitions) {
      if (partition !== undefined) this.remove(partition.log);
      if (slices.isOver) await slices.next();
    }
  }

  /** Makes or opens what is not there yet, and brings the settings up to date. */
  private async host(topic: TopicImage, slices: Slices): Promise<void> {
    const { replicas, config, cluster } = this.o;
    const settings = new TopicSettings(topic.configs, config);
    const logConfig = logConfigOf(settings, config.get("producer.id.expiration.ms"));
    const minInsyncReplicas = settings.get("min.insync.replicas");
    const unmade: { name: string; why: string }[] = [];
    for (const { partition: index, leader, leaderEpoch, isr, replicas: assigned } of topic.partitions) {
      if (slices.isOver) {
        await slices.next();
        // Whoever deleted it waits for its turn, and takes away what was made so far.
        if (cluster.image.topics.get(topic.name)?.topicId !== topic.topicId) return;
      }
      let partition = replicas.get(topic.name, index);
      // Told of at start.
      if (replicas.isOffline(topic.name, index)) continue;
      if (partition === undefined) {
        const log = this.openLog(topic, index);
        if (typeof log === "string") {
          unmade.push({ name: partitionDirectory(topic.name, index), why: log });
          continue;
        }
        partition = new Partition(log, topic.topicId, leader, leaderEpoch, isr);
        replicas.add(partition);
      }
      partition.log.config = logConfig;
      // More than there are could never be met: settings for a large cluster have to work on a small one.
      partition.minInsyncReplicas = Math.min(minInsyncReplicas, assigned.length);
    }
    if (unmade.length === 0) {
      this.incomplete.delete(topic.name);
      return;
    }
    // The topic exists all the same: its clients hear that the disk is to blame. Told once, not at each retry.
    if (!this.incomplete.has(topic.name)) this.tellOfUnmade(unmade);
    this.incomplete.add(topic.name);
  }

  private tellOfUnmade(unmade: readonly { name: string; why: string }[]): void {
    const [{ name, why }] = unmade;
    const what = unmade.length === 1
      ? `the log of ${name}`
      : `the logs of ${unmade.length} partitions, ${name} first`;
    this.o.report(`Cannot make ${what}: ${why}; will try again`);
  }

  /** The log, made if it is not there yet; a text that tells why it cannot be. */
  private openLog(topic: TopicImage, index: number): Log | string {
    const { cluster, logs } = this.o;
    try {
      const found = logs.get(topic.name, index);
      if (found !== undefined && isSame(found, topic)) {
        // Else the directory would be taken for any later topic of this name too.
        if (found.topicId !== topic.topicId) this.mendTopicId(found, topic);
        return found;
      }
      if (found !== undefined) {
        // Of an earlier topic of this name, and could not be removed when that went.
        if (cluster.deletions.has(found.topicId)) logs.remove(topic.name, index);
        else this.tellOf(new Map([[found.name, logs.setAside(found)]]));
      }
      return logs.create(topic.name, index, topic.topicId);
    } catch (error) {
      return error instanceof IoError ? error.message : String(error);
    }
  }

  private mendTopicId(log: Log, { topicId }: TopicImage): void {
    if (log.topicId !== ZERO_UUID) {
      this.o.report(
        `The topic id ${log.topicId} in ${PARTITION_METADATA_FILE} of ${log.name} is damaged: the metadata has ${topicId}, ` +
          "which is put in its place",
      );
    }
    this.o.logs.setTopicId(log, topicId);
  }

  /** Takes away the log of a topic that was deleted. Told of once, not at each retry, when it fails. */
  private remove(log: Log, tells = true): void {
    const { logs, report } = this.o;
    if (logs.get(log.topic, log.partition) !== log) return;
    try {
      logs.remove(log.topic, log.partition);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.leftOver.push(log);
      if (tells) report(`Cannot remove the log of ${log.name}: ${error.message}; will try again`);
    }
  }

  private setAside(log: Log, strays: Map<string, string>): void {
    try {
      strays.set(log.name, this.o.logs.setAside(log));
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.o.report(
        `Cannot set the directory of ${log.name} aside, which the metadata does not know: ${error.message}`,
      );
    }
  }

  /** `strays` has the new name of each directory by its old one. */
  private tellOf(strays: ReadonlyMap<string, string>): void {
    if (strays.size === 0) return;
    const names = listed([...strays].map(([name, kept]) => `${name} (now ${kept})`));
    this.o.report(
      `The metadata does not know these partition directories (${strays.size}): ${names}. They were renamed and are ` +
        "kept, nothing in them was deleted. If they should be known, stop the broker, put the metadata file that knows them " +
        "back and rename them; else remove them",
    );
  }

  /**
   * Takes partitions that are in no directory offline while one is away, which may have them: an empty log in the place of
   * one that comes back later would be a second one, with other records.
   */
  private noteHidden(strays: ReadonlyMap<string, string>): void {
    const { cluster, logs, replicas, report } = this.o;
    const hidden: string[] = [];
    for (const { name, partitions } of cluster.image.topics.values()) {
      for (const { partition } of partitions) {
        const directory = partitionDirectory(name, partition);
        if (logs.get(name, partition) !== undefined || strays.has(directory)) continue;
        replicas.setOffline(name, partition);
        hidden.push(directory);
      }
    }
    if (hidden.length === 0) return;
    report(
      `These partitions (${hidden.length}) are in no data directory that is there: ${
        listed(hidden)
      }. They are offline ` +
        "until the directory that has them can be used again",
    );
  }

  /** Tells of partitions whose directory is not there, but for those whose directory was just set aside. */
  private tellOfMissing(strays: ReadonlyMap<string, string>): void {
    const { cluster, logs } = this.o;
    const missing: string[] = [];
    for (const { name, partitions } of cluster.image.topics.values()) {
      for (const { partition } of partitions) {
        const directory = partitionDirectory(name, partition);
        if (logs.get(name, partition) !== undefined || strays.has(directory)) continue;
        if (this.o.replicas.isOffline(name, partition)) continue;
        const reached = logs.reachedBefore(name, partition);
        // A broker that is killed between the metadata of a new topic and its directories leaves this too: nothing was in
        // them, and no checkpoint names them.
        if (reached === null) continue;
        missing.push(`${directory} (which had reached offset ${reached})`);
      }
    }
    if (missing.length === 0) return;
    const names = listed(missing);
    this.o.report(
      `These partitions (${missing.length}) have no directory any more: ${names}. They begin, empty, at offset 0. ` +
        "To get their records back, stop the broker and restore their directories from a copy",
    );
  }

  /** Has the store forget deletions of which no directory is left. Never rejects. */
  private async finish(topicIds: readonly string[]): Promise<void> {
    const left = new Set(this.leftOver.map((log) => log.topicId));
    const finished = topicIds.filter((id) => !left.has(id));
    if (finished.length === 0) return;
    try {
      // First the new names: a directory that comes back under the old one, after a power failure, would be a stray.
      await this.o.logs.syncDirectory();
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      return this.o.report(`Cannot make the deletion of topics durable: ${error.message}`);
    }
    await this.o.cluster.finishDeletions(finished);
  }
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return names.slice(0, NAMED_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Whether the directory belongs to this topic, and not to an earlier one of the same name. */
function isSame(log: Log, topic: TopicImage): boolean {
  return isSameTopic(log.topicId, topic.topicId);
}
