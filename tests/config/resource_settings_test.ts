/** Which value is in force for a topic, a group and the broker, and which changes are refused. */
import { assertEquals } from "@std/assert/equals";
import { BrokerConfig, validateBrokerSetting } from "../../src/config/broker_config.ts";
import {
  GroupSettings,
  TopicSettings,
  validateGroupSettings,
  validateTopicSetting,
  validateTopicSettings,
} from "../../src/config/resource_settings.ts";

function broker(statics: Record<string, string> = {}): BrokerConfig {
  return new BrokerConfig(
    new Map(Object.entries(statics).map(([name, text]) => [name, { text, origin: "test" }])),
  );
}

function topic(overrides: Record<string, string>, config = broker()): TopicSettings {
  return new TopicSettings(new Map(Object.entries(overrides)), config);
}

const none = new Map<string, string>();

Deno.test("TopicSettings.get() takes the override, then the broker's setting, then the default", () => {
  assertEquals(topic({}).get("retention.ms"), 604800000);
  assertEquals(topic({}, broker({ "log.retention.ms": "5000" })).get("retention.ms"), 5000);
  assertEquals(topic({ "retention.ms": "1" }, broker({ "log.retention.ms": "5000" })).get("retention.ms"), 1);
});

Deno.test("TopicSettings.get() prefers log.retention.ms to minutes to hours, each in its unit", () => {
  const cases: [Record<string, string>, number][] = [
    [{ "log.retention.hours": "2" }, 7200000],
    [{ "log.retention.hours": "2", "log.retention.minutes": "3" }, 180000],
    [{ "log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4" }, 4],
    [{ "log.retention.hours": "-1" }, -1],
    [{ "log.retention.minutes": "-1", "log.retention.hours": "2" }, -1],
  ];
  for (const [statics, expected] of cases) {
    assertEquals(topic({}, broker(statics)).get("retention.ms"), expected);
  }
});

Deno.test("TopicSettings.get() gives each setting its own type", () => {
  const settings = topic({ "cleanup.policy": "compact, delete" });
  const policies: readonly ("compact" | "delete")[] = settings.get("cleanup.policy");
  const timestampType: "CreateTime" | "LogAppendTime" = settings.get("message.timestamp.type");
  const preallocate: boolean = settings.get("preallocate");
  assertEquals([policies, timestampType, preallocate], [["compact", "delete"], "CreateTime", false]);
  assertEquals(topic({ "cleanup.policy": "" }).get("cleanup.policy"), []);
});

Deno.test("TopicSettings.get() follows a change of the broker's settings", () => {
  const config = broker();
  const settings = topic({}, config);
  assertEquals(settings.get("max.message.bytes"), 1048588);
  config.setDynamic(none, new Map([["message.max.bytes", "2000"]]));
  assertEquals(settings.get("max.message.bytes"), 2000);
  config.setDynamic(new Map([["message.max.bytes", "3000"]]), new Map([["message.max.bytes", "2000"]]));
  assertEquals(settings.get("max.message.bytes"), 3000);
  config.setDynamic(none, none);
  assertEquals(settings.get("max.message.bytes"), 1048588);
});

Deno.test("TopicSettings.segmentBytes can be below segment.bytes' lower limit through the internal setting", () => {
  assertEquals(topic({}).segmentBytes, 1073741824);
  assertEquals(topic({ "internal.segment.bytes": "500" }).segmentBytes, 500);
});

Deno.test("TopicSettings.get() passes over an override that is no longer allowed", () => {
  assertEquals(topic({ "min.insync.replicas": "0" }).get("min.insync.replicas"), 1);
});

Deno.test("validateTopicSetting() refuses what Kafka refuses", () => {
  const refused: [string, string][] = [
    ["retention.ms", "-5"],
    ["segment.bytes", "99999999999"],
    ["cleanup.policy", "foo"],
    ["compression.type", "GZIP"],
    ["leader.replication.throttled.replicas", "abc"],
  ];
  for (const [name, text] of refused) {
    const error = validateTopicSetting(name, text);
    assertEquals(
      error?.startsWith(`Invalid value ${text} for configuration ${name}: must be `),
      true,
      `${error}`,
    );
  }
  assertEquals(validateTopicSetting("foo.bar", "1"), "Unknown topic config name: foo.bar");
  assertEquals(validateTopicSetting("constructor", "1"), "Unknown topic config name: constructor");
});

Deno.test("validateTopicSetting() accepts what Kafka accepts", () => {
  const accepted: [string, string][] = [
    ["cleanup.policy", ""],
    ["cleanup.policy", "compact,delete"],
    ["retention.ms", " 5000 "],
    ["preallocate", "TRUE"],
    ["follower.replication.throttled.replicas", "*"],
    ["follower.replication.throttled.replicas", "0:1,1:2"],
  ];
  for (const [name, text] of accepted) assertEquals([name, validateTopicSetting(name, text)], [name, null]);
});

Deno.test("validateTopicSettings() looks at settings together", () => {
  const validate = (overrides: Record<string, string>) =>
    validateTopicSettings(new Map(Object.entries(overrides)), broker());
  assertEquals(validate({ "retention.ms": "1" }), null);
  assertEquals(
    validate({ "min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9" }),
    "conflict in configuration: min.compaction.lag.ms (10) is above max.compaction.lag.ms (9)",
  );
  assertEquals(
    validate({ "remote.storage.enable": "true" }),
    "Invalid value true for configuration remote.storage.enable: tiered storage is not supported",
  );
});

Deno.test("validateGroupSettings() keeps a group inside of the broker's bounds", () => {
  const validate = (overrides: Record<string, string>) =>
    validateGroupSettings(new Map(Object.entries(overrides)), broker());
  assertEquals(validate({ "consumer.session.timeout.ms": "60000" }), null);
  assertEquals(
    validate({ "consumer.session.timeout.ms": "60001" }),
    "Invalid value 60001 for configuration consumer.session.timeout.ms: this broker allows 45000 to 60000 " +
      "(group.consumer.min.session.timeout.ms, group.consumer.max.session.timeout.ms)",
  );
  assertEquals(validate({ "streams.num.standby.replicas": "3" })?.includes("allows 0 to 2"), true);
  assertEquals(validate({ "share.auto.offset.reset": "by_duration:PT1H" }), null);
  assertEquals(validate({ "share.auto.offset.reset": "by_duration:P" })?.includes("must be latest"), true);
});

Deno.test("GroupSettings.get() names the first of the broker's assignors", () => {
  const config = broker({ "group.streams.assignors": "other,sticky" });
  assertEquals(new GroupSettings(none, config).get("streams.assignor.name"), "other");
});

Deno.test("validateBrokerSetting() refuses what only a restart can change, and what belongs to one broker", () => {
  assertEquals(validateBrokerSetting("log.retention.ms", "5", "cluster"), null);
  assertEquals(validateBrokerSetting("log.retention.ms", null, "broker"), null);
  assertEquals(validateBrokerSetting("log.retention.ms", "x", "broker")?.startsWith("Invalid value x"), true);
  assertEquals(
    validateBrokerSetting("num.partitions", "5", "broker"),
    "Cannot change num.partitions while the broker runs: set it at start",
  );
  assertEquals(
    validateBrokerSetting("cordoned.log.dirs", "/a", "cluster"),
    "Cannot change cordoned.log.dirs for the whole cluster: it belongs to a single broker",
  );
  assertEquals(validateBrokerSetting("no.such", "5", "broker"), "Unknown broker config name: no.such");
});

Deno.test("BrokerConfig.setDynamic() skips and names what it cannot use", () => {
  const config = broker();
  const problems = config.setDynamic(
    new Map([["log.retention.ms", "soon"], ["log.segment.bytes", "2000000"]]),
    none,
  );
  assertEquals(problems, ["Invalid value soon for configuration log.retention.ms: must be a whole number"]);
  assertEquals([config.get("log.segment.bytes"), config.get("log.retention.ms")], [2000000, 604800000]);
});

Deno.test("BrokerConfig.source() and origin() say who set a value", () => {
  const config = broker({ "num.partitions": "3", "message.max.bytes": "5" });
  config.setDynamic(new Map([["message.max.bytes", "6"]]), new Map([["compression.type", "zstd"]]));
  assertEquals(
    (["num.partitions", "message.max.bytes", "compression.type", "log.dirs"] as const).map((name) =>
      config.source(name)
    ),
    ["static", "dynamic-broker", "dynamic-default", "default"],
  );
  assertEquals([config.origin("num.partitions"), config.origin("log.dirs")], ["test", "default"]);
});

Deno.test("BrokerConfig.text() keeps numbers exact that TypeScript cannot hold", () => {
  assertEquals(broker().text("log.flush.interval.ms"), "9223372036854775807");
  assertEquals(broker().get("log.flush.interval.ms"), Number.MAX_SAFE_INTEGER);
});
