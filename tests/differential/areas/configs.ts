/** Levels of loggers, ListConfigResources, and requests about several kinds of resources at once. */
import { alterConfigs } from "../../../src/codec/messages/alter_configs.ts";
import { describeConfigs } from "../../../src/codec/messages/describe_configs.ts";
import { incrementalAlterConfigs } from "../../../src/codec/messages/incremental_alter_configs.ts";
import { listConfigResources } from "../../../src/codec/messages/list_config_resources.ts";
import { scenario } from "../scenario.ts";
import {
  APPEND,
  BROKER,
  change,
  changing,
  CLIENT_METRICS,
  DELETE,
  describing,
  GROUP,
  judge,
  judgeValues,
  list,
  LOGGER,
  replacing,
  type Resource,
  SET,
  settled,
  SUBTRACT,
  TOPIC,
  withTexts,
} from "../setup/configs.ts";
import { createTopic } from "../setup/topics.ts";

export { oracle } from "../setup/configs.ts";

const loggerScenarios = [
  scenario("Levels of loggers are those of log4j", async (broker) => {
    const texts = [
      "TRACE",
      "DEBUG",
      "INFO",
      "WARN",
      "ERROR",
      "FATAL",
      "OFF",
      "ALL",
      "WARNING",
      "info",
      " INFO ",
      "",
    ];
    await judgeValues(broker, LOGGER, "1", { root: texts });
  }),
  scenario("A logger's level is set or taken back, if there is such a logger", async (broker) => {
    await judge(broker, LOGGER, "1", {
      null: [["root", SET, null]],
      "delete the root's": [["root", DELETE, null]],
      append: [["root", APPEND, "INFO"]],
      subtract: [["root", SUBTRACT, "INFO"]],
      "another operation": [["root", 9, "INFO"]],
      "no such logger": [["no.such.logger", SET, "INFO"]],
      "no such logger, no such level": [["no.such.logger", SET, "x"]],
      "no such logger to take back": [["no.such.logger", DELETE, null]],
      "no such logger to append to": [["no.such.logger", APPEND, "x"]],
      "no name": [["", SET, "INFO"]],
      twice: [["root", SET, "INFO"], ["root", SET, "WARN"]],
      "the second is wrong": [["root", SET, "INFO"], ["no.such.logger", SET, "INFO"]],
      nothing: [],
    });
  }),
  scenario("Loggers are those of the broker that is asked", async (broker) => {
    for (const name of ["", "x", "9", "01"]) await judgeValues(broker, LOGGER, name, { root: ["INFO"] });
    const pick = (
      r: { results: { errorCode: number; errorMessage: string | null; configs: { name: string }[] }[] },
    ) =>
      r.results.map(({ errorCode, errorMessage, configs }) => ({
        errorCode,
        says: errorMessage,
        configs: configs.map(({ name }) => name),
      }));
    for (const name of ["", "x", "9", "01"]) {
      const request = describing([[LOGGER, name, ["root"]]]);
      await broker.ask(describeConfigs, 4, request, pick, `broker "${name}"`);
    }
  }),
  scenario("A logger's level changes at once", async (broker) => {
    for (const level of ["WARN", "ERROR", "INFO"]) {
      await change(broker, LOGGER, "1", ["root", SET, level]);
      await settled(broker, LOGGER, "1", "root", level);
      await broker.ask(
        describeConfigs,
        4,
        describing([[LOGGER, "1", ["root", "zz"]]], { includeDocumentation: true }),
      );
    }
    await broker.ask(describeConfigs, 1, describing([[LOGGER, "1", ["root"]]]));
  }),
  scenario("AlterConfigs knows no loggers", async (broker) => {
    await broker.ask(alterConfigs, 2, replacing([[LOGGER, "1", [["root", "INFO"]]]]), withTexts);
  }),
];

const mixedScenarios = [
  scenario(
    "ListConfigResources of each type, of several, of all, and of none that there is",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      await change(broker, GROUP, broker.name("g"), ["consumer.session.timeout.ms", SET, "50000"]);
      await change(broker, CLIENT_METRICS, broker.name("m"), ["interval.ms", SET, "500"]);
      await settled(broker, CLIENT_METRICS, broker.name("m"), "interval.ms", "500");
      await settled(broker, TOPIC, topic, "segment.ms", "604800000");
      await list(broker, 0, []);
      const asked = [[], [TOPIC], [BROKER], [LOGGER], [CLIENT_METRICS], [GROUP], [GROUP, TOPIC], [
        BROKER,
        LOGGER,
      ]];
      for (const types of asked) await list(broker, 1, types);
      for (const types of [[0], [1], [64], [99], [-1], [TOPIC, 99], [TOPIC, TOPIC]]) {
        await list(
          broker,
          1,
          types,
        );
      }
    },
  ),
  scenario("ListConfigResources lists groups, client metrics, loggers, brokers, topics", async (broker) => {
    await createTopic(broker, "t");
    const response = await broker.send(listConfigResources, 1, { resourceTypes: [TOPIC, BROKER, LOGGER] });
    const types = response!.configResources.map(({ resourceType }) => resourceType);
    broker.note("types in order", [...new Set(types)]);
  }),
  scenario("More than 10,000 changes of settings at once are refused together", async (broker) => {
    const groups = Array.from(
      { length: 10_001 },
      (_, i): Resource => [GROUP, broker.name(`${i}`), [["consumer.session.timeout.ms", SET, "50000"]]],
    );
    const malformed: Resource = [GROUP, "", [["zz", SET, null]]];
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([...groups, malformed]),
      (r) => [...new Set(withTexts(r).map(({ errorCode, says }) => `${errorCode} ${says}`))],
    );
    await list(broker, 1, [GROUP]);
  }),
  scenario("Resources of types that there are not", async (broker) => {
    for (const type of [0, 1, 3, 64, 99, -1]) {
      const one: Resource = [type, "x", [["a", SET, "1"]]];
      await broker.ask(incrementalAlterConfigs, 1, changing([one]), withTexts, `type ${type}`);
      await broker.ask(alterConfigs, 2, replacing([[type, "x", [["a", "1"]]]]), withTexts, `type ${type}`);
      await broker.ask(describeConfigs, 4, describing([[type, "x"]]), undefined, `type ${type}`);
    }
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([[99, "x", [["a", SET, null]]]]),
      withTexts,
      "null first",
    );
    await broker.ask(incrementalAlterConfigs, 1, changing([[99, "", []]]), withTexts, "nothing to change");
  }),
  scenario("Each resource of a request is judged by itself, and answered in its place", async (broker) => {
    const a = await createTopic(broker, "a"), b = await createTopic(broker, "b");
    await broker.ask(
      incrementalAlterConfigs,
      1,
      changing([
        [TOPIC, a, [["retention.ms", SET, "1000"]]],
        [BROKER, "9", [["a", SET, "1"]]],
        [LOGGER, "1", [["root", SET, "INFO"]]],
        [TOPIC, b, [["zz", SET, "1"]]],
        [GROUP, broker.name("g"), []],
        [CLIENT_METRICS, broker.name("m"), []],
        [99, "x", []],
        [LOGGER, "9", []],
        [BROKER, "1", []],
      ], true),
      withTexts,
    );
    await broker.ask(
      alterConfigs,
      2,
      replacing([[TOPIC, b, [["zz", "1"]]], [TOPIC, a, [["retention.ms", "1000"]]], [99, "x", []], [
        GROUP,
        "",
        [],
      ]]),
      withTexts,
    );
    await settled(broker, TOPIC, a, "retention.ms", "1000");
    await broker.ask(
      describeConfigs,
      4,
      describing([
        [TOPIC, a, ["retention.ms"]],
        [GROUP, broker.name("g"), ["consumer.session.timeout.ms"]],
        [TOPIC, broker.name("missing")],
        [BROKER, "1", ["num.io.threads"]],
        [LOGGER, "1", ["root"]],
        [CLIENT_METRICS, broker.name("m"), ["interval.ms"]],
        [BROKER, "", ["zz"]],
      ]),
    );
  }),
];

export const scenarios = [...loggerScenarios, ...mixedScenarios];
