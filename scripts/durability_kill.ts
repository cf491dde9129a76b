/**
 * `deno task durability:kill [--minutes N] [--seed S] [--no-java]`: real clients under a broker that is ended again and
 * again, for as long as one likes. `--check FILE` only holds a history that is there against itself. TEST_BROKER=kafka
 * puts the same load on a real Kafka (tests/clients/README.md).
 */
import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";

import { Adapters } from "../tests/clients/adapter.ts";
import { brokerFromEnv } from "../tests/clients/broker.ts";
import { clients, reference } from "../tests/clients/clients.ts";
import { root } from "../tests/clients/install.ts";
import { Checker } from "../tests/durability/checker.ts";
import { readHistory } from "../tests/durability/history.ts";
import { runKills } from "../tests/durability/kill_real.ts";
import { describeKills } from "../tests/durability/kill_report.ts";

const flags = parseArgs(Deno.args, {
  string: ["check", "minutes", "seed"],
  boolean: ["java"],
  negatable: ["java"],
  default: { java: true, minutes: "1" },
});

Deno.exit(flags.check === undefined ? await run() : await check(flags.check));

/** Gives the exit code. */
async function check(path: string): Promise<number> {
  const checker = new Checker();
  for await (const event of readHistory(path)) checker.take(event);
  const violations = checker.finish();
  for (const { rule, text } of violations) console.log(`${rule}: ${text}`);
  console.log(JSON.stringify(checker.counts));
  return violations.length > 0 ? 1 : 0;
}

async function run(): Promise<number> {
  const seed = Number(flags.seed ?? Math.floor(Math.random() * 1e9));
  const java = flags.java ? clients.find(({ id }) => id === "java-4.4")! : null;
  await reference.install();
  await java?.install();
  const logDir = join(root, ".cache/durability");
  await Deno.mkdir(logDir, { recursive: true });
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-kills-" });
  const broker = brokerFromEnv({ root, dataDir, logFile: join(logDir, "broker.log") });
  const adapters = new Adapters(root, broker.bootstrap, logDir);
  Deno.addSignalListener("SIGINT", async () => {
    await adapters.killAll();
    await broker.stop("SIGKILL");
    Deno.exit(130);
  });
  console.log(`seed ${seed}; logs in ${logDir}`);
  let result;
  try {
    await broker.start();
    result = await runKills({
      ...{ adapters, broker, librdkafka: reference, java, seed, logDir },
      seconds: Number(flags.minutes) * 60,
      say: (line) => console.log(line),
    });
  } finally {
    await adapters.killAll();
    await broker.stop("SIGTERM");
    await Deno.remove(dataDir, { recursive: true });
  }
  for (const line of describeKills(result)) console.log(line);
  return result.violations.length > 0 ? 1 : 0;
}
