/**
 * Installs the Node clients into .cache/clients/node and copies the adapters there, so that their imports resolve.
 * @platformatic/kafka needs a newer Node than many systems have: that one comes as a package, pinned like the rest.
 * kafkajs runs on the system's Node, for which npm has built its codecs.
 */

import { join } from "node:path";

import { once, root, run } from "../install.ts";

const cacheDir = ".cache/clients/node";
const copied = [
  "package.json",
  "package-lock.json",
  "adapter.mjs",
  "kafkajs.mjs",
  "platformatic.mjs",
  "transform.mjs",
  "kafkajs_transform.mjs",
  "platformatic_transform.mjs",
];
const node = {
  kafkajs: "node",
  "kafkajs-1": "node",
  platformatic: `${cacheDir}/node_modules/node-linux-${
    Deno.build.arch === "aarch64" ? "arm64" : "x64"
  }/bin/node`,
};

/** How to run the adapter, or another program for the same library, relative to the checkout. */
export function command(
  name: keyof typeof node,
  program: string = name,
): string[] {
  // the same adapter with the other release of the library
  if (name === "kafkajs-1") {
    return ["env", `KAFKAJS=${name}`, ...command("kafkajs")];
  }
  return [node[name], `${cacheDir}/${program}.mjs`];
}

/** Needs Node and npm, and a C++ compiler for two of kafkajs' codecs; without one those codecs are unsupported. */
export async function install(): Promise<void> {
  const here = join(root, "tests/clients/node");
  const version = await run("node", ["--version"]);
  const packages = await Promise.all(
    copied.slice(0, 2).map((name) => Deno.readTextFile(join(here, name))),
  );
  await Deno.mkdir(join(root, cacheDir), { recursive: true });
  for (const name of copied) {
    await Deno.copyFile(join(here, name), join(root, cacheDir, name));
  }
  await once("node", [version, ...packages].join("\0"), async () => {
    await run("npm", ["ci", "--prefix", cacheDir, "--no-audit", "--no-fund"]);
  });
}
