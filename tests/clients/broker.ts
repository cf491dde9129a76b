/**
 * The broker under test as a process that can be stopped, killed and started again on the same port and data:
 * Trackway, or the real Kafka (TEST_BROKER=kafka) to prove that a red step is Trackway's fault and not the test's.
 */

import { v8Flags } from "../../scripts/lib/v8_flags.ts";
import { join } from "node:path";

import { Changes, tail } from "./waiting.ts";

/** How a broker is told to go: an orderly stop, or the way a crash takes it. */
export type StopSignal = "SIGTERM" | "SIGKILL";

export interface Broker {
  /** host:port for clients. */
  readonly bootstrap: string;
  readonly name: string;
  /** Starts the process and waits until it answers ApiVersions; throws with the end of its log when it does not. */
  start(): Promise<void>;
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
}

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;

/** The broker that the environment asks for: TEST_BROKER=kafka, TRACKWAY_BINARY, or Trackway from source. */
export function brokerFromEnv(paths: BrokerPaths): Broker {
  const kind = Deno.env.get("TEST_BROKER") ?? "trackway";
  const port = Number(Deno.env.get("TEST_PORT") ?? freePort());
  if (kind === "kafka") return new Kafka(port, paths);
  if (kind !== "trackway") throw new Error(`TEST_BROKER is ${kind}, expected trackway or kafka`);
  return new Trackway(port, paths);
}

class Trackway implements Broker {
  readonly bootstrap: string;
  readonly name: string;
  #child: Deno.ChildProcess | null = null;
  #exited: Deno.CommandStatus | null = null;
  #output: Promise<void> = Promise.resolve();

  constructor(private port: number, private paths: BrokerPaths) {
    this.bootstrap = `localhost:${port}`;
    this.name = `Trackway (${this.command().join(" ")})`;
  }

  async start(): Promise<void> {
    const [program, ...args] = this.command();
    this.#exited = null;
    const child = new Deno.Command(program, {
      args: [...args, "start", "--port", String(this.port), "--data", this.paths.dataDir],
      cwd: this.paths.root,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#child = child;
    child.status.then((status) => this.#exited = status);
    const log = await Deno.open(this.paths.logFile, { create: true, append: true });
    this.#output = Promise.all([copy(child.stdout, log), copy(child.stderr, log)]).then(() => log.close());
    await ready(this.port, () => this.fault());
  }

  async stop(signal: StopSignal): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#child = null;
    if (!this.#exited) child.kill(signal);
    const status = await within(child.status, stopTimeoutMs, `Trackway to stop after ${signal}`);
    await this.#output;
    if (signal === "SIGTERM" && status.code !== 0) {
      throw new Error(`Trackway ended with ${status.code} after SIGTERM:\n${this.logTail()}`);
    }
  }

  fault(): string | null {
    if (!this.#child || !this.#exited) return null;
    return `Trackway ended by itself with ${this.#exited.code}:\n${this.logTail()}`;
  }

  private command(): string[] {
    const binary = Deno.env.get("TRACKWAY_BINARY");
    return binary ? [binary] : [Deno.execPath(), "run", "-A", `--v8-flags=${v8Flags}`, "src/main.ts"];
  }

  private logTail(): string {
    return tail(Deno.readTextFileSync(this.paths.logFile), 30);
  }
}

/** The real one, through the script at KAFKA_BASELINE: `start PORT DATADIR`, `stop PORT`. */
class Kafka implements Broker {
  readonly bootstrap: string;
  readonly name = "Apache Kafka";
  #pid: number | null = null;
  #controllerPort = freePort();

  constructor(private port: number, private paths: BrokerPaths) {
    this.bootstrap = `localhost:${port}`;
    const configured = Deno.env.get("KAFKA_BASELINE_CONTROLLER_PORT");
    if (configured) this.#controllerPort = Number(configured);
  }

  async start(): Promise<void> {
    const said = await this.script("start", String(this.port), this.paths.dataDir);
    this.#pid = Number(said.match(/pid (\d+)/)?.[1]);
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

/** Waits until an ApiVersions request is answered on the port; `fault` says why it never will be. */
async function ready(port: number, fault: () => string | null): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (!await answersApiVersions(port)) {
    const reason = fault();
    if (reason) throw new Error(reason);
    if (Date.now() > deadline) throw new Error(`no answer on port ${port} within ${startTimeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Whether an ApiVersions v0 request gets its correlation id and no error back. */
async function answersApiVersions(port: number): Promise<boolean> {
  const correlationId = 42;
  const request = new Uint8Array([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, correlationId, 0xff, 0xff]);
  try {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(request);
    const answer = new Uint8Array(10);
    let filled = 0;
    while (filled < answer.length) {
      const read = await connection.read(answer.subarray(filled));
      if (read === null) return false;
      filled += read;
    }
    return answer[7] === correlationId && answer[8] === 0 && answer[9] === 0;
  } catch (error) {
    // refused or reset: it is not up yet
    if (error instanceof Deno.errors.ConnectionRefused || error instanceof Deno.errors.ConnectionReset) {
      return false;
    }
    throw error;
  }
}

async function copy(from: ReadableStream<Uint8Array>, to: Deno.FsFile): Promise<void> {
  for await (const chunk of from) {
    for (let written = 0; written < chunk.length;) written += await to.write(chunk.subarray(written));
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

async function within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  const changes = new Changes();
  let settled: { value: T } | null = null;
  promise.then((value) => {
    settled = { value };
    changes.notify();
  });
  await changes.until(() => settled !== null, timeoutMs, () => what);
  return settled!.value;
}
