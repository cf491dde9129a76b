/** DescribeConfigs: value, source, synonyms, type and read-only flag are those that a real Kafka answered. */
import { assertEquals } from "@std/assert/equals";
import { BrokerConfig, type DescribedSetting } from "../../src/config/broker_config.ts";
import { GroupSettings, TopicSettings } from "../../src/config/resource_settings.ts";
import { kafkaDescribes, situation } from "./kafka.ts";

const entries = (values: Record<string, string>) => new Map(Object.entries(values));

function brokerInThatSituation(): BrokerConfig {
  const statics = Object.entries(situation.statics).map(([name, text]) =>
    [name, { text, origin: "test" }] as const
  );
  const config = new BrokerConfig(new Map(statics));
  assertEquals(config.setDynamic(entries(situation.perBroker), entries(situation.clusterWide)), []);
  return config;
}

/** Our answers for the settings that Kafka's answer names, in the same order and without documentation. */
function compared(ours: DescribedSetting[], theirs: Omit<DescribedSetting, "doc">[]): unknown[] {
  const byName = new Map(ours.map(({ doc: _, ...setting }) => [setting.name, setting]));
  return theirs.map(({ name }) => byName.get(name));
}

Deno.test("TopicSettings.describe() answers as Kafka does", () => {
  const theirs = kafkaDescribes("topic").map((setting) => {
    // Kafka 4.4 keeps a cluster-wide min.insync.replicas for KIP-966, which nobody here has set.
    const synonyms = setting.synonyms.filter(({ name, source }) =>
      name !== "min.insync.replicas" || source === 5
    );
    return setting.name === "min.insync.replicas" ? { ...setting, source: 5, synonyms } : setting;
  });
  const ours = new TopicSettings(entries(situation.topic), brokerInThatSituation()).describe();
  assertEquals(compared(ours, theirs), theirs);
  assertEquals(ours.length, theirs.length);
});

Deno.test("BrokerConfig.describe() answers as Kafka does", () => {
  const foreign = ["log.dir", "log.dirs"]; // Paths of the machine where the answers were recorded.
  const theirs = kafkaDescribes("broker").filter(({ name }) => !foreign.includes(name));
  assertEquals(compared(brokerInThatSituation().describe(), theirs), theirs);
});

Deno.test("GroupSettings.describe() answers as Kafka does", () => {
  const theirs = kafkaDescribes("group");
  const ours = new GroupSettings(new Map(), brokerInThatSituation()).describe();
  assertEquals(compared(ours, theirs), theirs);
  assertEquals(ours.length, theirs.length);
});

Deno.test("TopicSettings.describe() shows an override first, in canonical form, with source 1", () => {
  const settings = new TopicSettings(
    entries({ "preallocate": "TRUE", "flush.messages": " 9223372036854775807" }),
    new BrokerConfig(),
  );
  const [preallocate, flush] = settings.describe(["preallocate", "flush.messages", "no.such.setting"]);
  assertEquals([preallocate.value, preallocate.source], ["true", 1]);
  assertEquals(preallocate.synonyms, [
    { name: "preallocate", value: "true", source: 1 },
    { name: "log.preallocate", value: "false", source: 5 },
  ]);
  assertEquals([flush.value, flush.type], ["9223372036854775807", 5]);
});

Deno.test("GroupSettings.describe() shows an override with source 8", () => {
  const settings = new GroupSettings(entries({ "consumer.session.timeout.ms": "50000" }), new BrokerConfig());
  const [described] = settings.describe(["consumer.session.timeout.ms"]);
  assertEquals([described.value, described.source, described.synonyms.length], ["50000", 8, 2]);
});

Deno.test("BrokerConfig.describe() never shows a value that it does not know the meaning of", () => {
  const config = new BrokerConfig(new Map([["my.password", { text: "secret", origin: "test" }]]));
  const [described] = config.describe(["my.password"]);
  assertEquals([described.value, described.sensitive, described.synonyms[0].value], [null, true, null]);
  assertEquals(JSON.stringify(config.describe()).includes("secret"), false);
});

Deno.test("BrokerConfig.describeClusterDefaults() shows only what was set for the whole cluster", () => {
  const described = brokerInThatSituation().describeClusterDefaults();
  assertEquals(described.map(({ name, value, source }) => [name, value, source]), [
    ["log.segment.bytes", "2000000", 3],
    ["log.retention.bytes", "12345", 3],
  ]);
});
