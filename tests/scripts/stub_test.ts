/**
 * The stub of a packed file, run for real: the payload is tiny, and in Deno's place stands a shell script that tells
 * what it was started with.
 */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { join } from "node:path";

import { launcher, programPath, runtimePath, stub, type StubInputs } from "../../scripts/lib/stub.ts";

const contents: Record<string, string> = {
  [runtimePath]:
    '#!/bin/sh\nfor last; do :; done\nprintf "%s|" "$last" "$#" "$DENO_DIR" "${TRACKWAY_CACHE-none}" "${PATH-none}"\n' +
    "exit 7\n",
  [programPath]: "the program\n",
  "node_modules/@scope/addon/package.json": "{}\n",
};

/** A packed file is for Linux, and its stub counts on Linux's tools. */
function onLinux(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, ignore: Deno.build.os !== "linux" });
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** A packed file in a directory of its own, with a directory to unpack into. */
interface Bench extends AsyncDisposable {
  readonly file: string;
  readonly cache: string;
  /** Runs the packed file with nothing in its environment but `environment`. */
  start(environment?: Record<string, string>, ...args: string[]): Promise<Outcome>;
  /** The one directory that was unpacked. */
  unpacked(): string;
}

async function packed(change: Partial<StubInputs> = {}): Promise<Bench> {
  const dir = await Deno.makeTempDir({ prefix: "trackway stub " });
  const staging = join(dir, "staging");
  for (const [path, text] of Object.entries(contents)) {
    await Deno.mkdir(join(staging, path, ".."), { recursive: true });
    await Deno.writeTextFile(join(staging, path), text);
  }
  const sums = await new Deno.Command("cksum", { args: Object.keys(contents), cwd: staging }).output();
  const script = stub({
    version: "1.2.3",
    machine: "x86_64",
    loader: "/bin/sh",
    contentHash: "0123abcd",
    files: Object.entries(contents).map(([path, text]) => ({ path, size: text.length })),
    checksums: new TextDecoder().decode(sums.stdout),
    ...change,
  });
  const file = join(dir, "trackway");
  await Deno.writeTextFile(file, script + Object.values(contents).join(""), { mode: 0o755 });
  const cache = join(dir, "the cache");
  return {
    file,
    cache,
    start: (environment = { TRACKWAY_CACHE: cache }, ...args) => start(file, environment, args),
    unpacked: () => join(cache, "trackway-0123abcd"),
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

async function start(file: string, env: Record<string, string>, args: string[]): Promise<Outcome> {
  const { code, stdout, stderr } = await new Deno.Command(file, { args, env, clearEnv: true, cwd: "/" })
    .output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

async function names(dir: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name).sort();
}

onLinux("a packed file passes on its arguments as they are, and the exit code", async () => {
  await using bench = await packed();
  const { code, stdout, stderr } = await bench.start(undefined, "start", "--data", "a b  *");
  assertEquals({ code, stderr }, { code: 7, stderr: "" });
  assertEquals(stdout.split("|")[0], "a b  *");
});

onLinux("a packed file leaves the environment alone, but for its own variables", async () => {
  await using bench = await packed();
  const { stdout } = await bench.start({ TRACKWAY_CACHE: bench.cache, PATH: "/nowhere" });
  const [, , denoDir, cache, path] = stdout.split("|");
  assertEquals({ denoDir, cache, path }, {
    denoDir: join(bench.unpacked(), "deno-dir"),
    cache: "none",
    path: "/nowhere",
  });
});

onLinux("a packed file unpacks into a private directory, and only once", async () => {
  await using bench = await packed();
  await bench.start();
  assertEquals((await Deno.stat(bench.unpacked())).mode! & 0o777, 0o700);
  assertEquals(await Deno.readTextFile(join(bench.unpacked(), programPath)), contents[programPath]);
  const before = await Deno.stat(join(bench.unpacked(), programPath));
  await bench.start();
  assertEquals((await Deno.stat(join(bench.unpacked(), programPath))).ino, before.ino);
});

onLinux("a packed file unpacks below XDG_CACHE_HOME where TRACKWAY_CACHE is not set", async () => {
  await using bench = await packed();
  const { code } = await bench.start({ XDG_CACHE_HOME: bench.cache });
  assertEquals(code, 7);
  assertEquals(await names(join(bench.cache, "trackway")), ["trackway-0123abcd"]);
});

onLinux("first starts at the same time all work, and leave one directory", async () => {
  await using bench = await packed();
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => bench.start()));
  assertEquals(outcomes.map(({ code }) => code), Array(8).fill(7));
  assertEquals(await names(bench.cache), ["trackway-0123abcd"]);
});

onLinux("a packed file replaces what went missing from its directory", async () => {
  await using bench = await packed();
  await bench.start();
  await Deno.remove(join(bench.unpacked(), "node_modules"), { recursive: true });
  await Deno.remove(join(bench.unpacked(), runtimePath));
  const { code, stderr } = await bench.start();
  assertEquals({ code, stderr }, { code: 7, stderr: "" });
  assertEquals(
    await Deno.readTextFile(join(bench.unpacked(), "node_modules/@scope/addon/package.json")),
    "{}\n",
  );
  assertEquals(await names(bench.cache), ["trackway-0123abcd"]);
});

onLinux("a packed file refuses a directory that is a link", async () => {
  await using bench = await packed();
  await Deno.mkdir(bench.cache);
  await Deno.mkdir(`${bench.cache} elsewhere`);
  await Deno.symlink(`${bench.cache} elsewhere`, bench.unpacked());
  const { code, stderr } = await bench.start();
  assertEquals(code, 1);
  assert(stderr.includes("belongs to another user, is open to others, or is a link"), stderr);
});

onLinux("a packed file that is cut short or altered is refused, and nothing of it stays", async () => {
  await using bench = await packed();
  const bytes = await Deno.readFile(bench.file);
  const altered = bytes.slice();
  altered[altered.length - 5] ^= 1;
  for (const damaged of [bytes.subarray(0, bytes.length - 4), altered]) {
    await Deno.writeFile(bench.file, damaged);
    const { code, stderr } = await bench.start();
    assertEquals(code, 1);
    assert(stderr.includes("is damaged"), stderr);
    assertEquals(await names(bench.cache), []);
  }
});

onLinux("a packed file says which machine it is for when the loader is missing", async () => {
  await using bench = await packed({ loader: "/lib/no-such-loader" });
  const { code, stderr } = await bench.start();
  assertEquals(code, 1);
  assert(stderr.startsWith("trackway: this file is for Linux on x86_64 with glibc"), stderr);
});

onLinux("a packed file says in one line why it cannot unpack", async () => {
  await using bench = await packed();
  await Deno.writeTextFile(bench.cache, "a file in the way");
  const { code, stderr } = await bench.start();
  assertEquals(code, 1);
  assertEquals(
    stderr,
    `trackway: cannot unpack; cannot make ${bench.cache}. TRACKWAY_CACHE can name a directory for it\n`,
  );
});

Deno.test("stub() begins the payload at a page, and refuses a name that a shell would take apart", () => {
  const inputs = { version: "1", machine: "m", loader: "/l", contentHash: "0", checksums: "" };
  assertEquals(stub({ ...inputs, files: [{ path: runtimePath, size: 1 }] }).length % 4096, 0);
  assertThrows(() => stub({ ...inputs, files: [{ path: "a b", size: 1 }] }), Error, "Cannot pack a b");
});

onLinux("launcher() starts the files beside it, also when it is started by a link to it", async () => {
  await using bench = await packed();
  await bench.start();
  const script = join(bench.unpacked(), "trackway");
  await Deno.writeTextFile(script, launcher(), { mode: 0o755 });
  const link = join(bench.cache, "link");
  await Deno.symlink(script, link);
  for (const path of [script, link]) {
    const { code, stdout } = await start(path, {}, ["version"]);
    const [last, , denoDir] = stdout.split("|");
    assertEquals({ code, last, denoDir }, {
      code: 7,
      last: "version",
      denoDir: join(bench.unpacked(), "deno-dir"),
    });
  }
});
