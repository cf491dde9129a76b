/**
 * Durability from the command line.
 *
 *     deno task durability [--seeds N] [--from SEED] [--minutes M]   every call of N workloads crashes and fails
 *     deno task durability:replay SEED CALL WHAT                     one of them again, with its I/O calls
 *
 * WHAT is a kind of crash or of fault, as a failure names it; CALL is the number of the call that it befell.
 */

import { parseArgs } from "@std/cli/parse-args";
import { describe, type Operation } from "../../src/storage/files_faulty.ts";
import { CRASHES, type CrashKind, crashRun, faultRun, FAULTS, RunFailure } from "./io_run.ts";

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

/** Everything that can befall the calls of the seed's workload; `share` of it, chosen by the seed. */
async function everything(seed: number, tell: (text: string) => void): Promise<number> {
  let runs = 0;
  const { operations, images } = await crashRun(seed, () => true);
  runs += images;
  for (const name of Object.keys(FAULTS)) {
    for (let nth = 1; nth <= operations; nth++) {
      const done = await faultRun(seed, nth, name);
      if (done === false) break;
      if (done) runs++;
    }
  }
  tell(`seed ${seed}: ${operations} calls, ${runs} crashes and faults`);
  return runs;
}

async function many(seeds: number, from: number, minutes: number): Promise<void> {
  const begin = performance.now();
  let runs = 0;
  let failures = 0;
  let seed = from;
  for (; seed < from + seeds && performance.now() - begin < minutes * 60_000; seed++) {
    try {
      runs += await everything(seed, console.log);
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error;
      failures++;
      console.log(`seed ${seed}: ${error.message}`);
    }
  }
  const seconds = Math.round((performance.now() - begin) / 1000);
  console.log(`${seed - from} seeds, ${runs} crashes and faults, ${failures} seeds failed, ${seconds} s`);
  if (failures > 0) Deno.exit(1);
}

const args = parseArgs(Deno.args, { string: ["seeds", "from", "minutes"] });
if (args._[0] === "replay") await replay(Number(args._[1]), Number(args._[2]), String(args._[3]));
else await many(Number(args.seeds ?? 10), Number(args.from ?? 1), Number(args.minutes ?? Infinity));
