/**
 * `deno task transactions:check`: real clients in transactions, killed and stopped with their broker, for as long as one
 * likes; a checker holds the history of what they saw against itself. TEST_BROKER=kafka puts the same on a real Kafka
 * (tests/clients/README.md).
 */
import { join } from "node:path";

import { root } from "../tests/clients/install.ts";
import { Report } from "../tests/clients/report.ts";
import { checkHistory, describe } from "../tests/transactions/course.ts";
import type { Library } from "../tests/transactions/slots.ts";
import { runTransactionsChecked } from "../tests/transactions/steps.ts";
import { taskArgs } from "./lib/task_args.ts";

const usage =
  `deno task transactions:check [flags]: real clients in transactions, killed and stopped with their broker

  --seconds N     how long (60)
  --seed N        what to draw by (any)
  --no-java       without the Java clients
  --check FILE    hold a history that is there against itself, and start nothing

TEST_BROKER=kafka puts the same load on a real Kafka.`;
const flags = taskArgs("transactions:check", usage);
const history = flags.text("check");

Deno.exit(history === undefined ? await run() : await checkFile(history));

/** Gives the exit code. */
async function checkFile(history: string): Promise<number> {
  const verdict = await checkHistory(history);
  for (const line of describe({ ...verdict, history })) console.log(line);
  return verdict.violations.length > 0 ? 1 : 0;
}

async function run(): Promise<number> {
  const seed = flags.number("seed", Math.floor(Math.random() * 1e9));
  const libraries: Library[] = flags.has("no-java") ? ["librdkafka"] : ["java", "librdkafka"];
  const logDir = join(root, ".cache/transactions", `seed-${seed}`);
  console.log(`seed ${seed}; logs in ${logDir}`);
  const report = new Report();
  const seconds = flags.number("seconds", 60);
  await runTransactionsChecked(logDir, report, { libraries, seconds, seed });
  const { passed, failed } = report.counts();
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}
