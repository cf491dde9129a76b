/** The program: hands the command line to its subcommand, and the broker to `start`. */
import { startBroker } from "./broker.ts";
import { runCommand } from "./cli/command.ts";
import { systemTerminal } from "./cli/terminal.ts";

if (import.meta.main) Deno.exit(await runCommand(Deno.args, systemTerminal, startBroker));
