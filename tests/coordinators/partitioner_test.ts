import { assertEquals } from "@std/assert/equals";
import { coordinatorPartition, javaStringHash } from "../../src/coordinators/partitioner.ts";

/** From Java 17 and Kafka 4.4's own arithmetic, for a topic of 50 partitions. */
const known: readonly [id: string, hash: number, partition: number][] = [
  ["", 0, 0],
  ["a", 97, 47],
  ["my-group", -1906497762, 12],
  ["consumer-group-1", 147483020, 20],
  ["console-consumer-12345", 158455506, 6],
  ["gruppe-ä", 673522898, 48],
  ["\u{1F600}", 1772899, 49],
  // The one hash without an absolute value in 32 bits.
  ["polygenelubricants", -2147483648, 0],
];

Deno.test("javaStringHash() is what Java computes", () => {
  for (const [id, hash] of known) assertEquals(javaStringHash(id), hash, id);
});

Deno.test("coordinatorPartition() is where Kafka puts the group", () => {
  for (const [id, , partition] of known) assertEquals(coordinatorPartition(id, 50), partition, id);
});
