/** The wall time by which things are deleted: a forward jump has to last before it counts. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { SettledTime } from "../../src/base/settled_time.ts";

const YEAR = 365 * 86_400_000;

function watched() {
  const clock = new ManualClock(1_000_000);
  const time = new SettledTime(clock.now(), clock.monotonic());
  return { clock, at: () => time.at(clock.now(), clock.monotonic()) };
}

Deno.test("SettledTime follows a clock that goes on as it should, or is slewed", () => {
  const { clock, at } = watched();
  for (let i = 0; i < 100; i++) {
    clock.advance(5000);
    clock.jump(i % 2 === 0 ? 500 : -400);
    assertEquals(at(), clock.now());
  }
});

Deno.test("SettledTime does not see a jump of a year that is taken back within a minute", () => {
  const { clock, at } = watched();
  const before = at();
  clock.jump(YEAR);
  assertEquals(at(), before);
  clock.advance(59_000);
  assertEquals(at(), before + 59_000);
  clock.jump(-YEAR);
  clock.advance(1000);
  assertEquals(at(), clock.now());
  // A second one begins anew.
  clock.jump(YEAR);
  clock.advance(59_999);
  assertEquals(at(), before + 119_999);
});

Deno.test("SettledTime believes a jump that has lasted for a minute, and clocks that never agree do not hold it up", () => {
  const { clock, at } = watched();
  clock.jump(YEAR);
  at();
  clock.advance(60_000);
  assertEquals(at(), clock.now());
  clock.jump(2 * YEAR);
  at();
  clock.advance(30_000);
  clock.jump(YEAR);
  const still = at();
  clock.advance(30_000);
  assertEquals(at(), still + 30_000, "another jump has to last as long again");
  clock.advance(30_000);
  assertEquals(at(), clock.now());
});

Deno.test("SettledTime believes a jump back at once", () => {
  const { clock, at } = watched();
  clock.jump(-YEAR);
  assertEquals(at(), clock.now());
});
