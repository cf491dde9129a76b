/** Builds the Go adapters into .cache/clients/go/bin: again whenever a source or a pinned version has changed. */

import { join } from "node:path";

import { once, root, run } from "../install.ts";

const adapters = ["franz-go", "kafka-go", "sarama", "sarama-1.20"] as const;
const binDir = ".cache/clients/go/bin";
const sources = ["go.mod", "go.sum", "adapter/adapter.go", "adapter/events.go", "adapter/transform.go"]
  .concat(["franz-go/transform.go", "sarama/transform.go"])
  .concat(adapters.map((name) => `${name}/main.go`));

/** The adapter's program, relative to the checkout. */
export function command(name: typeof adapters[number]): string[] {
  return [`${binDir}/${name}`];
}

/** Needs Go; fetches the pinned modules on first use. */
export async function install(): Promise<void> {
  const here = join(root, "tests/clients/go");
  const texts = await Promise.all(
    sources.map((path) => Deno.readTextFile(join(here, path))),
  );
  await once("go", texts.join("\0"), async () => {
    // Go makes a file of several programs where the directory is not there, and then refuses to.
    await Deno.mkdir(join(root, binDir), { recursive: true });
    await run("go", [
      "-C",
      here,
      "build",
      "-o",
      join(root, binDir),
      ...adapters.map((name) => `./${name}`),
    ]);
  });
}
