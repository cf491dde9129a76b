/** Codes and their precedence were observed at Apache Kafka 4.4.0 with raw CreateTopics v7 frames, unless a row says otherwise. */
import { assertEquals } from "@std/assert/equals";
import { assert } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { ErrorCode, type ErrorName, errorName } from "../../src/codec/errors.ts";
import {
  type CreatableTopic,
  type CreateTopicsContext,
  planCreateTopics,
} from "../../src/cluster/create_topics.ts";
import type { MetadataImage } from "../../src/cluster/image.ts";
import { creatable, idOf, imageWith, NO_UUID } from "./support.ts";

function context(): CreateTopicsContext {
  let made = 100;
  return {
    defaultPartitions: 3,
    defaultReplicationFactor: 1,
    random: new Prng(1),
    newTopicId: () => idOf(made++),
    settingsProblem: (overrides) => overrides.has("nope") ? "Unknown topic config name: nope" : null,
  };
}

const existing = { "a1": 3, "my.topic": 1, "my2.t_x": 1 };

function codesOf(topics: readonly CreatableTopic[], image: MetadataImage = imageWith(existing)): string[] {
  const { results, created } = planCreateTopics(image, topics, context());
  const successes = results.filter(({ errorCode }) => errorCode === ErrorCode.NONE).map(({ name }) => name);
  assertEquals(created.map(({ name }) => name), successes);
  return results.map(({ name, errorCode }) => `${name} ${errorName(errorCode)}`);
}

const auto = { numPartitions: -1, replicationFactor: -1 };
const assigned = (...assignments: [number, number[]][]) => ({
  ...auto,
  assignments: assignments.map(([partitionIndex, brokerIds]) => ({ partitionIndex, brokerIds })),
});
const badConfig = { configs: [{ name: "nope", value: "1" }] };

const table: [string, Partial<CreatableTopic>, ErrorName][] = [
  // Names.
  ["", {}, "INVALID_TOPIC_EXCEPTION"],
  [".", {}, "INVALID_TOPIC_EXCEPTION"],
  ["..", {}, "INVALID_TOPIC_EXCEPTION"],
  ["...", {}, "NONE"],
  ["x".repeat(249), {}, "NONE"],
  ["x".repeat(250), {}, "INVALID_TOPIC_EXCEPTION"],
  ["a b", {}, "INVALID_TOPIC_EXCEPTION"],
  ["a/b", {}, "INVALID_TOPIC_EXCEPTION"],
  ["a:b", {}, "INVALID_TOPIC_EXCEPTION"],
  ["é", {}, "INVALID_TOPIC_EXCEPTION"],
  ["a\n", {}, "INVALID_TOPIC_EXCEPTION"],
  ["-", {}, "NONE"],
  ["_", {}, "NONE"],
  ["A_b.c", {}, "NONE"],
  ["__consumer_offsets", {}, "NONE"],
  ["__cluster_metadata", {}, "INVALID_REQUEST"],
  // Names that are taken, or nearly.
  ["a1", {}, "TOPIC_ALREADY_EXISTS"],
  ["my.topic", {}, "TOPIC_ALREADY_EXISTS"],
  ["my_topic", {}, "INVALID_TOPIC_EXCEPTION"],
  ["my2_t.x", {}, "INVALID_TOPIC_EXCEPTION"],
  ["mytopic", {}, "NONE"],
  // Numbers.
  ["b", { numPartitions: 0 }, "INVALID_PARTITIONS"],
  ["b", { numPartitions: -2 }, "INVALID_PARTITIONS"],
  ["b", { replicationFactor: 0 }, "INVALID_REPLICATION_FACTOR"],
  ["b", { replicationFactor: -2 }, "INVALID_REPLICATION_FACTOR"],
  ["b", { replicationFactor: 2 }, "INVALID_REPLICATION_FACTOR"],
  ["b", { numPartitions: 0, replicationFactor: 2 }, "INVALID_PARTITIONS"],
  ["b", { numPartitions: 0, replicationFactor: 0 }, "INVALID_REPLICATION_FACTOR"],
  ["b", { numPartitions: -5, replicationFactor: -5 }, "INVALID_REPLICATION_FACTOR"],
  ["b", { numPartitions: 0, replicationFactor: -1 }, "INVALID_PARTITIONS"],
  ["b", auto, "NONE"],
  ["b", { numPartitions: 10_001 }, "POLICY_VIOLATION"],
  ["b", { numPartitions: 2_147_483_647 }, "POLICY_VIOLATION"],
  // Replicas that the client assigns.
  ["e", assigned([0, [1]]), "NONE"],
  ["e", assigned([1, [1]], [0, [1]]), "NONE"],
  ["e", { ...assigned([0, [1]]), numPartitions: 1 }, "INVALID_REQUEST"],
  ["e", { ...assigned([0, [1]]), replicationFactor: 1 }, "INVALID_REQUEST"],
  ["e", assigned([0, [9]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, [-1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, [1, 1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, []]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, [1]], [2, [1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([1, [1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([-1, [1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, [1]], [0, [1]]), "INVALID_REPLICA_ASSIGNMENT"],
  ["e", assigned([0, [1]], [1, []]), "INVALID_REPLICA_ASSIGNMENT"],
  // Settings.
  ["f", badConfig, "INVALID_CONFIG"],
  ["f", { configs: [{ name: "retention.ms", value: null }] }, "INVALID_CONFIG"],
  ["f", { configs: [{ name: "cleanup.policy", value: "" }] }, "NONE"],
  // Which check comes first.
  ["a b", { numPartitions: 0, replicationFactor: 2 }, "INVALID_TOPIC_EXCEPTION"],
  ["a1", badConfig, "TOPIC_ALREADY_EXISTS"],
  ["my_topic", badConfig, "INVALID_TOPIC_EXCEPTION"],
  ["f", { ...badConfig, replicationFactor: 9 }, "INVALID_CONFIG"],
  ["f", { ...badConfig, numPartitions: 0 }, "INVALID_CONFIG"],
  ["f", { ...badConfig, ...assigned([0, [9]]), numPartitions: 5, replicationFactor: 5 }, "INVALID_CONFIG"],
];

for (const [name, fields, expected] of table) {
  const what = `${JSON.stringify(name.slice(0, 20))} of ${name.length} characters, ${JSON.stringify(fields)}`;
  Deno.test(`planCreateTopics() answers ${expected} to ${what}`, () => {
    assertEquals(codesOf([creatable(name, fields)]), [`${name} ${expected}`]);
  });
}

Deno.test("planCreateTopics() judges each topic by itself, and answers in the order of the request", () => {
  const names = ["z1", "bad name", "a1", "y1"];
  assertEquals(
    codesOf([...names.map((name) => creatable(name)), creatable("m1", { replicationFactor: 9 })]),
    [
      "z1 NONE",
      "bad name INVALID_TOPIC_EXCEPTION",
      "a1 TOPIC_ALREADY_EXISTS",
      "y1 NONE",
      "m1 INVALID_REPLICATION_FACTOR",
    ],
  );
});

Deno.test("planCreateTopics() answers once, with INVALID_REQUEST, to a name that comes twice, whatever else is wrong", () => {
  for (const name of ["d1", "a1", "a b", "__cluster_metadata"]) {
    assertEquals(codesOf([creatable(name), creatable("d2"), creatable(name, { numPartitions: 2 })]), [
      `${name} INVALID_REQUEST`,
      "d2 NONE",
    ]);
  }
});

Deno.test("planCreateTopics() lets two new topics collide with each other, as Kafka does", () => {
  assertEquals(codesOf([creatable("q.r"), creatable("q_r")]), ["q.r NONE", "q_r NONE"]);
});

Deno.test("planCreateTopics() refuses a whole request of more than 10,000 partitions with POLICY_VIOLATION", () => {
  const half = (name: string, numPartitions: number) => creatable(name, { numPartitions });
  // Each topic counts as one, too, and so does each of its settings.
  assertEquals(codesOf([half("b1", 4999), half("b2", 4999)]), ["b1 NONE", "b2 NONE"]);
  const twice = [creatable("d"), creatable("d")];
  assertEquals(codesOf([half("b1", 4999), half("b2", 5000), creatable("a b"), ...twice]), [
    "b1 POLICY_VIOLATION",
    "b2 POLICY_VIOLATION",
    "a b POLICY_VIOLATION",
    "d POLICY_VIOLATION",
    "d POLICY_VIOLATION",
  ]);
  assertEquals(codesOf([half("b1", 5000), half("b2", 5001), creatable("a b"), creatable("a1")]), [
    "b1 POLICY_VIOLATION",
    "b2 POLICY_VIOLATION",
    "a b POLICY_VIOLATION",
    "a1 POLICY_VIOLATION",
  ]);
  // Topics that are refused by name alone do not count.
  const huge = (name: string) => half(name, 10_001);
  assertEquals(codesOf([huge("__cluster_metadata"), huge("d"), huge("d"), creatable("b1")]), [
    "__cluster_metadata INVALID_REQUEST",
    "d INVALID_REQUEST",
    "b1 NONE",
  ]);
  // Defaults count with what they stand for.
  assertEquals(codesOf([half("b1", 9998), creatable("b2", auto)]), [
    "b1 POLICY_VIOLATION",
    "b2 POLICY_VIOLATION",
  ]);
});

Deno.test("planCreateTopics() gives a response all that it needs", () => {
  const configs = [{ name: "retention.ms", value: "1000" }, { name: "retention.ms", value: "2000" }];
  const { results } = planCreateTopics(
    imageWith(existing),
    [creatable("n", { ...auto, configs }), creatable("a1")],
    context(),
  );
  assertEquals(results, [
    {
      name: "n",
      topicId: idOf(100),
      errorCode: 0,
      errorMessage: null,
      numPartitions: 3,
      replicationFactor: 1,
      configs: new Map([["retention.ms", "2000"]]),
    },
    {
      name: "a1",
      topicId: NO_UUID,
      errorCode: 36,
      errorMessage: "Topic 'a1' already exists.",
      numPartitions: -1,
      replicationFactor: -1,
      configs: new Map(),
    },
  ]);
});

Deno.test("planCreateTopics() names in its texts what is wrong", () => {
  const texts = (topic: CreatableTopic) => {
    const [{ errorMessage }] = planCreateTopics(imageWith(existing), [topic], context()).results;
    assert(errorMessage !== null, "refused without a text");
    return errorMessage;
  };
  assertEquals(texts(creatable("my_topic")).includes("my.topic"), true);
  assertEquals(texts(creatable("x".repeat(250))).includes("249"), true);
  assertEquals(texts(creatable("f", badConfig)), "Unknown topic config name: nope");
  const nulls = [{ name: "retention.ms", value: null }, { name: "cleanup.policy", value: null }];
  assertEquals(texts(creatable("f", { configs: nulls })).includes("retention.ms, cleanup.policy"), true);
  assertEquals(texts(creatable("f", { replicationFactor: 2 })).includes("2"), true);
});

Deno.test("planCreateTopics() makes partitions that the first replica leads and all are in sync with", () => {
  const image = imageWith({}, [1, 2, 3]);
  const topic = creatable("t", assigned([0, [3, 1]], [1, [2, 3]]));
  const { created: [made] } = planCreateTopics(image, [topic], context());
  assertEquals(made.internal, false);
  assertEquals(made.partitions, [
    {
      partition: 0,
      leader: 3,
      leaderEpoch: 0,
      partitionEpoch: 0,
      replicas: [3, 1],
      isr: [3, 1],
      elr: [],
      offlineReplicas: [],
    },
    {
      partition: 1,
      leader: 2,
      leaderEpoch: 0,
      partitionEpoch: 0,
      replicas: [2, 3],
      isr: [2, 3],
      elr: [],
      offlineReplicas: [],
    },
  ]);
});

Deno.test("planCreateTopics() refuses assignments of uneven size, which a single broker cannot show", () => {
  const topic = creatable("t", assigned([0, [1, 2]], [1, [3]]));
  assertEquals(codesOf([topic], imageWith({}, [1, 2, 3])), ["t INVALID_REPLICA_ASSIGNMENT"]);
});

Deno.test("planCreateTopics() leaves the image as it is", () => {
  const image = imageWith(existing);
  planCreateTopics(image, [creatable("n")], context());
  assertEquals([...image.topics.keys()], Object.keys(existing));
});
