/**
 * `deno task bench [scenario or group…]`: Trackway and Apache Kafka side by side on this machine, under the same clients,
 * in turns. Prints one table of medians and ratios and writes JSON. docs/bench/README.md says how it is measured.
 */
import { cpus, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { taskArgs } from "../scripts/lib/task_args.ts";
import { chart } from "./lib/chart.ts";
import { type BrokerKind, floor, kafka, missingKafka, type RunningBroker, trackway } from "./lib/brokers.ts";
import {
  caption,
  markdownTable,
  markdownTables,
  merged,
  type Report,
  type Result,
  textTable,
  withTable,
} from "./lib/report.ts";
import type { Scenario, Subject } from "./lib/scenario.ts";
import { scenarioGroups } from "./lib/scenarios.ts";
import { warmUp } from "./lib/throughput.ts";

const checkout = join(import.meta.dirname!, "..");
const groups = scenarioGroups(checkout);
const known = new Set(groups.flatMap((group) => [group.name, ...group.scenarios.map(({ name }) => name)]));
const usage = `deno task bench [scenario or group...] [flags]: Trackway and Apache Kafka side by side

  --rounds N        turns of each broker in a scenario (3)
  --json FILE       where the measurements go (dist/bench.json)
  --docs            also write table, chart and JSON into docs/bench; what was not measured now stays as it is
                    there. With --against floor it is the floor's table that is written
  --against DIR     compare with the Trackway of another checkout instead of Kafka; "floor" is bench/floor.ts, the
                    least that can be done (batches, requests, latency, rate)
  --trackway DIR    the checkout to measure (this one)
  --port N          first of six ports to use (free ones)
  --warm-up N       seconds of load for each broker before anything counts (10)

Kafka is taken from KAFKA_HOME, or from a script that KAFKA_BASELINE names. Scenarios, under their groups:

${
  groups.map(({ name, title, scenarios }) =>
    [`${name.padEnd(16)} ${title}`, ...scenarios.map(({ name, about }) => `  ${name.padEnd(14)} ${about}`)]
      .join("\n")
  ).join("\n")
}`;
const args = taskArgs("bench", usage, Infinity, (words) => {
  const strange = words.filter((name) => !known.has(name));
  return strange.length === 0 ? null : `has no scenario ${strange.join(", ")}`;
});
const flags = {
  json: args.text("json") ?? join(checkout, "dist/bench.json"),
  docs: args.has("docs"),
  against: args.text("against"),
  trackway: args.text("trackway") ?? checkout,
  port: args.text("port"),
  warmUpSeconds: args.number("warm-up", 10),
};
const wanted = args.words;
const rounds = args.number("rounds", 3);

const noKafka = flags.against === undefined ? await missingKafka(checkout) : null;
if (noKafka !== null) {
  console.error(`bench ${noKafka}`);
  Deno.exit(2);
}

/** A contender: what it is, its data, and its process while there is one. */
interface Contender {
  readonly kind: BrokerKind;
  readonly port: number;
  readonly directory: string;
  broker: RunningBroker | null;
  isWarm: boolean;
}

const root = await Deno.makeTempDir({ prefix: "trackway-bench-" });
const kinds = [
  trackway(flags.trackway),
  opponent(),
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
    isWarm: false,
  });
}
let serial = 0;

// Kafka's script puts its broker into a session of its own, which an interrupt from the terminal does not reach.
let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    interrupted = true;
    void stopAll();
  });
}

const version = await versions();
const skipped: Record<string, string> = {}, failed: Record<string, string> = {};
const results: Result[] = [];
try {
  for (const group of groups) {
    const asked = wanted.length === 0 || wanted.includes(group.name);
    for (const scenario of group.scenarios) {
      if (interrupted || !asked && !wanted.includes(scenario.name)) continue;
      try {
        if (scenario.alone) await stopAll();
        else await startAll();
        if (!scenario.alone && scenario.warmUps > 0) await warmAll();
        await runScenario(group.title, scenario);
      } catch (error) {
        // The others are worth measuring all the same, on brokers that are started anew.
        failed[scenario.name] = interrupted ? "interrupted" : Deno.inspect(error);
      }
      if (scenario.alone || failed[scenario.name] !== undefined) await stopAll();
    }
  }
} finally {
  await stopAll();
  await Deno.remove(root, { recursive: true });
}
progress("");

const report: Report = {
  brokers: [kinds[0].name, kinds[1].name],
  machine: {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 1e9),
    kernel: release(),
  },
  results,
  skipped,
};
console.log(textTable(report));
for (const [name, why] of Object.entries(skipped)) console.log(`${name} was left out: ${why}`);
await Deno.mkdir(dirname(flags.json), { recursive: true });
await Deno.writeTextFile(flags.json, JSON.stringify(report, null, 2) + "\n");
if (flags.docs) await writeDocs(report);
for (const [name, why] of Object.entries(failed)) console.error(`${name} failed: ${why}`);
if (interrupted) Deno.exit(130);
if (Object.keys(failed).length > 0) Deno.exit(1);

function opponent(): BrokerKind {
  if (flags.against === undefined) return kafka(checkout);
  return flags.against === "floor" ? floor(checkout) : trackway(flags.against, "Other");
}

/** Takes turns; the order turns too, so that neither is always the one that runs after the other. */
async function runScenario(group: string, scenario: Scenario): Promise<void> {
  const load = Deno.loadavg()[0], began = performance.now();
  const values: number[][][] = [[], []];
  const turns = Math.min(rounds, scenario.maxRounds);
  for (let turn = -scenario.warmUps; turn < turns; turn++) {
    for (const i of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      progress(
        `${scenario.name}: ${turn < 0 ? "warming up" : `turn ${turn + 1} of ${turns}`}, ${kinds[i].name}`,
      );
      const measured = await scenario.measure(subject(contenders[i])).catch((error) => {
        throw new Error(`${kinds[i].name}: ${error.message}`, { cause: error });
      });
      if (typeof measured === "string") {
        skipped[scenario.name] = measured;
        return;
      }
      if (turn >= 0) values[i].push(measured);
    }
  }
  const { name, about } = scenario;
  // The aims are about Kafka.
  const metrics = scenario.metrics.map(({ aim, ...metric }) => flags.against ? metric : { ...metric, aim });
  // Where nobody watches, as in a log, a line for each scenario does.
  if (!Deno.stderr.isTerminal()) {
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  for (const [m, metric] of metrics.entries()) {
    const [ours, theirs] = values.map((turnsOf) => turnsOf.map((numbers) => numbers[m]));
    const date = new Date().toISOString();
    results.push({ group, scenario: name, about, metric, ours, theirs, date, load, version });
  }
}

function subject(contender: Contender): Subject {
  const { kind, port, directory } = contender;
  return {
    kind,
    broker: contender.broker,
    serial: () => ++serial,
    launch: async (environment) =>
      contender.broker = await kind.start(port, join(directory, "launched"), environment),
  };
}

async function startAll(): Promise<void> {
  for (const contender of contenders) {
    const { kind, port, directory } = contender;
    contender.broker ??= await kind.start(port, join(directory, "data"));
  }
}

/** A Java broker takes some 10 s under load until its compilers are done; before that it needs two to three times the CPU. */
async function warmAll(): Promise<void> {
  for (const contender of contenders) {
    if (contender.isWarm) continue;
    progress(`warming up ${contender.kind.name}`);
    await warmUp(subject(contender), flags.warmUpSeconds * 1000);
    contender.isWarm = true;
  }
}

async function stopAll(): Promise<void> {
  for (const contender of contenders) {
    const { broker } = contender;
    contender.broker = null;
    contender.isWarm = false;
    await broker?.stop();
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

async function versions(): Promise<Result["version"]> {
  const commit = async (directory: string) => {
    const { code, stdout } = await new Deno.Command("git", {
      args: ["-C", directory, "describe", "--always", "--dirty"],
      stderr: "null",
    }).output();
    return code === 0 ? new TextDecoder().decode(stdout).trim() : "unknown";
  };
  return {
    ours: await commit(flags.trackway),
    theirs: flags.against ? await commit(flags.against) : Deno.env.get("KAFKA_BASELINE_VERSION") ?? "4.4.0",
    deno: Deno.version.deno,
  };
}

async function writeDocs(measured: Report): Promise<void> {
  const docs = join(checkout, "docs/bench"), readme = join(docs, "README.md");
  const write = async (name: string, text: string) => {
    await Deno.writeTextFile(readme, withTable(await Deno.readTextFile(readme), name, text));
  };
  if (flags.against) {
    const text = `${caption(measured)}\n\n${markdownTable(measured, measured.results)}`;
    return flags.against === "floor" ? await write("floor", text) : undefined;
  }
  const order = groups.flatMap(({ scenarios }) => scenarios.map(({ name }) => name));
  const whole = merged(JSON.parse(await Deno.readTextFile(join(docs, "results.json"))), measured, order);
  await Deno.writeTextFile(join(docs, "results.json"), JSON.stringify(whole, null, 1) + "\n");
  await Deno.writeTextFile(join(docs, "results.svg"), chart(whole));
  await write("results", `${caption(whole)}\n\n${markdownTables(whole)}`);
}
