/** Broker settings of groups of all kinds and of their internal topics (KIP-848, KIP-932, KIP-1071). */
import { boolean, int, javaClass, list, long, short, string } from "./setting.ts";

/** One row each; see setting.ts for the words. */
export const groupCoordinatorRows = {
  "group.coordinator.rebalance.protocols": list({
    or: "classic,consumer,streams",
    oneOf: ["consumer", "classic", "share", "streams"],
    doc: "Kinds of groups that are served.",
  }),
  "group.coordinator.threads": int({
    or: 4,
    min: 1,
    unused: true,
    doc: "Threads of group coordinators; one event loop does it.",
  }),
  "group.coordinator.background.threads": int({
    or: 2,
    min: 1,
    unused: true,
    doc: "Threads for the coordinators' long work; one event loop does it.",
  }),
  "group.coordinator.append.linger.ms": int({
    or: -1,
    min: -1,
    doc: "How long a coordinator gathers writes before it appends them; -1 adapts to the load.",
  }),
  "offsets.commit.timeout.ms": int({
    or: 5000,
    min: 1,
    doc: "Longest that an offset commit waits for its replicas.",
  }),
  "offsets.load.buffer.size": int({
    or: 5242880,
    min: 1,
    doc: "Bytes that are read at a time when groups are loaded.",
  }),
  "offsets.topic.replication.factor": short({
    or: 3,
    min: 1,
    doc: "Replicas of __consumer_offsets, or the number of brokers when that is smaller.",
  }),
  "offsets.topic.num.partitions": int({
    or: 50,
    min: 1,
    doc: "Partitions of __consumer_offsets; not to be changed once the topic exists.",
  }),
  "offsets.topic.segment.bytes": int({
    or: 104857600,
    min: 1,
    doc: "Segment size of __consumer_offsets; small, so that groups load quickly.",
  }),
  "offsets.topic.compression.codec": int({
    or: 0,
    doc:
      "Compression of what is written to __consumer_offsets, by number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
  }),
  "group.coordinator.cached.buffer.max.bytes": int({
    or: 1048588,
    min: 524288,
    update: "cluster-wide",
    unused: true,
    doc: "Size of a buffer that a coordinator keeps between appends.",
  }),
  "offset.metadata.max.bytes": int({ or: 4096, doc: "Longest text that may be committed with an offset." }),
  "offsets.retention.minutes": int({
    or: 10080,
    min: 1,
    doc: "How long committed offsets outlive the last member of their group (KIP-211).",
  }),
  "offsets.retention.check.interval.ms": long({
    or: 600000,
    min: 1,
    doc: "How often committed offsets are looked at for expiry.",
  }),
  "group.min.session.timeout.ms": int({
    or: 6000,
    doc: "Shortest session timeout that a member of a classic group may ask for.",
  }),
  "group.max.session.timeout.ms": int({
    or: 1800000,
    doc: "Longest session timeout that a member of a classic group may ask for.",
  }),
  // 3000 in Kafka. With nothing configured, a developer's first consumer should not wait three seconds.
  "group.initial.rebalance.delay.ms": int({
    or: 0,
    doc: "How long a new group waits for more members before its first rebalance (KIP-134).",
  }),
  "group.max.size": int({ or: 2147483647, min: 1, doc: "Members that a classic group may have." }),
  "group.consumer.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Default of consumer.session.timeout.ms of groups.",
  }),
  "group.consumer.min.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Smallest consumer.session.timeout.ms that a group may have.",
  }),
  "group.consumer.max.session.timeout.ms": int({
    or: 60000,
    min: 1,
    doc: "Largest consumer.session.timeout.ms that a group may have.",
  }),
  "group.consumer.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Default of consumer.heartbeat.interval.ms of groups.",
  }),
  "group.consumer.min.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Smallest consumer.heartbeat.interval.ms that a group may have.",
  }),
  "group.consumer.max.heartbeat.interval.ms": int({
    or: 15000,
    min: 1,
    doc: "Largest consumer.heartbeat.interval.ms that a group may have.",
  }),
  "group.consumer.max.size": int({ or: 2147483647, min: 1, doc: "Members that a consumer group may have." }),
  "group.consumer.assignors": list({ or: "uniform,range", doc: "Server-side assignors, the default first." }),
  "group.consumer.migration.policy": string({
    or: "bidirectional",
    oneOf: ["disabled", "downgrade", "upgrade", "bidirectional"],
    ignoreCase: true,
    doc: "Which way a group may change between the classic and the consumer protocol.",
  }),
  "group.consumer.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    update: "cluster-wide",
    doc: "Default of consumer.assignment.interval.ms of groups.",
  }),
  "group.consumer.min.assignment.interval.ms": int({
    or: 0,
    min: 0,
    doc: "Smallest consumer.assignment.interval.ms that a group may have.",
  }),
  "group.consumer.max.assignment.interval.ms": int({
    or: 15000,
    min: 0,
    doc: "Largest consumer.assignment.interval.ms that a group may have.",
  }),
  "group.consumer.assignor.offload.enable": boolean({
    or: true,
    update: "cluster-wide",
    internal: true,
    unused: true,
    doc: "Default of consumer.assignor.offload.enable of groups.",
  }),
  "group.share.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Default of share.session.timeout.ms of groups.",
  }),
  "group.share.min.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Smallest share.session.timeout.ms that a group may have.",
  }),
  "group.share.max.session.timeout.ms": int({
    or: 60000,
    min: 1,
    doc: "Largest share.session.timeout.ms that a group may have.",
  }),
  "group.share.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Default of share.heartbeat.interval.ms of groups.",
  }),
  "group.share.min.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Smallest share.heartbeat.interval.ms that a group may have.",
  }),
  "group.share.max.heartbeat.interval.ms": int({
    or: 15000,
    min: 1,
    doc: "Largest share.heartbeat.interval.ms that a group may have.",
  }),
  "group.share.max.size": int({ or: 200, min: 1, max: 1000, doc: "Members that a share group may have." }),
  "group.share.assignors": list({ or: "simple", doc: "Assignors of share groups." }),
  "group.share.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    update: "cluster-wide",
    doc: "Default of share.assignment.interval.ms of groups.",
  }),
  "group.share.min.assignment.interval.ms": int({
    or: 0,
    min: 0,
    doc: "Smallest share.assignment.interval.ms that a group may have.",
  }),
  "group.share.max.assignment.interval.ms": int({
    or: 15000,
    min: 0,
    doc: "Largest share.assignment.interval.ms that a group may have.",
  }),
  "group.share.assignor.offload.enable": boolean({
    or: true,
    update: "cluster-wide",
    internal: true,
    unused: true,
    doc: "Default of share.assignor.offload.enable of groups.",
  }),
  "errors.deadletterqueue.auto.create.topics.enable": boolean({
    or: false,
    update: "cluster-wide",
    doc: "Whether a share group's dead letter topic is created when first needed.",
  }),
  "errors.deadletterqueue.topic.name.prefix": string({
    or: "dlq.",
    update: "cluster-wide",
    doc: "How names of dead letter topics must begin.",
  }),
  "group.streams.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Default of streams.session.timeout.ms of groups.",
  }),
  "group.streams.min.session.timeout.ms": int({
    or: 45000,
    min: 1,
    doc: "Smallest streams.session.timeout.ms that a group may have.",
  }),
  "group.streams.max.session.timeout.ms": int({
    or: 60000,
    min: 1,
    doc: "Largest streams.session.timeout.ms that a group may have.",
  }),
  "group.streams.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Default of streams.heartbeat.interval.ms of groups.",
  }),
  "group.streams.min.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    doc: "Smallest streams.heartbeat.interval.ms that a group may have.",
  }),
  "group.streams.max.heartbeat.interval.ms": int({
    or: 15000,
    min: 1,
    doc: "Largest streams.heartbeat.interval.ms that a group may have.",
  }),
  "group.streams.max.size": int({ or: 2147483647, min: 1, doc: "Members that a streams group may have." }),
  "group.streams.num.standby.replicas": int({
    or: 0,
    min: 0,
    doc: "Default of streams.num.standby.replicas of groups.",
  }),
  "group.streams.max.standby.replicas": int({
    or: 2,
    min: 0,
    doc: "Largest streams.num.standby.replicas that a group may have.",
  }),
  "group.streams.initial.rebalance.delay.ms": int({
    or: 3000,
    min: 0,
    doc: "Default of streams.initial.rebalance.delay.ms of groups.",
  }),
  "group.streams.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    update: "cluster-wide",
    doc: "Default of streams.assignment.interval.ms of groups.",
  }),
  "group.streams.min.assignment.interval.ms": int({
    or: 0,
    min: 0,
    doc: "Smallest streams.assignment.interval.ms that a group may have.",
  }),
  "group.streams.max.assignment.interval.ms": int({
    or: 15000,
    min: 0,
    doc: "Largest streams.assignment.interval.ms that a group may have.",
  }),
  "group.streams.assignors": list({ or: "sticky", doc: "Assignors of streams groups, the default first." }),
  "group.streams.assignor.offload.enable": boolean({
    or: true,
    update: "cluster-wide",
    internal: true,
    unused: true,
    doc: "Default of streams.assignor.offload.enable of groups.",
  }),
  "group.streams.task.offset.interval.ms": int({
    or: 60000,
    min: 1,
    internal: true,
    doc: "Default of streams.task.offset.interval.ms of groups.",
  }),
  "group.streams.min.task.offset.interval.ms": int({
    or: 15000,
    min: 1,
    internal: true,
    doc: "Smallest streams.task.offset.interval.ms that a group may have.",
  }),
  "group.streams.num.warmup.replicas": int({
    or: 2,
    min: 0,
    internal: true,
    doc: "Default of streams.num.warmup.replicas of groups.",
  }),
  "group.streams.max.warmup.replicas": int({
    or: 20,
    min: 0,
    internal: true,
    doc: "Largest streams.num.warmup.replicas that a group may have.",
  }),
  "group.streams.acceptable.recovery.lag": long({
    or: 10000,
    min: 0,
    internal: true,
    doc: "Default of streams.acceptable.recovery.lag of groups.",
  }),
  "group.streams.rack.aware.assignment.tags": list({
    or: "",
    doc: "Default of streams.rack.aware.assignment.tags of groups.",
  }),
  "group.streams.topology.description.plugin.class": javaClass({
    or: null,
    unused: true,
    doc: "A Java class that describes topologies; Trackway loads none.",
  }),
  "group.share.delivery.count.limit": int({
    or: 5,
    min: 2,
    max: 10,
    doc: "Default of share.delivery.count.limit of groups.",
  }),
  "group.share.max.delivery.count.limit": int({
    or: 10,
    min: 5,
    max: 25,
    doc: "Largest share.delivery.count.limit that a group may have.",
  }),
  "group.share.min.delivery.count.limit": int({
    or: 2,
    min: 2,
    max: 5,
    doc: "Smallest share.delivery.count.limit that a group may have.",
  }),
  "group.share.record.lock.duration.ms": int({
    or: 30000,
    min: 1000,
    max: 3600000,
    doc: "Default of share.record.lock.duration.ms of groups.",
  }),
  "group.share.min.record.lock.duration.ms": int({
    or: 15000,
    min: 1000,
    max: 30000,
    doc: "Smallest share.record.lock.duration.ms that a group may have.",
  }),
  "group.share.max.record.lock.duration.ms": int({
    or: 60000,
    min: 30000,
    max: 3600000,
    doc: "Largest share.record.lock.duration.ms that a group may have.",
  }),
  "group.share.partition.max.record.locks": int({
    or: 2000,
    min: 100,
    max: 10000,
    doc: "Default of share.partition.max.record.locks of groups.",
  }),
  "group.share.max.partition.max.record.locks": int({
    or: 4000,
    min: 2000,
    max: 10000,
    doc: "Largest share.partition.max.record.locks that a group may have.",
  }),
  "group.share.min.partition.max.record.locks": int({
    or: 100,
    min: 100,
    max: 2000,
    doc: "Smallest share.partition.max.record.locks that a group may have.",
  }),
  "share.fetch.purgatory.purge.interval.requests": int({
    or: 1000,
    unused: true,
    doc: "Upkeep of Kafka's list of held share fetches.",
  }),
  "group.share.max.share.sessions": int({ or: 2000, min: 1, doc: "Share sessions that are kept." }),
  "share.coordinator.state.topic.num.partitions": int({
    or: 50,
    min: 1,
    doc: "Partitions of __share_group_state.",
  }),
  "share.coordinator.state.topic.replication.factor": short({
    or: 3,
    min: 1,
    doc: "Replicas of __share_group_state, or the number of brokers when that is smaller.",
  }),
  "share.coordinator.state.topic.min.isr": short({
    or: 2,
    min: 1,
    doc: "min.insync.replicas of __share_group_state, or the number of brokers when that is smaller.",
  }),
  "share.coordinator.state.topic.segment.bytes": int({
    or: 104857600,
    min: 1,
    doc: "Segment size of __share_group_state.",
  }),
  "share.coordinator.threads": int({
    or: 1,
    min: 1,
    unused: true,
    doc: "Threads of the share coordinator; one event loop does it.",
  }),
  "share.coordinator.snapshot.update.records.per.snapshot": int({
    or: 500,
    min: 0,
    max: 500,
    doc: "Updates between two snapshots of a share partition.",
  }),
  "share.coordinator.load.buffer.size": int({
    or: 5242880,
    min: 1,
    doc: "Bytes that are read at a time when share state is loaded.",
  }),
  "share.coordinator.state.topic.compression.codec": int({
    or: 0,
    doc: "Compression of what is written to __share_group_state, by number.",
  }),
  "share.coordinator.append.linger.ms": int({
    or: -1,
    min: -1,
    doc: "How long the share coordinator gathers writes; -1 adapts to the load.",
  }),
  "share.coordinator.write.timeout.ms": int({
    or: 5000,
    min: 1,
    doc: "Longest that a write of share state waits for its replicas.",
  }),
  "share.coordinator.cached.buffer.max.bytes": int({
    or: 1048588,
    min: 524288,
    update: "cluster-wide",
    unused: true,
    doc: "Size of a buffer that the share coordinator keeps between appends.",
  }),
};
