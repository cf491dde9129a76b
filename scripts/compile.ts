/**
 * `deno task compile`: Trackway as one native executable, dist/trackway, by `deno compile`. That needs denort, the part
 * of Deno which runs a program appended to it; Deno fetches it from its download host, or takes it from DENORT_BIN.
 * Where there is neither, `deno task pack` makes an executable out of the Deno that is installed.
 */

import { v8Flags } from "./lib/v8_flags.ts";
import { dirname, join } from "node:path";

import { reasonIn, run, runScript, ScriptError } from "./lib/run.ts";

const root = dirname(import.meta.dirname!);
const out = join(root, "dist/trackway");
// Not the final name at once: `deno compile` refuses to replace a file that it did not make, such as a packed one.
const compiled = join(root, "dist/trackway-compiled");

if (import.meta.main) await runScript("compile", compile);

async function compile(): Promise<void> {
  const denort = Deno.env.get("DENORT_BIN");
  if (denort && !await isFile(denort)) throw new ScriptError(`DENORT_BIN names ${denort}, which is no file`);
  // Everything is allowed because the addons need --allow-ffi, which is as good. Types are `deno task check`'s affair.
  const args = [
    "compile",
    "--allow-all",
    "--no-check",
    `--v8-flags=${v8Flags}`,
    "--app-name",
    "trackway",
    // The module of a thread, which nobody imports.
    "--include",
    "src/storage/cleaner/thread_main.ts",
    "--output",
    compiled,
    "src/main.ts",
  ];
  const { code, stderr } = await run(Deno.execPath(), args, root);
  if (code !== 0) throw new ScriptError(explainCompile(stderr, Deno.version.deno, denort));
  await refuseOtherProgram();
  await Deno.rename(compiled, out);
  console.log(`${out}: ${((await Deno.stat(out)).size / 1e6).toFixed(0)} MB, Deno ${Deno.version.deno}`);
}

/** One line for what `deno compile` printed, with a way out. `denort` is DENORT_BIN, where it is set. */
export function explainCompile(stderr: string, denoVersion: string, denort: string | undefined): string {
  const reason = reasonIn(stderr);
  if (!stderr.includes("Setting up base binary") || denort) return `Cannot compile: ${reason}`;
  return `Cannot compile: Deno's download host, which has denort ${denoVersion}, cannot be reached (${reason}). ` +
    "Set DENORT_BIN to a local denort of this version, or use `deno task pack`, which needs none";
}

/** `deno compile` appends to whatever DENORT_BIN names, and what comes of a wrong one is found out here, not by users. */
async function refuseOtherProgram(): Promise<void> {
  const { code, stdout } = await run(compiled, ["version"], root);
  if (code === 0 && stdout.startsWith("Trackway ")) return;
  await Deno.remove(compiled);
  throw new ScriptError(
    `Cannot run what was compiled: is DENORT_BIN really the denort of Deno ${Deno.version.deno}?`,
  );
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
