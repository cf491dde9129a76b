import { assert } from "@std/assert/assert";
import { Simulation, type Tally } from "./groups_simulation.ts";

const SEEDS = 200;

Deno.test(`groups hold together under ${SEEDS} seeds of joins, transactions, crashes and failing logs`, async () => {
  const sum: Tally = {
    generations: 0,
    assignments: 0,
    commits: 0,
    crashes: 0,
    failures: 0,
    staged: 0,
    committed: 0,
    aborted: 0,
    fenced: 0,
  };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const simulation = new Simulation(seed);
    await simulation.run().catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
    for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += simulation.tally[key];
  }
  // A simulation in which nothing happens proves nothing.
  assert(sum.generations > 5 * SEEDS, `${sum.generations} generations`);
  assert(sum.assignments > 10 * SEEDS, `${sum.assignments} assignments`);
  assert(sum.commits > 5 * SEEDS, `${sum.commits} commits`);
  assert(
    sum.crashes > 3 * SEEDS && sum.failures > 3 * SEEDS,
    `${sum.crashes} crashes, ${sum.failures} failures`,
  );
  assert(sum.staged > 10 * SEEDS, `${sum.staged} offsets in transactions`);
  assert(
    sum.committed > 3 * SEEDS && sum.aborted > 3 * SEEDS && sum.fenced > SEEDS / 2,
    `${sum.committed} commits, ${sum.aborted} aborts, ${sum.fenced} zombies`,
  );
});
