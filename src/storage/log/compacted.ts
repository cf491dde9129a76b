/**
 * How to know that a compactor has been at a log, whatever the topic's settings say now: then offsets may be missing in it.
 * In any other log a missing offset is damage.
 */

/** The checkpoint of Kafka's compactor, which names the partitions that it has been at. */
export const CLEANER_FILE = "cleaner-offset-checkpoint";

/** Topics that hold state: compacted whoever made them. */
const STATE_TOPICS = ["__consumer_offsets", "__transaction_state", "__share_group_state"];

export function isStateTopic(topic: string): boolean {
  return STATE_TOPICS.includes(topic);
}
