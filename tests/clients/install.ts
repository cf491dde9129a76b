/** Puts clients into .cache/clients/ in the checkout, once: a stamp holds what was installed. */

import { join } from "node:path";

import { tail } from "./waiting.ts";

/** The checkout, from this file's place in it. */
export const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const cacheDir = join(root, ".cache/clients");

/** The installation that was asked for last. */
let last: Promise<void> = Promise.resolve();

/** Runs `work` unless it already ended well for the same `fingerprint`; one after the other, whoever asks. */
export function once(name: string, fingerprint: string, work: () => Promise<void>): Promise<void> {
  const mine = last.then(() => onceInTurn(name, fingerprint, work));
  // how it ended is for who asked for it
  last = mine.catch(() => {});
  return mine;
}

async function onceInTurn(name: string, fingerprint: string, work: () => Promise<void>): Promise<void> {
  const stamp = join(cacheDir, `${name}.stamp`);
  const found = await Deno.readTextFile(stamp).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  });
  if (found === fingerprint) return;
  console.log(`installing ${name}`);
  await Deno.mkdir(cacheDir, { recursive: true });
  await work();
  await Deno.writeTextFile(stamp, fingerprint);
}

/** Runs a program to its end and gives its stdout; throws with the end of its output, or that it is missing. */
export async function run(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(program, { args, cwd: root, env, stdin: "null" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Error(`${program} is needed and not on the PATH`);
    throw error;
  }
  const said = new TextDecoder().decode(output.stdout);
  if (output.success) return said;
  const all = said + new TextDecoder().decode(output.stderr);
  throw new Error(`${program} ${args.join(" ")} ended with ${output.code}:\n${tail(all, 20)}`);
}

/** The pinned Python clients of today. */
export function installPython(): Promise<void> {
  return installEnvironment("python", "requirements.txt");
}

/** A virtual environment in .cache/clients/`name` with what a file beside the Python adapters asks for. */
export async function installEnvironment(name: string, requirementsFile: string): Promise<void> {
  const requirements = join(root, "tests/clients/python", requirementsFile);
  const version = (await run("python3", ["--version"])).trim();
  const minor = Number(version.match(/^Python 3\.(\d+)/)?.[1] ?? 0);
  if (minor < 11) throw new Error(`python3 is "${version}", 3.11 or newer is needed`);
  await once(name, `${version}\n${await Deno.readTextFile(requirements)}`, async () => {
    const environment = join(cacheDir, name);
    await run("python3", ["-m", "venv", "--clear", environment]);
    await run(join(environment, "bin/pip"), ["install", "--quiet", "--no-input", "-r", requirements]);
  });
}

/** kcat from the system's packages. */
export async function installKcat(): Promise<void> {
  if (await hasKcat()) return;
  console.log("installing kcat");
  const noninteractive = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-qq"], noninteractive);
  await run("apt-get", ["install", "-y", "-qq", "kcat"], noninteractive);
  if (!await hasKcat()) throw new Error("kcat is needed and apt-get did not bring it");
}

async function hasKcat(): Promise<boolean> {
  try {
    return (await new Deno.Command("kcat", { args: ["-V"], stdout: "null", stderr: "null" }).output())
      .success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
