/** Long work gets out of the way of everything else, however much of it there is. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { Slices } from "../../src/base/slices.ts";

/** Does `pieces` of work, each of which takes 4 ms, in slices; notes its name for each. */
async function work(clock: ManualClock, pieces: number, note: () => void): Promise<void> {
  const slices = new Slices(clock);
  for (let i = 0; i < pieces; i++) {
    if (slices.isOver) await slices.next();
    clock.advance(4);
    note();
  }
}

/** Runs all at once; gives who did something in each turn of the loop, each turn as a text. */
async function turnsOf(works: Readonly<Record<string, number>>): Promise<string[]> {
  const clock = new ManualClock();
  const turns = [""];
  const turn = () => {
    turns.push("");
    timer = setTimeout(turn, 0);
  };
  let timer = setTimeout(turn, 0);
  await Promise.all(
    Object.entries(works).map(([name, pieces]) => work(clock, pieces, () => turns[turns.length - 1] += name)),
  );
  clearTimeout(timer);
  return turns.filter((text) => text !== "");
}

Deno.test("Slices let the loop go round after 10 ms of work", async () => {
  assertEquals(await turnsOf({ a: 7 }), ["aaa", "aaa", "a"]);
});

Deno.test("Slices of several works take turns, and in a turn of the loop there is one of them", async () => {
  // Whoever comes while others wait does a little at once.
  assertEquals(await turnsOf({ a: 7, b: 7, c: 1 }), ["aaabc", "aaa", "bbb", "a", "bbb"]);
});
