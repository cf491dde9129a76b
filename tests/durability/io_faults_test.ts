/**
 * Calls of the log's I/O that crash and fail, for a few seeds; `deno task durability` goes through all of them, and through
 * many seeds. What must hold is in io_checker.ts.
 */

import { assert } from "../../src/base/assert.ts";
import { CRASHES, crashRun, FAULTS, sampleRun } from "./io_run.ts";

const POINTS = 3;

for (let seed = 1; seed <= 4; seed++) {
  Deno.test(`whatever call of seed ${seed} the machine ends at, or fails, nothing that was promised is lost`, async () => {
    const { crashes, faults } = await sampleRun(seed, POINTS);
    assert(crashes >= (CRASHES.length - 1) * POINTS, `only ${crashes} crashes were tried`);
    assert(faults >= Object.keys(FAULTS).length, `only ${faults} faults were tried`);
  });
}

Deno.test("the workload makes every kind of I/O call, the same ones each time", async () => {
  const { kinds } = await crashRun(7, () => false);
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const rare = ["lock", "list", "stat", "truncate", "remove", "create directory"];
  const common = ["open", "create", "read", "write", "size", "sync", "sync directory", "rename"];
  for (const kind of rare) assert((counts.get(kind) ?? 0) > 0, `no ${kind}`);
  for (const kind of common) assert((counts.get(kind) ?? 0) > 50, `${counts.get(kind)} times ${kind}`);
  assert(kinds.length > 2000, `only ${kinds.length} calls`);
  assert((await crashRun(7, () => false)).kinds.join() === kinds.join(), "not the same calls");
});
