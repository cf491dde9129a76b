import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { Prng } from "../../src/base/prng.ts";
import { type Claim, MemoryBudget, ORDINARY_FRAME_BYTES } from "../../src/server/memory_budget.ts";
import { turn } from "./fakes.ts";

/** Claims by name, whose steps are written down when they are granted. Names that begin with "large" are of large frames. */
function claims(budget: MemoryBudget) {
  const granted: string[] = [];
  const all = new Map<string, Claim>();
  const grow = (name: string, bytes: number) => {
    if (!all.has(name)) all.set(name, budget.claim(name.startsWith("large") ? ORDINARY_FRAME_BYTES + 1 : 1));
    const wait = all.get(name)!.grow(bytes);
    if (wait === null) granted.push(name);
    else void wait.then(() => granted.push(name));
  };
  const release = (name: string) => all.get(name)!.release();
  return { granted, grow, release };
}

Deno.test("Claim.grow() gives at once what is there", () => {
  const budget = new MemoryBudget(100);
  const [a, b] = [budget.claim(), budget.claim()];
  assertEquals(a.grow(60), null);
  assertEquals(b.grow(20), null);
  assertEquals(b.grow(40), null);
  assertEquals([budget.usedBytes, a.bytes, b.bytes, budget.isShort], [100, 60, 40, false]);
});

Deno.test("Claim.grow() waits until others have given back enough", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 60);
  grow("b", 30);
  grow("c", 50);
  release("b");
  await turn();
  assertEquals([granted, budget.isShort], [["a", "b"], true]);
  release("a");
  await turn();
  assertEquals(granted, ["a", "b", "c"]);
  assertEquals([budget.usedBytes, budget.isShort], [50, false]);
});

Deno.test("MemoryBudget lets nobody overtake who waits, so that a large frame gets its turn", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 50);
  grow("b", 90);
  grow("small", 10);
  assertEquals(granted, ["a"], "small would fit, but b was first");
  release("a");
  await turn();
  assertEquals(granted, ["a", "b", "small"]);
});

Deno.test("MemoryBudget serves the next step of an older frame first", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 10);
  grow("b", 80);
  grow("new", 50);
  grow("a", 20);
  assertEquals(granted, ["a", "b", "a"], "there is room for a's step, though new waits");
  grow("a", 40);
  release("b");
  await turn();
  assertEquals(granted, ["a", "b", "a", "a", "new"]);
});

Deno.test("MemoryBudget lets a frame larger than the whole budget in when nothing else is", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 1);
  grow("huge", 1000);
  grow("b", 1);
  assertEquals(granted, ["a"]);
  release("a");
  await turn();
  assertEquals(granted, ["a", "huge"]);
  release("huge");
  await turn();
  assertEquals(granted, ["a", "huge", "b"]);
});

Deno.test("MemoryBudget lets the oldest go beyond the bound when all wait for each other", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 50);
  grow("b", 50);
  grow("b", 200);
  assertEquals(granted, ["a", "b"], "a may still end");
  grow("a", 80);
  assertEquals([granted, budget.usedBytes], [["a", "b", "a"], 130]);
  grow("a", 200);
  assertEquals([granted.length, budget.usedBytes], [4, 250], "the same one again, so that one ends");
  release("a");
  await turn();
  assertEquals([granted.at(-1), budget.usedBytes], ["b", 200]);
});

Deno.test("Claim.release() while it waits lets the wait end and those behind go", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("a", 60);
  grow("b", 90);
  grow("small", 10);
  release("b");
  release("b");
  await turn();
  assertEquals([granted.toSorted(), budget.usedBytes, budget.isShort], [["a", "b", "small"], 70, false]);
});

Deno.test("MemoryBudget keeps a quarter for ordinary frames, whoever waits with a large one", () => {
  const budget = new MemoryBudget(100);
  const { granted, grow } = claims(budget);
  grow("large a", 75);
  grow("large b", 1);
  grow("c", 20);
  grow("d", 5);
  assertEquals(granted, ["large a", "c", "d"], "one byte is too much for a large frame");
  grow("e", 1);
  assertEquals([granted.length, budget.usedBytes, budget.isShort], [3, 100, true]);
});

Deno.test("MemoryBudget gives ordinary frames what large ones do not use, but not while those wait", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  for (const name of ["a", "b", "c", "d", "e"]) grow(name, 20);
  assertEquals([granted.length, budget.usedBytes], [5, 100]);
  grow("large x", 50);
  grow("f", 20);
  release("a");
  await turn();
  assertEquals(granted.length, 5, "f would fit, but came after the large frame");
  release("b");
  release("c");
  await turn();
  assertEquals(granted.slice(5), ["large x"]);
  release("d");
  await turn();
  assertEquals(granted.slice(5), ["large x", "f"]);
});

Deno.test("MemoryBudget lets ordinary frames through beside large ones that wait for each other", async () => {
  const budget = new MemoryBudget(100);
  const { granted, grow, release } = claims(budget);
  grow("large a", 40);
  grow("large b", 35);
  grow("large b", 90);
  assertEquals(granted.length, 2);
  grow("large a", 80);
  assertEquals([granted.slice(2), budget.usedBytes], [["large a"], 115], "so that one of them ends");
  grow("c", 25);
  assertEquals(granted.at(-1), "c", "what is kept for it is kept");
  grow("d", 25);
  release("c");
  await turn();
  assertEquals([granted.at(-1), budget.usedBytes], ["d", 140]);
  release("large a");
  await turn();
  assertEquals(granted.at(-1), "large b");
});

Deno.test("MemoryBudget without a limit never lets wait", () => {
  const budget = new MemoryBudget(Infinity);
  for (let i = 0; i < 10; i++) assertEquals(budget.claim().grow(2 ** 31), null);
});

Deno.test("Claim.grow() to less than it has is a bug", () => {
  const claim = new MemoryBudget(100).claim();
  claim.grow(10);
  assertThrows(() => claim.grow(10), AssertionError);
});

Deno.test("MemoryBudget lets everybody through at last, and is exceeded by one frame of each kind alone", async () => {
  for (let seed = 0; seed < 50; seed++) {
    const prng = new Prng(seed);
    const budget = new MemoryBudget(100);
    /** Frames of these sizes that are being read, in steps. */
    const frames: { claim: Claim; size: number; waits: boolean }[] = [];
    const step = (frame: typeof frames[number]) => {
      const wait = frame.claim.grow(Math.min(frame.size, Math.max(10, frame.claim.bytes * 4)));
      frame.waits = wait !== null;
      void wait?.then(() => frame.waits = false);
    };
    let begun = 0;
    for (let turns = 0; begun < 60 || frames.length > 0; turns++) {
      assert(turns < 10_000, `seed ${seed}: ${frames.length} frames wait for ever`);
      const ready = frames.filter((frame) => !frame.waits);
      if (begun < 60 && prng.chance(0.5)) {
        begun++;
        const kind = prng.chance() ? 0 : ORDINARY_FRAME_BYTES + 1;
        frames.push({
          claim: budget.claim(kind),
          size: prng.between(1, kind === 0 ? 25 : 140),
          waits: false,
        });
        step(frames.at(-1)!);
      } else if (ready.length > 0) {
        const frame = prng.pick(ready);
        if (frame.claim.bytes < frame.size) {
          step(frame);
        } else {
          frame.claim.release();
          frames.splice(frames.indexOf(frame), 1);
        }
      }
      await Promise.resolve();
      const sum = frames.reduce((bytes, { claim }) => bytes + claim.bytes, 0);
      const largest = (ordinary: boolean) =>
        Math.max(0, ...frames.map(({ claim }) => claim.isOrdinary === ordinary ? claim.bytes : 0));
      assert(budget.usedBytes === sum, `seed ${seed}: ${budget.usedBytes} and ${sum}`);
      assert(sum <= 100 + largest(true) + largest(false), `seed ${seed}: ${sum} bytes are out`);
    }
    assertEquals([budget.usedBytes, budget.isShort], [0, false], `seed ${seed}`);
  }
});
