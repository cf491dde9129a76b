/**
 * Kafka's command-line tools against a broker, held against what they printed with Kafka. `deno task tools:record` asks
 * Kafka again.
 */

import { dirname, join } from "node:path";

import { root } from "../install.ts";
import { installHost, ToolHost } from "./host.ts";
import { normalLines } from "./normal.ts";
import { type Step, STEPS, TOOLS } from "./steps.ts";
import { perform } from "./transactions.ts";

const RECORDED = "tests/clients/tools/recorded.json";

/** What each step printed, by its name. */
export type Printed = Record<string, string[]>;

/**
 * Runs every step in order. `data` is the directory of the broker that holds the partitions; `settle` is waited for after
 * each: Kafka's broker may hear of a change a moment after its controller has answered.
 */
export async function printAll(
  bootstrap: string,
  data: string,
  settle: () => Promise<void> = () => Promise.resolve(),
): Promise<Printed> {
  await installHost();
  await using host = new ToolHost();
  const files = await Deno.makeTempDir({ prefix: "trackway-tools-" });
  const printed: Printed = {};
  try {
    for (const step of STEPS) {
      printed[step.name] = await print(host, step, bootstrap, data, files);
      await settle();
    }
  } finally {
    await Deno.remove(files, { recursive: true });
  }
  return printed;
}

async function print(host: ToolHost, step: Step, bootstrap: string, data: string, files: string) {
  for (const [name, content] of Object.entries(step.files ?? {})) {
    await Deno.writeTextFile(join(files, name), content);
  }
  if (step.before !== undefined) await perform(step.before, bootstrap);
  const tool = TOOLS[step.tool];
  const args = step.args.map((arg) =>
    arg.replaceAll("{data}", data).replace(/\{file:(.*?)\}/, (_, name) => join(files, name))
  );
  if (tool.server !== null) {
    // Tools with commands of their own want what is for all of them first.
    const at = "serverFirst" in tool ? 0 : args.length;
    args.splice(at, 0, tool.server, bootstrap);
  }
  const said = await host.run(tool.class, args, step.input);
  return normalLines(step, said, data).map((line) => line.replaceAll(dirname(join(files, "x")), "{files}"));
}

/** Runs every step and tells of each, with null when it printed what it prints with Kafka. */
export async function compareAll(
  bootstrap: string,
  data: string,
  report: (step: string, difference: string | null) => void,
): Promise<void> {
  const recorded: Printed = JSON.parse(await Deno.readTextFile(join(root, RECORDED)));
  const printed = await printAll(bootstrap, data);
  for (const { name } of STEPS) report(name, difference(recorded[name] ?? [], printed[name]));
}

/** The lines that only one of them has; null when there are none and the order is the same. */
function difference(expected: readonly string[], found: readonly string[]): string | null {
  if (expected.join("\n") === found.join("\n")) return null;
  const missing = expected.filter((line) => !found.includes(line)).map((line) => `- ${line}`);
  const more = found.filter((line) => !expected.includes(line)).map((line) => `+ ${line}`);
  return [...missing, ...more].slice(0, 20).join("\n") || "the same lines in another order";
}

/** Keeps what was printed with Kafka. */
export async function record(printed: Printed): Promise<void> {
  await Deno.writeTextFile(join(root, RECORDED), `${JSON.stringify(printed, null, 2)}\n`);
}
