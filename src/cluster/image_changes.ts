/** How a commit changes the image, and what others are told about it. */
import { type ClientQuotas, entityKey } from "./client_quotas.ts";
import type { MutableImage, TopicImage } from "./image.ts";
import {
  BROKER_CONFIG_PREFIX,
  CLIENT_METRICS_CONFIG_PREFIX,
  FEATURES_KEY,
  GROUP_CONFIG_PREFIX,
  parseConfigRow,
  parseFeaturesRow,
  parseQuotaRow,
  parseTopicRow,
  QUOTA_PREFIX,
  TOPIC_PREFIX,
} from "./rows.ts";
import type { ChangeBatch } from "./store.ts";

/** What changed between two versions of the image. A topic that was deleted and made anew is in both lists. */
export interface ClusterChange {
  /** The image's version that shows the change. */
  readonly version: number;
  readonly deleted: readonly TopicImage[];
  readonly created: readonly TopicImage[];
  /** Topics that got partitions, other settings, or another leader. */
  readonly changed: readonly { readonly before: TopicImage; readonly after: TopicImage }[];
  /** By the brokers' ids, as text; "" stands for all brokers. */
  readonly brokerConfigs: readonly ConfigsChange[];
  readonly groupConfigs: readonly ConfigsChange[];
  readonly clientMetricsConfigs: readonly ConfigsChange[];
  /** Entities as they are now; without quotas when the last one was removed. */
  readonly clientQuotas: readonly ClientQuotas[];
}

/** Which settings of a resource changed, without their values: they may be secrets. */
export interface ConfigsChange {
  readonly name: string;
  readonly settings: readonly string[];
}

/** Puts a commit into the image. Null when it holds nothing that the image shows. Throws `CorruptRow`. */
export function applyBatch(image: MutableImage, batch: ChangeBatch): ClusterChange | null {
  const deleted: TopicImage[] = [];
  const created: TopicImage[] = [];
  const changed: { before: TopicImage; after: TopicImage }[] = [];
  const brokerConfigs: ConfigsChange[] = [];
  const groupConfigs: ConfigsChange[] = [];
  const clientMetricsConfigs: ConfigsChange[] = [];
  const clientQuotas: ClientQuotas[] = [];

  const applyRow = (key: string, value: string | null) => {
    if (key.startsWith(TOPIC_PREFIX)) {
      const name = key.slice(TOPIC_PREFIX.length);
      const before = image.topics.get(name);
      const after = value === null ? undefined : parseTopicRow(name, value);
      if (after === undefined) image.deleteTopic(name);
      else image.setTopic(after);
      if (before !== undefined && after?.topicId === before.topicId) changed.push({ before, after });
      else {
        if (before !== undefined) deleted.push(before);
        if (after !== undefined) created.push(after);
      }
    } else if (key.startsWith(BROKER_CONFIG_PREFIX)) {
      brokerConfigs.push(setConfigs(image.brokerConfigs, BROKER_CONFIG_PREFIX, key, value));
    } else if (key.startsWith(GROUP_CONFIG_PREFIX)) {
      groupConfigs.push(setConfigs(image.groupConfigs, GROUP_CONFIG_PREFIX, key, value));
    } else if (key.startsWith(CLIENT_METRICS_CONFIG_PREFIX)) {
      clientMetricsConfigs.push(
        setConfigs(image.clientMetricsConfigs, CLIENT_METRICS_CONFIG_PREFIX, key, value),
      );
    } else if (key.startsWith(QUOTA_PREFIX)) {
      const after = parseQuotaRow(key, value ?? "{}");
      if (value === null) image.clientQuotas.delete(entityKey(after.entity));
      else image.clientQuotas.set(entityKey(after.entity), after);
      clientQuotas.push(after);
    } else if (key === FEATURES_KEY) {
      image.featureLevels = parseFeaturesRow(value ?? "{}");
    }
  };
  for (const key of batch.delete) applyRow(key, null);
  for (const { key, value } of batch.put) applyRow(key, value);

  const size = deleted.length + created.length + changed.length + brokerConfigs.length + groupConfigs.length +
    clientMetricsConfigs.length +
    clientQuotas.length;
  if (size === 0) return null;
  image.version++;
  return {
    version: image.version,
    deleted,
    created,
    changed,
    brokerConfigs,
    groupConfigs,
    clientMetricsConfigs,
    clientQuotas,
  };
}

/** Has the resource's settings be what `value` says, and gives what that changed. */
function setConfigs(
  all: Map<string, ReadonlyMap<string, string>>,
  prefix: string,
  key: string,
  value: string | null,
): ConfigsChange {
  const name = key.slice(prefix.length);
  const before = all.get(name) ?? new Map<string, string>();
  const after = value === null ? new Map<string, string>() : parseConfigRow(key, value);
  if (value === null) all.delete(name);
  else all.set(name, after);
  const both = new Set([...before.keys(), ...after.keys()]);
  return { name, settings: [...both].filter((setting) => before.get(setting) !== after.get(setting)) };
}
