/**
 * The brokers that are compared, as processes: Trackway from a checkout, and Apache Kafka through the baseline script
 * or from a home of one's own. Each writes to a directory of its own and is asked for ApiVersions until it answers.
 */
import { v8Flags } from "../../scripts/lib/v8_flags.ts";
import { join } from "node:path";
import { exists } from "./paths.ts";
import { isAlive, processStat, uptimeSeconds } from "./process_stats.ts";

/** A broker that answers. */
export interface RunningBroker {
  readonly pid: number;
  readonly port: number;
  /** Where its data is; segments are in folders of their partitions somewhere below. */
  readonly directory: string;
  /** From the start of its process (of a start script, where that becomes the process) to its first answer. */
  readonly startMs: number;
  stop(): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Resolves when the process is gone, however; absent where that cannot be known. */
  readonly ended?: Promise<unknown>;
}

export interface BrokerKind {
  readonly name: string;
  /**
   * Starts it on `port` (and `port + 1` for a controller), with its data in `directory`; resolves when it answers.
   * `environment` is for this start alone.
   */
  start(port: number, directory: string, environment?: Environment): Promise<RunningBroker>;
}

export type Environment = Readonly<Record<string, string>>;

/** Kafka with ten thousand partitions on a busy machine takes minutes. */
const START_PATIENCE_MS = 600_000;
/** What Kafka gets in the comparison unless KAFKA_HEAP_OPTS says otherwise: enough for every scenario here. */
const KAFKA_HEAP = "-Xmx512M -Xms256M";

/** Trackway as `deno task start` runs it, or the executable that TRACKWAY_BINARY names. */
export function trackway(checkout: string, name = "Trackway"): BrokerKind {
  const binary = Deno.env.get("TRACKWAY_BINARY");
  const command = binary ? [binary] : [Deno.execPath(), "run", "-A", `--v8-flags=${v8Flags}`, "src/main.ts"];
  return {
    name,
    start: (port, directory, env = {}) =>
      spawned(
        [...command, "start", "--port", String(port), "--data", directory, "--log-level", "warning"],
        { cwd: checkout, env },
        { port, directory, logFile: join(directory, "..", `${name.toLowerCase()}.out`) },
      ),
  };
}

/** The least that can be done here: bench/floor.ts. */
export function floor(checkout: string): BrokerKind {
  return {
    name: "Floor",
    start: (port, directory) =>
      spawned(
        [Deno.execPath(), "run", "-A", join(checkout, "bench/floor.ts"), String(port), directory],
        { cwd: checkout },
        { port, directory, logFile: `${directory}.out` },
      ),
  };
}

/** Apache Kafka from KAFKA_HOME or else through the script that KAFKA_BASELINE names. */
export function kafka(checkout: string): BrokerKind {
  const home = Deno.env.get("KAFKA_HOME");
  return home ? kafkaHome(home) : kafkaScript(scriptPath(checkout));
}

function scriptPath(checkout: string): string {
  return Deno.env.get("KAFKA_BASELINE") ?? join(checkout, "../shared/tools/kafka-baseline.sh");
}

/** Why there is no Kafka to compare with, and the way out; null where there is one. */
export async function missingKafka(checkout: string): Promise<string | null> {
  const home = Deno.env.get("KAFKA_HOME"), script = Deno.env.get("KAFKA_BASELINE");
  const needed = home ? join(home, "bin/kafka-server-start.sh") : scriptPath(checkout);
  if (await exists(needed)) return null;
  const why = home || script ? `there is no ${needed}` : "neither is set";
  return `finds no Kafka to compare with: set KAFKA_HOME to an unpacked Apache Kafka, or KAFKA_BASELINE to a script ` +
    `that starts one (${why})`;
}

function kafkaScript(script: string): BrokerKind {
  return {
    name: "Kafka",
    async start(port, directory, environment) {
      // Asked beside the script, which looks around once more before it says that the broker is up.
      let failure: string | null = null;
      const [{ uptime }, said] = await Promise.all([
        firstAnswer(port, () => failure),
        runScript(script, ["start", String(port), directory], port, environment).catch((error) => {
          failure = error.message;
          throw error;
        }),
      ]);
      const pid = Number(/pid (\d+)/.exec(said)?.[1]);
      if (!(pid > 0)) throw new Error(`${script} did not say the pid: ${said}`);
      return {
        pid,
        port,
        directory,
        // Not from the start of the script, which looks around first. In steps of 10 ms.
        startMs: (uptime - processStat(pid).startedSeconds) * 1000,
        async stop() {
          await runScript(script, ["stop", String(port)], port);
        },
        async kill() {
          Deno.kill(pid, "SIGKILL");
          // It is not a child of ours that could be waited for.
          while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
        },
      };
    },
  };
}

/** Runs the script; its output goes through a file, because the broker would keep a pipe open. */
async function runScript(
  script: string,
  args: string[],
  port: number,
  environment: Environment = {},
): Promise<string> {
  const output = await Deno.makeTempFile();
  try {
    const { code } = await new Deno.Command("bash", {
      args: ["-c", `"$@" >"$0" 2>&1`, output, script, ...args],
      env: { ...kafkaEnvironment(), ...environment, KAFKA_BASELINE_CONTROLLER_PORT: String(port + 1) },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    const said = await Deno.readTextFile(output);
    if (code !== 0) throw new Error(`${script} ${args.join(" ")} ended with ${code}:\n${said}`);
    return said;
  } finally {
    await Deno.remove(output);
  }
}

function kafkaEnvironment(): Record<string, string> {
  return {
    KAFKA_HEAP_OPTS: Deno.env.get("KAFKA_HEAP_OPTS") ?? KAFKA_HEAP,
    KAFKA_BASELINE_START_TIMEOUT: String(START_PATIENCE_MS / 1000),
  };
}

function kafkaHome(home: string): BrokerKind {
  return {
    name: "Kafka",
    async start(port, directory, environment = {}) {
      const properties = join(directory, "server.properties");
      await Deno.mkdir(directory, { recursive: true });
      await Deno.writeTextFile(properties, kafkaProperties(port, join(directory, "log")));
      await formatOnce(home, directory, properties);
      return spawned(
        [join(home, "bin/kafka-server-start.sh"), properties],
        { env: { ...kafkaEnvironment(), ...environment } },
        { port, directory, logFile: join(directory, "server.out") },
      );
    },
  };
}

async function formatOnce(home: string, directory: string, properties: string): Promise<void> {
  if (await exists(join(directory, "log/meta.properties"))) return;
  const storage = join(home, "bin/kafka-storage.sh");
  const id = await toolOutput(storage, ["random-uuid"]);
  const format = ["format", "--standalone", "--cluster-id", id.trim(), "--config", properties];
  await toolOutput(storage, format);
}

async function toolOutput(program: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}:\n${text(stderr)}`);
  return text(stdout);
}

function kafkaProperties(port: number, logDirectory: string): string {
  const controller = port + 1;
  return `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs=${logDirectory}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`;
}

/** Starts a process of our own, whose output goes to `logFile`. */
async function spawned(
  [program, ...args]: string[],
  options: Deno.CommandOptions,
  { port, directory, logFile }: { port: number; directory: string; logFile: string },
): Promise<RunningBroker> {
  const before = performance.now();
  // exec, so that the process that is measured is the broker's own and not a shell's.
  const child = new Deno.Command("bash", {
    ...options,
    args: ["-c", `exec "$@" >>"$0" 2>&1`, logFile, program, ...args],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let exit: Deno.CommandStatus | null = null;
  const status = child.status.then((ended) => exit = ended);
  try {
    await firstAnswer(port, () => exit && `it ended with ${exit.code}:\n${Deno.readTextFileSync(logFile)}`);
  } catch (error) {
    if (exit === null) child.kill("SIGKILL");
    throw error;
  }
  const startMs = performance.now() - before;
  return {
    pid: child.pid,
    port,
    directory,
    startMs,
    ended: status,
    async stop() {
      if (exit === null) child.kill("SIGTERM");
      await status;
    },
    async kill() {
      if (exit === null) child.kill("SIGKILL");
      await status;
    },
  };
}

/** Asks for ApiVersions until there is an answer; gives the machine's uptime then. `ended` says why none will come. */
async function firstAnswer(port: number, ended: () => string | null): Promise<{ uptime: number }> {
  const deadline = performance.now() + START_PATIENCE_MS;
  while (!await answersApiVersions(port)) {
    const reason = ended();
    if (reason !== null) throw new Error(`the broker on port ${port} did not start: ${reason}`);
    if (performance.now() > deadline) throw new Error(`no answer on port ${port} in ${START_PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  return { uptime: uptimeSeconds() };
}

/** Whether an ApiVersions v0 request gets its correlation id and no error back. */
async function answersApiVersions(port: number): Promise<boolean> {
  const correlationId = 42;
  const request = new Uint8Array([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, correlationId, 0xff, 0xff]);
  try {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(request);
    const answer = new Uint8Array(10);
    for (let filled = 0; filled < answer.length;) {
      const read = await connection.read(answer.subarray(filled));
      if (read === null) return false;
      filled += read;
    }
    return answer[7] === correlationId && answer[8] === 0 && answer[9] === 0;
  } catch (error) {
    // Refused or reset: it is not up yet.
    if (error instanceof Deno.errors.ConnectionRefused || error instanceof Deno.errors.ConnectionReset) {
      return false;
    }
    throw error;
  }
}
