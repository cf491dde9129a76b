/**
 * `deno run -A tests/protocol/record_old_versions.ts PORT`: runs the scenarios of old_versions.ts against the Kafka 3.9
 * on that port of this machine and writes down what it answered.
 */
import { run } from "../differential/scenario.ts";
import { type Recordings, writeOldRecordings } from "./old_recordings.ts";
import { oldVersionScenarios } from "./old_versions.ts";

const port = Number(Deno.args[0]);
if (!(port > 0)) {
  console.error("usage: deno run -A tests/protocol/record_old_versions.ts PORT");
  Deno.exit(1);
}
const recordings: Recordings = {};
for (const [index, one] of oldVersionScenarios.entries()) {
  recordings[one.name] = await run(one, port, `r${Date.now().toString(36)}${index}`);
}
writeOldRecordings(recordings);
console.log(`${oldVersionScenarios.length} scenarios recorded`);
