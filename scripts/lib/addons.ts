/**
 * Which npm packages cannot go into the bundle: those with a native addon, because the loader beside an addon looks for
 * it as a file. They are found by what lies in the npm cache, so a new dependency with an addon needs no line here.
 */

/** One entry of `npmPackages` in what `deno info --json` prints. Its key there is `name@version`. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** Keys of other entries, optional dependencies for other platforms among them. */
  readonly dependencies: readonly string[];
  /** Its folder in the npm cache; missing for a package of another platform. */
  readonly localPath: string;
}

/** What decides, of a package that is on disk. */
export interface PackageOnDisk {
  /** Relative to the package's folder. */
  readonly files: readonly string[];
  /** Of its package.json: where it runs; nothing said means everywhere. */
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/** The platform that is packed for, in npm's words. */
export interface Platform {
  readonly os: string;
  readonly cpu: string;
  readonly libc: string;
}

/** `external` are package names to leave out of the bundle; `kept` is all that these need, to be laid beside it. */
export interface AddonPlan {
  readonly external: readonly string[];
  readonly kept: readonly NpmPackage[];
}

/** Plans the addons. `onDisk` gives null for a package that is not there. Throws when two versions of one are needed. */
export function planAddons(
  packages: Readonly<Record<string, NpmPackage>>,
  onDisk: (npmPackage: NpmPackage) => PackageOnDisk | null,
  platform: Platform,
): AddonPlan {
  const here = new Map<string, PackageOnDisk>();
  for (const [key, npmPackage] of Object.entries(packages)) {
    const found = onDisk(npmPackage);
    if (found && runsOn(found, platform)) here.set(key, found);
  }
  const isNative = (key: string) => here.get(key)?.files.some((file) => file.endsWith(".node")) ?? false;
  // The loader of an addon is its direct dependent; whoever uses the loader may be bundled.
  const externalKeys = [...here.keys()].filter((key) =>
    isNative(key) || packages[key].dependencies.some(isNative)
  );

  const kept = new Map<string, NpmPackage>();
  const waiting = [...externalKeys];
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const npmPackage = packages[key];
    const other = kept.get(npmPackage.name);
    if (other === npmPackage || !here.has(key)) continue;
    if (other) {
      throw new Error(
        `Cannot lay out ${npmPackage.name}: both ${other.version} and ${npmPackage.version} are needed`,
      );
    }
    kept.set(npmPackage.name, npmPackage);
    waiting.push(...npmPackage.dependencies);
  }
  return {
    external: externalKeys.map((key) => packages[key].name).sort(),
    kept: [...kept.values()].sort((a, b) => a.name < b.name ? -1 : 1),
  };
}

function runsOn(found: PackageOnDisk, platform: Platform): boolean {
  const allows = (list: readonly string[] | undefined, value: string) => !list || list.includes(value);
  return allows(found.os, platform.os) && allows(found.cpu, platform.cpu) &&
    allows(found.libc, platform.libc);
}

/** Whether a file of a package is of use at run time; licence texts are, since they must travel along. */
export function isKeptFile(path: string): boolean {
  return !/(\.d\.[cm]?ts|\.map|\.md|\.ts)$/i.test(path) || /licen[cs]e/i.test(path);
}
