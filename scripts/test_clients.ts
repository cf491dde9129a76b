/**
 * `deno task test:clients [CLIENT...]`: unmodified Kafka clients run one scenario against a broker that this starts.
 * tests/clients/README.md tells of the environment variables and of adding a client.
 */

import { join } from "node:path";

import { Adapters, type Client } from "../tests/clients/adapter.ts";
import { brokerFromEnv } from "../tests/clients/broker.ts";
import { clients, reference } from "../tests/clients/clients.ts";
import { connect, runConnect } from "../tests/clients/connect/course.ts";
import { crossSteps, runCross } from "../tests/clients/cross.ts";
import { durability, runDurability } from "../tests/clients/durability.ts";
import { root } from "../tests/clients/install.ts";
import { runTools } from "../tests/clients/java_tools.ts";
import { oldClients } from "../tests/clients/old_clients.ts";
import { runRegistry } from "../tests/clients/registry/course.ts";
import { registries } from "../tests/clients/registry/registries.ts";
import { Report } from "../tests/clients/report.ts";
import { runScenario, steps } from "../tests/clients/scenario.ts";
import { comparedTools, runComparedTools } from "../tests/clients/tools/course.ts";
import { guarantees, runStreams } from "../tests/clients/streams/course.ts";
import { courseName, runTransactions } from "../tests/clients/transactions/course.ts";
import { runTransactionsCross, transactionsCross } from "../tests/clients/transactions/cross.ts";
import { transformers } from "../tests/clients/transactions/transformers.ts";
import { runTransactionsChecked, transactionsChecked } from "../tests/transactions/steps.ts";

/** The name under which Kafka's own command-line tools are selected and reported. */
const javaTools = "java-tools";

/** Courses of transactions that run at once: most of their time they wait for sessions and transactions to time out. */
const coursesAtOnce = 3;

/** What applications do on Kafka, each on a broker of its own, by the names of the courses. */
const ownCourses: Record<string, (logDir: string, report: Report) => Promise<void>> = {
  ...Object.fromEntries(guarantees.map((guarantee) => [
    guarantee.course,
    (logDir: string, report: Report) => runStreams(guarantee, logDir, report),
  ])),
  [connect]: runConnect,
  ...Object.fromEntries(registries.map((registry) => [
    registry.name,
    (logDir: string, report: Report) => runRegistry(registry, logDir, report),
  ])),
  [transactionsCross]: runTransactionsCross,
  [transactionsChecked]: (logDir, report) => runTransactionsChecked(logDir, report),
  [comparedTools]: runComparedTools,
};

Deno.exit(await main(Deno.args));

/** Runs the clients named in `names`, or all; gives the exit code. */
async function main(names: string[]): Promise<number> {
  const all = [...clients, ...oldClients];
  const known = [...all.map((client) => client.id), javaTools, ...Object.keys(ownCourses), durability]
    .concat(transformers.map(courseName));
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`no client ${unknown.join(", ")}; there are ${known.join(", ")}`);
    return 2;
  }
  const report = new Report();
  const chosen = all.filter((client) => names.length === 0 || names.includes(client.id));
  const startedAt = performance.now();
  const installed = await install(chosen, report);
  console.log(`installed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);

  const logDir = join(root, ".cache/clients/logs");
  await Deno.mkdir(logDir, { recursive: true });
  for await (const old of Deno.readDir(logDir)) {
    await Deno.remove(join(logDir, old.name), { recursive: true });
  }
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-clients-" });
  const broker = brokerFromEnv({ root, dataDir, logFile: join(logDir, "broker.log") });
  const adapters = new Adapters(root, broker.bootstrap, logDir);
  Deno.addSignalListener("SIGINT", async () => {
    await adapters.killAll();
    await broker.stop("SIGKILL");
    Deno.exit(130);
  });

  try {
    await broker.start();
    console.log(`${broker.name} is up at ${broker.bootstrap}; logs in ${logDir}`);
    const bench = { adapters, broker, report, reference };
    for (const client of installed) {
      await runScenario(bench, client);
      if (!broker.fault()) continue;
      // its death was reported with the step that saw it; the next client gets a living one
      await broker.stop("SIGKILL");
      await broker.start();
    }
    const old = installed.filter((client) => oldClients.includes(client));
    const today = installed.filter((client) => !old.includes(client));
    if (today.length > 0) await runCross(bench, today, "cross-clients");
    if (old.length > 0) await runCross(bench, [...old, { ...reference, id: "today's, of old" }], "cross-old");
    if (names.length === 0 || names.includes(javaTools)) await tools(broker.bootstrap, report);
  } catch (error) {
    report.failed("broker", "life", (error as Error).message);
  } finally {
    await adapters.killAll();
    await broker.stop("SIGTERM");
    await Deno.remove(dataDir, { recursive: true });
  }
  for (const [name, run] of Object.entries(ownCourses)) {
    if (names.length === 0 || names.includes(name)) await run(logDir, report);
  }
  await inTurns(transformers, coursesAtOnce, async (transformer) => {
    if (names.length > 0 && !names.includes(courseName(transformer))) return;
    await runTransactions(transformer, logDir, report);
  });
  if (names.length === 0 || names.includes(durability)) {
    await runDurability({ librdkafka: reference, java: await kafkasOwn() }, logDir, report);
  }
  console.log(report.summary([...steps, ...crossSteps]));
  const { passed, failed } = report.counts();
  console.log(`\ntook ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** Has each of `items` worked on, so many at once. */
async function inTurns<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Installs the reference and the chosen clients; gives those that can run. */
async function install(chosen: Client[], report: Report): Promise<Client[]> {
  await reference.install();
  const ready: Client[] = [];
  for (const client of chosen) {
    try {
      await client.install();
      ready.push(client);
    } catch (error) {
      report.failed(client.id, "install", (error as Error).message);
    }
  }
  return ready;
}

/** Kafka's own client, for those who want it beside others; null where it cannot be installed, which is reported elsewhere. */
async function kafkasOwn(): Promise<Client | null> {
  const client = clients.find(({ id }) => id === "java-4.4")!;
  try {
    await client.install();
    return client;
  } catch (error) {
    console.log(`without Java's client: ${(error as Error).message}`);
    return null;
  }
}

/** Kafka's command-line tools: a row of their own, as their steps are others. */
async function tools(bootstrap: string, report: Report): Promise<void> {
  let startedAt = performance.now();
  try {
    await runTools(bootstrap, (step, error) => {
      if (error !== null) report.failed(javaTools, step, error);
      else report.passed(javaTools, step, (performance.now() - startedAt) / 1000);
      startedAt = performance.now();
    });
  } catch (error) {
    report.failed(javaTools, "install", (error as Error).message);
  }
}
