/**
 * The broker with a wall clock that a test sets: it is off by as many milliseconds as the file CLOCK_FILE says, which is
 * looked at all the time. What the broker knows of wall time it knows from Date.
 */
import { startBroker } from "../../src/broker.ts";
import { runCommand } from "../../src/cli/command.ts";
import { systemTerminal } from "../../src/cli/terminal.ts";

const file = Deno.env.get("CLOCK_FILE");
if (file === undefined) throw new Error("CLOCK_FILE has to say which file holds the clock's error");
const realNow = Date.now;
let offMs = 0;
const look = () => offMs = Number(Deno.readTextFileSync(file));
look();
setInterval(look, 10);
Date.now = () => realNow() + offMs;

Deno.exit(await runCommand(Deno.args, systemTerminal, startBroker));
