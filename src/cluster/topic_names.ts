/** What a topic may be called, as Kafka has it. */

/** Directory names carry "-<partition>" and a suffix after the topic's name, and file systems end at 255 bytes. */
export const MAX_TOPIC_NAME_LENGTH = 249;

/** Where Kafka's controllers keep their own log. Trackway has none, but clients may not take the name. */
export const CLUSTER_METADATA_TOPIC = "__cluster_metadata";

/** Where groups and the offsets that they have committed are. */
export const OFFSETS_TOPIC = "__consumer_offsets";
/** Where transactional ids and their transactions are. */
export const TRANSACTIONS_TOPIC = "__transaction_state";

const INTERNAL_TOPICS: ReadonlySet<string> = new Set([
  OFFSETS_TOPIC,
  TRANSACTIONS_TOPIC,
  "__share_group_state",
]);

/** Whether the broker writes this topic itself: clients see it flagged and may not produce to it. */
export function isInternalTopic(name: string): boolean {
  return INTERNAL_TOPICS.has(name);
}

/** Why a topic cannot have this name, in one line; null when it can. */
export function topicNameProblem(name: string): string | null {
  if (name === "") return "Invalid topic name: it is empty";
  if (name === "." || name === "..") return `Invalid topic name: "${name}" stands for a directory`;
  if (name.length > MAX_TOPIC_NAME_LENGTH) {
    return `Invalid topic name: ${name.length} characters, at most ${MAX_TOPIC_NAME_LENGTH} are allowed`;
  }
  if (!/^[a-zA-Z0-9._-]+$/.test(name)) {
    return `Invalid topic name: "${name}" has characters other than ASCII letters, digits, ".", "_" and "-"`;
  }
  return null;
}

/**
 * Names with the same key would be the same name in metrics, which turn "." into "_", so Kafka allows only one of them.
 * Null for a name that cannot collide.
 */
export function collisionKey(name: string): string | null {
  return /[._]/.test(name) ? name.replaceAll(".", "_") : null;
}
