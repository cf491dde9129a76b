/**
 * The broker under test as a process that can be stopped, killed and started again on the same port and data:
 * Trackway, or the real Kafka (TEST_BROKER=kafka) to prove that a red step is Trackway's fault and not the test's.
 */

import { join, resolve } from "node:path";

import { BrokerProcess, FROM_SOURCE } from "../lib/broker_process.ts";

/** How a broker is told to go: an orderly stop, or the way a crash takes it. */
export type StopSignal = "SIGTERM" | "SIGKILL";

export interface Broker {
  /** host:port for clients. */
  readonly bootstrap: string;
  readonly name: string;
  /** Starts the process and waits until it answers ApiVersions; throws with the end of its log when it does not. */
  start(): Promise<void>;
  /** Sends a signal that does not end it, SIGSTOP or SIGCONT. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Stops the process and waits until it is gone. */
  stop(signal: StopSignal): Promise<void>;
  /** Why the process is not running although nobody stopped it, or null. */
  fault(): string | null;
}

export interface BrokerPaths {
  /** The checkout. */
  root: string;
  dataDir: string;
  logFile: string;
  /** What goes before the broker's own command, as to put it into a namespace. */
  prefix?: readonly string[];
}

/**
 * The broker that the environment asks for: TEST_BROKER=kafka, TRACKWAY_BINARY, or Trackway from source; with these
 * settings, which have the same names in both.
 */
export function brokerFromEnv(paths: BrokerPaths, settings: Record<string, string> = {}): Broker {
  const kind = Deno.env.get("TEST_BROKER") ?? "trackway";
  const port = Number(Deno.env.get("TEST_PORT") ?? freePort());
  if (kind === "kafka") return new Kafka(port, paths, settings);
  if (kind !== "trackway") throw new Error(`TEST_BROKER is ${kind}, expected trackway or kafka`);
  return new Trackway(port, paths, settings);
}

class Trackway implements Broker {
  readonly bootstrap: string;
  readonly name: string;
  #process: BrokerProcess | null = null;

  constructor(private port: number, private paths: BrokerPaths, private settings: Record<string, string>) {
    this.bootstrap = `localhost:${port}`;
    this.name = `Trackway (${Deno.env.get("TRACKWAY_BINARY") ?? "from source"})`;
  }

  async start(): Promise<void> {
    const binary = Deno.env.get("TRACKWAY_BINARY");
    this.#process = await BrokerProcess.start(this.paths.dataDir, this.port, {
      host: null,
      logFile: this.paths.logFile,
      args: Object.entries(this.settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]),
      command: [
        ...(this.paths.prefix ?? []),
        ...(binary ? [resolve(this.paths.root, binary)] : FROM_SOURCE),
      ],
    });
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#process?.signal(signal);
  }

  async stop(signal: StopSignal): Promise<void> {
    const process = this.#process;
    if (!process) return;
    this.#process = null;
    const { code } = await process.end(signal);
    if (signal === "SIGTERM" && code !== 0) {
      throw new Error(process.described(`Trackway ended with ${code} after SIGTERM`));
    }
  }

  fault(): string | null {
    const ending = this.#process?.ending;
    return ending ? this.#process!.described(`Trackway ended by itself with ${ending.code}`) : null;
  }
}

/** The real one, through the script at KAFKA_BASELINE: `start PORT DATADIR`, `stop PORT`. */
class Kafka implements Broker {
  readonly bootstrap: string;
  readonly name = "Apache Kafka";
  #pid: number | null = null;
  #controllerPort = freePort();

  constructor(private port: number, private paths: BrokerPaths, private settings: Record<string, string>) {
    this.bootstrap = `localhost:${port}`;
    const configured = Deno.env.get("KAFKA_BASELINE_CONTROLLER_PORT");
    if (configured) this.#controllerPort = Number(configured);
  }

  async start(): Promise<void> {
    const said = await this.script("start", String(this.port), this.paths.dataDir);
    this.#pid = Number(said.match(/pid (\d+)/)?.[1]);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (this.#pid !== null) Deno.kill(this.#pid, signal);
  }

  async stop(signal: StopSignal): Promise<void> {
    if (this.#pid === null) return;
    if (signal === "SIGKILL") Deno.kill(this.#pid, "SIGKILL");
    await this.script("stop", String(this.port));
    this.#pid = null;
  }

  fault(): string | null {
    if (this.#pid === null || isAlive(this.#pid)) return null;
    return `Kafka ended by itself; its log is ${join(this.paths.dataDir, "server.out")}`;
  }

  private async script(...args: string[]): Promise<string> {
    const script = Deno.env.get("KAFKA_BASELINE") ??
      join(this.paths.root, "../shared/tools/kafka-baseline.sh");
    // the broker outlives the script and would hold a pipe open: what the script says goes through files
    const output = await Deno.makeTempFile();
    try {
      const { code } = await new Deno.Command("bash", {
        args: ["-c", `"$@" >"$0" 2>&1`, output, script, ...args],
        env: {
          KAFKA_HEAP_OPTS: "-Xmx512M -Xms256M",
          KAFKA_BASELINE_CONTROLLER_PORT: String(this.#controllerPort),
          KAFKA_BASELINE_PROPS: Object.entries(this.settings).map((setting) => setting.join("=")).join("\n"),
        },
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
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function isAlive(pid: number): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
