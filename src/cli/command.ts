/** The first word of the command line: which subcommand runs. */
import { check } from "./check.ts";
import { help } from "./help.ts";
import { start, type StartBroker } from "./start.ts";
import type { Terminal } from "./terminal.ts";
import { version } from "./version.ts";

/** Runs the subcommand that `args` names. Gives the exit code. */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  startBroker: StartBroker,
): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case "start":
      return await start(rest, terminal, startBroker);
    case "check":
      return await check(rest, terminal);
    case "version":
    case "--version":
      return version(terminal);
    case "help":
      return help(rest[0], terminal);
    case undefined:
    case "--help":
    case "-h":
      return help(undefined, terminal);
    default:
      terminal.err(`trackway: there is no command ${command}: trackway help lists them`);
      return 1;
  }
}
