import { assertEquals } from "@std/assert/equals";
import { IdleMemory } from "../../src/observe/idle_memory.ts";

/** Ticks once for each of `rates`, requests answered between two ticks; gives the ticks at which memory was released. */
function released(rates: number[]): number[] {
  const at: number[] = [];
  let requests = 0, tick = 0;
  const memory = new IdleMemory(() => requests, () => at.push(tick));
  for (const rate of rates) {
    requests += rate;
    memory.tick();
    tick++;
  }
  return at;
}
const times = (count: number, rate: number) => new Array<number>(count).fill(rate);

Deno.test("IdleMemory releases once after the start, and not again while nothing happens", () => {
  assertEquals(released(times(100, 0)), [3]);
});

Deno.test("IdleMemory releases after each time of work, three ticks after its end", () => {
  assertEquals(released([...times(10, 5000), ...times(30, 0), ...times(2, 900), ...times(30, 0)]), [12, 44]);
});

Deno.test("IdleMemory takes heartbeats for quiet, and steady work not", () => {
  assertEquals(released(times(20, 10)), [3]);
  assertEquals(released(times(20, 100)), []);
});

Deno.test("IdleMemory does not collect again for a few heartbeats", () => {
  assertEquals(released(times(90, 10)), [3]);
});
