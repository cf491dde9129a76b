/** The schema registries of the course, each as a shell command with its settings in the environment. */

import { join } from "node:path";

import { once, root, run } from "../install.ts";

export interface Registry {
  /** By which it is selected and reported. */
  readonly name: string;
  /** What its API's paths begin with. */
  readonly path: string;
  /** Where to ask whether it takes schemas, and whether an answer there says so. */
  readonly readyPath: string;
  isReady(answer: string): boolean;
  /** The topic that it wants compacted, if it does. */
  readonly compactedTopic: string | null;
  /** Why it cannot be had here, or null. */
  missing(): string | null;
  install(): Promise<void>;
  start(bootstrap: string, port: number): { command: string; env: Record<string, string> };
}

/** The newest release for Java 17. Its database is in memory; what it is told is in a topic, which it reads at each start. */
const apicurio: Registry = {
  name: "apicurio",
  path: "/apis/ccompat/v7",
  readyPath: "/apis/ccompat/v7/subjects",
  isReady: (answer) => answer.startsWith("["),
  compactedTopic: null,
  missing: () => null,
  install: installApicurio,
  start: (bootstrap, port) => ({
    command: `exec java -Xmx384M -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar ${apicurioDir}/*-runner.jar`,
    env: {
      QUARKUS_HTTP_HOST: "127.0.0.1",
      QUARKUS_HTTP_PORT: String(port),
      APICURIO_STORAGE_KIND: "kafkasql",
      APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: bootstrap,
    },
  }),
};

const apicurioDir = ".cache/clients/java/apicurio";
const apicurioArtifact = "io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all";

async function installApicurio(): Promise<void> {
  await once("apicurio", apicurioArtifact, async () => {
    const dir = join(root, apicurioDir);
    await Deno.mkdir(dir, { recursive: true });
    const archive = join(dir, "all.tar.gz");
    // the plugin's release that can do without the parent's pom, which Maven does not have
    const get = "org.apache.maven.plugins:maven-dependency-plugin:2.8:get";
    const what = [`-Dartifact=${apicurioArtifact}`, "-Dtransitive=false", `-Ddest=${archive}`];
    await run("mvn", ["-B", "-q", get, ...what]);
    await run("tar", ["xzf", archive, "-C", dir]);
    await Deno.remove(archive);
  });
}

/** Its master is elected by a consumer group. KARAPACE says how to start it, as no package registry has it. */
const karapace: Registry = {
  name: "karapace",
  path: "",
  readyPath: "/master_available",
  isReady: (answer) => answer.includes("true"),
  compactedTopic: "_schemas",
  missing: () =>
    Deno.env.has("KARAPACE")
      ? null
      : "KARAPACE does not say how to start it, and no registry of packages has it",
  install: () => Promise.resolve(),
  start: (bootstrap, port) => ({
    command: Deno.env.get("KARAPACE")!,
    env: {
      KARAPACE_BOOTSTRAP_URI: bootstrap,
      KARAPACE_HOST: "127.0.0.1",
      KARAPACE_PORT: String(port),
      KARAPACE_ADVERTISED_HOSTNAME: "127.0.0.1",
      KARAPACE_KARAPACE_REGISTRY: "true",
      KARAPACE_LOG_LEVEL: "INFO",
      KARAPACE_SESSION_TIMEOUT_MS: "6000",
      KARAPACE_WAITING_TIME_BEFORE_ACTING_AS_MASTER_MS: "500",
    },
  }),
};

export const registries: readonly Registry[] = [apicurio, karapace];
