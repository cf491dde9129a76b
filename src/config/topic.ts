/**
 * The settings of a topic, in Kafka 4.4's order. Each is a topic's own override, or the broker setting named in `from`,
 * or the default; KIP-226 calls that chain the synonyms.
 */
import { boolean, double, int, list, long, string } from "./setting.ts";

const partitionBrokerPair = /^\d+:\d+$/;

/** KIP-73: `*`, nothing, or partition:broker pairs. */
function throttledReplicas(name: string) {
  return (elements: readonly string[]): string | null => {
    if (elements.length === 1 && elements[0] === "*") return null;
    return elements.every((element) => element === "" || partitionBrokerPair.test(element))
      ? null
      : `${name} must be the literal '*' or a ` +
        "list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...";
  };
}

/** Every setting that a topic can have. */
export const topicRows = {
  "segment.bytes": int({
    or: 1073741824,
    min: 1048576,
    from: ["log.segment.bytes"],
    doc: "Size at which the active segment is closed and a new one begins.",
  }),
  "segment.ms": long({
    or: 604800000,
    min: 1,
    from: ["log.roll.ms"],
    doc:
      "Age at which the active segment is closed, full or not, so that retention and compaction can reach it.",
  }),
  "segment.jitter.ms": long({
    or: 0,
    min: 0,
    from: ["log.roll.jitter.ms"],
    doc: "Most that is taken off segment.ms at random, so that partitions do not all roll at once.",
  }),
  "segment.index.bytes": int({
    or: 10485760,
    min: 4,
    from: ["log.index.size.max.bytes"],
    doc: "Size at which an offset or time index is full and the segment rolls.",
  }),
  "flush.messages": long({
    or: "9223372036854775807",
    min: 1,
    from: ["log.flush.interval.messages"],
    doc: "Records after which the log is synced to disk; 1 syncs before every acknowledgement.",
  }),
  "flush.ms": long({
    or: "9223372036854775807",
    min: 0,
    from: ["log.flush.interval.ms"],
    doc: "Longest that a record stays unsynced to disk.",
  }),
  "retention.bytes": long({
    or: -1,
    from: ["log.retention.bytes"],
    doc: "Size of a partition beyond which its oldest segments are deleted; -1 for no limit.",
  }),
  "retention.ms": long({
    or: 604800000,
    min: -1,
    from: ["log.retention.ms"],
    doc: "Age at which records are deleted, a whole segment at a time; -1 for never.",
  }),
  "max.message.bytes": int({
    or: 1048588,
    min: 0,
    from: ["message.max.bytes"],
    doc: "Largest record batch that is accepted, as stored (after compression).",
  }),
  "max.decompressed.message.bytes": int({
    or: 2147483639,
    min: 1,
    max: 2147483639,
    from: ["max.decompressed.message.bytes"],
    doc: "Largest size that a compressed batch may have once the broker has to decompress it.",
  }),
  "index.interval.bytes": int({
    or: 4096,
    min: 0,
    from: ["log.index.interval.bytes"],
    doc: "Bytes of log between two entries of the offset index.",
  }),
  "delete.retention.ms": long({
    or: 86400000,
    min: 0,
    from: ["log.cleaner.delete.retention.ms"],
    doc: "How long compaction keeps a tombstone, so that a reader from the start sees that the key is gone.",
  }),
  "min.compaction.lag.ms": long({
    or: 0,
    min: 0,
    from: ["log.cleaner.min.compaction.lag.ms"],
    doc: "Age below which a record is not compacted.",
  }),
  "max.compaction.lag.ms": long({
    or: "9223372036854775807",
    min: 1,
    from: ["log.cleaner.max.compaction.lag.ms"],
    doc: "Age at which a record must be reached by compaction.",
  }),
  "file.delete.delay.ms": long({
    or: 60000,
    min: 0,
    from: ["log.segment.delete.delay.ms"],
    doc: "Wait between giving up a segment file and removing it.",
  }),
  "min.cleanable.dirty.ratio": double({
    or: 0.5,
    min: 0,
    max: 1,
    from: ["log.cleaner.min.cleanable.ratio"],
    doc: "Share of a log that must be uncompacted before compaction is worth its work.",
  }),
  "cleanup.policy": list({
    or: "delete",
    oneOf: ["compact", "delete"],
    from: ["log.cleanup.policy"],
    doc:
      "delete drops old segments, compact keeps the last record of each key; both, or neither, may be named.",
  }),
  "unclean.leader.election.enable": boolean({
    or: false,
    from: ["unclean.leader.election.enable"],
    doc: "Whether a replica outside of the ISR may lead when no other is left, losing records.",
  }),
  "min.insync.replicas": int({
    or: 1,
    min: 1,
    from: ["min.insync.replicas"],
    doc: "In-sync replicas that acks=all needs; with fewer, such a produce is refused.",
  }),
  "compression.type": string({
    or: "producer",
    oneOf: ["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"],
    from: ["compression.type"],
    doc: "Compression of stored batches; producer keeps what was sent.",
  }),
  "compression.gzip.level": int({
    or: -1,
    min: 1,
    max: 9,
    also: -1,
    from: ["compression.gzip.level"],
    doc: "gzip's level when the broker compresses; -1 is the library's own choice.",
  }),
  "compression.lz4.level": int({
    or: 9,
    min: 1,
    max: 17,
    from: ["compression.lz4.level"],
    doc: "lz4's level when the broker compresses.",
  }),
  "compression.zstd.level": int({
    or: 3,
    min: -131072,
    max: 22,
    from: ["compression.zstd.level"],
    doc: "zstd's level when the broker compresses.",
  }),
  "preallocate": boolean({
    or: false,
    from: ["log.preallocate"],
    doc: "Whether a new segment takes its full size on disk at once.",
  }),
  "message.timestamp.type": string({
    or: "CreateTime",
    oneOf: ["CreateTime", "LogAppendTime"],
    from: ["log.message.timestamp.type"],
    doc: "Whether a record's time is the producer's, or that of its append.",
  }),
  "message.timestamp.before.max.ms": long({
    or: "9223372036854775807",
    min: 0,
    from: ["log.message.timestamp.before.max.ms"],
    doc: "How far behind the broker's clock a CreateTime record may be.",
  }),
  "message.timestamp.after.max.ms": long({
    or: 3600000,
    min: 0,
    from: ["log.message.timestamp.after.max.ms"],
    doc: "How far ahead of the broker's clock a CreateTime record may be.",
  }),
  "leader.replication.throttled.replicas": list({
    or: "",
    odd: "kept",
    check: throttledReplicas("leader.replication.throttled.replicas"),
    doc: "Replicas whose leader side is held to the replication quota (KIP-73).",
  }),
  "follower.replication.throttled.replicas": list({
    or: "",
    odd: "kept",
    check: throttledReplicas("follower.replication.throttled.replicas"),
    doc: "Replicas whose follower side is held to the replication quota (KIP-73).",
  }),
  "remote.storage.enable": boolean({
    or: false,
    doc: "Tiered storage (KIP-405). Trackway has none, so only false is accepted.",
  }),
  "local.retention.ms": long({
    or: -2,
    min: -2,
    from: ["log.local.retention.ms"],
    doc: "With tiered storage, age at which local copies go; -2 follows retention.ms.",
  }),
  "local.retention.bytes": long({
    or: -2,
    min: -2,
    from: ["log.local.retention.bytes"],
    doc: "With tiered storage, local size of a partition; -2 follows retention.bytes.",
  }),
  "remote.log.copy.disable": boolean({
    or: false,
    doc: "With tiered storage, stops copying to the remote tier.",
  }),
  "remote.copy.lag.ms": long({
    or: 0,
    min: -1,
    from: ["log.remote.copy.lag.ms"],
    doc: "With tiered storage, age at which a segment is copied to the remote tier.",
  }),
  "remote.copy.lag.bytes": long({
    or: -1,
    min: -1,
    from: ["log.remote.copy.lag.bytes"],
    doc: "With tiered storage, bytes behind the end of the log at which a segment is copied.",
  }),
  "remote.log.delete.on.disable": boolean({
    or: false,
    doc: "With tiered storage, deletes the remote copies when the tier is turned off.",
  }),
  "errors.deadletterqueue.group.enable": boolean({
    or: false,
    doc: "Whether share groups may use this topic as the place for records that they could not process.",
  }),
  "internal.segment.bytes": int({
    or: null,
    min: 1,
    internal: true,
    doc: "Overrides segment.bytes without its lower limit, so that tests can roll segments quickly.",
  }),
};

/** Names of topic settings. */
export type TopicSettingName = keyof typeof topicRows;
