/**
 * Codes and their precedence were observed at Apache Kafka 4.4.0 with raw IncrementalAlterConfigs v1 and AlterConfigs v2
 * frames, on one broker with id 1.
 */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import { type ErrorName, errorName } from "../../src/codec/errors.ts";
import { type AlterableResource, planAlterConfigs, ResourceType } from "../../src/cluster/alter_configs.ts";
import type { MutableImage } from "../../src/cluster/image.ts";
import { settingRules } from "../../src/cluster/setting_rules.ts";
import { configWith, imageWith } from "./support.ts";

const { TOPIC, BROKER, GROUP } = ResourceType;
const SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3;
const rules = settingRules(configWith());

type Change = [name: string, operation: number, value: string | null];

function resource(resourceType: number, resourceName: string, ...changes: Change[]): AlterableResource {
  const configs = changes.map(([name, configOperation, value]) => ({ name, value, configOperation }));
  return { resourceType, resourceName, configs };
}

function codesOf(resources: AlterableResource[], incremental = true): string[] {
  const { results } = planAlterConfigs(imageWith({ cf: 1 }), resources, incremental, rules);
  assertEquals(
    results.map(({ resourceType, resourceName }) => [resourceType, resourceName]),
    resources.map(({ resourceType, resourceName }) => [resourceType, resourceName]),
  );
  return results.map(({ errorCode }) => errorName(errorCode));
}

const table: [AlterableResource, ErrorName][] = [
  [resource(TOPIC, "cf", ["retention.ms", SET, "100"]), "NONE"],
  [resource(TOPIC, "cf"), "NONE"],
  [resource(TOPIC, "nope", ["retention.ms", SET, "100"]), "UNKNOWN_TOPIC_OR_PARTITION"],
  [resource(TOPIC, "a b", ["retention.ms", SET, "100"]), "INVALID_TOPIC_EXCEPTION"],
  [resource(TOPIC, "", ["retention.ms", SET, "100"]), "INVALID_REQUEST"],
  [resource(TOPIC, "cf", ["zz", SET, "100"]), "INVALID_CONFIG"],
  [resource(TOPIC, "cf", ["zz", DELETE, null]), "NONE"],
  [resource(TOPIC, "cf", ["zz", APPEND, "x"]), "INVALID_CONFIG"],
  [resource(TOPIC, "cf", ["retention.ms", SET, "x"]), "INVALID_CONFIG"],
  [resource(TOPIC, "cf", ["retention.ms", SET, null]), "INVALID_REQUEST"],
  [resource(TOPIC, "cf", ["retention.ms", APPEND, "1"]), "INVALID_CONFIG"],
  [resource(TOPIC, "cf", ["cleanup.policy", APPEND, null]), "INVALID_REQUEST"],
  [resource(TOPIC, "cf", ["cleanup.policy", SUBTRACT, "zz"]), "NONE"],
  [resource(TOPIC, "cf", ["retention.ms", SET, "1"], ["retention.ms", DELETE, null]), "INVALID_REQUEST"],
  [resource(TOPIC, "cf", ["retention.ms", SET, "777"], ["zz", SET, "1"]), "INVALID_CONFIG"],
  [resource(TOPIC, "cf", ["retention.bytes", DELETE, null]), "NONE"],
  [resource(TOPIC, "cf", ["retention.ms", DELETE, "5"]), "NONE"],
  [resource(TOPIC, "cf", ["min.insync.replicas", SET, "9"]), "NONE"],
  // Kafka answers UNKNOWN_SERVER_ERROR.
  [resource(TOPIC, "cf", ["retention.ms", 9, "1"]), "INVALID_REQUEST"],
  [resource(BROKER, "1", ["log.retention.ms", SET, "100000"]), "NONE"],
  [resource(BROKER, "", ["log.retention.ms", SET, "100000"]), "NONE"],
  [resource(BROKER, "9", ["log.retention.ms", SET, "100000"]), "INVALID_REQUEST"],
  [resource(BROKER, "x", ["log.retention.ms", SET, "1"]), "INVALID_REQUEST"],
  [resource(BROKER, "1", ["log.dirs", SET, "1"]), "INVALID_REQUEST"],
  [resource(BROKER, "", ["log.retention.ms", SET, "x"]), "INVALID_REQUEST"],
  [resource(GROUP, "g1", ["consumer.session.timeout.ms", SET, "50000"]), "NONE"],
  [resource(GROUP, "g1", ["zz", SET, "50000"]), "INVALID_CONFIG"],
  [resource(GROUP, "g1", ["consumer.session.timeout.ms", SET, "x"]), "INVALID_CONFIG"],
  [resource(GROUP, "", ["consumer.session.timeout.ms", SET, "50000"]), "INVALID_REQUEST"],
  [resource(0, "x", ["a", SET, "1"]), "INVALID_REQUEST"],
  [resource(99, "x", ["a", SET, "1"]), "INVALID_REQUEST"],
];

for (const [changed, expected] of table) {
  const { resourceType, resourceName, configs } = changed;
  const what = `${resourceType} "${resourceName}" ${
    configs.map((c) => Object.values(c).join(" ")).join(", ")
  }`;
  Deno.test(`planAlterConfigs() answers ${expected} to ${what}`, () => {
    assertEquals(codesOf([changed]), [expected]);
  });
}

Deno.test("planAlterConfigs() refuses each of two mentions of a resource, and judges the others by themselves", () => {
  const twice = resource(TOPIC, "cf", ["retention.ms", SET, "1"]);
  for (const incremental of [true, false]) {
    assertEquals(codesOf([twice, resource(TOPIC, "nope"), twice, resource(GROUP, "cf")], incremental), [
      "INVALID_REQUEST",
      "UNKNOWN_TOPIC_OR_PARTITION",
      "INVALID_REQUEST",
      "NONE",
    ]);
  }
});

/** Applies the changes one after the other and gives what is set for topic "cf" after each. */
function settingsAfter(changes: Change[], incremental = true): string[] {
  const image: MutableImage = imageWith({ cf: 1 });
  return changes.map((change) => {
    const { results, topics } = planAlterConfigs(image, [resource(TOPIC, "cf", change)], incremental, rules);
    assert(results[0].errorCode === 0, `${change}: ${results[0].errorMessage}`);
    image.setTopic(topics[0]);
    return [...topics[0].configs].map((entry) => entry.join("=")).join(" ");
  });
}

Deno.test("planAlterConfigs() appends to and subtracts from lists, starting from the value in force", () => {
  const name = "cleanup.policy";
  assertEquals(
    settingsAfter([
      [name, APPEND, "compact"],
      [name, APPEND, "compact,delete"],
      [name, SUBTRACT, "delete"],
      [name, SUBTRACT, "delete"],
      [name, SUBTRACT, "compact"],
      [name, APPEND, "delete"],
      [name, DELETE, null],
      [name, SUBTRACT, "delete"],
    ]),
    [
      `${name}=delete,compact`,
      `${name}=delete,compact`,
      `${name}=compact`,
      `${name}=compact`,
      `${name}=`,
      `${name}=delete`,
      "",
      `${name}=`,
    ],
  );
});

Deno.test("planAlterConfigs() in the full form resets what it does not name", () => {
  assertEquals(settingsAfter([["retention.ms", SET, "5"], ["retention.bytes", SET, "7"]], false), [
    "retention.ms=5",
    "retention.bytes=7",
  ]);
});

Deno.test("planAlterConfigs() in the full form refuses null and double settings", () => {
  assertEquals(codesOf([resource(TOPIC, "cf", ["retention.bytes", SET, null])], false), ["INVALID_REQUEST"]);
  const twice = resource(TOPIC, "cf", ["retention.ms", SET, "5"], ["retention.ms", SET, "6"]);
  assertEquals(codesOf([twice], false), ["INVALID_REQUEST"]);
});

Deno.test("planAlterConfigs() keeps what it does not name, and changes nothing of a resource that it refuses", () => {
  const image = imageWith({ cf: 1, other: 1 });
  image.brokerConfigs.set("1", new Map([["log.retention.ms", "1"]]));
  const { topics, brokerConfigs, groupConfigs } = planAlterConfigs(
    image,
    [
      resource(BROKER, "1", ["log.retention.bytes", SET, "2"]),
      resource(TOPIC, "cf", ["retention.ms", SET, "777"], ["zz", SET, "1"]),
      resource(TOPIC, "other", ["retention.ms", SET, "777"]),
      resource(GROUP, "g", ["consumer.session.timeout.ms", SET, "50000"]),
    ],
    true,
    rules,
  );
  assertEquals(topics.map(({ name, configs }) => [name, configs]), [[
    "other",
    new Map([["retention.ms", "777"]]),
  ]]);
  assertEquals(
    brokerConfigs,
    new Map([["1", new Map([["log.retention.ms", "1"], ["log.retention.bytes", "2"]])]]),
  );
  assertEquals(groupConfigs, new Map([["g", new Map([["consumer.session.timeout.ms", "50000"]])]]));
});
