/**
 * The metadata as it is stored: keys, and values in JSON. A topic with all its partitions is one row, so that creating
 * or loading a thousand topics is a thousand rows, not ten thousand. Readers ignore fields that they do not know; what
 * writers leave out has its value right after creation.
 *
 *     cluster            {"id":"m796WXAnSTutbxoEochW_A"}     with "new":true until the first change
 *     topic/<name>       {"id":"…","partitions":[{"leader":1,"leaderEpoch":0,"partitionEpoch":0,"replicas":[1],"isr":[1]}],"configs":{…}}
 *     deletion/<id>      {"topic":"…"}     a topic that was deleted, until its directories are out of the way
 *     config/broker/<id> {"log.cleaner.threads":"2"}     no id: for all brokers
 *     config/group/<id>  {"consumer.session.timeout.ms":"50000"}
 *     config/client-metrics/<name> {"interval.ms":"1000","metrics":"*"}
 *     quota/<entity>     {"producer_byte_rate":1048576}     entity: {"user":"ada","client-id":null}, null for the default
 *     features           {"metadata.version":33}     levels that were set
 *     producer-ids       {"next":3000}
 */
import { isUuidText } from "../codec/uuid.ts";
import { type ClientQuotas, parseEntityKey } from "./client_quotas.ts";
import type { PartitionImage, TopicImage } from "./image.ts";
import { isInternalTopic } from "./topic_names.ts";

export const CLUSTER_KEY = "cluster";
export const PRODUCER_IDS_KEY = "producer-ids";
export const FEATURES_KEY = "features";
export const TOPIC_PREFIX = "topic/";
export const DELETION_PREFIX = "deletion/";
export const BROKER_CONFIG_PREFIX = "config/broker/";
export const GROUP_CONFIG_PREFIX = "config/group/";
export const CLIENT_METRICS_CONFIG_PREFIX = "config/client-metrics/";
export const QUOTA_PREFIX = "quota/";

/** A stored value that no release of Trackway writes. The text names the key. */
export class CorruptRow extends Error {
  override name = "CorruptRow";
}

/** The cluster's own row; for `isNew` see `Cluster.isNew`. */
export interface ClusterRow {
  readonly clusterId: string;
  readonly isNew: boolean;
}

export function clusterRow({ clusterId, isNew }: ClusterRow): string {
  return JSON.stringify({ id: clusterId, new: isNew ? true : undefined });
}

export function parseClusterRow(value: string): ClusterRow {
  const { id, new: isNew } = parseObject(CLUSTER_KEY, value);
  if (typeof id !== "string" || id === "") throw corrupt(CLUSTER_KEY, "id is missing");
  return { clusterId: id, isNew: isNew === true };
}

export function producerIdsRow(next: number): string {
  return JSON.stringify({ next });
}

export function parseProducerIdsRow(value: string): number {
  const { next } = parseObject(PRODUCER_IDS_KEY, value);
  if (!isCount(next)) throw corrupt(PRODUCER_IDS_KEY, `next is ${next}`);
  return next;
}

export function featuresRow(levels: ReadonlyMap<string, number>): string {
  return JSON.stringify(Object.fromEntries(levels));
}

export function parseFeaturesRow(value: string): ReadonlyMap<string, number> {
  const levels = Object.entries(parseObject(FEATURES_KEY, value));
  const odd = levels.find(([, level]) => !isCount(level));
  if (odd !== undefined) throw corrupt(FEATURES_KEY, `${odd[0]} is ${odd[1]}`);
  return new Map(levels as [string, number][]);
}

export function topicRow(topic: TopicImage): string {
  const partitions = topic.partitions.map(({ leader, leaderEpoch, partitionEpoch, replicas, isr, elr }) => ({
    leader,
    leaderEpoch,
    partitionEpoch,
    replicas,
    isr,
    elr: elr.length > 0 ? elr : undefined,
  }));
  return JSON.stringify({ id: topic.topicId, partitions, configs: Object.fromEntries(topic.configs) });
}

export function parseTopicRow(name: string, value: string): TopicImage {
  const key = TOPIC_PREFIX + name;
  const { id, partitions, configs } = parseObject(key, value);
  if (typeof id !== "string" || !isUuidText(id)) throw corrupt(key, `id is ${id}`);
  if (!Array.isArray(partitions) || partitions.length === 0) throw corrupt(key, "partitions are missing");
  return {
    name,
    topicId: id,
    internal: isInternalTopic(name),
    partitions: partitions.map((row, partition) => parsePartition(key, partition, row)),
    configs: parseStrings(key, configs),
  };
}

export function deletionRow(topic: string): string {
  return JSON.stringify({ topic });
}

/** The name of a topic that was deleted. */
export function parseDeletionRow(key: string, value: string): string {
  const { topic } = parseObject(key, value);
  if (typeof topic !== "string") throw corrupt(key, "topic is missing");
  return topic;
}

export function configRow(configs: ReadonlyMap<string, string>): string {
  return JSON.stringify(Object.fromEntries(configs));
}

export function parseConfigRow(key: string, value: string): ReadonlyMap<string, string> {
  return parseStrings(key, parseObject(key, value));
}

export function quotaRow(quotas: ReadonlyMap<string, number>): string {
  return JSON.stringify(Object.fromEntries(quotas));
}

export function parseQuotaRow(key: string, value: string): ClientQuotas {
  const entity = parseEntityKey(key.slice(QUOTA_PREFIX.length));
  if (entity === null) throw corrupt(key, "it names no entity");
  const quotas = Object.entries(parseObject(key, value));
  const odd = quotas.find(([, limit]) => typeof limit !== "number");
  if (odd !== undefined) throw corrupt(key, `${odd[0]} is no number`);
  return { entity, quotas: new Map(quotas as [string, number][]) };
}

function parsePartition(key: string, partition: number, row: unknown): PartitionImage {
  const { leader, leaderEpoch, partitionEpoch, replicas, isr, elr = [] } = row as PartitionImage;
  const sound = Number.isInteger(leader) && isCount(leaderEpoch) && isCount(partitionEpoch) &&
    isBrokerList(replicas) && replicas.length > 0 && isBrokerList(isr) && isBrokerList(elr);
  if (!sound) throw corrupt(key, `partition ${partition} is ${JSON.stringify(row)}`);
  return { partition, leader, leaderEpoch, partitionEpoch, replicas, isr, elr, offlineReplicas: [] };
}

function parseObject(key: string, value: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    throw corrupt(key, "it is no JSON");
  }
  if (typeof parsed !== "object" || parsed === null) throw corrupt(key, "it is no object");
  return parsed as Record<string, unknown>;
}

function parseStrings(key: string, row: unknown): ReadonlyMap<string, string> {
  if (typeof row !== "object" || row === null) throw corrupt(key, "its settings are missing");
  const entries = Object.entries(row);
  const odd = entries.find(([, value]) => typeof value !== "string");
  if (odd !== undefined) throw corrupt(key, `${odd[0]} is no text`);
  return new Map(entries);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isBrokerList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(Number.isInteger);
}

function corrupt(key: string, problem: string): CorruptRow {
  return new CorruptRow(`Cannot read the entry "${key}": ${problem}`);
}
