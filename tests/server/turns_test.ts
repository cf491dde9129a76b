import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { setImmediate } from "node:timers";
import { Turns } from "../../src/server/turns.ts";

const PIECE = 256 * 1024;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("Turns.take() gives a turn to as much as it has room for, however many there are, and to all in the end", async () => {
  const turns = new Turns();
  const taken = Array<number>(50).fill(0);
  let inThisTurn = 0, most = 0;
  const all = taken.map(async (_, i) => {
    for (; taken[i] < 10; taken[i]++) {
      await turns.take(PIECE);
      most = Math.max(most, inThisTurn += PIECE);
    }
  });
  let rounds = 0;
  for (; taken.some((count) => count < 10); rounds++) {
    inThisTurn = 0;
    await turn();
    const spread = Math.max(...taken) - Math.min(...taken);
    assert(rounds < 10 || spread <= 8, `some had ${spread} more than others`);
  }
  await Promise.all(all);
  assert(most <= 4 * 1024 * 1024, `${most} bytes in one turn`);
  assert(rounds >= 50 * 10 * PIECE / (4 * 1024 * 1024), `only ${rounds} turns`);
});

Deno.test("Turns.take() goes on in the same turn with what was given back", async () => {
  const turns = new Turns();
  let taken = 0;
  const taker = async () => {
    for (; taken < 1000; taken++) {
      await turns.take(PIECE);
      turns.giveBack(PIECE);
    }
  };
  let isOver = false;
  void turn().then(() => isOver = true);
  await taker();
  assertEquals([taken, isOver], [1000, false]);
  await turn();
});
