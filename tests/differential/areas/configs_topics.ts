/** Settings of topics: which values they take, in which order requests are judged, how they are shown. */
import { alterConfigs } from "../../../src/codec/messages/alter_configs.ts";
import { createTopics } from "../../../src/codec/messages/create_topics.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { topicRows } from "../../../src/config/topic.ts";
import { scenario } from "../scenario.ts";
import {
  APPEND,
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
  type Resource,
  SET,
  settled,
  SUBTRACT,
  TOPIC,
  withTexts,
} from "../setup/configs.ts";
import { createTopic, creating } from "../setup/topics.ts";

export { oracle } from "../setup/configs.ts";

/** A topic's settings whose default is the broker's, each with a value that is none of the defaults. */
const ownValues: Record<string, string> = {
  "segment.bytes": "2000000",
  "segment.ms": "1",
  "segment.jitter.ms": "1",
  "segment.index.bytes": "4",
  "flush.messages": "1",
  "flush.ms": "0",
  "retention.bytes": "5",
  "retention.ms": "5",
  "max.message.bytes": "0",
  "max.decompressed.message.bytes": "1",
  "index.interval.bytes": "0",
  "delete.retention.ms": "0",
  "min.compaction.lag.ms": "7",
  "max.compaction.lag.ms": "8",
  "file.delete.delay.ms": "0",
  "min.cleanable.dirty.ratio": "1",
  "cleanup.policy": "compact",
  "unclean.leader.election.enable": "TRUE",
  "compression.type": "zstd",
  "compression.gzip.level": "1",
  "compression.lz4.level": "17",
  "compression.zstd.level": "-131072",
  "preallocate": "true",
  "message.timestamp.type": "LogAppendTime",
  "message.timestamp.before.max.ms": "0",
  "message.timestamp.after.max.ms": "0",
  "leader.replication.throttled.replicas": "*",
  "follower.replication.throttled.replicas": "0:1,1:1",
  "local.retention.ms": "-1",
  "local.retention.bytes": "-1",
  "remote.log.copy.disable": "true",
  "remote.copy.lag.ms": "-1",
  "remote.copy.lag.bytes": "0",
  "remote.log.delete.on.disable": "true",
  "errors.deadletterqueue.group.enable": "true",
};

export const scenarios = [
  scenario("Topics' whole numbers have limits, and texts that say so", async (broker) => {
    const name = await createTopic(broker, "t");
    await judgeValues(broker, TOPIC, name, {
      "segment.bytes": ints("1048575", "1048576"),
      "segment.ms": longs("0", "1"),
      "segment.jitter.ms": longs("-1", "0"),
      "segment.index.bytes": ints("3", "4"),
      "flush.messages": longs("0", "1"),
      "flush.ms": longs("-1", "0"),
      "retention.bytes": longs("-2", "-9223372036854775808", "-9223372036854775809"),
      "retention.ms": longs("-2", "-1"),
      "max.message.bytes": ints("-1", "0"),
      "max.decompressed.message.bytes": ["0", "1", "2147483639", "2147483640"],
      "index.interval.bytes": ints("-1", "0"),
      "delete.retention.ms": longs("-1", "0"),
      "min.compaction.lag.ms": longs("-1", "0"),
      "max.compaction.lag.ms": longs("0", "1"),
      "file.delete.delay.ms": longs("-1", "0"),
      "min.insync.replicas": ints("0", "1"),
      "message.timestamp.before.max.ms": longs("-1", "0"),
      "message.timestamp.after.max.ms": longs("-1", "0"),
      "local.retention.ms": longs("-3", "-2"),
      "local.retention.bytes": longs("-3", "-2"),
      "remote.copy.lag.ms": longs("-2", "-1"),
      "remote.copy.lag.bytes": longs("-2", "-1"),
    });
  }),
  scenario("Compression levels have a range, and gzip one more value", async (broker) => {
    await judgeValues(broker, TOPIC, await createTopic(broker, "t"), {
      "compression.gzip.level": ["-2", "-1", "0", "1", "9", "10", "x"],
      "compression.lz4.level": ["-1", "0", "1", "17", "18"],
      "compression.zstd.level": ["-131073", "-131072", "0", "22", "23"],
    });
  }),
  scenario("A ratio is a number from 0 to 1, in Java's ways to write it", async (broker) => {
    await judgeValues(broker, TOPIC, await createTopic(broker, "t"), {
      "min.cleanable.dirty.ratio": [
        "0",
        "1",
        "-0.1",
        "1.1",
        "2",
        ".5",
        "5.",
        "1e-1",
        "0.5f",
        "0.5D",
        "x",
        "",
        "1e9",
      ],
    });
  }),
  scenario("True and false are written in any case, and as nothing else", async (broker) => {
    const texts = ["true", "FALSE", " True ", "yes", "1", ""];
    await judgeValues(broker, TOPIC, await createTopic(broker, "t"), {
      "preallocate": texts,
      "unclean.leader.election.enable": texts,
      "remote.log.copy.disable": texts,
      "remote.log.delete.on.disable": texts,
      "errors.deadletterqueue.group.enable": texts,
    });
  }),
  scenario("One of a few texts is written as it is", async (broker) => {
    await judgeValues(broker, TOPIC, await createTopic(broker, "t"), {
      "compression.type": ["gzip", "GZIP", "none", "uncompressed", " zstd ", "producer", ""],
      "message.timestamp.type": ["CreateTime", "LogAppendTime", "createtime", ""],
    });
  }),
  scenario("Lists have known elements, none of them empty", async (broker) => {
    await judgeValues(broker, TOPIC, await createTopic(broker, "t"), {
      "cleanup.policy": [
        "",
        "compact",
        " compact , delete ",
        "compact,compact",
        "foo",
        "delete,foo",
        ",",
        "compact,",
      ],
      "leader.replication.throttled.replicas": [
        "",
        "*",
        "0:1",
        "0:1,1:1",
        "abc",
        "*,0:1",
        "0:1,x",
        "0:1:2",
        "0:1,0:1",
      ],
      "follower.replication.throttled.replicas": ["none", "0:1 , 1:1", "0:1,,1:1"],
    });
  }),
  scenario("Tiered storage cannot be turned on where there is none", async (broker) => {
    const name = await createTopic(broker, "t");
    await judgeValues(broker, TOPIC, name, { "remote.storage.enable": ["true", "false", "x"] });
    await judge(broker, TOPIC, name, {
      "local above total": [["retention.ms", SET, "1000"], ["local.retention.ms", SET, "2000"]],
    });
  }),
  scenario("The lag of compaction is no longer at least than at most", async (broker) => {
    const name = await createTopic(broker, "t");
    await judge(broker, TOPIC, name, {
      "at once": [["min.compaction.lag.ms", SET, "10"], ["max.compaction.lag.ms", SET, "9"]],
      "equal": [["min.compaction.lag.ms", SET, "9"], ["max.compaction.lag.ms", SET, "9"]],
    });
    await change(broker, TOPIC, name, ["max.compaction.lag.ms", SET, "9"]);
    await settled(broker, TOPIC, name, "max.compaction.lag.ms", "9");
    await judgeValues(broker, TOPIC, name, { "min.compaction.lag.ms": ["9", "10"] });
  }),
  scenario("Names that no topic has", async (broker) => {
    const name = await createTopic(broker, "t");
    await judge(broker, TOPIC, name, {
      set: [["no.such.setting", SET, "1"]],
      empty: [["", SET, "1"]],
      delete: [["no.such.setting", DELETE, null]],
      "delete with a value": [["no.such.setting", DELETE, "1"]],
      append: [["no.such.setting", APPEND, "1"]],
      subtract: [["no.such.setting", SUBTRACT, "1"]],
      "of a broker": [["log.retention.ms", SET, "1"]],
    });
  }),
  scenario("Topics that there are not, and cannot be", async (broker) => {
    for (const name of [broker.name("missing")]) {
      await judgeValues(broker, TOPIC, name, { "retention.ms": ["1"] });
    }
    for (const name of ["", "a b", ".", "..", "x".repeat(249), "x".repeat(250)]) {
      const request = changing([[TOPIC, name, [["retention.ms", SET, "1"]]]]);
      // Trackway has its own words for names that cannot be.
      await broker.ask(incrementalAlterConfigs, 1, request, undefined, `${name.length} characters`);
    }
  }),
  scenario(
    "What comes first: form, operations, the topic's name, settings' names, values, whether it exists",
    async (broker) => {
      const name = await createTopic(broker, "t"), missing = broker.name("missing");
      await judge(broker, TOPIC, "", {
        "twice before null": [["a", SET, null], ["a", SET, "1"]],
        "null before name": [["zz", SET, null]],
        "append before name": [["zz", APPEND, "1"]],
        "name before setting": [["zz", SET, "1"]],
      });
      await judge(broker, TOPIC, missing, {
        "null before missing": [["retention.ms", SET, null]],
        "setting before missing": [["zz", SET, "1"]],
        "value before missing": [["retention.ms", SET, "x"]],
        "missing": [["retention.ms", SET, "1"]],
        "missing, nothing to change": [],
      });
      await judge(broker, TOPIC, name, {
        "append before value": [["retention.ms", SET, "x"], ["retention.bytes", APPEND, "1"]],
        "setting before value": [["retention.ms", SET, "x"], ["zz", SET, "1"]],
        "values in the table's order": [["retention.ms", SET, "x"], ["segment.bytes", SET, "y"]],
        "value before pair": [["min.compaction.lag.ms", SET, "10"], ["max.compaction.lag.ms", SET, "0"]],
        "nothing": [],
      });
    },
  ),
  scenario("Null is no value, but for what is deleted", async (broker) => {
    await judge(broker, TOPIC, await createTopic(broker, "t"), {
      one: [["retention.ms", SET, null]],
      two: [["retention.ms", SET, null], ["cleanup.policy", APPEND, null], ["retention.bytes", DELETE, null]],
      subtract: [["cleanup.policy", SUBTRACT, null]],
    });
  }),
  scenario("A setting is named once, a resource is named once", async (broker) => {
    const a = await createTopic(broker, "a"), b = await createTopic(broker, "b");
    await judge(broker, TOPIC, a, {
      "set and delete": [["retention.ms", SET, "1"], ["retention.ms", DELETE, null]],
      "the same": [["retention.ms", SET, "1"], ["retention.ms", SET, "1"]],
    });
    const one: Resource = [TOPIC, a, [["retention.ms", SET, "1"]]];
    await broker.ask(incrementalAlterConfigs, 1, changing([one, one, [TOPIC, b, []]]), withTexts);
    await broker.ask(incrementalAlterConfigs, 1, changing([one, [GROUP, a, []]]), withTexts, "of two kinds");
    await broker.ask(incrementalAlterConfigs, 1, changing([]), withTexts, "none");
  }),
  scenario("Only lists are appended to and subtracted from", async (broker) => {
    const name = await createTopic(broker, "t");
    for (const operation of [APPEND, SUBTRACT]) {
      await judge(broker, TOPIC, name, {
        [`${operation} number`]: [["retention.ms", operation, "1"]],
        [`${operation} text`]: [["compression.type", operation, "gzip"]],
        [`${operation} list`]: [["cleanup.policy", operation, "compact"]],
        [`${operation} list of replicas`]: [["leader.replication.throttled.replicas", operation, "0:1"]],
        [`${operation} nothing`]: [["cleanup.policy", operation, ""]],
        [`${operation} unknown`]: [["cleanup.policy", operation, "foo"]],
      });
    }
  }),
  scenario("Lists grow and shrink element by element", async (broker) => {
    const name = await createTopic(broker, "t"), setting = "cleanup.policy";
    const steps: [number, string | null, string][] = [
      [APPEND, "compact", "delete,compact"],
      [APPEND, " compact", "delete,compact"],
      [SUBTRACT, "compact", "delete,compact"],
      [SUBTRACT, "delete", "compact"],
      [SET, "compact,compact", "compact"],
      [SUBTRACT, "compact", "compact"],
      [SUBTRACT, "compact", ""],
      [APPEND, "delete", "delete"],
      [SET, " compact , delete ", "compact,delete"],
      [DELETE, null, "delete"],
      [SUBTRACT, "delete", ""],
    ];
    for (const [operation, value, expected] of steps) {
      await change(broker, TOPIC, name, [setting, operation, value]);
      await settled(broker, TOPIC, name, setting, expected);
      await describe(broker, TOPIC, name, [setting]);
    }
  }),
  scenario("Every setting of a topic, set and shown as it is read", async (broker) => {
    const name = await createTopic(broker, "t");
    await describe(broker, TOPIC, name);
    await change(broker, TOPIC, name, ...Object.entries(ownValues).map(([n, v]): Change => [n, SET, v]));
    await settled(broker, TOPIC, name, "errors.deadletterqueue.group.enable", "true");
    await describe(broker, TOPIC, name);
  }),
  scenario("A change that is only judged changes nothing", async (broker) => {
    const name = await createTopic(broker, "t", { "retention.ms": "5" });
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([[TOPIC, name, [["retention.ms", SET, "6"]]]], true),
    );
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([[TOPIC, name, [["retention.ms", SET, "x"]]]], true),
    );
    await broker.ask(alterConfigs, 2, replacing([[TOPIC, name, [["retention.ms", "7"]]]], true));
    await describe(broker, TOPIC, name, ["retention.ms"]);
  }),
  scenario("A refused setting keeps all others of the request from changing", async (broker) => {
    const name = await createTopic(broker, "t");
    await change(broker, TOPIC, name, ["retention.ms", SET, "5"], ["segment.ms", SET, "0"]);
    await change(broker, TOPIC, name, ["segment.ms", SET, "9"]);
    await settled(broker, TOPIC, name, "segment.ms", "9");
    await describe(broker, TOPIC, name, ["retention.ms", "segment.ms"]);
  }),
  scenario("Spaces around a value, signs and zeros before it do not show", async (broker) => {
    const name = await createTopic(broker, "t");
    await change(broker, TOPIC, name, ["retention.ms", SET, " +0077 "], [
      "min.cleanable.dirty.ratio",
      SET,
      "1e-1",
    ], [
      "preallocate",
      SET,
      " TRUE ",
    ]);
    await settled(broker, TOPIC, name, "retention.ms", "77");
    await describe(broker, TOPIC, name, ["retention.ms", "min.cleanable.dirty.ratio", "preallocate"]);
  }),
  scenario("IncrementalAlterConfigs in both versions", async (broker) => {
    const name = await createTopic(broker, "t");
    const requests = {
      good: changing([[TOPIC, name, [["retention.ms", SET, "7"]]]]),
      bad: changing([[TOPIC, name, [["retention.ms", SET, "x"]]]]),
    };
    await broker.askEach(incrementalAlterConfigs, [0, 1], requests, withTexts);
  }),
  scenario("AlterConfigs in every version, and what it resets", async (broker) => {
    const name = await createTopic(broker, "t", { "retention.ms": "1234", "segment.ms": "99999" });
    for (const version of [0, 1, 2]) {
      const value = `7${version}`;
      await broker.ask(
        alterConfigs,
        version,
        replacing([[TOPIC, name, [["retention.ms", value]]]]),
        withTexts,
      );
      await settled(broker, TOPIC, name, "retention.ms", value);
      await describe(broker, TOPIC, name, ["retention.ms", "segment.ms"]);
    }
    await broker.ask(alterConfigs, 2, replacing([[TOPIC, name, []]]), withTexts);
    await settled(broker, TOPIC, name, "retention.ms", "4620000");
    await describe(broker, TOPIC, name, ["retention.ms", "segment.ms"]);
  }),
  scenario("AlterConfigs refuses what IncrementalAlterConfigs refuses", async (broker) => {
    const name = await createTopic(broker, "t");
    const of = (resource: string, ...settings: [string, string | null][]) =>
      replacing([[TOPIC, resource, settings]]);
    await broker.askEach(alterConfigs, [0, 2], {
      twice: of(name, ["retention.ms", "5"], ["retention.ms", "6"]),
      null: of(name, ["retention.ms", null], ["zz", null]),
      "no such setting": of(name, ["zz", "1"], ["retention.ms", "x"]),
      value: of(name, ["retention.ms", "x"]),
      pair: of(name, ["min.compaction.lag.ms", "2"], ["max.compaction.lag.ms", "1"]),
      "no name": of("", ["retention.ms", "1"]),
      missing: of(broker.name("missing"), ["retention.ms", "1"]),
      "missing and bad": of(broker.name("missing"), ["retention.ms", "x"]),
      nothing: replacing([]),
    }, withTexts);
  }),
  scenario("CreateTopics judges settings like a change of them", async (broker) => {
    const create = (label: string, ...configs: [string, string | null][]) => {
      const topic = creating(broker.name("t"), {
        configs: configs.map(([name, value]) => ({ name, value })),
      });
      const request = { topics: [topic], timeoutMs: 5000, validateOnly: true };
      return broker.ask(
        createTopics,
        7,
        request,
        (r) => r.topics.map(({ errorCode, configs }) => ({ errorCode, configs: configs?.length ?? null })),
        label,
      );
    };
    await create("unknown", ["zz", "1"]);
    await create("null", ["retention.ms", null]);
    await create("unknown null", ["zz", null]);
    await create("value", ["retention.ms", "x"]);
    await create("pair", ["min.compaction.lag.ms", "2"], ["max.compaction.lag.ms", "1"]);
    await create("empty element", ["cleanup.policy", "compact,,"]);
    await create("remote", ["remote.storage.enable", "true"]);
    await create("replicas", ["leader.replication.throttled.replicas", "z"]);
    await create("fine", ["retention.ms", "5"]);
  }),
  scenario(
    "DescribeConfigs of a topic in every version, with and without synonyms and documentation",
    async (broker) => {
      const name = await createTopic(broker, "t", { "retention.ms": "5" });
      const settings = [
        "retention.ms",
        "segment.ms",
        "segment.jitter.ms",
        "leader.replication.throttled.replicas",
      ];
      for (const version of [1, 2, 3, 4]) {
        for (const includeSynonyms of [false, true]) {
          const request = describing([[TOPIC, name, settings]], {
            includeSynonyms,
            includeDocumentation: version >= 3,
          });
          await broker.ask(describeConfigs, version, request);
        }
      }
    },
  ),
  scenario(
    "DescribeConfigs leaves out what no topic has, and tells what is asked for twice once",
    async (broker) => {
      const name = await createTopic(broker, "t");
      await broker.askEach(describeConfigs, 4, {
        unknown: describing([[TOPIC, name, ["zz"]]]),
        "in part": describing([[TOPIC, name, ["retention.ms", "zz", "segment.ms"]]]),
        twice: describing([[TOPIC, name, ["retention.ms", "retention.ms"]]]),
        "topic twice": describing([[TOPIC, name, ["retention.ms"]], [TOPIC, name, ["segment.ms"]]]),
        internal: describing([[TOPIC, name, ["internal.segment.bytes"]]]),
        "of a broker": describing([[TOPIC, name, ["log.retention.ms"]]]),
        none: describing([]),
      });
      const all = await broker.send(describeConfigs, 4, describing([[TOPIC, name, []]]));
      broker.note(
        "an empty list of names is all",
        all!.results[0].configs.map((config) => config.name).sort(),
      );
    },
  ),
  scenario("DescribeConfigs of topics that there are not", async (broker) => {
    await broker.askEach(describeConfigs, [1, 4], {
      missing: describing([[TOPIC, broker.name("missing")]]),
      "no name": describing([[TOPIC, ""]]),
      "a blank": describing([[TOPIC, "a b"]]),
      dots: describing([[TOPIC, ".."]]),
      long: describing([[TOPIC, "x".repeat(250)]]),
    });
  }),
  scenario("An internal setting shows once it is set", async (broker) => {
    const name = await createTopic(broker, "t");
    await change(broker, TOPIC, name, ["internal.segment.bytes", SET, "100"]);
    await settled(broker, TOPIC, name, "internal.segment.bytes", "100");
    await describe(broker, TOPIC, name, ["internal.segment.bytes", "segment.bytes"]);
  }),
  scenario("The own values that are tried are of settings that there are", (broker) => {
    broker.note("unknown", Object.keys(ownValues).filter((name) => !(name in topicRows)));
    return Promise.resolve();
  }),
];
