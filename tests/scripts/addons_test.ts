/** Which packages stay out of the bundle: made-up npm caches, and what the plan says. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";

import { isKeptFile, type NpmPackage, type PackageOnDisk, planAddons } from "../../scripts/lib/addons.ts";

const platform = { os: "linux", cpu: "x64", libc: "glibc" };

/** A cache of packages: what each depends on and has on disk, or null for one that is not there. */
function cache(packages: Record<string, { needs?: string[]; has: PackageOnDisk | null }>) {
  const listed: Record<string, NpmPackage> = {};
  for (const [key, { needs = [] }] of Object.entries(packages)) {
    const [name, version] = key.split("@");
    listed[key] = { name, version, dependencies: needs, localPath: key };
  }
  return { listed, onDisk: (npmPackage: NpmPackage) => packages[npmPackage.localPath].has };
}

function plan(packages: Parameters<typeof cache>[0]): { external: readonly string[]; kept: string[] } {
  const { listed, onDisk } = cache(packages);
  const { external, kept } = planAddons(listed, onDisk, platform);
  return { external, kept: kept.map(({ name }) => name) };
}

Deno.test("planAddons() keeps an addon and its loader, and bundles whoever uses the loader", () => {
  assertEquals(
    plan({
      "app@1": { needs: ["loader@1"], has: { files: ["index.js"] } },
      "loader@1": { needs: ["addon@1"], has: { files: ["index.js"] } },
      "addon@1": { has: { files: ["lib/it.node"] } },
      "plain@1": { has: { files: ["index.js"] } },
    }),
    { external: ["addon", "loader"], kept: ["addon", "loader"] },
  );
});

Deno.test("planAddons() leaves out addons of other platforms, and packages that are not in the cache", () => {
  assertEquals(
    plan({
      "loader@1": { needs: ["glibc@1", "musl@1", "arm@1", "mac@1", "gone@1"], has: { files: ["index.js"] } },
      "glibc@1": { has: { files: ["a.node"], os: ["linux"], cpu: ["x64"], libc: ["glibc"] } },
      "musl@1": { has: { files: ["a.node"], os: ["linux"], cpu: ["x64"], libc: ["musl"] } },
      "arm@1": { has: { files: ["a.node"], os: ["linux"], cpu: ["arm64"] } },
      "mac@1": { has: { files: ["a.node"], os: ["darwin"] } },
      "gone@1": { has: null },
    }),
    { external: ["glibc", "loader"], kept: ["glibc", "loader"] },
  );
});

Deno.test("planAddons() keeps what a loader needs besides its addon, but lets the bundle have it too", () => {
  assertEquals(
    plan({
      "loader@1": { needs: ["addon@1", "helper@1"], has: { files: ["index.js"] } },
      "addon@1": { has: { files: ["a.node"] } },
      "helper@1": { needs: ["deeper@1"], has: { files: ["index.js"] } },
      "deeper@1": { needs: ["helper@1"], has: { files: ["index.js"] } },
    }),
    { external: ["addon", "loader"], kept: ["addon", "deeper", "helper", "loader"] },
  );
});

Deno.test("planAddons() refuses two versions of a package that must lie in one place", () => {
  const packages = {
    "one@1": { needs: ["addon@1"], has: { files: ["index.js"] } },
    "two@1": { needs: ["addon@2"], has: { files: ["index.js"] } },
    "addon@1": { has: { files: ["a.node"] } },
    "addon@2": { has: { files: ["a.node"] } },
  };
  assertThrows(() => plan(packages), Error, "Cannot lay out addon");
});

Deno.test("isKeptFile() drops types, source maps and prose, and keeps programs and licences", () => {
  const files = [
    "index.js",
    "main.d.ts",
    "a.d.mts",
    "x.node",
    "package.json",
    "README.md",
    "LICENSE.md",
    "a.js.map",
  ];
  assertEquals(files.filter(isKeptFile), ["index.js", "x.node", "package.json", "LICENSE.md"]);
});
