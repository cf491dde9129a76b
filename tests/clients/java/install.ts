/**
 * Installs Kafka's own Java clients of some releases, compiled with the adapters, and Kafka's command-line tools, into
 * .cache/clients/java/{2.3,3.9,4.4,tools}.
 */

import { join } from "node:path";

import { once, root, run } from "../install.ts";

const cacheDir = ".cache/clients/java";
const adapter = ["ClientAdapter.java", "Pump.java", "Workload.java"];
const transactions = ["Transactions.java", "Transform.java"];
/** Versions, and what is compiled with each. 2.3 has no transactions that know of a group's members (KIP-447). */
const releases = {
  "2.3": { version: "2.3.1", sources: [...transactions, "offsets-of-group/Group.java"] },
  "3.9": { version: "3.9.1", sources: [...adapter, ...transactions, "offsets-of-member/Group.java"] },
  "4.4": { version: "4.4.0", sources: [...adapter, ...transactions, "offsets-of-member/Group.java"] },
} as const;
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/** Options for programs that live for a second: a small heap, no second compiler, warnings only, on stderr. */
const jvmOptions = [
  "-Xmx256M",
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xshare:auto",
]
  .concat("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");

/** How to run an adapter with the clients of a release, relative to the checkout. */
export function command(
  release: keyof typeof releases,
  program: "ClientAdapter" | "Transactions" | "Workload" = "ClientAdapter",
): string[] {
  const dir = `${cacheDir}/${release}`;
  return [
    "java",
    ...jvmOptions,
    "-cp",
    `${dir}/classes:${dir}/lib/*`,
    program,
  ];
}

/** How to run a class of Kafka's tools, relative to the checkout; its arguments follow. */
export function toolCommand(className: string): string[] {
  return ["java", ...jvmOptions, "-cp", `${cacheDir}/tools/lib/*`, className];
}

/** All releases' clients. Needs a JDK of 17 or newer, and Maven. */
export async function install(): Promise<void> {
  const here = join(root, "tests/clients/java");
  const java = await javaVersion();
  const pom = await Deno.readTextFile(join(here, "clients-pom.xml"));
  for (const [release, { version, sources }] of Object.entries(releases)) {
    const paths = sources.map((name) => join(here, name));
    const source = (await Promise.all(paths.map((path) => Deno.readTextFile(path)))).join("\0");
    const dir = join(root, cacheDir, release);
    await once(
      `java-${release}-lib`,
      `${version}\0${pom}`,
      () =>
        resolve(join(here, "clients-pom.xml"), join(dir, "lib"), [
          `-Dkafka.version=${version}`,
        ]),
    );
    await once(
      `java-${release}-classes`,
      [java, version, pom, source].join("\0"),
      async () => {
        const quiet = ["-nowarn", "-Xlint:none", "-Xlint:-removal"]; // see the adapter's head
        const classes = join(dir, "classes");
        await run("javac", [
          ...quiet,
          "-cp",
          join(dir, "lib/*"),
          "-d",
          classes,
          ...paths,
        ]);
      },
    );
  }
}

/** Kafka's command-line tools. Needs Java and Maven. */
export async function installTools(): Promise<void> {
  await javaVersion();
  const pom = join(root, "tests/clients/java/tools-pom.xml");
  await once(
    "java-tools-lib",
    await Deno.readTextFile(pom),
    () => resolve(pom, join(root, cacheDir, "tools/lib"), []),
  );
}

/** How to run a class of what {@link installProgram} made, relative to the checkout; its arguments follow. */
export function programCommand(name: string, className: string): string[] {
  const dir = `${cacheDir}/${name}`;
  return ["java", ...jvmOptions, "-cp", `${dir}/classes:${dir}/lib/*`, className];
}

/** What the pom in a folder of tests/clients depends on, and the Java sources beside it, compiled with that. */
export async function installProgram(name: string, sources: readonly string[]): Promise<void> {
  const here = join(root, "tests/clients", name);
  const java = await javaVersion();
  const pom = join(here, "pom.xml");
  const dir = join(root, cacheDir, name);
  const pomText = await Deno.readTextFile(pom);
  await once(`java-${name}-lib`, pomText, () => resolve(pom, join(dir, "lib"), []));
  const paths = sources.map((source) => join(here, source));
  const texts = await Promise.all(paths.map((path) => Deno.readTextFile(path)));
  await once(`java-${name}-classes`, [java, pomText, ...texts].join("\0"), async () => {
    await Deno.mkdir(join(dir, "classes"), { recursive: true });
    await run("javac", ["-Xlint:all", "-cp", join(dir, "lib/*"), "-d", join(dir, "classes"), ...paths]);
  });
}

/** Copies what a pom depends on into `libDir`, which holds nothing else then. */
async function resolve(
  pom: string,
  libDir: string,
  properties: string[],
): Promise<void> {
  await Deno.remove(libDir, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  const where = [`-DoutputDirectory=${libDir}`, "-DincludeScope=runtime"];
  await run("mvn", [
    "-B",
    "-q",
    "-f",
    pom,
    copyDependencies,
    ...where,
    ...properties,
  ]);
}

async function javaVersion(): Promise<string> {
  const version = (await run("javac", ["-version"])).trim();
  const major = Number(version.match(/^javac (\d+)/)?.[1] ?? 0);
  if (major < 17) {
    throw new Error(`javac says "${version}", a JDK of 17 or newer is needed`);
  }
  return version;
}
