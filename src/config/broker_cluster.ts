/** Broker settings of the node, its replication, quotas and metrics. Those marked `unused` are taken and have no effect. */
import { boolean, int, javaClass, list, long, string } from "./setting.ts";

/** One row each; see setting.ts for the words. */
export const clusterRows = {
  "broker.id": int({ or: -1, doc: "The old name of node.id." }),
  "num.replica.alter.log.dirs.threads": int({
    or: null,
    unused: true,
    doc: "Threads that move replicas between directories; one event loop does it.",
  }),
  "background.threads": int({
    or: 10,
    min: 1,
    update: "cluster-wide",
    unused: true,
    doc: "Threads for housekeeping; one event loop does it.",
  }),
  "config.providers": list({
    or: "",
    update: "cluster-wide",
    unused: true,
    doc: "Java classes that fill in settings; Trackway loads none.",
  }),
  "authorizer.class.name": string({
    or: "",
    doc: "A Java class that checks permissions. Trackway checks none yet, so it refuses to start with one.",
  }),
  "early.start.listeners": list({
    or: null,
    unused: true,
    doc: "Listeners opened before an authorizer is ready; there is no such wait.",
  }),
  "broker.rack": string({
    or: null,
    doc: "Where this broker stands; replicas and consumers are placed by it.",
  }),
  "controlled.shutdown.enable": boolean({
    or: true,
    doc: "Whether leadership moves away before a broker stops.",
  }),
  "process.roles": list({
    or: null,
    oneOf: ["broker", "controller"],
    unused: true,
    doc: "Roles of a KRaft process; a Trackway process is always a whole broker.",
  }),
  // Kafka has no default here; one broker on one machine should not have to be numbered.
  "node.id": int({ or: 1, min: 0, doc: "This broker's id." }),
  "controller.listener.names": list({
    or: null,
    unused: true,
    doc: "Listeners of the KRaft controller, which Trackway does not open.",
  }),
  "controller.socket.timeout.ms": int({
    or: 30000,
    unused: true,
    doc: "Limit on requests of the controller; there is no such connection.",
  }),
  "default.replication.factor": int({
    or: 1,
    doc: "Replicas of a topic that is created without saying how many.",
  }),
  "replica.lag.time.max.ms": long({
    or: 30000,
    doc: "How long a follower may be behind before it leaves the ISR.",
  }),
  "replica.socket.timeout.ms": int({ or: 30000, doc: "Limit on a follower's request to its leader." }),
  "replica.socket.receive.buffer.bytes": int({
    or: 65536,
    unused: true,
    doc: "Receive buffer of a follower's socket; the operating system sizes it.",
  }),
  "replica.fetch.max.bytes": int({ or: 1048576, min: 0, doc: "Most that a follower asks of one partition." }),
  "replica.fetch.wait.max.ms": int({ or: 500, doc: "Longest that a leader holds a follower's fetch." }),
  "replica.fetch.backoff.ms": int({ or: 1000, min: 0, doc: "A follower's wait after a failed fetch." }),
  "replica.fetch.min.bytes": int({ or: 1, doc: "Bytes for which a leader holds a follower's fetch." }),
  "replica.fetch.response.max.bytes": int({
    or: 10485760,
    min: 0,
    doc: "Most that a follower asks of all partitions together.",
  }),
  "num.replica.fetchers": int({
    or: 1,
    min: 1,
    update: "cluster-wide",
    unused: true,
    doc: "Fetching threads per leader; one event loop does it.",
  }),
  "replica.high.watermark.checkpoint.interval.ms": long({
    or: 5000,
    doc: "How often high watermarks are written to disk.",
  }),
  "auto.leader.rebalance.enable": boolean({
    or: true,
    doc: "Whether leadership goes back to preferred replicas by itself.",
  }),
  "leader.imbalance.check.interval.seconds": long({
    or: 300,
    min: 1,
    doc: "How often leadership is looked at for going back.",
  }),
  "replica.selector.class": string({
    or: null,
    unused: true,
    doc: "A Java class that chooses the replica to read from; Trackway loads none.",
  }),
  "metrics.num.samples": int({
    or: 2,
    min: 1,
    unused: true,
    doc: "Samples of a Java metric; counters here are totals.",
  }),
  "metrics.sample.window.ms": long({
    or: 30000,
    min: 1,
    unused: true,
    doc: "Length of a sample of a Java metric; counters here are totals.",
  }),
  "metric.reporters": list({
    or: "org.apache.kafka.common.metrics.JmxReporter",
    update: "cluster-wide",
    unused: true,
    doc: "Java classes that export metrics; Trackway loads none.",
  }),
  "metrics.recording.level": string({ or: "INFO", unused: true, doc: "Detail of Java metrics." }),
  "kafka.metrics.reporters": list({
    or: "",
    unused: true,
    doc: "Java classes that export metrics; Trackway loads none.",
  }),
  "kafka.metrics.polling.interval.secs": int({
    or: 10,
    min: 1,
    unused: true,
    doc: "How often those classes are called.",
  }),
  "telemetry.max.bytes": int({
    or: 1048576,
    min: 1,
    doc: "Largest push of client metrics that is accepted (KIP-714).",
  }),
  "quota.window.num": int({ or: 11, min: 1, doc: "Samples that a client quota looks back over." }),
  "replication.quota.window.num": int({
    or: 11,
    min: 1,
    doc: "Samples that a replication quota looks back over.",
  }),
  "alter.log.dirs.replication.quota.window.num": int({
    or: 11,
    min: 1,
    doc: "Samples that the quota on moves between directories looks back over.",
  }),
  "controller.quota.window.num": int({
    or: 11,
    min: 1,
    doc: "Samples that the quota on topic changes looks back over (KIP-599).",
  }),
  "quota.window.size.seconds": int({ or: 1, min: 1, doc: "Length of a sample of a client quota." }),
  "replication.quota.window.size.seconds": int({
    or: 1,
    min: 1,
    doc: "Length of a sample of a replication quota.",
  }),
  "alter.log.dirs.replication.quota.window.size.seconds": int({
    or: 1,
    min: 1,
    doc: "Length of a sample of that quota.",
  }),
  "controller.quota.window.size.seconds": int({ or: 1, min: 1, doc: "Length of a sample of that quota." }),
  // Only ever set while the broker runs, by kafka-reassign-partitions; not listed before that (KIP-73, KIP-113).
  "leader.replication.throttled.rate": long({
    or: null,
    min: 0,
    update: "cluster-wide",
    internal: true,
    unused: true,
    doc: "Bytes a second that throttled replicas may be read with; a broker alone has no followers.",
  }),
  "follower.replication.throttled.rate": long({
    or: null,
    min: 0,
    update: "cluster-wide",
    internal: true,
    unused: true,
    doc:
      "Bytes a second that throttled replicas may be fetched with; a broker alone has no leader to follow.",
  }),
  "replica.alter.log.dirs.io.max.bytes.per.second": long({
    or: null,
    min: 0,
    update: "cluster-wide",
    internal: true,
    doc:
      "Bytes a second that moves between data directories may take; without it they go as fast as the disks.",
  }),
  "client.quota.callback.class": javaClass({
    or: null,
    unused: true,
    doc: "A Java class that computes quotas; Trackway loads none.",
  }),
  "security.providers": string({
    or: null,
    unused: true,
    doc: "Java security providers; Trackway loads none.",
  }),
  "principal.builder.class": javaClass({
    or: "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    update: "per-broker",
    unused: true,
    doc: "A Java class that names clients; Trackway loads none.",
  }),
};
