/**
 * Durability as real clients see it: a row of its own in the report, on brokers of its own. What is looked at is in
 * tests/durability; here are the steps, and how many things have to have happened for a step to count.
 */
import { join } from "node:path";

import { assert } from "../../src/base/assert.ts";
import type { Rule } from "../durability/checker.ts";
import { type KillResult, runKills } from "../durability/kill_real.ts";
import { describeKills } from "../durability/kill_report.ts";
import { Adapters, type Client } from "./adapter.ts";
import { type Broker, brokerFromEnv } from "./broker.ts";
import { root } from "./install.ts";
import type { Report } from "./report.ts";

/** The name by which these steps are selected and reported. */
export const durability = "durability";

const killSeconds = 40;
const defaultSeed = 4;
/** Fewer than these, and the course says nothing; a machine that is busy with other things reaches them. */
const leastKills = 4;
const leastAcked = 20_000;

/** The steps of the kill course: which broken promises count for each. */
const killSteps: Record<string, readonly Rule[]> = {
  "kill -9: acknowledged is there": ["loss", "gap", "changed", "refused", "history"],
  "kill -9: nothing twice": ["duplicate"],
  "kill -9: order": ["order"],
  "kill -9: nothing invented": ["phantom"],
  "kill -9: commits": ["commit", "again", "skipped"],
};

export interface DurabilityClients {
  readonly librdkafka: Client;
  /** Kafka's own client, where it could be installed. */
  readonly java: Client | null;
}

/** Runs all steps. Never throws: failures go to the report. */
export async function runDurability(
  { librdkafka, java }: DurabilityClients,
  logDir: string,
  report: Report,
): Promise<void> {
  const seed = Number(Deno.env.get("DURABILITY_SEED") ?? defaultSeed);
  const startedAt = performance.now();
  let result: KillResult;
  try {
    result = await withBroker(join(logDir, "kills"), {}, (broker, adapters, ownLogDir) =>
      runKills({
        ...{ adapters, broker, librdkafka, java, seed, seconds: killSeconds, logDir: ownLogDir },
        say: (line) => console.log(`  ${line}`),
      }));
    assert(result.kills >= leastKills, `the broker was killed ${result.kills} times in ${killSeconds} s`);
    assert(result.counts.acked >= leastAcked, `${result.counts.acked} records were acknowledged`);
  } catch (error) {
    for (const step of Object.keys(killSteps)) {
      report.failed(durability, step, `with seed ${seed}: ${(error as Error).message}`);
    }
    return;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const told = describeKills(result);
  console.log(`  ${told.slice(-3).join("\n  ")}`);
  for (const [step, rules] of Object.entries(killSteps)) {
    const violations = result.violations.filter(({ rule }) => rules.includes(rule));
    if (violations.length === 0) report.passed(durability, step, seconds);
    else {
      const texts = violations.map(({ rule, text }) => `${rule}: ${text}`);
      report.failed(
        durability,
        step,
        [`with seed ${seed}: ${texts[0]}`, ...texts.slice(1), ...told].join("\n"),
      );
    }
  }
}

/** A broker with these settings, its adapters, and where their logs are; all is gone after `use`, but the logs. */
export async function withBroker<T>(
  logDir: string,
  settings: Record<string, string>,
  use: (broker: Broker, adapters: Adapters, logDir: string) => Promise<T>,
): Promise<T> {
  await Deno.mkdir(logDir, { recursive: true });
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-clients-" });
  const broker = brokerFromEnv({ root, dataDir, logFile: join(logDir, "broker.log") }, settings);
  const adapters = new Adapters(root, broker.bootstrap, logDir);
  const giveUp = async () => {
    await adapters.killAll();
    await broker.stop("SIGKILL");
    Deno.exit(130);
  };
  Deno.addSignalListener("SIGINT", giveUp);
  try {
    await broker.start();
    return await use(broker, adapters, logDir);
  } finally {
    Deno.removeSignalListener("SIGINT", giveUp);
    await adapters.killAll();
    await broker.stop("SIGKILL");
    await Deno.remove(dataDir, { recursive: true });
  }
}
