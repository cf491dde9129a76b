/** The settings of a group (KIP-848, KIP-932, KIP-1071), each with the broker setting that it overrides. */
import { boolean, int, list, long, string } from "./setting.ts";

/** KIP-932: where a share group starts that has no position yet; the duration is ISO 8601 and not negative. */
const duration = /^P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?$/i;

function isOffsetReset(text: string): boolean {
  if (text === "latest" || text === "earliest") return true;
  return text.startsWith("by_duration:") && duration.test(text.slice("by_duration:".length));
}

const shareAutoOffsetReset = string({
  or: "latest",
  doc: "Where a share group starts that has no position yet: latest, earliest, or by_duration:PnDTnHnMn.nS.",
});

const streamsAssignorName = string({
  from: ["group.streams.assignors"],
  doc: "The assignor of a streams group; the first of group.streams.assignors when not set.",
});

/** Every setting that a group can have. */
export const groupRows = {
  "consumer.session.timeout.ms": int({
    or: 45000,
    min: 1,
    from: ["group.consumer.session.timeout.ms"],
    doc: "How long a member of a consumer group may be silent before it is removed.",
  }),
  "consumer.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    from: ["group.consumer.heartbeat.interval.ms"],
    doc: "How often members of a consumer group are told to send a heartbeat.",
  }),
  "consumer.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    from: ["group.consumer.assignment.interval.ms"],
    doc: "Shortest time between two assignments of a consumer group.",
  }),
  "consumer.assignor.offload.enable": boolean({
    or: true,
    internal: true,
    from: ["group.consumer.assignor.offload.enable"],
    doc: "Whether Kafka computes assignments of consumer groups on other threads; one event loop does it.",
  }),
  "share.session.timeout.ms": int({
    or: 45000,
    min: 1,
    from: ["group.share.session.timeout.ms"],
    doc: "How long a member of a share group may be silent before it is removed.",
  }),
  "share.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    from: ["group.share.heartbeat.interval.ms"],
    doc: "How often members of a share group are told to send a heartbeat.",
  }),
  "share.record.lock.duration.ms": int({
    or: 30000,
    min: 1000,
    from: ["group.share.record.lock.duration.ms"],
    doc: "How long a delivered record is kept for its member before it may go to another.",
  }),
  "share.delivery.count.limit": int({
    or: 5,
    min: 2,
    from: ["group.share.delivery.count.limit"],
    doc: "Deliveries after which a record that nobody accepts is given up.",
  }),
  "share.partition.max.record.locks": int({
    or: 2000,
    min: 100,
    from: ["group.share.partition.max.record.locks"],
    doc: "Records of one partition that a share group may hold at a time.",
  }),
  "share.auto.offset.reset": {
    ...shareAutoOffsetReset,
    parse(text: string) {
      const trimmed = text.trim();
      if (isOffsetReset(trimmed)) return { value: trimmed, text: trimmed };
      return {
        error:
          `Invalid value \`${trimmed}\` for configuration share.auto.offset.reset. The value must be either ` +
          "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
      };
    },
  },
  "share.isolation.level": string({
    or: "read_uncommitted",
    oneOf: ["read_committed", "read_uncommitted"],
    doc: "Whether a share group sees records of open and aborted transactions.",
  }),
  "share.renew.acknowledge.enable": boolean({
    or: true,
    doc: "Whether members may extend the lock of a record (KIP-1222).",
  }),
  "share.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    from: ["group.share.assignment.interval.ms"],
    doc: "Shortest time between two assignments of a share group.",
  }),
  "share.assignor.offload.enable": boolean({
    or: true,
    internal: true,
    from: ["group.share.assignor.offload.enable"],
    doc: "Whether Kafka computes assignments of share groups on other threads; one event loop does it.",
  }),
  "streams.session.timeout.ms": int({
    or: 45000,
    min: 1,
    from: ["group.streams.session.timeout.ms"],
    doc: "How long a member of a streams group may be silent before it is removed.",
  }),
  "streams.heartbeat.interval.ms": int({
    or: 5000,
    min: 1,
    from: ["group.streams.heartbeat.interval.ms"],
    doc: "How often members of a streams group are told to send a heartbeat.",
  }),
  "streams.num.standby.replicas": int({
    or: 0,
    min: 0,
    from: ["group.streams.num.standby.replicas"],
    doc: "Standby copies of each stateful task.",
  }),
  "streams.initial.rebalance.delay.ms": int({
    or: 3000,
    min: 0,
    from: ["group.streams.initial.rebalance.delay.ms"],
    doc: "How long a new streams group waits for more members before its first assignment.",
  }),
  "streams.assignment.interval.ms": int({
    or: 1000,
    min: 0,
    from: ["group.streams.assignment.interval.ms"],
    doc: "Shortest time between two assignments of a streams group.",
  }),
  "streams.assignor.offload.enable": boolean({
    or: true,
    internal: true,
    from: ["group.streams.assignor.offload.enable"],
    doc: "Whether Kafka computes assignments of streams groups on other threads; one event loop does it.",
  }),
  "streams.task.offset.interval.ms": int({
    or: 60000,
    min: 1,
    internal: true,
    from: ["group.streams.task.offset.interval.ms"],
    doc: "How often members of a streams group report how far their tasks are.",
  }),
  "streams.num.warmup.replicas": int({
    or: 2,
    min: 0,
    internal: true,
    from: ["group.streams.num.warmup.replicas"],
    doc: "Copies of stateful tasks that are made before a task moves to them.",
  }),
  "streams.rack.aware.assignment.tags": list({
    or: "",
    from: ["group.streams.rack.aware.assignment.tags"],
    doc: "Client tags over which standby tasks are spread.",
  }),
  "streams.acceptable.recovery.lag": long({
    or: 10000,
    min: 0,
    internal: true,
    from: ["group.streams.acceptable.recovery.lag"],
    doc: "Records that a copy of a task may be behind and still take over at once.",
  }),
  "streams.assignor.name": {
    ...streamsAssignorName,
    // The broker setting behind it is a list, of which the first is the default.
    parse(text: string) {
      const first = text.split(",")[0].trim();
      return { value: first, text: first };
    },
  },
  "errors.deadletterqueue.topic.name": string({
    or: "",
    doc: "Topic for records that a share group gave up; empty for none.",
  }),
  "errors.deadletterqueue.copy.record.enable": boolean({
    or: false,
    doc: "Whether the record itself goes to the dead letter topic, or only where it was.",
  }),
};

/** Names of group settings. */
export type GroupSettingName = keyof typeof groupRows;
