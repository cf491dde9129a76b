/** Why `deno compile` failed, in the words of somebody who has to do something about it. */

import { reasonIn } from "./run.ts";

/** One line for what `deno compile` printed. `denort` is DENORT_BIN, where it is set. */
export function explainCompile(stderr: string, denoVersion: string, denort: string | undefined): string {
  const reason = reasonIn(stderr);
  if (!stderr.includes("Setting up base binary") || denort) return `Cannot compile: ${reason}`;
  return `Cannot compile: Deno's download host, which has denort ${denoVersion}, cannot be reached (${reason}). ` +
    "Set DENORT_BIN to a local denort of this version, or use `deno task pack`, which needs none";
}
