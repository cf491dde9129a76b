/**
 * `deno task bench [scenario…]`: Trackway and Apache Kafka side by side on this machine, under the same clients, in
 * turns. Prints one table of medians and ratios and writes JSON. docs/bench/README.md says how it is measured.
 *
 *   --rounds N       turns of each broker in a scenario (default 3)
 *   --json FILE      where the measurements go (default dist/bench.json)
 *   --docs           also write the table, the chart and the JSON into docs/bench
 *   --against DIR    compare with the Trackway of another checkout instead of Kafka
 *   --trackway DIR   the checkout to measure (default: this one)
 *   --port N         first of six ports to use (default: free ones)
 */
import { cpus, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "@std/cli/parse-args";
import { type BrokerKind, kafka, type RunningBroker, trackway } from "./lib/brokers.ts";
import { chart, markdownTable, type Report, type Result, textTable, withTable } from "./lib/report.ts";
import { allScenarios, type Scenario, type Subject } from "./lib/scenarios.ts";

const checkout = join(import.meta.dirname!, "..");
const flags = parseArgs(Deno.args, {
  string: ["rounds", "json", "against", "trackway", "port"],
  boolean: ["docs", "help"],
  default: { rounds: "3", json: join(checkout, "dist/bench.json"), trackway: checkout },
  unknown(name: string) {
    if (!name.startsWith("-")) return true;
    console.error(`bench does not know ${name}; bench/run.ts lists its flags`);
    Deno.exit(2);
  },
});

const known = allScenarios(checkout);
const wanted: string[] = flags._.map(String);
const strange = wanted.filter((name) => !known.some((scenario) => scenario.name === name));
if (flags.help || strange.length > 0) {
  if (strange.length > 0) console.error(`There is no scenario ${strange.join(", ")}. There are:`);
  for (const { name, about } of known) console.error(`  ${name.padEnd(12)} ${about}`);
  Deno.exit(strange.length > 0 ? 2 : 0);
}
const scenarios = known.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const rounds = Number(flags.rounds);

/** A contender: what it is, its data, and its process while there is one. */
interface Contender {
  readonly kind: BrokerKind;
  readonly port: number;
  readonly directory: string;
  broker: RunningBroker | null;
}

const root = await Deno.makeTempDir({ prefix: "trackway-bench-" });
const kinds = [
  trackway(flags.trackway),
  flags.against ? trackway(flags.against, "Other") : kafka(checkout),
] as const;
const contenders: Contender[] = [];
for (const [i, kind] of kinds.entries()) {
  const directory = join(root, kind.name.toLowerCase());
  await Deno.mkdir(directory);
  contenders.push({
    kind,
    port: flags.port ? Number(flags.port) + 2 * i : freePort(),
    directory,
    broker: null,
  });
}
let serial = 0;

// Kafka's script puts its broker into a session of its own, which an interrupt from the terminal does not reach.
let interrupted = false;
Deno.addSignalListener("SIGINT", () => {
  interrupted = true;
  void stopAll();
});

const loadAverages: Record<string, number> = {};
const skipped: Record<string, string> = {};
const results: Result[] = [];
try {
  for (const scenario of scenarios) {
    loadAverages[scenario.name] = Deno.loadavg()[0];
    await (scenario.alone ? stopAll() : startAll());
    await runScenario(scenario);
  }
  loadAverages["at the end"] = Deno.loadavg()[0];
} catch (error) {
  // Clients of a broker that was stopped under them complain, and are right.
  if (!interrupted) throw error;
} finally {
  await stopAll();
  await Deno.remove(root, { recursive: true });
}

if (interrupted) Deno.exit(130);

const report: Report = {
  date: new Date().toISOString(),
  brokers: [kinds[0].name, kinds[1].name],
  versions: await versions(),
  machine: {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 1e9),
    kernel: release(),
  },
  loadAverages,
  results,
  skipped,
};
console.log(textTable(report));
for (const [name, why] of Object.entries(skipped)) console.log(`${name} was left out: ${why}`);
const json = JSON.stringify(report, null, 2) + "\n";
await Deno.mkdir(dirname(flags.json), { recursive: true });
await Deno.writeTextFile(flags.json, json);
if (flags.docs) await writeDocs(report, json);

/** Takes turns; the order turns too, so that neither is always the one that runs after the other. */
async function runScenario(scenario: Scenario): Promise<void> {
  const values: number[][][] = [[], []];
  const turns = Math.min(rounds, scenario.maxRounds);
  for (let turn = -scenario.warmUps; turn < turns; turn++) {
    for (const i of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      progress(
        `${scenario.name}: ${turn < 0 ? "warming up" : `turn ${turn + 1} of ${turns}`}, ${kinds[i].name}`,
      );
      const measured = await scenario.measure(subject(contenders[i]));
      if (typeof measured === "string") {
        skipped[scenario.name] = measured;
        return;
      }
      if (turn >= 0) values[i].push(measured);
    }
  }
  for (const [m, metric] of scenario.metrics.entries()) {
    const [ours, theirs] = values.map((turnsOf) => turnsOf.map((numbers) => numbers[m]));
    results.push({ scenario: scenario.name, metric, ours, theirs });
  }
}

function subject(contender: Contender): Subject {
  const { kind, port, directory } = contender;
  return {
    kind,
    broker: contender.broker,
    serial: () => ++serial,
    launch: () => kind.start(port, join(directory, "restarted")),
  };
}

async function startAll(): Promise<void> {
  for (const contender of contenders) {
    const { kind, port, directory } = contender;
    contender.broker ??= await kind.start(port, join(directory, "data"));
  }
}

async function stopAll(): Promise<void> {
  for (const contender of contenders) {
    await contender.broker?.stop();
    contender.broker = null;
  }
}

/** A free port whose neighbour is free too, for a controller. */
function freePort(): number {
  for (;;) {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    try {
      using _neighbour = Deno.listen({ hostname: "127.0.0.1", port: port + 1 });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

function progress(text: string): void {
  if (Deno.stderr.isTerminal()) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
}

async function versions(): Promise<Record<string, string>> {
  const commit = async (directory: string) => {
    const { code, stdout } = await new Deno.Command("git", {
      args: ["-C", directory, "describe", "--always", "--dirty"],
      stderr: "null",
    }).output();
    return code === 0 ? new TextDecoder().decode(stdout).trim() : "unknown";
  };
  return {
    trackway: await commit(flags.trackway),
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    other: flags.against ? await commit(flags.against) : Deno.env.get("KAFKA_BASELINE_VERSION") ?? "4.4.0",
  };
}

async function writeDocs(report: Report, json: string): Promise<void> {
  const docs = join(checkout, "docs/bench");
  await Deno.writeTextFile(join(docs, "results.json"), json);
  await Deno.writeTextFile(join(docs, "results.svg"), chart(report));
  const readme = join(docs, "README.md");
  const { trackway, deno, other } = report.versions;
  const { cores, cpu, memoryGB } = report.machine;
  const loads = Object.values(report.loadAverages);
  const caption =
    `${report.date.slice(0, 10)}: Trackway ${trackway} on Deno ${deno}, ${report.brokers[1]} ${other}; ` +
    `${cores} cores (${cpu}), ${memoryGB} GB; load average ${Math.min(...loads).toFixed(1)} to ${
      Math.max(...loads).toFixed(1)
    } while it ran.`;
  await Deno.writeTextFile(
    readme,
    withTable(await Deno.readTextFile(readme), `${caption}\n\n${markdownTable(report)}`),
  );
}
