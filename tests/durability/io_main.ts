/**
 * Durability from the command line.
 *
 *     deno task durability [--seeds N] [--from SEED] [--points P] [--minutes M]
 *     deno task durability:replay SEED CALL WHAT
 *
 * The first crashes at, and fails, every call of N workloads in every way, which takes minutes for each; with `--points`, P
 * calls in each way. The second does one of them again, and shows the I/O calls.
 *
 * WHAT is a kind of crash or of fault, as a failure names it; CALL is the number of the call that it befell.
 */

import { parseArgs } from "@std/cli/parse-args";
import { describe, type Operation } from "../../src/storage/files_faulty.ts";
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

const args = parseArgs(Deno.args, { string: ["seeds", "from", "points", "minutes"] });
if (args._[0] === "replay") await replay(Number(args._[1]), Number(args._[2]), String(args._[3]));
else {
  const number = (text: string | undefined, otherwise: number) =>
    text === undefined ? otherwise : Number(text);
  const points = args.points === undefined ? null : Number(args.points);
  await many(number(args.seeds, 10), number(args.from, 1), points, number(args.minutes, Infinity));
}
