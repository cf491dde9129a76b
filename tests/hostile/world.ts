/**
 * What requests are about: topics and groups that the broker has, and for each field by its name a value that a broker
 * takes. Mutations of requests about things that there are get further than those of any others.
 */
import type { Prng } from "../../src/base/prng.ts";
import { consumerProtocolSubscription } from "../../src/codec/records/consumer_protocol.ts";
import { joined } from "./byte_sink.ts";
import { plainBatch, wrongBatch } from "./batches.ts";
import type { Values } from "./structure.ts";

/** A topic that the janitor keeps, and what makes the broker treat its batches in another way. */
export interface VictimTopic {
  readonly name: string;
  readonly partitions: number;
  readonly configs: Readonly<Record<string, string>>;
}

/** Bounds what a run leaves on disk, whatever it writes. */
const small = { "retention.bytes": "2000000", "segment.bytes": "1048576" };

export const victims: readonly VictimTopic[] = [
  { name: "plain", partitions: 3, configs: small },
  { name: "keyed", partitions: 1, configs: { ...small, "cleanup.policy": "compact,delete" } },
  { name: "stamped", partitions: 2, configs: { ...small, "message.timestamp.type": "LogAppendTime" } },
  { name: "squeezed", partitions: 1, configs: { ...small, "compression.type": "lz4" } },
  { name: "recent", partitions: 1, configs: { ...small, "message.timestamp.before.max.ms": "3600000" } },
  { name: "narrow", partitions: 1, configs: { ...small, "max.message.bytes": "2000" } },
];

export const groups: readonly string[] = Array.from({ length: 12 }, (_, i) => `group-${i}`);

/** Settings that requests may change without taking the run with them. */
const settings = [
  "retention.ms",
  "cleanup.policy",
  "max.message.bytes",
  "compression.type",
  "flush.messages",
  "nonsense",
];
const settingValues = [
  "1",
  "-1",
  "",
  "delete",
  "compact",
  "lz4",
  "9223372036854775807",
  "0",
  "1e9",
  "\0",
  "x".repeat(300),
];

/** Ids of the victims' topics by name; the janitor fills it in. */
export type TopicIds = Map<string, string>;

const subscription = joined(
  Uint8Array.of(0, 1),
  consumerProtocolSubscription.encode(1, { topics: ["plain"], userData: null, ownedPartitions: [] }),
);

/** Values for fields of all requests; `own` goes first, by path or by the last name in it. */
export function valuesOf(topicIds: TopicIds, own: Readonly<Record<string, unknown>> = {}): Values {
  return (path, _spec, prng) => {
    if (path in own) return own[path];
    const name = path.slice(path.lastIndexOf(".") + 1);
    if (name in own) return own[name];
    return valueOf(path, name, topicIds, prng);
  };
}

function valueOf(path: string, name: string, topicIds: TopicIds, prng: Prng): unknown {
  const topic = () => prng.pick(victims).name;
  switch (path) {
    case "topics.configs.name":
    case "resources.configs.name":
    case "resources.configurationKeys[]":
      return prng.pick(settings);
    case "topics.configs":
    case "topics.assignments":
    case "statesFilter":
    case "typesFilter":
      return prng.pick([0, 0, 0, 1, 2]);
    case "groups[]":
    case "groupsNames[]":
    case "coordinatorKeys[]":
    case "key":
      return prng.pick(groups);
    case "protocols.name":
      return prng.pick(["range", "range", "roundrobin"]);
    case "topicNames[]":
      return prng.chance(0.02) ? topic() : `made-${prng.int(20)}`;
    case "topicData.name":
      return prng.chance(0.02) ? "__consumer_offsets" : topic();
    case "topics.name":
      return topic();
    case "topics.partitions[]":
    case "topics.partitionIndexes[]":
    case "forgottenTopicsData.partitions[]":
      return prng.int(3);
  }
  switch (name) {
    case "topic":
      return prng.chance(0.02) ? "__consumer_offsets" : topic();
    case "topicName":
    case "resourceName":
      return topic();
    case "topicId":
      return topicIds.get(topic());
    case "groupId":
      return prng.pick(groups);
    case "memberId":
    case "groupInstanceId":
    case "transactionalId":
    case "reason":
    case "clusterId":
      return prng.chance(0.9) ? (name === "memberId" ? "" : null) : `some-${prng.int(5)}`;
    case "partitionIndex":
    case "partition":
    case "index":
      return prng.pick([0, 0, 0, 1, 2]);
    case "records":
      return prng.chance(0.8) ? plainBatch(prng) : wrongBatch(prng);
    case "acks":
      return prng.pick([-1, -1, 1, 0]);
    case "timeoutMs":
    case "transactionTimeoutMs":
      return 1000;
    case "maxWaitMs":
      return prng.pick([0, 0, 0, 5]);
    case "minBytes":
      return prng.pick([0, 1]);
    case "maxBytes":
    case "partitionMaxBytes":
      return prng.pick([0, 1, 10_000, 1_048_576]);
    case "sessionEpoch":
      return prng.pick([-1, 0, 1]);
    case "fetchOffset":
    case "committedOffset":
      return BigInt(prng.pick([0, 0, 1, 5, 1000]));
    case "timestamp":
      return prng.pick([-1n, -2n, -3n, 0n, 1_700_000_000_000n, BigInt(Date.now())]);
    case "sessionTimeoutMs":
      return prng.pick([6000, 10_000]);
    case "rebalanceTimeoutMs":
      return prng.pick([20, 60]);
    case "protocolType":
      return "consumer";
    case "protocolName":
      return "range";
    case "metadata":
      return subscription;
    case "numPartitions":
      return prng.pick([1, 2, -1]);
    case "replicationFactor":
      return prng.pick([1, -1]);
    case "count":
      return prng.pick([1, 2, 3, 4]);
    case "resourceType":
      return prng.pick([2, 2, 2, 4]);
    case "validateOnly":
      return prng.chance(0.7);
    case "allowAutoTopicCreation":
      return false;
    case "configOperation":
      return prng.int(4);
    case "value":
      return prng.pick(settingValues);
    case "brokerIds[]":
      return 1;
    case "keyType":
      return prng.pick([0, 0, 1]);
    case "responsePartitionLimit":
      return prng.pick([1, 100]);
    case "maxNumOffsets":
      return prng.pick([1, 10]);
    case "endpointType":
      return 1;
    default:
      return undefined;
  }
}
