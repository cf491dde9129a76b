/** Which value is in force for a topic, a group and the broker, and which changes are refused. */
import { assertEquals } from "@std/assert/equals";
import { BrokerConfig } from "../../src/config/broker_config.ts";
import {
  GroupSettings,
  TopicSettings,
  validateGroupSettings,
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

const topicProblems: [overrides: Record<string, string>, problem: string | null][] = [
  [{ "retention.ms": "1" }, null],
  [{ "cleanup.policy": "" }, null],
  [{ "cleanup.policy": "compact,delete" }, null],
  [{ "retention.ms": " 5000 " }, null],
  [{ "preallocate": "TRUE" }, null],
  [{ "follower.replication.throttled.replicas": "*" }, null],
  [{ "follower.replication.throttled.replicas": "0:1,1:2" }, null],
  [{ "foo.bar": "1" }, "Unknown topic config name: foo.bar"],
  [{ "constructor": "1" }, "Unknown topic config name: constructor"],
  // Names come first, then values in the order of the table, then pairs.
  [{ "retention.ms": "x", "foo.bar": "1" }, "Unknown topic config name: foo.bar"],
  [
    { "retention.ms": "x", "segment.bytes": "y" },
    "Invalid value y for configuration segment.bytes: Not a number of type INT",
  ],
  [
    { "min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9" },
    "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (9)",
  ],
  [
    { "leader.replication.throttled.replicas": "abc" },
    "Invalid value [abc] for configuration leader.replication.throttled.replicas: " +
    "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: " +
    "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
  ],
  [
    { "remote.storage.enable": "true" },
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
  ],
];

for (const [overrides, problem] of topicProblems) {
  Deno.test(`validateTopicSettings() says ${problem ?? "nothing"} of ${JSON.stringify(overrides)}`, () => {
    assertEquals(validateTopicSettings(new Map(Object.entries(overrides)), broker()), problem);
  });
}

const groupProblems: [
  overrides: Record<string, string>,
  problem: string | null,
  statics?: Record<string, string>,
][] = [
  [{ "consumer.session.timeout.ms": "60000" }, null],
  [{ "share.auto.offset.reset": "by_duration:PT1H" }, null],
  [{ "share.auto.offset.reset": "by_duration:p1dt2h3m4.5s" }, null],
  [{ "zz": "1", "consumer.session.timeout.ms": "x" }, "Unknown group config name: zz"],
  [
    { "share.session.timeout.ms": "5", "consumer.session.timeout.ms": "60001" },
    "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
  ],
  [
    { "consumer.session.timeout.ms": "20000" },
    null,
    { "group.consumer.min.session.timeout.ms": "10000" },
  ],
  [
    { "consumer.session.timeout.ms": "5000" },
    "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
    { "group.consumer.min.session.timeout.ms": "1000" },
  ],
  [{ "streams.num.standby.replicas": "3" }, "streams.num.standby.replicas must be less than or equal to 2"],
  [
    { "streams.assignor.name": "foo" },
    "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky].",
  ],
  [{ "streams.assignor.name": "b" }, null, { "group.streams.assignors": "a,b" }],
  [
    { "errors.deadletterqueue.topic.name": "__a" },
    "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
  ],
  ...["EARLIEST", "by_duration:P", "BY_DURATION:PT1S", "by_duration:-PT1H", ""].map((
    text,
  ): [Record<string, string>, string] => [
    { "share.auto.offset.reset": text },
    `Invalid value ${text} for configuration share.auto.offset.reset: Invalid value \`${text}\` for configuration ` +
    "share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format " +
    "'by_duration:<PnDTnHnMn.nS>'.",
  ]),
];

for (const [overrides, problem, statics = {}] of groupProblems) {
  const given = JSON.stringify({ ...overrides, ...statics });
  Deno.test(`validateGroupSettings() says ${problem ?? "nothing"} of ${given}`, () => {
    assertEquals(validateGroupSettings(new Map(Object.entries(overrides)), broker(statics)), problem);
  });
}

Deno.test("GroupSettings.get() names the first of the broker's assignors", () => {
  const config = broker({ "group.streams.assignors": "other,sticky" });
  assertEquals(new GroupSettings(none, config).get("streams.assignor.name"), "other");
});

Deno.test("BrokerConfig.setDynamic() skips and names what it cannot use", () => {
  const config = broker();
  const problems = config.setDynamic(
    new Map([["log.retention.ms", "soon"], ["log.segment.bytes", "2000000"]]),
    none,
  );
  assertEquals(problems, [
    "Invalid value soon for configuration log.retention.ms: Not a number of type LONG",
  ]);
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
