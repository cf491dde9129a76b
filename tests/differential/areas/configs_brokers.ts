/** Settings of the broker while it runs, of one and of all, and what topics inherit of them. */
import { alterConfigs } from "../../../src/codec/messages/alter_configs.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { eventually, scenario } from "../scenario.ts";
import {
  APPEND,
  BROKER,
  type Change,
  change,
  changing,
  DELETE,
  describe,
  describing,
  GROUP,
  ints,
  judge,
  judgeValues,
  longs,
  replacing,
  SET,
  settled,
  SUBTRACT,
  TOPIC,
  withTexts,
} from "../setup/configs.ts";
import { createTopic } from "../setup/topics.ts";

export { brokerOracle as oracle } from "../setup/configs.ts";

export const scenarios = [
  scenario("A broker is named by its number, all of them by nothing", async (broker) => {
    for (const name of ["1", "", "01", "+1", "-1", "9", "x", " 1", "1.0", "99999999999"]) {
      await broker.ask(
        incrementalAlterConfigs,
        1,
        changing([[BROKER, name, [["log.cleaner.backoff.ms", SET, "1000"]]]], true),
        withTexts,
        `broker "${name}"`,
      );
    }
  }),
  scenario("DescribeConfigs of brokers by their names", async (broker) => {
    for (const name of ["1", "01", "+1", "9", "-1", "x", "1.0", "99999999999"]) {
      const pick = (
        r: { results: { errorCode: number; errorMessage: string | null; configs: unknown[] }[] },
      ) =>
        r.results.map(({ errorCode, errorMessage, configs }) => ({
          errorCode,
          says: errorMessage,
          configs: configs.length,
        }));
      await broker.ask(
        describeConfigs,
        4,
        describing([[BROKER, name, ["log.dirs", "zz"]]]),
        pick,
        `broker "${name}"`,
      );
    }
  }),
  scenario("What only a restart can change is refused, together and before all else", async (broker) => {
    const fixed = [
      "num.partitions",
      "log.dirs",
      "node.id",
      "log.retention.hours",
      "log.retention.minutes",
      "auto.create.topics.enable",
      "offsets.retention.minutes",
      "group.max.session.timeout.ms",
      "connections.max.idle.ms",
      "advertised.listeners",
    ];
    for (const scope of ["1", ""]) {
      await judge(
        broker,
        BROKER,
        scope,
        Object.fromEntries(fixed.map((name) => [name, [[name, SET, "3"]] as Change[]])),
      );
      await judge(broker, BROKER, scope, {
        "taken back": [["num.partitions", DELETE, null]],
        "before a value": [["log.cleaner.backoff.ms", SET, "x"], ["num.partitions", SET, "3"]],
      });
    }
  }),
  scenario("Some settings belong to a single broker", async (broker) => {
    await judge(broker, BROKER, "", {
      one: [["cordoned.log.dirs", SET, "/a"]],
      "after a value": [["log.cleaner.backoff.ms", SET, "x"], ["cordoned.log.dirs", SET, "/a"]],
      "taken back": [["cordoned.log.dirs", DELETE, null]],
    });
    await judgeValues(broker, BROKER, "1", { "cordoned.log.dirs": ["/no/such", "*", "", "/a,/a", "/a,,/b"] });
  }),
  scenario("A broker's values are judged by its own table", async (broker) => {
    for (const scope of ["1", ""]) {
      await judgeValues(broker, BROKER, scope, {
        "log.cleaner.backoff.ms": longs("-1", "0"),
        "message.max.bytes": ints("-1", "0"),
        "log.segment.bytes": ["1048575", "1048576"],
        "log.cleaner.min.cleanable.ratio": ["1.5", "-1", "x"],
        "log.preallocate": ["maybe", "TRUE"],
        "compression.type": ["GZIP", "gzip"],
        "compression.gzip.level": ["0", "1"],
        "log.cleanup.policy": ["foo", "compact,,delete", "", "compact,compact"],
        "log.message.timestamp.type": ["foo"],
        "log.message.timestamp.before.max.ms": ["-1"],
        "log.flush.interval.messages": ["0"],
        "producer.id.expiration.ms": ["0"],
        "max.connections": ["-1"],
        "max.connection.creation.rate": ["-1", "x"],
        "unclean.leader.election.enable": ["maybe"],
        "group.consumer.assignment.interval.ms": ["-1"],
        "leader.replication.throttled.rate": ["-1", "x", "0"],
        "follower.replication.throttled.rate": ["-1"],
        "replica.alter.log.dirs.io.max.bytes.per.second": ["-1"],
      });
    }
  }),
  scenario("A broker's settings have to fit together", async (broker) => {
    await judgeValues(broker, BROKER, "1", {
      "log.retention.ms": ["0", "-1", "-5", "1"],
      "log.roll.ms": ["0", "1"],
      "log.roll.jitter.ms": ["-1", "0"],
      "log.cleaner.dedupe.buffer.size": ["100", "1048576", "1048577"],
      "group.consumer.assignment.interval.ms": ["15000", "15001"],
      "group.share.assignment.interval.ms": ["3000", "3001"],
      "group.streams.assignment.interval.ms": ["15000", "15001"],
      "max.connections.per.ip": ["0"],
    });
    await judge(broker, BROKER, "1", {
      "no connections but for some": [
        ["max.connections.per.ip", SET, "0"],
        ["max.connections.per.ip.overrides", SET, "127.0.0.1:100"],
      ],
      "lag of compaction": [
        ["log.cleaner.min.compaction.lag.ms", SET, "10"],
        ["log.cleaner.max.compaction.lag.ms", SET, "5"],
      ],
    });
  }),
  scenario("A broker's settings have to fit together, in Trackway's shorter words", async (broker) => {
    const values: Record<string, string[]> = {
      "num.io.threads": ["18", "19", "4", "3"],
      "background.threads": ["21"],
      "num.recovery.threads.per.data.dir": ["4", "5"],
      "log.cleaner.threads": ["2", "3"],
      "max.connections": ["0"],
      "max.connections.per.ip.overrides": [
        "nonsense",
        "127.0.0.1:x",
        "127.0.0.1:5,no.such.host.invalid:7",
        "",
      ],
      "metric.reporters": ["foo"],
      "principal.builder.class": ["foo"],
    };
    const requests = Object.entries(values).flatMap(([setting, texts]) =>
      texts.map((text) =>
        [`${setting}=${text}`, changing([[BROKER, "1", [[setting, SET, text]]]], true)] as const
      )
    );
    await broker.askEach(incrementalAlterConfigs, 1, Object.fromEntries(requests));
    const local: Change[] = [["log.local.retention.bytes", SET, "5"], ["log.retention.bytes", SET, "3"]];
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([[BROKER, "1", local]], true),
      undefined,
      "local bytes",
    );
  }),
  scenario("A broker's lists are appended to and subtracted from", async (broker) => {
    await judge(broker, BROKER, "1", {
      append: [["log.cleanup.policy", APPEND, "compact"]],
      "append unknown": [["log.cleanup.policy", APPEND, "foo"]],
      subtract: [["log.cleanup.policy", SUBTRACT, "delete"]],
      "append to a number": [["log.cleaner.backoff.ms", APPEND, "1"]],
      "subtract from a number": [["log.cleaner.backoff.ms", SUBTRACT, "1"]],
      "append to what is unknown": [["zz", APPEND, "1"]],
      "subtract from what is unknown": [["zz", SUBTRACT, "1"]],
    });
  }),
  scenario("What comes first for a broker: form, its name, operations, values", async (broker) => {
    await judge(broker, BROKER, "x", {
      "twice before name": [["a", SET, "1"], ["a", SET, null]],
      "null before name": [["zz", SET, null]],
      "name before append": [["zz", APPEND, "1"]],
      "name before value": [["log.cleaner.backoff.ms", SET, "x"]],
    });
    await judge(broker, BROKER, "1", {
      "append before fixed": [["num.partitions", SET, "1"], ["log.cleaner.backoff.ms", APPEND, "1"]],
      "nothing": [],
    });
  }),
  scenario(
    "One broker's value is above that for all, above that given at start, above the default",
    async (broker) => {
      const setting = "log.roll.jitter.ms", topic = await createTopic(broker, "t");
      const step = async (
        scope: string,
        operation: number,
        value: string | null,
        expected: string | null,
      ) => {
        await change(broker, BROKER, scope, [setting, operation, value]);
        if (scope === "") await settled(broker, BROKER, "", setting, value);
        await settled(broker, BROKER, "1", setting, expected);
        await describe(broker, BROKER, "1", [setting]);
        await describe(broker, BROKER, "", [setting]);
        await describe(broker, TOPIC, topic, ["segment.jitter.ms"]);
      };
      await step("", SET, "5", "5");
      await step("1", SET, "6", "6");
      await step("", DELETE, null, "6");
      await step("1", DELETE, null, null);
    },
  ),
  scenario("A topic without a value of its own follows the broker at once", async (broker) => {
    const topic = await createTopic(broker, "t");
    const pairs: [string, string, string][] = [
      ["log.index.interval.bytes", "index.interval.bytes", "77"],
      ["log.cleaner.delete.retention.ms", "delete.retention.ms", "78"],
      ["log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms", "79"],
      ["compression.lz4.level", "compression.lz4.level", "3"],
    ];
    for (const [ofBroker, ofTopic, value] of pairs) {
      await change(broker, BROKER, "", [ofBroker, SET, value]);
      await settled(broker, TOPIC, topic, ofTopic, value);
      await describe(broker, TOPIC, topic, [ofTopic]);
      await change(broker, BROKER, "", [ofBroker, DELETE, null]);
    }
  }),
  scenario("A group follows the broker's default, and needs a name", async (broker) => {
    const name = broker.name("g"), setting = "group.streams.assignment.interval.ms";
    await change(broker, BROKER, "", [setting, SET, "777"]);
    await settled(broker, GROUP, name, "streams.assignment.interval.ms", "777");
    await describe(broker, GROUP, name, ["streams.assignment.interval.ms"]);
    await change(broker, BROKER, "", [setting, DELETE, null]);
    const nameless = describing([[GROUP, ""]]);
    await broker.ask(
      describeConfigs,
      4,
      nameless,
      (r) => r.results.map((one) => [one.errorCode, one.errorMessage]),
    );
  }),
  scenario("What a client wrote shows among the synonyms, and the value as it is read", async (broker) => {
    const topic = await createTopic(broker, "t");
    const settings = ["log.cleaner.io.buffer.load.factor", "log.cleanup.policy", "log.preallocate"];
    const texts = [" 00.70 ", " compact , delete ", " TRUE"];
    await change(broker, BROKER, "1", ...settings.map((name, i): Change => [name, SET, texts[i]]));
    await settled(broker, BROKER, "1", "log.preallocate", "true");
    await change(broker, BROKER, "", ["log.preallocate", SET, "FALSE "], [
      "log.segment.delete.delay.ms",
      SET,
      " 02",
    ]);
    await settled(broker, BROKER, "1", "log.segment.delete.delay.ms", "2");
    await describe(broker, BROKER, "1", [...settings, "log.segment.delete.delay.ms"]);
    await describe(broker, BROKER, "", ["log.preallocate", "log.segment.delete.delay.ms"]);
    await describe(broker, TOPIC, topic, ["cleanup.policy", "preallocate"]);
    await change(broker, BROKER, "1", ...settings.map((name): Change => [name, DELETE, null]));
    await change(broker, BROKER, "", ["log.preallocate", DELETE, null], [
      "log.segment.delete.delay.ms",
      DELETE,
      null,
    ]);
  }),
  scenario("A retention below nothing is no limit", async (broker) => {
    const topic = await createTopic(broker, "t");
    await change(broker, BROKER, "1", ["log.retention.ms", SET, "-5"]);
    await settled(broker, BROKER, "1", "log.retention.ms", "-5");
    await describe(broker, BROKER, "1", ["log.retention.ms"]);
    await describe(broker, TOPIC, topic, ["retention.ms"]);
    await change(broker, BROKER, "1", ["log.retention.ms", DELETE, null]);
    await settled(broker, BROKER, "1", "log.retention.ms", null);
    await describe(broker, TOPIC, topic, ["retention.ms"]);
  }),
  scenario("Names that no broker has are kept like secrets", async (broker) => {
    const setting = broker.name("plugin.setting");
    await change(broker, BROKER, "1", [setting, SET, "a"]);
    await change(broker, BROKER, "", [setting, SET, "b"]);
    for (const scope of ["1", ""]) {
      await eventually("not shown", async () => {
        const response = await broker.send(describeConfigs, 4, describing([[BROKER, scope, [setting]]]));
        return response!.results[0].configs.length > 0 ? true : null;
      });
    }
    const request = describing([[BROKER, "1", [setting]], [BROKER, "", [setting]]], {
      includeDocumentation: true,
    });
    for (const version of [1, 4]) await broker.ask(describeConfigs, version, request);
    for (const scope of ["1", ""]) await change(broker, BROKER, scope, [setting, DELETE, null]);
  }),
  scenario("Rates of throttled replicas show once they are set", async (broker) => {
    const setting = "follower.replication.throttled.rate";
    await describe(broker, BROKER, "1", [setting]);
    await change(broker, BROKER, "1", [setting, SET, "1000"]);
    await settled(broker, BROKER, "1", setting, "1000");
    await describe(broker, BROKER, "1", [setting]);
    await change(broker, BROKER, "1", [setting, DELETE, null]);
    await settled(broker, BROKER, "1", setting, null);
    await describe(broker, BROKER, "1", [setting]);
  }),
  scenario("A broker's settings are shown with whether they may change", async (broker) => {
    const settings = [
      "default.replication.factor",
      "log.roll.hours",
      "num.io.threads",
      "num.network.threads",
      "background.threads",
      "log.cleaner.io.max.bytes.per.second",
      "cordoned.log.dirs",
      "group.consumer.min.session.timeout.ms",
      "delete.topic.enable",
      "broker.rack",
      "zz",
      "offsets.topic.segment.bytes",
      "principal.builder.class",
    ];
    for (const version of [1, 4]) {
      await broker.ask(describeConfigs, version, describing([[BROKER, "1", settings]]));
    }
  }),
  scenario("AlterConfigs of a broker is judged alike", async (broker) => {
    const of = (name: string, ...settings: [string, string | null][]) =>
      replacing([[BROKER, name, settings]], true);
    await broker.askEach(alterConfigs, 2, {
      null: of("1", ["log.cleaner.backoff.ms", null]),
      twice: of("1", ["log.cleaner.backoff.ms", "1"], ["log.cleaner.backoff.ms", "2"]),
      fixed: of("1", ["num.partitions", "3"]),
      single: of("", ["cordoned.log.dirs", "/a"]),
      value: of("1", ["log.cleaner.backoff.ms", "x"]),
      other: of("9", ["log.cleaner.backoff.ms", "x"]),
      "no number": of("x", ["log.cleaner.backoff.ms", "1"]),
      fine: of("1", ["log.cleaner.backoff.ms", "1"]),
      unknown: of("1", ["zz", "1"]),
    }, withTexts);
  }),
];
