/**
 * Every I/O call of the log, failing and crashing, for a few seeds; `deno task durability` goes through many. What must
 * hold is in io_checker.ts.
 */

import { assert } from "../../src/base/assert.ts";
import { CRASHES, crashRun, faultRun, FAULTS } from "./io_run.ts";

/** Of all that can befall the calls of a workload, a part that differs from seed to seed. */
const CRASH_SEEDS = [1, 2, 3, 4];
const CRASHES_PER_SEED = 110;
const FAULT_SEEDS = [1, 2];
const FAULTS_PER_SEED = 18;

for (const seed of CRASH_SEEDS) {
  Deno.test(`whatever a crash leaves of the calls of seed ${seed}, what was promised is there`, async () => {
    const { operations } = await crashRun(seed, () => false);
    const stride = Math.ceil(operations * CRASHES.length / CRASHES_PER_SEED);
    const { images } = await crashRun(
      seed,
      (number, kind) => (number * CRASHES.length + CRASHES.indexOf(kind) + seed) % stride === 0,
    );
    assert(images > CRASHES_PER_SEED / 2, `only ${images} crashes were tried`);
  });
}

for (const seed of FAULT_SEEDS) {
  for (const name of Object.keys(FAULTS)) {
    Deno.test(`a disk that fails with ${name} in seed ${seed} loses nothing, and all goes on when it works`, async () => {
      const { operations } = await crashRun(seed, () => false);
      let done = 0;
      for (let i = 0; done < FAULTS_PER_SEED && i < 8 * FAULTS_PER_SEED; i++) {
        // Steps that have nothing in common with those of the workload.
        const nth = 1 + (i * 7919 + seed * 104_729) % operations;
        if (await faultRun(seed, nth, name)) done++;
      }
      assert(done > 0, "no fault was tried");
    });
  }
}
