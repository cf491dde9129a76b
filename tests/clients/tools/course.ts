/** The comparison of tools as a row of its own in the report, on a broker of its own: it has to be new. */

import { join } from "node:path";

import { brokerFromEnv } from "../broker.ts";
import { root } from "../install.ts";
import type { Report } from "../report.ts";
import { compareAll } from "./compare.ts";

/** The name by which it is selected and reported. */
export const comparedTools = "tools-compared";

/** Runs every step. Never throws: failures go to the report. */
export async function runComparedTools(logDir: string, report: Report): Promise<void> {
  try {
    await withBroker(join(logDir, `${comparedTools}.log`), (bootstrap, data) => {
      let startedAt = performance.now();
      return compareAll(bootstrap, data, (step, difference) => {
        if (difference !== null) report.failed(comparedTools, step, difference);
        else report.passed(comparedTools, step, (performance.now() - startedAt) / 1000);
        startedAt = performance.now();
      });
    });
  } catch (error) {
    report.failed(comparedTools, "life", (error as Error).message);
  }
}

/** Gives `work` a new broker, and the directory that holds its partitions. */
export async function withBroker(
  logFile: string,
  work: (bootstrap: string, data: string) => Promise<void>,
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-tools-" });
  const broker = brokerFromEnv({ root, dataDir, logFile });
  try {
    await broker.start();
    await work(broker.bootstrap, Deno.env.get("TEST_BROKER") === "kafka" ? join(dataDir, "log") : dataDir);
  } finally {
    await broker.stop("SIGTERM");
    await Deno.remove(dataDir, { recursive: true });
  }
}
