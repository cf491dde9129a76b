/** The course as steps of a report: a step is a promise of transactions, or a few that belong together. */
import { assert } from "../../src/base/assert.ts";
import { installPython } from "../clients/install.ts";
import { install as installJava } from "../clients/java/install.ts";
import { runOwnCourse } from "../clients/own_course.ts";
import type { Report } from "../clients/report.ts";
import type { Rule } from "./checker.ts";
import { type CourseOptions, type CourseResult, describe, runCourse, SETTINGS } from "./course.ts";

/** The name by which these steps are selected and reported. */
export const transactionsChecked = "transactions-checked";

const steps: Record<string, readonly Rule[]> = {
  "all or nothing": ["torn", "lost"],
  "nothing aborted, nothing early": ["G1a", "G1b", "G1c"],
  "nothing twice": ["duplicate", "phantom", "changed"],
  "order": ["order", "int-nonmonotonic-poll", "nonmonotonic-poll"],
  "readers go past nothing": ["int-poll-skip", "poll-skip", "unread"],
  "offsets with their records": ["offsets"],
  "fenced is fenced": ["fenced"],
  "nothing stays open": ["stuck", "history"],
};

const defaultSeed = 6;
const defaultSeconds = 40;
/** With less a course says nothing; a machine that is busy with other things reaches it. */
const leastCommitted = 200;

/** Runs the course. Never throws: failures go to the report. */
export async function runTransactionsChecked(
  logDir: string,
  report: Report,
  options: Omit<CourseOptions, "say"> = {
    libraries: ["java", "librdkafka"],
    seconds: Number(Deno.env.get("TRANSACTIONS_SECONDS") ?? defaultSeconds),
    seed: Number(Deno.env.get("TRANSACTIONS_SEED") ?? defaultSeed),
  },
): Promise<void> {
  const name = transactionsChecked;
  try {
    await installPython();
    if (options.libraries.includes("java")) await installJava();
  } catch (error) {
    return report.failed(name, "install", (error as Error).message);
  }
  await runOwnCourse(name, logDir, report, SETTINGS, async (course) => {
    let result: CourseResult | null = null;
    const say = (line: string) => console.log(`  ${line}`);
    await course.step(`${options.libraries.join(" and ")}, seed ${options.seed}`, async () => {
      result = await runCourse(course, { ...options, say });
      const { committed } = result.counts;
      assert(committed >= leastCommitted, `only ${committed} transactions were committed`);
    });
    const { violations, dirty, did } = result!;
    for (const line of describe(result!)) say(line);
    say([...did].map(([deed, times]) => `${deed}: ${times}`).join(", "));
    for (const [step, rules] of Object.entries(steps)) {
      const broken = violations.filter(({ rule }) => rules.includes(rule));
      if (broken.length === 0) report.passed(name, step, 0);
      else {
        const told = broken.map(({ rule, text }) => `${rule}: ${text}`).join("\n");
        report.failed(name, step, `with seed ${options.seed}: ${told}`);
      }
    }
    await course.step("the checker sees what is uncommitted", () => {
      assert(
        dirty.violations.some(({ rule }) => rule === "G1a"),
        "it found no aborted read where there are many",
      );
      return Promise.resolve();
    });
  });
}
