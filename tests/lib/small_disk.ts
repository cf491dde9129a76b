/**
 * A disk that is soon full: a small tmpfs. Root mounts it; others get it in namespaces of their own, which a broker
 * enters by `prefix` and which the test looks into from outside.
 */
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";

export interface SmallDisk extends AsyncDisposable {
  /** The disk as a process with `prefix` sees it. */
  readonly path: string;
  /** The disk as the test sees it. */
  readonly outside: string;
  /** What goes before the command of a process that is to see the disk. */
  readonly prefix: readonly string[];
}

/** Mounts a disk. Throws with the reason where the system lets nobody do that. */
export async function smallDisk(bytes: number): Promise<SmallDisk> {
  const path = await Deno.makeTempDir({ prefix: "trackway-disk-" });
  const mount = ["mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path];
  const refusal = await refusalOf(mount);
  if (refusal === null) return mountedDisk(path);
  try {
    return await namespacedDisk(path, mount);
  } catch (error) {
    await Deno.remove(path);
    throw new Error(
      `Cannot mount a small disk, neither as this user (${refusal}) nor in a user namespace (${
        (error as Error).message
      })`,
      { cause: error },
    );
  }
}

/**
 * Why small disks cannot be had here, or null. Whoever tests on such a system leaves out the tests that need one; in CI
 * (the variable CI is set) they are run and fail, so that nobody believes that they passed.
 */
export async function whyNoSmallDisk(): Promise<string | null> {
  if (Deno.build.os !== "linux") return `${Deno.build.os} has no tmpfs`;
  try {
    await using _ = await smallDisk(1 << 20);
    return null;
  } catch (error) {
    return Deno.env.has("CI") ? null : (error as Error).message;
  }
}

/** Writes until not one byte more fits. Gives the path of what has to go to make room. */
export async function fillUp(directory: string): Promise<string> {
  const path = join(directory, "ballast");
  using file = await Deno.open(path, { create: true, append: true });
  for (let bytes = 1 << 20; bytes >= 1;) {
    try {
      if (await file.write(new Uint8Array(bytes)) < bytes) bytes >>= 1;
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
      bytes >>= 1;
    }
  }
  return path;
}

function mountedDisk(path: string): SmallDisk {
  return {
    path,
    outside: path,
    prefix: [],
    async [Symbol.asyncDispose]() {
      const refusal = await refusalOf(["umount", path]);
      assert(refusal === null, `Cannot unmount ${path}: ${refusal}`);
      await Deno.remove(path);
    },
  };
}

/** The namespaces live as long as a process in them does, and the disk as long as they do. */
async function namespacedDisk(path: string, mount: readonly string[]): Promise<SmallDisk> {
  const script = `"$@" && echo mounted && exec cat`;
  const holder = new Deno.Command("unshare", {
    args: ["--map-root-user", "--mount", "sh", "-c", script, "sh", ...mount],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const said = holder.stdout.getReader();
  const { value, done } = await said.read();
  if (done || !new TextDecoder().decode(value).startsWith("mounted")) {
    const reason = new TextDecoder().decode(await new Response(holder.stderr).bytes());
    await Promise.all([holder.status, said.cancel(), holder.stdin.close()]);
    throw new Error(reason.trim() || "it was refused");
  }
  return {
    path,
    outside: `/proc/${holder.pid}/root${path}`,
    prefix: [
      ...["nsenter", "--target", String(holder.pid), "--user", "--mount", "--preserve-credentials"],
      `--wd=${Deno.cwd()}`,
    ],
    async [Symbol.asyncDispose]() {
      await holder.stdin.close();
      await Promise.all([holder.status, said.cancel(), holder.stderr.cancel()]);
      await Deno.remove(path);
    },
  };
}

/** What a command says when it fails; null when it does not. */
async function refusalOf([program, ...args]: readonly string[]): Promise<string | null> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  return success ? null : new TextDecoder().decode(stderr).trim();
}
