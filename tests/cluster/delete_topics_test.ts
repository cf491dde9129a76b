/** Codes and their precedence were observed at Apache Kafka 4.4.0 with raw DeleteTopics v6 frames. */
import { assertEquals } from "@std/assert/equals";
import { errorName } from "../../src/codec/errors.ts";
import { type DeletableTopic, planDeleteTopics } from "../../src/cluster/delete_topics.ts";
import { idOf, imageWith, NO_UUID } from "./support.ts";

const image = imageWith({ p0: 1, p1: 2, p2: 1, __consumer_offsets: 50 });
const byName = (name: string): DeletableTopic => ({ name, topicId: NO_UUID });
const byId = (topicId: string): DeletableTopic => ({ name: null, topicId });
const neither: DeletableTopic = { name: null, topicId: NO_UUID };

/** Each result as "name id code", with the ids of existing topics as their names. */
function outcome(...topics: DeletableTopic[]): string[] {
  const { results } = planDeleteTopics(image, topics, true);
  return results.map(({ name, topicId, errorCode }) => {
    const id = topicId === NO_UUID ? "-" : image.topicsById.get(topicId)?.name ?? "?";
    return `${name} ${id} ${errorName(errorCode)}`;
  });
}

const table: [string, DeletableTopic[], string[]][] = [
  ["a name", [byName("p0")], ["p0 p0 NONE"]],
  ["an id", [byId(idOf(1))], ["p1 p1 NONE"]],
  ["an internal topic", [byName("__consumer_offsets")], ["__consumer_offsets __consumer_offsets NONE"]],
  ["an unknown name", [byName("nope")], ["nope - UNKNOWN_TOPIC_OR_PARTITION"]],
  ["a name that cannot be", [byName("a b")], ["a b - UNKNOWN_TOPIC_OR_PARTITION"]],
  ["an empty name", [byName("")], [" - UNKNOWN_TOPIC_OR_PARTITION"]],
  ["an unknown id", [byId(idOf(9))], ["null ? UNKNOWN_TOPIC_ID"]],
  ["neither name nor id", [neither], ["null - INVALID_REQUEST"]],
  ["neither, twice", [neither, neither], ["null - INVALID_REQUEST", "null - INVALID_REQUEST"]],
  ["both name and id", [{ name: "p0", topicId: idOf(0) }], ["p0 p0 INVALID_REQUEST"]],
  ["name and id of different topics", [{ name: "p0", topicId: idOf(1) }], ["p0 p1 INVALID_REQUEST"]],
  ["both of no topic", [{ name: "nope", topicId: idOf(9) }], ["nope ? INVALID_REQUEST"]],
  ["a name twice", [byName("p0"), byName("p0")], ["p0 - INVALID_REQUEST"]],
  ["an id twice", [byId(idOf(0)), byId(idOf(0))], ["null p0 INVALID_REQUEST"]],
  ["a topic by name and by id", [byName("p0"), byId(idOf(0))], ["p0 p0 INVALID_REQUEST"]],
  ["an unknown name twice", [byName("nope"), byName("nope")], ["nope - INVALID_REQUEST"]],
  ["an unknown id twice", [byId(idOf(9)), byId(idOf(9))], ["null ? INVALID_REQUEST"]],
  [
    "good and bad together",
    [byName("p2"), byName("nope"), byId(idOf(1)), byName("p0"), byName("p0")],
    ["p2 p2 NONE", "nope - UNKNOWN_TOPIC_OR_PARTITION", "p1 p1 NONE", "p0 - INVALID_REQUEST"],
  ],
];

for (const [what, topics, expected] of table) {
  Deno.test(`planDeleteTopics() given ${what} answers ${expected.join(", ")}`, () => {
    assertEquals(outcome(...topics), expected);
  });
}

Deno.test("planDeleteTopics() deletes what it answers with NONE, nothing else", () => {
  const { deleted } = planDeleteTopics(
    image,
    [byName("p2"), byName("nope"), byName("p0"), byName("p0")],
    true,
  );
  assertEquals(deleted, [image.topics.get("p2")!]);
});

Deno.test("planDeleteTopics() answers TOPIC_DELETION_DISABLED to everything when delete.topic.enable is false", () => {
  const topics = [byName("p0"), byName("nope"), byName("p0"), byId(idOf(9))];
  const { results, deleted } = planDeleteTopics(image, topics, false);
  assertEquals(results.map(({ name, topicId, errorCode }) => [name, topicId, errorName(errorCode)]), [
    ["p0", NO_UUID, "TOPIC_DELETION_DISABLED"],
    ["nope", NO_UUID, "TOPIC_DELETION_DISABLED"],
    ["p0", NO_UUID, "TOPIC_DELETION_DISABLED"],
    [null, idOf(9), "TOPIC_DELETION_DISABLED"],
  ]);
  assertEquals(deleted, []);
});
