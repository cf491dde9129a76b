import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import type { Bug } from "./transactions_broker.ts";
import { type Tally, TransactionsSimulation, Violation } from "./transactions_simulation.ts";

/** `deno task transactions:simulate` runs ten thousand. */
const SEEDS = Number(Deno.env.get("SIMULATION_SEEDS") ?? 200);
const FIRST = Number(Deno.env.get("SIMULATION_FIRST_SEED") ?? 1);

Deno.test(`transactions are all or nothing under ${SEEDS} seeds of crashes, zombies and lost answers`, async () => {
  const sum: Partial<Record<keyof Tally, number>> = {};
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    const simulation = new TransactionsSimulation(seed);
    await simulation.run().catch((error) => {
      throw new Error(`seed ${seed} (SIMULATION_FIRST_SEED=${seed} SIMULATION_SEEDS=1): ${error.message}`, {
        cause: error,
      });
    });
    for (const [key, count] of Object.entries(simulation.tallies) as [keyof Tally, number][]) {
      sum[key] = (sum[key] ?? 0) + count;
    }
  }
  if (SEEDS < 20) return;
  // A simulation in which nothing happens proves nothing.
  const least: Partial<Record<keyof Tally, number>> = {
    committed: 5,
    aborted: 3,
    fenced: 0.5,
    crashes: 5,
    torn: 2,
  };
  for (const [key, perSeed] of Object.entries(least) as [keyof Tally, number][]) {
    assert(sum[key]! > perSeed * SEEDS, `${sum[key]} ${key} in ${SEEDS} seeds`);
  }
});

const bugs: Bug[] = [
  "a marker is lost",
  "no list of aborted transactions",
  "commits are aborted",
  "ends without markers",
];
for (const bug of bugs) {
  Deno.test(`the simulation of transactions notices when ${bug}`, async () => {
    const noticed = [];
    for (let seed = 1; seed <= 5; seed++) {
      const error = await new TransactionsSimulation(seed, bug).run().then(() => null, (error) => error);
      if (error !== null) assert(error instanceof Violation, `${error?.stack}`);
      noticed.push(error !== null);
    }
    assertEquals(noticed.includes(true), true);
  });
}
