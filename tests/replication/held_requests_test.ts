import { assertEquals } from "@std/assert/equals";
import { HeldRequests } from "../../src/replication/held_requests.ts";

Deno.test("HeldRequests.endAll() ends each request that is held, and none that was answered", () => {
  const held = new HeldRequests();
  const ended: string[] = [];
  const hold = (name: string) => {
    const release = held.add(() => {
      release();
      ended.push(name);
    });
    return release;
  };
  hold("a");
  const releaseB = hold("b");
  hold("c");
  releaseB();
  assertEquals(held.count, 2);
  held.endAll();
  assertEquals([ended, held.count], [["a", "c"], 0]);
  held.endAll();
  assertEquals(ended, ["a", "c"]);
});

Deno.test("HeldRequests.endAll() ends those that were held when it began, so that it comes to an end", () => {
  const held = new HeldRequests();
  let ended = 0;
  const holdAgain = () => {
    const release = held.add(() => {
      release();
      ended++;
      holdAgain();
    });
  };
  holdAgain();
  held.endAll();
  assertEquals([ended, held.count], [1, 1]);
});

Deno.test("HeldRequests takes the same request off the list only once", () => {
  const held = new HeldRequests();
  const end = () => {};
  const first = held.add(end);
  first();
  held.add(() => {});
  first();
  assertEquals(held.count, 1);
});
