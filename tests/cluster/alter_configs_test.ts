/**
 * Codes and their precedence were observed at Apache Kafka 4.4.0 with raw IncrementalAlterConfigs v1 and AlterConfigs v2
 * frames, on one broker with id 1.
 */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import { errorName } from "../../src/codec/errors.ts";
import {
  type AlterableResource,
  ConfigOperation,
  planAlterConfigs,
  ResourceType,
} from "../../src/cluster/alter_configs.ts";
import type { MutableImage } from "../../src/cluster/image.ts";
import { settingRules } from "../../src/cluster/setting_rules.ts";
import { configWith, imageWith } from "./support.ts";

const { TOPIC, BROKER, CLIENT_METRICS, GROUP } = ResourceType;
const { SET, DELETE, APPEND, SUBTRACT } = ConfigOperation;
const rules = settingRules(configWith());

type Change = [name: string, operation: number, value: string | null];

function resource(resourceType: number, resourceName: string, ...changes: Change[]): AlterableResource {
  const configs = changes.map(([name, configOperation, value]) => ({ name, value, configOperation }));
  return { resourceType, resourceName, configs };
}

function answersOf(resources: AlterableResource[], incremental = true): string[] {
  const { results } = planAlterConfigs(imageWith({ cf: 1 }), resources, incremental, rules);
  assertEquals(
    results.map(({ resourceType, resourceName }) => [resourceType, resourceName]),
    resources.map(({ resourceType, resourceName }) => [resourceType, resourceName]),
  );
  return results.map(({ errorCode, errorMessage }) =>
    errorMessage === null ? errorName(errorCode) : `${errorName(errorCode)}: ${errorMessage}`
  );
}

function codesOf(resources: AlterableResource[], incremental = true): string[] {
  return answersOf(resources, incremental).map((answer) => answer.split(":")[0]);
}

const retention = (value: string | null): Change => ["retention.ms", SET, value];

/** What is asked, and what Kafka answers: its code and its text. */
const incrementally: [AlterableResource, string][] = [
  [resource(TOPIC, "cf", retention("100")), "NONE"],
  [resource(TOPIC, "cf"), "NONE"],
  [resource(TOPIC, "cf", ["zz", DELETE, null]), "NONE"],
  [resource(TOPIC, "cf", ["cleanup.policy", SUBTRACT, "zz"]), "NONE"],
  [resource(TOPIC, "cf", ["retention.bytes", DELETE, null]), "NONE"],
  [resource(TOPIC, "cf", ["retention.ms", DELETE, "5"]), "NONE"],
  [resource(TOPIC, "cf", ["min.insync.replicas", SET, "9"]), "NONE"],
  // The form of the resource comes before all else, whatever it is.
  [
    resource(TOPIC, "a b", ["zz", SET, "1"], ["zz", DELETE, null]),
    "INVALID_REQUEST: Error due to duplicate config keys",
  ],
  [resource(TOPIC, "a b", ["zz", SET, null]), "INVALID_REQUEST: Null value not supported for : zz"],
  [
    resource(99, "x", ["a", SET, null], ["b", APPEND, null], ["c", DELETE, null]),
    "INVALID_REQUEST: Null value not supported for : a, b",
  ],
  // Then operations, the name, names of settings, values, and only then whether there is such a topic.
  [
    resource(TOPIC, "a b", ["retention.bytes", APPEND, "1"]),
    "INVALID_CONFIG: Can't APPEND to key retention.bytes because its type is not LIST.",
  ],
  [
    resource(TOPIC, "cf", ["zz", SUBTRACT, "x"]),
    "INVALID_CONFIG: Can't SUBTRACT to key zz because its type is not LIST.",
  ],
  // Kafka answers UNKNOWN_SERVER_ERROR.
  [resource(TOPIC, "cf", ["retention.ms", 9, "1"]), "INVALID_REQUEST: There is no operation 9 on settings"],
  [resource(TOPIC, "", ["zz", SET, "1"]), "INVALID_REQUEST: Default topic resources are not allowed."],
  [
    resource(TOPIC, "nope", retention("x"), ["zz", SET, "1"]),
    "INVALID_CONFIG: Unknown topic config name: zz",
  ],
  [
    resource(TOPIC, "nope", retention("x")),
    "INVALID_CONFIG: Invalid value x for configuration retention.ms: Not a number of type LONG",
  ],
  [resource(TOPIC, "nope", retention("1")), "UNKNOWN_TOPIC_OR_PARTITION: The topic 'nope' does not exist."],
  [
    resource(TOPIC, "cf", ["cleanup.policy", APPEND, ""]),
    "INVALID_CONFIG: Configuration 'cleanup.policy' values must not be empty.",
  ],
  [resource(BROKER, "1", ["log.retention.ms", SET, "100000"]), "NONE"],
  [resource(BROKER, "01", ["log.retention.ms", SET, "100000"]), "NONE"],
  [resource(BROKER, "", ["log.retention.ms", SET, "100000"]), "NONE"],
  [resource(BROKER, "1", ["no.such.setting", SET, "1"]), "NONE"],
  [
    resource(BROKER, "9", ["zz", APPEND, "1"]),
    "INVALID_REQUEST: Unexpected broker id, expected 1, but received 9",
  ],
  [resource(BROKER, "x", ["zz", SET, "1"]), "INVALID_REQUEST: Node id must be an integer, but it is: x"],
  [resource(BROKER, " 1", ["zz", SET, "1"]), "INVALID_REQUEST: Node id must be an integer, but it is:  1"],
  [resource(BROKER, "1", ["zz", APPEND, "1"]), "INVALID_CONFIG: Unknown config name: zz"],
  [
    resource(BROKER, "1", ["log.retention.ms", SUBTRACT, "1"]),
    "INVALID_CONFIG: Config value subtract is not allowed for config key: log.retention.ms",
  ],
  [
    resource(BROKER, "1", ["log.dirs", SET, "1"]),
    "INVALID_REQUEST: Cannot update these configs dynamically: [log.dirs]",
  ],
  [
    resource(BROKER, "", ["log.retention.ms", SET, "x"]),
    "INVALID_REQUEST: Invalid value x for configuration log.retention.ms: Not a number of type LONG",
  ],
  [resource(GROUP, "g1", ["consumer.session.timeout.ms", SET, "50000"]), "NONE"],
  [resource(GROUP, "a b/c", ["consumer.session.timeout.ms", SET, "50000"]), "NONE"],
  [resource(GROUP, "g1", ["zz", SET, "50000"]), "INVALID_CONFIG: Unknown group config name: zz"],
  [
    resource(GROUP, "g1", ["streams.rack.aware.assignment.tags", APPEND, "a"]),
    "INVALID_CONFIG: Can't APPEND to key streams.rack.aware.assignment.tags because its type is not LIST.",
  ],
  [resource(GROUP, "", ["zz", SET, "1"]), "INVALID_REQUEST: Default group resources are not allowed."],
  [resource(CLIENT_METRICS, "m", ["interval.ms", SET, "1000"]), "NONE"],
  [resource(CLIENT_METRICS, "", ["zz", SET, "1"]), "INVALID_REQUEST: Subscription name can't be empty"],
  [
    resource(CLIENT_METRICS, "m", ["zz", SET, "1"]),
    "INVALID_REQUEST: Unknown client metrics configuration: zz",
  ],
  [
    resource(CLIENT_METRICS, "m", ["metrics", APPEND, "a"]),
    "INVALID_CONFIG: Can't APPEND to key metrics because its type is not LIST.",
  ],
  [resource(0, "x", ["a", SET, "1"]), "INVALID_REQUEST: Unknown resource type 0"],
  [resource(99, "x"), "INVALID_REQUEST: Unknown resource type 99"],
];

for (const [changed, expected] of incrementally) {
  const { resourceType, resourceName, configs } = changed;
  const what = configs.map((c) => Object.values(c).join(" ")).join(", ");
  Deno.test(`planAlterConfigs() answers ${expected} to ${resourceType} "${resourceName}" ${what}`, () => {
    assertEquals(answersOf([changed]), [expected]);
  });
}

Deno.test("planAlterConfigs() refuses a request as a whole that changes more than 10,000 settings", () => {
  const groups = (count: number, ...changes: Change[]) =>
    Array.from({ length: count }, (_, i) => resource(GROUP, `g${i}`, ...changes));
  const change: Change = ["consumer.session.timeout.ms", SET, "50000"];
  assertEquals(new Set(codesOf(groups(10_000, change))), new Set(["NONE"]));
  // What changes nothing does not count.
  assertEquals(
    new Set(codesOf(groups(10_001, ["share.session.timeout.ms", DELETE, null]))),
    new Set(["NONE"]),
  );
  const tooMany = [...groups(10_001, change), resource(GROUP, "g", ["zz", SET, null])];
  const { results, groupConfigs } = planAlterConfigs(imageWith({}), tooMany, true, rules);
  assertEquals(
    new Set(results.slice(0, -1).map(({ errorCode }) => errorName(errorCode))),
    new Set(["POLICY_VIOLATION"]),
  );
  assertEquals(errorName(results.at(-1)!.errorCode), "INVALID_REQUEST");
  assertEquals(groupConfigs.size, 0);
});

Deno.test("planAlterConfigs() takes what is set for a broker under two of its names together", () => {
  const { brokerConfigs } = planAlterConfigs(
    imageWith({}),
    [
      resource(BROKER, "1", ["log.retention.bytes", SET, "2"]),
      resource(BROKER, "01", ["log.cleaner.backoff.ms", SET, "3"]),
    ],
    true,
    rules,
  );
  assertEquals(
    brokerConfigs,
    new Map([["1", new Map([["log.retention.bytes", "2"], ["log.cleaner.backoff.ms", "3"]])]]),
  );
});

Deno.test("planAlterConfigs() refuses names and values beyond 32,767 characters", () => {
  const long = "x".repeat(32_768);
  const asked = [
    resource(GROUP, long),
    resource(TOPIC, "cf", [long, SET, "1"]),
    resource(TOPIC, "cf", retention(long)),
  ];
  for (const one of asked) {
    assertEquals(answersOf([one]), ["INVALID_REQUEST: Names and values have 32767 characters at most"]);
  }
});

Deno.test("planAlterConfigs() keeps a text short enough for old versions, whatever a client sent", () => {
  const [answer] = answersOf([resource(TOPIC, "cf", ["z".repeat(32_000), SET, "1"])]);
  assertEquals([answer.startsWith("INVALID_CONFIG: Unknown topic"), answer.length < 11_000], [true, true]);
});

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

Deno.test("planAlterConfigs() appends to and subtracts from lists, element by element, starting from Kafka's default", () => {
  const name = "cleanup.policy";
  const steps: [number, string | null, string | undefined][] = [
    [APPEND, "compact", "delete,compact"],
    [APPEND, "compact,delete", "delete,compact"],
    // Blanks belong to an element here; they only go when the list is read.
    [APPEND, " compact", "delete,compact, compact"],
    [SUBTRACT, "compact", "delete, compact"],
    [SUBTRACT, "delete, compact", ""],
    [SUBTRACT, "compact", ""],
    [APPEND, "delete", "delete"],
    [SET, "compact,compact", "compact,compact"],
    [SUBTRACT, "compact", "compact"],
    [DELETE, null, undefined],
    [SUBTRACT, "delete", ""],
  ];
  assertEquals(
    settingsAfter(steps.map(([operation, value]) => [name, operation, value])),
    steps.map(([, , expected]) => expected === undefined ? "" : `${name}=${expected}`),
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
  const { topics, brokerConfigs, groupConfigs, clientMetricsConfigs } = planAlterConfigs(
    image,
    [
      resource(BROKER, "+01", ["log.retention.bytes", SET, "2"]),
      resource(TOPIC, "cf", ["retention.ms", SET, "777"], ["zz", SET, "1"]),
      resource(TOPIC, "other", ["retention.ms", SET, "777"]),
      resource(GROUP, "g", ["consumer.session.timeout.ms", SET, "50000"]),
      resource(CLIENT_METRICS, "m", ["interval.ms", SET, "1000"]),
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
  assertEquals(clientMetricsConfigs, new Map([["m", new Map([["interval.ms", "1000"]])]]));
});
