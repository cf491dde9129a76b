/**
 * `deno task differential:record [AREA...]`: asks a real Kafka what the scenarios ask, and writes down its answers.
 * Nothing but the scenarios that are chosen changes in the recordings.
 */
import { parseArgs } from "@std/cli/parse-args";
import { byOracle, loadAreas, type Oracle } from "./areas.ts";
import { differencesOf } from "./compare.ts";
import { comparable } from "./differences.ts";
import { freePortBroker } from "../lib/broker.ts";
import { startKafka } from "./kafka.ts";
import { readRecordings, writeRecordings } from "./recordings.ts";
import { runAll } from "./scenario.ts";

const usage = `deno task differential:record [AREA...] [flags]
  --only TEXT   only the scenarios with TEXT in their names
  --port PORT   ask the broker on that port instead of a Kafka of its own
  --trackway    ask Trackway instead of Kafka
  --check       write nothing down; show what differs from the recordings
Kafka is fetched by Maven and needs Java 17 or newer. Areas are the files in tests/differential/areas.`;

let unknown: string | null = null;
const flags = parseArgs(Deno.args, {
  string: ["only", "port"],
  boolean: ["check", "trackway", "help"],
  unknown: (name: string) => name.startsWith("-") ? (unknown = name, false) : true,
});
if (flags.help || unknown !== null || (flags.trackway && !flags.check)) {
  console.log(unknown === null ? usage : `${unknown}?\n${usage}`);
  Deno.exit(flags.help ? 0 : 1);
}

async function start({ kafka, settings }: Oracle): Promise<AsyncDisposable & { readonly port: number }> {
  if (flags.port) return { port: Number(flags.port), async [Symbol.asyncDispose]() {} };
  return flags.trackway ? await freePortBroker(settings) : await startKafka(kafka, settings);
}

const groups = byOracle(await loadAreas(flags._.map(String)));
if (flags.port && groups.length > 1) {
  console.log(`One Kafka cannot answer for all of these areas, name those that it can:`);
  for (const areas of groups) console.log(`  ${areas.map((area) => area.name).join(" ")}`);
  Deno.exit(1);
}

let asked = 0, different = 0, failed = 0;
for (const together of groups) {
  const chosen = together.flatMap((area) =>
    area.scenarios.filter((one) => one.name.includes(flags.only ?? "")).map((one) => ({ area, one }))
  );
  if (chosen.length === 0) continue;
  await using broker = await start(together[0].oracle);
  const answers = await runAll(chosen.map(({ one }) => one), broker.port);
  for (const area of together) {
    const before = readRecordings(area.name);
    const after: Record<string, unknown[]> = {};
    for (const { name } of area.scenarios) {
      const answer = answers[chosen.findIndex(({ area: its, one }) => its === area && one.name === name)];
      if (answer instanceof Error) {
        failed++;
        console.error(`failed: ${name}\n  ${answer.stack}`);
      } else if (answer !== undefined) {
        asked++;
        after[name] = answer;
        different += compare(name, before[name], answer);
        continue;
      }
      if (name in before) after[name] = before[name];
    }
    if (!flags.check) writeRecordings(area.name, after);
  }
}
console.log(`${asked} scenarios, ${different} differ from the recordings, ${failed} failed`);
if (failed > 0) Deno.exit(1);

/** 1 when the answers differ; `--check` shows where. Trackway may differ where DIFFERENCES.md says so. */
function compare(name: string, recorded: unknown[] | undefined, now: unknown[]): number {
  const allowed = (answers: unknown[]) => flags.trackway ? comparable(name, answers) : answers;
  const lines = recorded ? differencesOf(allowed(recorded), allowed(now)) : ["not recorded yet"];
  if (flags.check && lines.length > 0) console.log([name, ...lines].join("\n  "));
  return lines.length > 0 ? 1 : 0;
}
