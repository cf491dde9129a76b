import { assertEquals } from "@std/assert/equals";
import { describeChange } from "../../src/cluster/change_log.ts";
import { newTopic, type TopicImage } from "../../src/cluster/image.ts";
import type { ClusterChange } from "../../src/cluster/image_changes.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

const topic = (name: string, configs: Record<string, string> = {}, partitions = 1): TopicImage =>
  newTopic(name, ZERO_UUID, Array.from({ length: partitions }, () => [1]), new Map(Object.entries(configs)));

const change = (of: Partial<ClusterChange>): ClusterChange => ({
  version: 1,
  deleted: [],
  created: [],
  changed: [],
  brokerConfigs: [],
  groupConfigs: [],
  clientMetricsConfigs: [],
  clientQuotas: [],
  ...of,
});

Deno.test("describeChange() names topics with their partitions and settings, and of others the settings' names", () => {
  const lines = describeChange(change({
    created: [topic("a", { "retention.ms": "5" }, 3)],
    deleted: [topic("b")],
    brokerConfigs: [
      { name: "", settings: ["log.retention.ms", "num.partitions"] },
      { name: "1", settings: ["num.partitions"] },
      { name: "2", settings: [] },
    ],
    groupConfigs: [{ name: "g", settings: ["consumer.session.timeout.ms"] }],
  }));
  assertEquals(lines, [
    "Deleted topic b",
    "Created topic a (3 partitions): retention.ms=5",
    "Changed settings of all brokers: log.retention.ms, num.partitions",
    "Changed settings of broker 1: num.partitions",
    "Changed settings of group g: consumer.session.timeout.ms",
  ]);
});

Deno.test("describeChange() tells only the number of many topics", () => {
  const created = Array.from({ length: 1000 }, (_, i) => topic(`t${i}`));
  assertEquals(describeChange(change({ created })), ["Created 1000 topics"]);
});
