/** An array that is written some elements at a time is the same bytes in its message as one that is written with it. */
import { assertEquals } from "@std/assert/equals";
import { describeProducers } from "../../src/codec/messages/describe_producers.ts";
import { api, array, int32, string } from "../../src/codec/schema.ts";
import { WrittenArray } from "../../src/codec/written_array.ts";

const { response } = api({
  key: 0,
  name: "Test",
  versions: [0, 1],
  flexible: 1,
  request: {},
  response: { before: string, names: array({ name: string, added: int32.since(1).or(0) }), after: int32 },
});

for (const version of [0, 1]) {
  for (const count of [0, 1, 3, 50_000]) {
    Deno.test(`WrittenArray of ${count} elements is what an array is, in version ${version}`, () => {
      const names = Array.from({ length: count }, (_, i) => ({ name: `name ${i}`, added: i }));
      const written = new WrittenArray<typeof names[number]>(response.elements(version, "names"));
      for (const name of names) written.push(name);
      const around = { before: "b", after: 7 };
      assertEquals(
        response.encode(version, { ...around, names: written.asArray }),
        response.encode(version, { ...around, names }),
      );
    });
  }
}

Deno.test("WrittenArray may be in an element of another", () => {
  const activeProducers = Array.from({ length: 1000 }, (_, i) => ({
    producerId: i,
    producerEpoch: 0,
    coordinatorEpoch: 0,
  }));
  const partition = { partitionIndex: 0, errorCode: 0, activeProducers };
  const { response } = describeProducers;
  const inner = new WrittenArray<typeof activeProducers[number]>(
    response.elements(0, "topics", "partitions", "activeProducers"),
  );
  for (const producer of activeProducers) inner.push(producer);
  const outer = new WrittenArray<typeof partition>(response.elements(0, "topics", "partitions"));
  outer.push(partition);
  outer.push({ ...partition, activeProducers: inner.asArray as typeof activeProducers });
  assertEquals(
    response.encode(0, { topics: [{ name: "t", partitions: outer.asArray }] }),
    response.encode(0, { topics: [{ name: "t", partitions: [partition, partition] }] }),
  );
});
