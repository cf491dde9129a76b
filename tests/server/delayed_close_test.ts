/** Connections that are one too many: kept for a while, and not more of them than there is room for. */
import { assertEquals } from "@std/assert/equals";
import { DelayedCloses } from "../../src/server/delayed_close.ts";
import { FakeTime } from "../quotas/fake_time.ts";

function connections(count: number) {
  const closed: number[] = [];
  return { closed, all: Array.from({ length: count }, (_, i) => ({ close: () => void closed.push(i) })) };
}

Deno.test("DelayedCloses.closeIn() closes when the time is over, not before", async () => {
  using time = new FakeTime();
  const { all, closed } = connections(2);
  const delayed = new DelayedCloses();
  delayed.closeIn(all[0], 500);
  delayed.closeIn(all[1], 1000);
  await time.pass(499);
  assertEquals([closed, delayed.size], [[], 2]);
  await time.pass(1);
  assertEquals([closed, delayed.size], [[0], 1]);
  await time.pass(500);
  assertEquals([closed, delayed.size], [[0, 1], 0]);
});

Deno.test("DelayedCloses closes at once what it has no room for", () => {
  using _time = new FakeTime();
  const { all, closed } = connections(3);
  const delayed = new DelayedCloses(2);
  for (const connection of all) delayed.closeIn(connection, 500);
  assertEquals([closed, delayed.size], [[2], 2]);
});

Deno.test("DelayedCloses.closeAll() leaves no connection and no timer", () => {
  using time = new FakeTime();
  const { all, closed } = connections(3);
  const delayed = new DelayedCloses();
  for (const connection of all) delayed.closeIn(connection, 500);
  delayed.closeAll();
  assertEquals([closed, delayed.size, time.timers], [[0, 1, 2], 0, 0]);
});
