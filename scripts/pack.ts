/**
 * `deno task pack`: Trackway as one executable file, dist/trackway. `--out FILE` writes it elsewhere; `--dir DIR` lays
 * the same files into a directory instead, for a container image, with a launcher named trackway.
 *
 * The file is a shell stub followed by the installed Deno executable, the program bundled into one JavaScript file, and
 * the native addons, and it unpacks them on its first start (lib/stub.ts). A single ELF file would start without that,
 * but Deno only runs a program appended to its smaller sibling, denort, which has to be fetched: `deno task compile`
 * does that. Stored, not compressed: gzip would halve the size and make the first start 0.4 s slower.
 */

import { parseArgs } from "@std/cli/parse-args";
import { dirname, join, relative } from "node:path";

import project from "../deno.json" with { type: "json" };
import { isKeptFile, type NpmPackage, type PackageOnDisk, planAddons, type Platform } from "./lib/addons.ts";
import { licenceText } from "./lib/licences.ts";
import { runScript, ScriptError, stdoutOf } from "./lib/run.ts";
import {
  cleanerThreadPath,
  launcher,
  type PayloadFile,
  programPath,
  runArguments,
  runtimePath,
  stub,
} from "./lib/stub.ts";
import { encodeHex } from "../src/base/hex.ts";

const root = dirname(import.meta.dirname!);
const entry = "src/main.ts";
const cleanerThread = "src/storage/cleaner/thread_main.ts";

/** By Deno's name of the processor: npm's and the kernel's, and glibc's loader, which Deno's executable asks for. */
const machines: Record<string, { cpu: string; machine: string; loader: string }> = {
  x86_64: { cpu: "x64", machine: "x86_64", loader: "/lib64/ld-linux-x86-64.so.2" },
  aarch64: { cpu: "arm64", machine: "aarch64", loader: "/lib/ld-linux-aarch64.so.1" },
};

if (import.meta.main) await runScript("pack", () => pack(Deno.args));

async function pack(args: readonly string[]): Promise<void> {
  const flags = parseArgs([...args], { string: ["out", "dir"] });
  const target = machines[Deno.build.arch];
  if (Deno.build.os !== "linux" || !target) {
    throw new ScriptError(`packs for Linux on x86_64 and aarch64 only, this is ${Deno.build.target}`);
  }
  const staging = await Deno.makeTempDir({ prefix: "trackway-pack-" });
  try {
    await lay(staging, { os: "linux", cpu: target.cpu, libc: "glibc" });
    if (flags.dir) await writeDirectory(staging, flags.dir);
    else await writeFile(staging, flags.out ?? join(root, "dist/trackway"), target);
  } finally {
    await Deno.remove(staging, { recursive: true });
  }
}

/** Puts everything that is needed at run time into `staging`. */
async function lay(staging: string, platform: Platform): Promise<void> {
  await deno("fetch the npm packages", ["cache", "--quiet", entry]);
  const graph = JSON.parse(await deno("list the npm packages", ["info", "--json", entry])) as Graph;
  const packages = graph.npmPackages;
  const plan = planAddons(packages, readPackage, platform);

  const program = join(staging, programPath);
  const external = plan.external.flatMap((name) => ["--external", name]);
  const bundle = (output: string, input: string) => {
    const args = ["bundle", "--quiet", "--platform", "deno", ...external, "--output", output, input];
    return deno(`bundle ${input}`, args);
  };
  await bundle(program, entry);
  refuseFilesBesideSource(await Deno.readTextFile(program));
  await bundle(join(staging, cleanerThreadPath), cleanerThread);

  for (const npmPackage of plan.kept) {
    for (const file of listFiles(npmPackage.localPath).filter(isKeptFile)) {
      await copy(join(npmPackage.localPath, file), join(staging, "node_modules", npmPackage.name, file));
    }
  }
  await copy(Deno.execPath(), join(staging, runtimePath));
  await Deno.writeTextFile(join(staging, "LICENSES.txt"), licences(graph));

  const imported = new Set(
    graph.modules.flatMap(({ npmPackage }) => npmPackage ? packages[npmPackage].name : []),
  );
  await tryModules(staging, plan.external.filter((name) => imported.has(name)));
}

/**
 * The program makes do without an addon that it cannot load, only slower, and without its thread until there is something to
 * compact: nobody would notice until then.
 */
async function tryModules(staging: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) throw new ScriptError("Cannot pack: the program imports no addon, and it should");
  const script = join(staging, "try_modules.js");
  const modules = [...names, `./${cleanerThreadPath}`];
  await Deno.writeTextFile(script, modules.map((name) => `import ${JSON.stringify(name)};\n`).join(""));
  // Another DENO_DIR, empty: the one of this machine has the packages, and would hide that they are missing here.
  const denoDir = await Deno.makeTempDir({ prefix: "trackway-pack-deno-" });
  try {
    const args = [...runArguments, script];
    await stdoutOf("load the addons and the thread's module", join(staging, runtimePath), args, staging, {
      DENO_DIR: denoDir,
    });
  } finally {
    await Deno.remove(denoDir, { recursive: true });
    await Deno.remove(script);
  }
}

interface Graph {
  readonly npmPackages: Readonly<Record<string, NpmPackage>>;
  readonly modules: readonly { readonly kind?: string; readonly npmPackage?: string }[];
}

/**
 * In the bundle every module has the bundle's own URL, so a file that lies beside a source file is not found. The module of
 * a thread is a bundle of its own.
 */
function refuseFilesBesideSource(program: string): void {
  const line = program.split("\n").find((line) =>
    /import\.meta\.(url|dirname|filename)/.test(line) && !line.includes("createRequire") &&
    !line.includes("threadModule")
  );
  if (line) throw new ScriptError(`a module asks where it lies, which a bundle cannot tell: ${line.trim()}`);
}

function readPackage({ localPath }: NpmPackage): PackageOnDisk | null {
  const manifest = readManifest(localPath);
  return manifest && { files: listFiles(localPath), os: manifest.os, cpu: manifest.cpu, libc: manifest.libc };
}

interface Manifest {
  readonly os?: string[];
  readonly cpu?: string[];
  readonly libc?: string[];
  readonly license?: string;
}

/** Null when the package is not in the cache. */
function readManifest(folder: string): Manifest | null {
  return orNull(() => JSON.parse(Deno.readTextFileSync(join(folder, "package.json"))));
}

/** Of every package that the program reaches, in the order of their names. */
function licences(graph: Graph): string {
  const reached = new Set<string>();
  const waiting = graph.modules.flatMap((module) => module.npmPackage ?? []);
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (reached.has(key)) continue;
    reached.add(key);
    waiting.push(...graph.npmPackages[key].dependencies);
  }
  const texts = [...reached].sort().flatMap((key) => {
    const { localPath } = graph.npmPackages[key];
    const manifest = readManifest(localPath);
    if (!manifest) return [];
    const file = listFiles(localPath).find((file) => /^(licen[cs]e|copying)/i.test(file));
    const text = file && Deno.readTextFileSync(join(localPath, file));
    return [{ title: key, licence: manifest.license, text }];
  });
  const own = { title: `trackway@${project.version}`, licence: project.license, text: readOwnLicence() };
  const runtime = orNull(() => Deno.readTextFileSync(join(dirname(Deno.execPath()), "LICENSE")));
  return licenceText([
    own,
    { title: `deno@${Deno.version.deno}`, licence: "MIT", text: runtime ?? undefined },
    ...texts,
  ]);
}

function readOwnLicence(): string {
  return Deno.readTextFileSync(join(root, "LICENSE"));
}

async function writeDirectory(staging: string, dir: string): Promise<void> {
  await Deno.mkdir(dir, { recursive: true });
  if ([...Deno.readDirSync(dir)].length > 0) throw new ScriptError(`${dir} is not empty`);
  for (const file of listFiles(staging)) await copy(join(staging, file), join(dir, file));
  const script = join(dir, "trackway");
  await Deno.writeTextFile(script, launcher(), { mode: 0o755 });
  console.log(`${script} starts the files beside it: Deno ${Deno.version.deno}, Trackway ${project.version}`);
}

async function writeFile(
  staging: string,
  out: string,
  { machine, loader }: { machine: string; loader: string },
): Promise<void> {
  // The runtime first: it is the only large one, and what follows the stub is aligned.
  const paths = [
    runtimePath,
    programPath,
    ...listFiles(staging).filter((path) => path !== runtimePath && path !== programPath),
  ];
  const contents = paths.map((path) => Deno.readFileSync(join(staging, path)));
  const files: PayloadFile[] = paths.map((path, at) => ({ path, size: contents[at].length }));
  const script = stub({
    version: project.version,
    machine,
    loader,
    contentHash: await contentHash(files, contents),
    files,
    checksums: await stdoutOf("checksum the files", "cksum", paths, staging),
  });

  await Deno.mkdir(dirname(out), { recursive: true });
  // A running broker has its own file open: writing into that would be refused as busy, a rename is not.
  const unfinished = `${out}.${Deno.pid}`;
  using file = await Deno.open(unfinished, { write: true, create: true, truncate: true, mode: 0o755 });
  for (const bytes of [new TextEncoder().encode(script), ...contents]) {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  }
  await Deno.rename(unfinished, out);
  const size = (await Deno.stat(out)).size;
  console.log(
    `${out}: ${(size / 1e6).toFixed(0)} MB, Deno ${Deno.version.deno}, Trackway ${project.version}`,
  );
}

/** 128 bits of SHA-256 over names, sizes and contents. */
async function contentHash(files: readonly PayloadFile[], contents: readonly Uint8Array[]): Promise<string> {
  const parts = [new TextEncoder().encode(JSON.stringify(files)), ...contents];
  const digest = await crypto.subtle.digest("SHA-256", await new Blob(parts as BlobPart[]).arrayBuffer());
  return encodeHex(new Uint8Array(digest, 0, 16));
}

/** Paths of the files below `folder`, relative to it, in order. */
function listFiles(folder: string, below = folder): string[] {
  return [...Deno.readDirSync(below)].flatMap((found) => {
    const path = join(below, found.name);
    return found.isDirectory ? listFiles(folder, path) : [relative(folder, path)];
  }).sort();
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.copyFile(from, to);
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function deno(purpose: string, args: readonly string[]): Promise<string> {
  return stdoutOf(purpose, Deno.execPath(), args, root);
}
