/**
 * What this broker knows of the cluster, in memory. Topics and brokers are immutable values that are replaced when they
 * change, so holding on to one is safe, and comparing two by identity tells whether something changed. The image itself
 * moves on: look again after every `await`.
 */
import type { ClientQuotas } from "./client_quotas.ts";
import { collisionKey, isInternalTopic } from "./topic_names.ts";

/** Kafka's "no leader". */
export const NO_LEADER = -1;

export interface PartitionImage {
  readonly partition: number;
  /** A broker's id, or {@link NO_LEADER}. */
  readonly leader: number;
  readonly leaderEpoch: number;
  /** Grows with every change of the partition's state; compare-and-set of the ISR goes by it. */
  readonly partitionEpoch: number;
  /** The preferred leader comes first. */
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  /** KIP-966: replicas that may lead although they left the ISR. */
  readonly elr: readonly number[];
  readonly offlineReplicas: readonly number[];
}

export interface TopicImage {
  readonly name: string;
  readonly topicId: string;
  readonly internal: boolean;
  /** By partition number: `partitions[n].partition === n`. */
  readonly partitions: readonly PartitionImage[];
  /** Only what was set for this topic. */
  readonly configs: ReadonlyMap<string, string>;
}

export interface EndpointImage {
  readonly host: string;
  readonly port: number;
}

export interface BrokerImage {
  readonly id: number;
  readonly rack: string | null;
  /** Advertised addresses by the name of the listener. */
  readonly endpoints: ReadonlyMap<string, EndpointImage>;
}

/** What readers see of the image. */
export interface MetadataImage {
  readonly clusterId: string;
  readonly controllerId: number;
  /** Grows with every change of anything below: a cached response that carries it is right as long as it is the same. */
  readonly version: number;
  readonly brokers: ReadonlyMap<number, BrokerImage>;
  readonly topics: ReadonlyMap<string, TopicImage>;
  readonly topicsById: ReadonlyMap<string, TopicImage>;
  readonly partitionCount: number;
  /** Settings that clients changed at a broker, by its id as text; "" holds for all brokers. */
  readonly brokerConfigs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly groupConfigs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By the subscription's name; `ClientMetricsSettings` says what they mean. */
  readonly clientMetricsConfigs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By the entity's key. */
  readonly clientQuotas: ReadonlyMap<string, ClientQuotas>;
  /** Levels of features that were set, see `levelOf`. */
  readonly featureLevels: ReadonlyMap<string, number>;
  /** Undefined when there is no such topic or it has fewer partitions. */
  partition(topic: string, partition: number): PartitionImage | undefined;
  /** Names of other topics that differ from `name` in "." and "_" only. */
  collisions(name: string): readonly string[];
}

/** The image as its only writer, the cluster, holds it. */
export class MutableImage implements MetadataImage {
  readonly brokers = new Map<number, BrokerImage>();
  readonly topics = new Map<string, TopicImage>();
  readonly topicsById = new Map<string, TopicImage>();
  readonly brokerConfigs = new Map<string, ReadonlyMap<string, string>>();
  readonly groupConfigs = new Map<string, ReadonlyMap<string, string>>();
  readonly clientMetricsConfigs = new Map<string, ReadonlyMap<string, string>>();
  readonly clientQuotas = new Map<string, ClientQuotas>();
  featureLevels: ReadonlyMap<string, number> = new Map();
  readonly #namesByCollisionKey = new Map<string, string[]>();
  version = 0;
  partitionCount = 0;

  constructor(readonly clusterId: string, readonly controllerId: number) {}

  partition(topic: string, partition: number): PartitionImage | undefined {
    return this.topics.get(topic)?.partitions[partition];
  }

  collisions(name: string): readonly string[] {
    const key = collisionKey(name);
    if (key === null) return [];
    return (this.#namesByCollisionKey.get(key) ?? []).filter((other) => other !== name);
  }

  /** Puts `topic` in the place of the one with its name, if there is one. */
  setTopic(topic: TopicImage): void {
    this.deleteTopic(topic.name);
    this.topics.set(topic.name, topic);
    this.topicsById.set(topic.topicId, topic);
    this.partitionCount += topic.partitions.length;
    const key = collisionKey(topic.name);
    if (key === null) return;
    const names = this.#namesByCollisionKey.get(key);
    if (names === undefined) this.#namesByCollisionKey.set(key, [topic.name]);
    else names.push(topic.name);
  }

  deleteTopic(name: string): void {
    const topic = this.topics.get(name);
    if (topic === undefined) return;
    this.topics.delete(name);
    this.topicsById.delete(topic.topicId);
    this.partitionCount -= topic.partitions.length;
    const key = collisionKey(name);
    if (key === null) return;
    const names = this.#namesByCollisionKey.get(key)!.filter((other) => other !== name);
    if (names.length === 0) this.#namesByCollisionKey.delete(key);
    else this.#namesByCollisionKey.set(key, names);
  }
}

/** A topic with its partitions as they are right after creation: the first replica leads, all are in sync. */
export function newTopic(
  name: string,
  topicId: string,
  replicas: readonly (readonly number[])[],
  configs: ReadonlyMap<string, string>,
): TopicImage {
  const partitions = replicas.map((brokers, partition) => newPartition(partition, brokers));
  return { name, topicId, internal: isInternalTopic(name), partitions, configs };
}

/** A partition as it is right after creation. */
export function newPartition(
  partition: number,
  replicas: readonly number[],
  leaderEpoch = 0,
): PartitionImage {
  return {
    partition,
    leader: replicas[0],
    leaderEpoch,
    partitionEpoch: 0,
    replicas,
    isr: replicas,
    elr: [],
    offlineReplicas: [],
  };
}
