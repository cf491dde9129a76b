/**
 * `deno task durability:kill [--minutes N] [--seed S] [--no-java]`: real clients under a broker that is ended again and
 * again, for as long as one likes. `--check FILE` only holds a history that is there against itself. TEST_BROKER=kafka
 * puts the same load on a real Kafka (tests/clients/README.md).
 */
import { join } from "node:path";

import { clients, reference } from "../tests/clients/clients.ts";
import { withBroker } from "../tests/clients/durability.ts";
import { describeCourse } from "../tests/clients/course_report.ts";
import { root } from "../tests/clients/install.ts";
import { Checker } from "../tests/durability/checker.ts";
import { readHistory } from "../tests/durability/history.ts";
import { runKills } from "../tests/durability/kill_real.ts";
import { taskArgs } from "./lib/task_args.ts";

const usage = `deno task durability:kill [flags]: real clients under a broker that is ended again and again

  --minutes N     how long (1)
  --seed N        what to draw by (any)
  --no-java       without the Java clients
  --check FILE    hold a history that is there against itself, and start nothing

TEST_BROKER=kafka puts the same load on a real Kafka.`;
const flags = taskArgs("durability:kill", usage);
const history = flags.text("check");

Deno.exit(history === undefined ? await run() : await check(history));

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
  const seed = flags.number("seed", Math.floor(Math.random() * 1e9));
  const java = !flags.has("no-java") ? clients.find(({ id }) => id === "java-4.4")! : null;
  await reference.install();
  await java?.install();
  const logDir = join(root, ".cache/durability");
  console.log(`seed ${seed}; logs in ${logDir}`);
  let done = "";
  const result = await withBroker({ librdkafka: reference, java }, seed, { logDir }, async (options) => {
    const result = await runKills(options, flags.number("minutes", 1) * 60);
    done = `${result.kills} kills and ${result.stops} stops`;
    return result;
  });
  for (const line of describeCourse(result, done)) console.log(line);
  return result.violations.length > 0 ? 1 : 0;
}
