import { assertEquals } from "@std/assert/equals";
import { idOf, imageWith } from "./support.ts";
import { newTopic } from "../../src/cluster/image.ts";

Deno.test("MutableImage finds names that differ in dots and underscores only, also after some are gone", () => {
  const image = imageWith({ "a.b": 1, "a_b": 1, "ab": 1, "a.c": 1, "plain": 1 });
  assertEquals(image.collisions("a.b"), ["a_b"]);
  assertEquals(image.collisions("a_c"), ["a.c"]);
  assertEquals(image.collisions("plain"), []);
  image.deleteTopic("a_b");
  assertEquals(image.collisions("a.b"), []);
  assertEquals(image.collisions("a_b"), ["a.b"]);
  image.deleteTopic("a.b");
  assertEquals(image.collisions("a_b"), []);
});

Deno.test("MutableImage.setTopic() replaces a topic in every view", () => {
  const image = imageWith({ "t.x": 2, u: 1 });
  image.setTopic(newTopic("t.x", idOf(8), [[1], [1], [1]], new Map()));
  assertEquals(image.partitionCount, 4);
  assertEquals([...image.topicsById.keys()], [idOf(1), idOf(8)]);
  assertEquals(image.collisions("t_x"), ["t.x"]);
  image.deleteTopic("t.x");
  image.deleteTopic("never was");
  assertEquals(image.partitionCount, 1);
  assertEquals([...image.topicsById.keys()], [idOf(1)]);
});
