/**
 * Durability as real clients see it: a row of its own in the report, on brokers of its own. What is done to the broker is
 * in tests/durability; here are the steps, and how much has to have happened for a step to count.
 */
import { join } from "node:path";

import { assert } from "../../src/base/assert.ts";
import type { Rule } from "../durability/checker.ts";
import { DISK_BYTES, runFullDisk } from "../durability/full_disk_real.ts";
import { runKills } from "../durability/kill_real.ts";
import { runPauses } from "../durability/pause_real.ts";
import { smallDisk, whyNoSmallDisk } from "../lib/small_disk.ts";
import { Adapters, type Client } from "./adapter.ts";
import { brokerFromEnv, type BrokerPaths } from "./broker.ts";
import type { CourseOptions, CourseResult } from "./course.ts";
import { describeCourse } from "./course_report.ts";
import { root } from "./install.ts";
import type { Report } from "./report.ts";

/** The name by which these steps are selected and reported. */
export const durability = "durability";

const defaultSeed = 4;
const killSeconds = 40;
const timesFull = 3;
const leastKills = 5;
/** With less than this a course says nothing; a machine that is busy with other things reaches it. */
const leastAcked = 5_000;

/** What each step of a course holds: the promises that are not broken. */
const steps: Record<string, readonly Rule[]> = {
  "acknowledged is there": ["loss", "gap", "changed", "refused", "history"],
  "nothing twice": ["duplicate"],
  "order": ["order", "phantom"],
  "groups": ["commit", "again", "skipped"],
};

export interface DurabilityClients {
  readonly librdkafka: Client;
  /** Kafka's own client, where it could be installed. */
  readonly java: Client | null;
}

/** Runs all courses. Never throws: failures go to the report. */
export async function runDurability(
  clients: DurabilityClients,
  logDir: string,
  report: Report,
): Promise<void> {
  const seed = Number(Deno.env.get("DURABILITY_SEED") ?? defaultSeed);

  await course("kill -9", async (name) => {
    const paths = { logDir: join(logDir, name.replaceAll(/\W+/g, "-")) };
    let did = "";
    const result = await withBroker(clients, seed, paths, async (options) => {
      const result = await runKills(options, killSeconds, leastKills);
      did = `${result.kills} kills and ${result.stops} stops`;
      return result;
    });
    return { result, did };
  });

  const noDisk = Deno.env.get("TEST_BROKER") === "kafka"
    ? "Kafka halts when its only disk is full"
    : await whyNoSmallDisk();
  if (noDisk !== null) {
    for (const step of Object.keys(steps)) report.lacks(durability, `full disk: ${step}`, noDisk);
  } else {
    await course("full disk", async (name) => {
      await using disk = await smallDisk(DISK_BYTES);
      const paths = {
        ...{ logDir: join(logDir, name.replaceAll(/\W+/g, "-")), prefix: disk.prefix },
        dataDir: join(disk.path, "data"),
      };
      const result = await withBroker(
        clients,
        seed,
        paths,
        (options) => runFullDisk(options, disk.outside, timesFull),
      );
      return { result, did: `full ${timesFull} times` };
    });
  }

  await course("pause", async (name) => {
    const result = await withBroker(
      clients,
      seed,
      { logDir: join(logDir, name.replaceAll(/\W+/g, "-")) },
      runPauses,
    );
    return { result, did: "stopped the broker, then members" };
  });

  async function course(
    name: string,
    run: (name: string) => Promise<{ result: CourseResult; did: string }>,
  ): Promise<void> {
    const startedAt = performance.now();
    let told: string[];
    let result: CourseResult;
    try {
      const ran = await run(name);
      result = ran.result;
      assert(result.counts.acked >= leastAcked, `only ${result.counts.acked} records were acknowledged`);
      told = describeCourse(result, ran.did);
    } catch (error) {
      for (const step of Object.keys(steps)) {
        report.failed(durability, `${name}: ${step}`, `with seed ${seed}: ${(error as Error).message}`);
      }
      return;
    }
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`  ${told.slice(-3).join("\n  ")}`);
    for (const [step, rules] of Object.entries(steps)) {
      const broken = result.violations.filter(({ rule }) => rules.includes(rule));
      if (broken.length === 0) report.passed(durability, `${name}: ${step}`, seconds);
      else {
        const [first, ...others] = broken.map(({ rule, text }) => `${rule}: ${text}`);
        const reason = [`with seed ${seed}: ${first}`, ...others, ...told].join("\n");
        report.failed(durability, `${name}: ${step}`, reason);
      }
    }
  }
}

/** Runs a course on a broker of its own; all is gone after `run`, but the logs. */
export async function withBroker(
  clients: DurabilityClients,
  seed: number,
  paths: { logDir: string } & Partial<BrokerPaths>,
  run: (options: CourseOptions) => Promise<CourseResult>,
): Promise<CourseResult> {
  const { logDir } = paths;
  await Deno.mkdir(logDir, { recursive: true });
  const parent = await Deno.makeTempDir({ prefix: "trackway-clients-" });
  const broker = brokerFromEnv({
    ...{ root, dataDir: join(parent, "data"), logFile: join(logDir, "broker.log") },
    ...paths,
  });
  const adapters = new Adapters(root, broker.bootstrap, logDir);
  const giveUp = async () => {
    await adapters.killAll();
    await broker.stop("SIGKILL");
    Deno.exit(130);
  };
  Deno.addSignalListener("SIGINT", giveUp);
  try {
    await broker.start();
    const result = await run({
      ...{ ...clients, adapters, broker, seed, logDir },
      say: (line) => console.log(`  ${line}`),
    });
    await broker.stop("SIGTERM");
    return result;
  } finally {
    Deno.removeSignalListener("SIGINT", giveUp);
    await adapters.killAll();
    await broker.stop("SIGKILL");
    await Deno.remove(parent, { recursive: true });
  }
}
