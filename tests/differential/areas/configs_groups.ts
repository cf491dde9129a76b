/** Settings of groups and of client metrics subscriptions. */
import { alterConfigs } from "../../../src/codec/messages/alter_configs.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { scenario } from "../scenario.ts";
import {
  APPEND,
  type Change,
  change,
  CLIENT_METRICS,
  DELETE,
  describe,
  describing,
  GROUP,
  judge,
  judgeValues,
  list,
  replacing,
  SET,
  settled,
  SUBTRACT,
  untilListed,
  withTexts,
} from "../setup/configs.ts";

export { oracle } from "../setup/configs.ts";

const groupScenarios = [
  scenario("Every setting of a group, described before any is set", async (broker) => {
    await describe(broker, GROUP, broker.name("g"));
  }),
  scenario("Groups' numbers have their own limits and the broker's", async (broker) => {
    const texts = [
      "x",
      "",
      "-1",
      "0",
      "1",
      "999",
      "1000",
      "2999",
      "3000",
      "3001",
      "5000",
      "15000",
      "15001",
      "45000",
    ];
    const settings = [
      "consumer.session.timeout.ms",
      "consumer.heartbeat.interval.ms",
      "consumer.assignment.interval.ms",
      "share.session.timeout.ms",
      "share.heartbeat.interval.ms",
      "share.assignment.interval.ms",
      "share.record.lock.duration.ms",
      "share.delivery.count.limit",
      "share.partition.max.record.locks",
      "streams.session.timeout.ms",
      "streams.heartbeat.interval.ms",
      "streams.assignment.interval.ms",
      "streams.num.standby.replicas",
      "streams.initial.rebalance.delay.ms",
    ];
    const more = ["2", "3", "10", "11", "99", "100", "60000", "60001", "2147483648"];
    const values = Object.fromEntries(settings.map((name) => [name, [...texts, ...more]]));
    await judgeValues(broker, GROUP, broker.name("g"), values);
  }),
  scenario("Groups' texts", async (broker) => {
    await judgeValues(broker, GROUP, broker.name("g"), {
      "share.auto.offset.reset": [
        ...["latest", "earliest", " latest ", "EARLIEST", "none", "", "by_duration:PT1H", "by_duration:P1D"],
        ...[
          "by_duration:p1dt2h3m4.5s",
          "by_duration:-PT1H",
          "by_duration:1h",
          "BY_DURATION:PT1S",
          "by_duration:",
        ],
      ],
      "share.isolation.level": ["read_committed", "read_uncommitted", "READ_UNCOMMITTED", "x", ""],
      "share.renew.acknowledge.enable": ["x", "TRUE"],
      "streams.assignor.name": ["sticky", "foo", "", "a,b"],
      "streams.rack.aware.assignment.tags": ["a,b", "", "a,,b", "a,a", "a, a", "a,,a"],
      "streams.task.offset.interval.ms": ["0", "14999", "15000"],
      "streams.num.warmup.replicas": ["-1", "20", "21"],
      "streams.acceptable.recovery.lag": ["-1", "0", "9223372036854775808"],
      "errors.deadletterqueue.topic.name": ["", "dlq.x", "a b", "__x", "_x"],
      "errors.deadletterqueue.copy.record.enable": ["x", "true"],
      "consumer.assignor.offload.enable": ["x", "true"],
      "share.assignor.offload.enable": ["x", "true"],
      "streams.assignor.offload.enable": ["x", "true"],
    });
  }),
  scenario("A group's session is longer than the interval of its heartbeats", async (broker) => {
    await judge(broker, GROUP, broker.name("g"), {
      shorter: [["consumer.session.timeout.ms", SET, "4000"]],
      equal: [["consumer.session.timeout.ms", SET, "5000"]],
      longer: [["consumer.session.timeout.ms", SET, "5001"]],
      both: [["consumer.session.timeout.ms", SET, "6000"], ["consumer.heartbeat.interval.ms", SET, "7000"]],
    });
  }),
  scenario(
    "What comes first for a group: its name, settings' names, values, limits of the broker",
    async (broker) => {
      await judge(broker, GROUP, "", {
        name: [["zz", SET, "1"]],
        "append before name": [["zz", APPEND, "1"]],
      });
      const of = (...settings: string[]): Change[] =>
        settings.map((setting) => {
          const at = setting.indexOf("=");
          return [setting.slice(0, at), SET, setting.slice(at + 1)];
        });
      await judge(broker, GROUP, broker.name("g"), {
        "name before value": of("consumer.session.timeout.ms=x", "zz=1"),
        "value before limit": of("consumer.session.timeout.ms=5", "share.session.timeout.ms=x"),
        "kinds in order": of(
          "streams.session.timeout.ms=5",
          "share.session.timeout.ms=5",
          "consumer.session.timeout.ms=5",
        ),
        "limit before replicas": of("streams.num.standby.replicas=9", "streams.session.timeout.ms=5"),
        "replicas before assignor": of("streams.assignor.name=zz", "streams.num.standby.replicas=9"),
        "assignor before topic": of("errors.deadletterqueue.topic.name=__a", "streams.assignor.name=zz"),
        "heartbeat before share": of("share.session.timeout.ms=5", "consumer.heartbeat.interval.ms=5"),
        "streams before lock": of("streams.session.timeout.ms=5", "share.record.lock.duration.ms=1000"),
        "locks before streams": of(
          "streams.heartbeat.interval.ms=5",
          "share.partition.max.record.locks=9999",
        ),
        "assignment before lock": of(
          "share.record.lock.duration.ms=1000",
          "share.assignment.interval.ms=99999",
        ),
        "heartbeat before assignment": of(
          "share.assignment.interval.ms=99999",
          "share.heartbeat.interval.ms=5",
        ),
        "consumer's assignment before share": of(
          "share.session.timeout.ms=5",
          "consumer.assignment.interval.ms=99999",
        ),
        "streams' assignment before replicas": of(
          "streams.num.standby.replicas=9",
          "streams.assignment.interval.ms=99999",
        ),
        "warmups after replicas": of("streams.num.warmup.replicas=99", "streams.num.standby.replicas=9"),
        "offsets after warmups": of("streams.task.offset.interval.ms=1", "streams.num.warmup.replicas=99"),
        "offsets before assignor": of("streams.assignor.name=zz", "streams.task.offset.interval.ms=1"),
        "tags before values": of("consumer.session.timeout.ms=x", "streams.rack.aware.assignment.tags=a,a"),
        "names before tags": of("streams.rack.aware.assignment.tags=a,a", "zz=1"),
        "conflict before assignor": of("streams.assignor.name=zz", "consumer.session.timeout.ms=4000"),
        "topic before conflict": of(
          "errors.deadletterqueue.topic.name=__a",
          "consumer.session.timeout.ms=4000",
        ),
        "count before assignment": of("share.assignment.interval.ms=99999", "share.delivery.count.limit=99"),
        "locks before assignment": of(
          "share.assignment.interval.ms=99999",
          "share.partition.max.record.locks=9999",
        ),
        "conflict before replicas": of("streams.num.standby.replicas=9", "consumer.session.timeout.ms=4000"),
        "lock before count": of("share.delivery.count.limit=99", "share.record.lock.duration.ms=1000"),
        "count before locks": of("share.partition.max.record.locks=9999", "share.delivery.count.limit=99"),
        "conflict before share": of("share.session.timeout.ms=5", "consumer.session.timeout.ms=4000"),
      });
    },
  ),
  scenario("Nothing of a group is appended to or subtracted from", async (broker) => {
    await judge(broker, GROUP, broker.name("g"), {
      list: [["streams.rack.aware.assignment.tags", APPEND, "a"]],
      number: [["consumer.session.timeout.ms", SUBTRACT, "1"]],
      unknown: [["zz", APPEND, "1"]],
      "delete what is unknown": [["zz", DELETE, null]],
      null: [["consumer.session.timeout.ms", SET, null]],
    });
  }),
  scenario(
    "A group's settings are set, shown, listed and taken back, whatever its name and whether it is there",
    async (broker) => {
      const setting = "consumer.session.timeout.ms";
      for (const name of [broker.name("g"), broker.name("a b/c ü")]) {
        await change(broker, GROUP, name, [setting, SET, "50000"], [
          "share.session.timeout.ms",
          SET,
          "50000",
        ]);
        await settled(broker, GROUP, name, setting, "50000");
        await untilListed(broker, GROUP, name, true);
        await describe(broker, GROUP, name, [setting, "share.session.timeout.ms", "zz"]);
        await list(broker, 1, [GROUP]);
        await change(broker, GROUP, name, [setting, DELETE, null]);
        await settled(broker, GROUP, name, setting, "45000");
        await list(broker, 1, [GROUP]);
        await change(broker, GROUP, name, ["share.session.timeout.ms", DELETE, null]);
        await settled(broker, GROUP, name, "share.session.timeout.ms", "45000");
        await untilListed(broker, GROUP, name, false);
        await list(broker, 1, [GROUP]);
      }
    },
  ),
  scenario("AlterConfigs replaces a group's settings", async (broker) => {
    const name = broker.name("g");
    await change(broker, GROUP, name, ["consumer.session.timeout.ms", SET, "50000"]);
    await settled(broker, GROUP, name, "consumer.session.timeout.ms", "50000");
    await broker.ask(
      alterConfigs,
      2,
      replacing([[GROUP, name, [["share.session.timeout.ms", "50000"]]]]),
      withTexts,
    );
    await settled(broker, GROUP, name, "share.session.timeout.ms", "50000");
    await describe(broker, GROUP, name, ["consumer.session.timeout.ms", "share.session.timeout.ms"]);
    await broker.ask(
      alterConfigs,
      2,
      replacing([[GROUP, name, [["share.session.timeout.ms", "5"]]]]),
      withTexts,
    );
    await broker.ask(alterConfigs, 2, replacing([[GROUP, "", []]]), withTexts);
  }),
  scenario("A group's internal settings show once they are set", async (broker) => {
    const name = broker.name("g");
    await describe(broker, GROUP, name, ["consumer.assignor.offload.enable"]);
    await change(broker, GROUP, name, ["consumer.assignor.offload.enable", SET, "false"]);
    await settled(broker, GROUP, name, "consumer.assignor.offload.enable", "false");
    await describe(broker, GROUP, name, ["consumer.assignor.offload.enable"]);
  }),
];

const clientMetricsScenarios = [
  scenario("Client metrics' values", async (broker) => {
    await judgeValues(broker, CLIENT_METRICS, broker.name("m"), {
      "interval.ms": ["", "x", "-1", "0", "99", "100", "3600000", "3600001", " 500 ", "2147483648"],
      "metrics": ["", "*", "a.b,c.d", " a , b ", "a,,b", "a,a", ","],
      "match": [
        ...[
          "",
          "client_id=x",
          " client_id = x ",
          "client_id=",
          "foo=bar",
          "x",
          "client_id=[",
          "client_id=a=b",
        ],
        ...[
          "CLIENT_ID=a",
          "client_software_name=apache.*,client_software_version=.*",
          "client_id=a,x",
          "=a",
          ",",
        ],
        ...[
          "client_instance_id=b69cc35a-7a54-4790-aa69-cc2bd4ee4538",
          "client_id=a,",
          "client_id=a,client_id=b",
        ],
        ...["client_source_address=1.2.3.4,client_source_port=12"],
      ],
    });
  }),
  scenario(
    "What comes first for client metrics: the name, settings' names, values, the interval, patterns",
    async (broker) => {
      await judge(broker, CLIENT_METRICS, "", {
        name: [["zz", SET, "1"]],
        append: [["metrics", APPEND, "a"]],
      });
      await judge(broker, CLIENT_METRICS, broker.name("m"), {
        unknown: [["interval.ms", SET, "x"], ["zz", SET, "1"]],
        value: [["match", SET, "bad"], ["interval.ms", SET, "x"]],
        "value before interval": [["interval.ms", SET, "5"], ["metrics", SET, "a,,b"]],
        interval: [["match", SET, "bad"], ["interval.ms", SET, "5"]],
        "empty metric before number": [["interval.ms", SET, "x"], ["metrics", SET, "a,,b"]],
        "empty pattern before number": [["interval.ms", SET, "x"], ["match", SET, "a,,b"]],
        null: [["interval.ms", SET, null]],
        "append to a list": [["metrics", APPEND, "a"]],
        "subtract from a list": [["match", SUBTRACT, "a"]],
        "append to a number": [["interval.ms", APPEND, "1"]],
        "delete what is unknown": [["zz", DELETE, null]],
      });
    },
  ),
  scenario("A subscription is made, shown, listed, changed and taken back", async (broker) => {
    const name = broker.name("a b");
    await describe(broker, CLIENT_METRICS, name);
    await change(
      broker,
      CLIENT_METRICS,
      name,
      ["interval.ms", SET, " 0500 "],
      ["metrics", SET, " a , b,a"],
      ["match", SET, " client_id = a , client_software_name=b"],
    );
    await settled(broker, CLIENT_METRICS, name, "interval.ms", "500");
    await describe(broker, CLIENT_METRICS, name);
    await describe(broker, CLIENT_METRICS, name, ["metrics", "zz"]);
    await list(broker, 0, []);
    await list(broker, 1, [CLIENT_METRICS]);
    await change(broker, CLIENT_METRICS, name, ["metrics", DELETE, null], ["match", DELETE, null]);
    await settled(broker, CLIENT_METRICS, name, "metrics", "");
    await broker.ask(
      describeConfigs,
      4,
      describing([[CLIENT_METRICS, name]], { includeSynonyms: false, includeDocumentation: true }),
    );
    await change(broker, CLIENT_METRICS, name, ["interval.ms", DELETE, null]);
    await settled(broker, CLIENT_METRICS, name, "interval.ms", "300000");
    await list(broker, 1, [CLIENT_METRICS]);
  }),
  scenario("A subscription that nothing is set for is none", async (broker) => {
    const name = broker.name("m");
    await change(broker, CLIENT_METRICS, name);
    await broker.ask(alterConfigs, 2, replacing([[CLIENT_METRICS, name, []]]), withTexts);
    await list(broker, 1, [CLIENT_METRICS]);
    for (const version of [1, 4]) {
      await broker.ask(describeConfigs, version, describing([[CLIENT_METRICS, name]]));
    }
  }),
  scenario("AlterConfigs replaces a subscription's settings", async (broker) => {
    const name = broker.name("m");
    await change(broker, CLIENT_METRICS, name, ["interval.ms", SET, "500"], ["metrics", SET, "a"]);
    await settled(broker, CLIENT_METRICS, name, "interval.ms", "500");
    const of = (...settings: [string, string | null][]) => replacing([[CLIENT_METRICS, name, settings]]);
    await broker.ask(alterConfigs, 2, of(["interval.ms", "600"]), withTexts);
    await settled(broker, CLIENT_METRICS, name, "interval.ms", "600");
    await describe(broker, CLIENT_METRICS, name);
    await broker.ask(alterConfigs, 2, of(["interval.ms", "5"]), withTexts, "interval");
    await broker.ask(alterConfigs, 2, of(["interval.ms", null]), withTexts, "null");
    await broker.ask(alterConfigs, 2, replacing([[CLIENT_METRICS, "", []]]), withTexts, "no name");
  }),
  scenario("Client metrics are described by a name", async (broker) => {
    const nameless = describing([[CLIENT_METRICS, ""]]);
    await broker.ask(
      describeConfigs,
      4,
      nameless,
      (r) => r.results.map((one) => [one.errorCode, one.errorMessage]),
    );
  }),
];

export const scenarios = [...groupScenarios, ...clientMetricsScenarios];
