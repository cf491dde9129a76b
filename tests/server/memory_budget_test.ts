import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { MemoryBudget } from "../../src/server/memory_budget.ts";
import { turn } from "./fakes.ts";

/** Takes, and writes the name down when it is let in. */
function taker(budget: MemoryBudget) {
  const letIn: string[] = [];
  const take = (name: string, bytes: number) => {
    const wait = budget.take(bytes);
    if (wait === null) letIn.push(name);
    else void wait.then(() => letIn.push(name));
  };
  return { letIn, take };
}

Deno.test("MemoryBudget.take() gives at once what is there", () => {
  const budget = new MemoryBudget(100);
  assertEquals(budget.take(60), null);
  assertEquals(budget.take(40), null);
  assertEquals(budget.usedBytes, 100);
});

Deno.test("MemoryBudget.take() waits until others have given back enough", async () => {
  const budget = new MemoryBudget(100);
  const { letIn, take } = taker(budget);
  take("a", 60);
  take("b", 30);
  take("c", 50);
  budget.give(30);
  await turn();
  assertEquals(letIn, ["a", "b"]);
  assertEquals(budget.isShort, true);
  budget.give(60);
  await turn();
  assertEquals(letIn, ["a", "b", "c"]);
  assertEquals([budget.usedBytes, budget.isShort], [50, false]);
});

Deno.test("MemoryBudget lets nobody overtake who waits, so that a large frame gets its turn", async () => {
  const budget = new MemoryBudget(100);
  const { letIn, take } = taker(budget);
  take("a", 50);
  take("large", 90);
  take("small", 10);
  assertEquals(letIn, ["a"], "small would fit, but large was first");
  budget.give(50);
  await turn();
  assertEquals(letIn, ["a", "large", "small"]);
});

Deno.test("MemoryBudget lets a frame larger than the whole budget in when nothing else is", async () => {
  const budget = new MemoryBudget(100);
  const { letIn, take } = taker(budget);
  take("a", 1);
  take("huge", 1000);
  take("b", 1);
  assertEquals(letIn, ["a"]);
  budget.give(1);
  await turn();
  assertEquals(letIn, ["a", "huge"]);
  budget.give(1000);
  await turn();
  assertEquals(letIn, ["a", "huge", "b"]);
});

Deno.test("MemoryBudget without a limit never lets wait", () => {
  const budget = new MemoryBudget(Infinity);
  for (let i = 0; i < 10; i++) assertEquals(budget.take(2 ** 31), null);
});

Deno.test("MemoryBudget.give() of more than was taken is a bug", () => {
  const budget = new MemoryBudget(100);
  budget.take(10);
  assertThrows(() => budget.give(11), AssertionError);
});

Deno.test("MemoryBudget is never exceeded by more than one frame alone, and lets everybody in at last", async () => {
  for (let seed = 0; seed < 50; seed++) {
    const prng = new Prng(seed);
    const budget = new MemoryBudget(100);
    const inside: number[] = [];
    let waiting = 0;
    for (let step = 0; step < 300; step++) {
      if (prng.chance(0.6)) {
        const bytes = prng.between(1, 140);
        const wait = budget.take(bytes);
        waiting++;
        const enter = () => {
          waiting--;
          inside.push(bytes);
        };
        if (wait === null) enter();
        else void wait.then(enter);
      } else if (inside.length > 0) {
        budget.give(inside.splice(prng.int(inside.length), 1)[0]);
      }
      await Promise.resolve();
      const used = inside.reduce((sum, bytes) => sum + bytes, 0);
      assert(budget.usedBytes === used, `seed ${seed} step ${step}: ${budget.usedBytes} and ${used}`);
      assert(used <= 100 || inside.length === 1, `seed ${seed} step ${step}: ${inside} are inside`);
    }
    while (inside.length > 0) {
      budget.give(inside.shift()!);
      await Promise.resolve();
    }
    assertEquals([waiting, budget.usedBytes], [0, 0], `seed ${seed}`);
  }
});
