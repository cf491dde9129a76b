/** `trackway version`, and the version itself, which comes from deno.json and so from one place. */
import project from "../../deno.json" with { type: "json" };
import type { Terminal } from "./terminal.ts";

/** Trackway's version, such as 0.1.0. */
export const VERSION: string = project.version;

/** Prints the version and what it runs on. Always gives exit code 0. */
export function version(terminal: Terminal): number {
  terminal.out(`Trackway ${VERSION} (Deno ${Deno.version.deno}, ${Deno.build.target})`);
  return 0;
}
