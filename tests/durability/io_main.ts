/** Durability from the command line: `deno task durability` and `durability:replay`, which the usage texts explain. */

import { taskArgs } from "../../scripts/lib/task_args.ts";
import { describe, type Operation } from "../../src/storage/files/faulty.ts";
import {
  CRASHES,
  type CrashKind,
  crashRun,
  faultRun,
  FAULTS,
  RunFailure,
  sampleRun,
  wholeRun,
} from "./io_run.ts";

/** Calls shown before the one in question. */
const SHOWN_BEFORE = 60;

async function replay(seed: number, number: number, what: string): Promise<void> {
  const lines: string[] = [];
  let doing = "";
  const look = (operation: Operation, step: string) => {
    if (operation.number > number + (CRASHES.includes(what as CrashKind) ? 0 : SHOWN_BEFORE)) return;
    if (step !== doing) lines.push(`-- ${doing = step}`);
    lines.push(`${operation.number === number ? ">>" : "  "} ${operation.number} ${describe(operation)}`);
    if (lines.length > 3 * SHOWN_BEFORE) lines.shift();
  };
  const shown = (line: string) => lines.push(`   ${line}`);
  try {
    if (what in FAULTS) await faultRun(seed, number, what, { look, after: shown });
    else await crashRun(seed, (at, kind) => at === number && kind === what, { look, after: shown });
  } catch (error) {
    if (!(error instanceof RunFailure)) throw error;
    console.log(lines.join("\n"));
    console.log(`\n${error.message}\n${(error.cause as Error).stack}`);
    Deno.exit(1);
  }
  console.log(lines.join("\n"));
  console.log("\nNothing is wrong with it.");
}

async function many(seeds: number, from: number, points: number | null, minutes: number): Promise<void> {
  const begin = performance.now();
  const total = { crashes: 0, faults: 0 };
  let failures = 0;
  let seed = from;
  for (; seed < from + seeds && performance.now() - begin < minutes * 60_000; seed++) {
    try {
      const { crashes, faults } = points === null ? await wholeRun(seed) : await sampleRun(seed, points);
      total.crashes += crashes;
      total.faults += faults;
      if (points === null) console.log(`seed ${seed}: ${crashes} crashes, ${faults} faults`);
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error;
      failures++;
      console.log(`seed ${seed}: ${error.message}`);
    }
  }
  const seconds = Math.round((performance.now() - begin) / 1000);
  const tried = `${total.crashes} crashes and ${total.faults} faults`;
  console.log(`${seed - from} seeds, ${tried}, ${failures} seeds failed, ${seconds} s`);
  if (failures > 0) Deno.exit(1);
}

const usage =
  `deno task durability [flags]: crashes at, and fails, every I/O call of many workloads in every way

  --seeds N      so many workloads (10), each of which takes minutes
  --from N       the first one's seed (1)
  --points N     only so many calls in each way
  --minutes N    begin no workload after that (no limit)`;

const replayUsage =
  `deno task durability:replay SEED CALL WHAT: one crash or failure again, with its I/O calls

WHAT is a kind of crash or fault, CALL the number of the call that it befell, both as a failure names them. Kinds:
${[...CRASHES, ...Object.keys(FAULTS)].join(", ")}`;

function replayProblem([, seed, call, what]: readonly string[]): string | null {
  const isNumber = (word: string | undefined) => /^\d+$/.test(word ?? "");
  if (!isNumber(seed) || !isNumber(call) || what === undefined) return "needs SEED CALL WHAT";
  return CRASHES.includes(what as CrashKind) || Object.hasOwn(FAULTS, what) ? null : `knows no ${what}`;
}

if (Deno.args[0] === "replay") {
  const [, seed, call, what] = taskArgs("durability:replay", replayUsage, 4, replayProblem).words;
  await replay(Number(seed), Number(call), what);
} else {
  const flags = taskArgs("durability", usage);
  const points = flags.has("points") ? flags.number("points", 0) : null;
  await many(flags.number("seeds", 10), flags.number("from", 1), points, flags.number("minutes", Infinity));
}
