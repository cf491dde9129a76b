/**
 * What a real Kafka 4.4.0 says about its settings, for comparing: kafka_4_4_settings.tsv comes from its tables,
 * kafka_4_4_describe.jsonl from its DescribeConfigs answers in the situation that `situation` describes.
 */
import type { DescribedSetting } from "../../src/config/broker_config.ts";

export interface KafkaSetting {
  readonly kind: "topic" | "group" | "broker";
  readonly name: string;
  readonly type: string;
  readonly default: string | null;
  /** Such as `[1,...]`, `[0,...,1]`, `[1,...,9] or -1`, `[compact, delete]`; empty for anything. */
  readonly allowed: string;
  readonly internal: boolean;
  readonly update: string;
  readonly standIns: readonly string[];
}

function read(name: string): string[] {
  const text = Deno.readTextFileSync(new URL(name, import.meta.url));
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

/** Every setting of one kind, in Kafka's order. */
export function kafkaSettings(kind: KafkaSetting["kind"]): KafkaSetting[] {
  return read("kafka_4_4_settings.tsv").map((line) => line.split("\t")).filter(([each]) => each === kind).map(
    ([, name, type, value, allowed, internal, update, standIns]) => ({
      kind,
      name,
      type,
      default: value === "null" ? null : value,
      allowed,
      internal: internal === "true",
      update,
      standIns: standIns === "" ? [] : standIns.split(" "),
    }),
  );
}

/** What the broker of the recorded answers was told, and what the topic t1 overrode. */
export const situation = {
  statics: {
    "log.retention.hours": "24",
    "log.retention.minutes": "77",
    "log.roll.ms": "123456789",
    "log.roll.jitter.hours": "2",
    "log.flush.scheduler.interval.ms": "5000",
    "message.max.bytes": "2000000",
    "log.cleanup.policy": "compact",
    "num.io.threads": "9",
    "foo.bar": "1",
  },
  perBroker: { "log.segment.bytes": "3000000" },
  clusterWide: { "log.segment.bytes": "2000000", "log.retention.bytes": "12345" },
  topic: { "internal.segment.bytes": "1000" },
};

/** Kafka's answers in that situation; its documentation texts were not recorded. */
export function kafkaDescribes(kind: KafkaSetting["kind"]): Omit<DescribedSetting, "doc">[] {
  return read("kafka_4_4_describe.jsonl").map((line) => JSON.parse(line)).filter((each) => each.kind === kind)
    .map(
      ({ kind: _, ...setting }) => setting,
    );
}
