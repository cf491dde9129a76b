/** Codes and their precedence were observed at Apache Kafka 4.4.0 with raw CreatePartitions v3 frames. */
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { type ErrorName, errorName } from "../../src/codec/errors.ts";
import { type GrowingTopic, planCreatePartitions } from "../../src/cluster/create_partitions.ts";
import { imageWith } from "./support.ts";

const image = imageWith({ p1: 2, p2: 2, __consumer_offsets: 1 });

function to(name: string, count: number, assignments: number[][] | null = null): GrowingTopic {
  return { name, count, assignments: assignments?.map((brokerIds) => ({ brokerIds })) ?? null };
}

function codesOf(...topics: GrowingTopic[]): string[] {
  const { results } = planCreatePartitions(image, topics, new Prng(1));
  return results.map(({ name, errorCode }) => `${name} ${errorName(errorCode)}`);
}

const table: [GrowingTopic, ErrorName][] = [
  [to("p1", 3), "NONE"],
  [to("p1", 2), "INVALID_PARTITIONS"],
  [to("p1", 1), "INVALID_PARTITIONS"],
  [to("p1", 0), "INVALID_PARTITIONS"],
  [to("p1", -1), "INVALID_PARTITIONS"],
  [to("nope", 3), "UNKNOWN_TOPIC_OR_PARTITION"],
  [to("a b", 3), "UNKNOWN_TOPIC_OR_PARTITION"],
  // Kafka does it, and does not find groups any more after its next start.
  [to("__consumer_offsets", 2), "INVALID_REQUEST"],
  [to("__consumer_offsets", 1), "INVALID_PARTITIONS"],
  [to("p1", 10_003), "POLICY_VIOLATION"],
  [to("p1", 10_002), "NONE"],
  [to("p1", 4, [[1], [1]]), "NONE"],
  [to("p1", 4, [[1]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, [[1], [1]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, []), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, [[]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, [[9]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, [[-1]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 3, [[1, 1]]), "INVALID_REPLICA_ASSIGNMENT"],
  [to("p1", 1, [[9]]), "INVALID_PARTITIONS"],
];

for (const [topic, expected] of table) {
  Deno.test(`planCreatePartitions() answers ${expected} to ${JSON.stringify(topic)}`, () => {
    assertEquals(codesOf(topic), [`${topic.name} ${expected}`]);
  });
}

Deno.test("planCreatePartitions() answers once, with INVALID_REQUEST, to a name that comes twice", () => {
  assertEquals(codesOf(to("p1", 9), to("p2", 3), to("p1", 10)), ["p1 INVALID_REQUEST", "p2 NONE"]);
  assertEquals(codesOf(to("nope", 9), to("nope", 9)), ["nope INVALID_REQUEST"]);
});

Deno.test("planCreatePartitions() refuses a whole request that adds more than 10,000 partitions", () => {
  assertEquals(codesOf(to("p1", 6000), to("p2", 6000)), ["p1 POLICY_VIOLATION", "p2 POLICY_VIOLATION"]);
  // A topic that comes twice does not count.
  assertEquals(codesOf(to("p1", 20_000), to("p1", 3), to("p2", 3)), ["p1 INVALID_REQUEST", "p2 NONE"]);
});

Deno.test("planCreatePartitions() leaves the partitions that were there as they are and numbers the new ones on", () => {
  const { changed } = planCreatePartitions(image, [to("p1", 4)], new Prng(1));
  const before = image.topics.get("p1")!;
  assertEquals(changed.length, 1);
  assertEquals({ ...changed[0], partitions: [] }, { ...before, partitions: [] });
  assertEquals(changed[0].partitions.slice(0, 2), before.partitions);
  assertEquals(
    changed[0].partitions.map(({ partition, leader, leaderEpoch }) => [partition, leader, leaderEpoch]),
    [
      [0, 1, 0],
      [1, 1, 0],
      [2, 1, 0],
      [3, 1, 0],
    ],
  );
  assertEquals(before.partitions.length, 2);
});

Deno.test("planCreatePartitions() keeps the replication factor, assigned or not", () => {
  const wide = imageWith({ t: 1 }, [1, 2, 3]);
  const codes = (assignments: number[][] | null) =>
    planCreatePartitions(wide, [to("t", 2, assignments)], new Prng(1)).results.map(({ errorCode }) =>
      errorCode
    );
  assertEquals(codes([[2, 3]]), [39]);
  assertEquals(codes([[2]]), [0]);
  const { changed } = planCreatePartitions(wide, [to("t", 9)], new Prng(1));
  assertEquals(changed[0].partitions.map(({ replicas }) => replicas.length), Array(9).fill(1));
});
