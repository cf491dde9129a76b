/** Apache Kafka as the broker that is asked: installed by Maven into .cache, one process, its data thrown away. */
import { join } from "node:path";
import { Client } from "../../src/client/client.ts";
import { once, root, run } from "../clients/install.ts";

export interface RunningKafka extends AsyncDisposable {
  readonly port: number;
}

const LATEST = "4.4.0";

/** What a Kafka alone on a machine needs to be told; a first member does not wait for others. */
const alone = {
  "process.roles": "broker,controller",
  "node.id": "1",
  "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
  "controller.listener.names": "CONTROLLER",
  "offsets.topic.replication.factor": "1",
  "transaction.state.log.replication.factor": "1",
  "transaction.state.log.min.isr": "1",
  "share.coordinator.state.topic.replication.factor": "1",
  "share.coordinator.state.topic.min.isr": "1",
  "group.initial.rebalance.delay.ms": "0",
};

const java = (libDir: string, className: string, args: string[], heap = "-Xmx512M") => ({
  program: "java",
  args: [heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", `${libDir}/*`, className, ...args],
});

/**
 * Starts the release with these settings, in which "<dir>" stands for a directory of its own; needs Java 17 or newer and,
 * the first time, Maven.
 */
export async function startKafka(
  release: string = LATEST,
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningKafka> {
  const libDir = await install(release);
  const directory = await Deno.makeTempDir({ prefix: "differential-kafka-" });
  const port = freePort(), controller = freePort();
  const listeners = `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`;
  const properties = {
    ...alone,
    "controller.quorum.bootstrap.servers": `127.0.0.1:${controller}`,
    listeners,
    "advertised.listeners": listeners,
    "log.dirs": join(directory, "log"),
    ...settings,
  };
  const file = join(directory, "server.properties");
  await Deno.writeTextFile(
    file,
    Object.entries(properties).map(([k, v]) => `${k}=${v.replaceAll("<dir>", directory)}\n`).join(""),
  );
  const storage = (args: string[]) => {
    const { program, args: all } = java(libDir, "kafka.tools.StorageTool", args);
    return run(program, all);
  };
  const id = (await storage(["random-uuid"])).trim().split("\n").at(-1)!;
  await storage(["format", "--standalone", "--cluster-id", id, "--config", file]);
  const { program, args } = java(libDir, "kafka.Kafka", [file]);
  const child = new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
  let exit: Deno.CommandStatus | null = null;
  const status = child.status.then((ended) => exit = ended);
  const stop = async () => {
    if (exit === null) child.kill("SIGTERM");
    await status;
    await Deno.remove(directory, { recursive: true });
  };
  while (!await listens(port)) {
    if (exit !== null) throw new Error(`Kafka ${release} ended with ${(exit as Deno.CommandStatus).code}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { port, [Symbol.asyncDispose]: stop };
}

async function install(release: string): Promise<string> {
  const pom = join(root, "tests/differential/kafka-pom.xml"),
    libDir = join(root, ".cache/kafka", release, "lib");
  await once(`kafka-${release}`, await Deno.readTextFile(pom), async () => {
    await run("mvn", [
      ...["-B", "-q", "-f", pom, `-Dkafka.version=${release}`, `-DoutputDirectory=${libDir}`],
      ...[
        "-DincludeScope=runtime",
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies",
      ],
    ]);
  });
  return libDir;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function listens(port: number): Promise<boolean> {
  try {
    await (await Client.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}
