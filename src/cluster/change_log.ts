/** What an operator reads of changes to the metadata: a line each, but one for all where there are many. */
import { type ClientQuotas, ENTITY_TYPES } from "./client_quotas.ts";
import type { TopicImage } from "./image.ts";
import type { ClusterChange, ConfigsChange } from "./image_changes.ts";

/** Beyond so many topics in one change only their number is told. */
const NAMED_TOPICS = 5;
/** The same for entities with quotas. */
const NAMED_ENTITIES = 5;

/** The lines for a change. */
export function describeChange(change: ClusterChange): string[] {
  return [
    ...told(change.deleted, "Deleted", (topic) => `Deleted topic ${topic.name}`),
    ...told(change.created, "Created", (topic) => `Created topic ${withPartitions(topic)}${settings(topic)}`),
    ...told(
      change.changed.map(({ after }) => after),
      "Changed",
      (topic) => `Changed topic ${withPartitions(topic)}${settings(topic)}`,
    ),
    ...toldConfigs(change.brokerConfigs, (id) => id === "" ? "all brokers" : `broker ${id}`),
    ...toldConfigs(change.groupConfigs, (name) => `group ${name}`),
    ...toldConfigs(change.clientMetricsConfigs, (name) => `client metrics subscription ${name}`),
    ...toldQuotas(change.clientQuotas),
  ];
}

function told(topics: readonly TopicImage[], verb: string, line: (topic: TopicImage) => string): string[] {
  return topics.length > NAMED_TOPICS ? [`${verb} ${topics.length} topics`] : topics.map(line);
}

function withPartitions({ name, partitions }: TopicImage): string {
  return `${name} (${partitions.length} ${partitions.length === 1 ? "partition" : "partitions"})`;
}

function settings({ configs }: TopicImage): string {
  return configs.size === 0 ? "" : `: ${[...configs].map(([name, value]) => `${name}=${value}`).join(", ")}`;
}

/** Names alone: a value may be a secret. Nothing of a change that sets what was set already. */
function toldConfigs(changes: readonly ConfigsChange[], whose: (name: string) => string): string[] {
  return changes.filter(({ settings }) => settings.length > 0)
    .map(({ name, settings }) => `Changed settings of ${whose(name)}: ${settings.join(", ")}`);
}

function toldQuotas(changes: readonly ClientQuotas[]): string[] {
  if (changes.length > NAMED_ENTITIES) return [`Changed quotas of ${changes.length} clients`];
  return changes.map(({ entity, quotas }) => {
    const named = ENTITY_TYPES.filter((type) => entity[type] !== undefined)
      .map((type) => entity[type] === null ? `the default ${type}` : `${type} ${entity[type]}`);
    const limits = [...quotas].map(([quota, limit]) => `${quota}=${limit}`).join(", ");
    return `Quotas of ${named.join(" and ")}: ${limits || "none"}`;
  });
}
