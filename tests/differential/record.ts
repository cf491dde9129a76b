/**
 * `deno task differential:record PORT`: runs every scenario against the Kafka on that port of this machine and writes
 * down what it answered. `deno task differential:record PORT --check` only compares, with any broker.
 */
import { recordings, writeRecordings } from "./recordings.ts";
import { run } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

const port = Number(Deno.args[0]);
if (!(port > 0)) {
  console.error("usage: deno task differential:record PORT [--check]");
  Deno.exit(1);
}
const check = Deno.args.includes("--check");
const known = recordings();
let different = 0;
for (const [index, one] of scenarios.entries()) {
  const answers = await run(one, port, `r${Date.now().toString(36)}${index}`);
  if (JSON.stringify(known[one.name]) !== JSON.stringify(answers)) {
    different++;
    if (check) {
      console.log(
        `different: ${one.name}\n  recorded ${JSON.stringify(known[one.name])}\n  now      ${
          JSON.stringify(answers)
        }`,
      );
    }
  }
  known[one.name] = answers;
}
const names = new Set(scenarios.map((one) => one.name));
for (const name of Object.keys(known)) if (!names.has(name)) delete known[name];
if (!check) writeRecordings(known);
console.log(`${scenarios.length} scenarios, ${different} differ from the recording`);
