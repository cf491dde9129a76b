/**
 * A broker as a process of its own, to be killed. Everything that it said is kept, so that a test that fails can show
 * it; nothing here waits without a bound.
 */
import { join } from "node:path";

const program = new URL("../../src/main.ts", import.meta.url).pathname;
/** Bound on every wait of these tests: far beyond what a loaded machine needs, far below what a CI job bears. */
export const PATIENCE_MS = 30_000;

/** How a process ended: an exit code, or the signal that ended it. */
export interface Exit {
  readonly code: number;
  readonly signal: Deno.Signal | null;
}

export class BrokerProcess {
  /** Lines of standard output and error together, as they came. */
  readonly said: string[] = [];
  private readonly streams: Promise<unknown>;
  private readonly listeners = new Set<() => void>();
  private ended: Exit | null = null;

  private constructor(private readonly child: Deno.ChildProcess) {
    this.streams = Promise.all([this.listen(child.stdout), this.listen(child.stderr)]);
    void child.status.then(async ({ code, signal }) => {
      await this.streams;
      this.ended = { code, signal };
      this.tell();
    });
  }

  /** Starts the process; does not wait for anything. `port` 0 takes any free one. */
  static spawn(dataDir: string, port = 0, args: string[] = []): BrokerProcess {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", program, "start"],
        ...["--host", "127.0.0.1", "--port", String(port), "--data", dataDir, ...args],
      ],
      // The settings of whoever runs the tests are none of this broker's.
      clearEnv: true,
      env: Object.fromEntries(
        Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("TRACKWAY_")),
      ),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new BrokerProcess(child);
  }

  /** Starts a broker and gives it once it answers. Throws what it said when it ends instead. */
  static async start(dataDir: string, port = 0, args: string[] = []): Promise<BrokerProcess> {
    const broker = BrokerProcess.spawn(dataDir, port, args);
    try {
      await broker.up();
    } catch (error) {
      // Not to be left behind: the tests's own process waits for it.
      broker.signal("SIGKILL");
      throw error;
    }
    return broker;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** Where it listens, once it is up. */
  get port(): number {
    const port = Number(/listening on\s+127\.0\.0\.1:(\d+)/.exec(this.said.join("\n"))?.[1]);
    if (!(port > 0)) throw new Error(this.described("The broker has not said where it listens"));
    return port;
  }

  /** Lines of level WARN and above. */
  get warnings(): string[] {
    return this.said.filter((line) => / (WARN |ERROR|FATAL) /.test(line)).map((line) =>
      line.replace(/^\S+ /, "")
    );
  }

  /** Resolves when it answers. */
  async up(): Promise<void> {
    await this.until("it is up", () => this.said.some((line) => line.includes("cluster   ")));
  }

  /** Resolves when it has said a line with `part` in it. */
  async saying(part: string): Promise<void> {
    await this.until(`it says "${part}"`, () => this.said.some((line) => line.includes(part)));
  }

  /** Resolves when it has ended. */
  async exit(): Promise<Exit> {
    await this.until("it ends", () => this.ended !== null);
    return this.ended!;
  }

  /** Sends a signal if it is still there. */
  signal(signal: Deno.Signal): void {
    if (this.ended !== null) return;
    try {
      this.child.kill(signal);
    } catch (error) {
      // It ended in this very moment.
      if (!(error instanceof Deno.errors.NotFound) && !(error instanceof TypeError)) throw error;
    }
  }

  /** Sends a signal and resolves when the process has ended. */
  async end(signal: Deno.Signal): Promise<Exit> {
    this.signal(signal);
    return await this.exit();
  }

  /** `text` and what the broker said, for the message of a failure. */
  described(text: string): string {
    const said = this.said.slice(-60).map((line) => `  ${line}`).join("\n");
    return `${text}\nWhat the broker said (process ${this.child.pid}):\n${said || "  nothing"}`;
  }

  private async until(what: string, holds: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => {
      if (holds()) resolve();
      else if (this.ended !== null) {
        reject(new Error(this.described(`The broker ended with ${this.ended.code} before ${what}`)));
      }
    };
    const timer = setTimeout(
      () => reject(new Error(this.described(`The broker took more than ${PATIENCE_MS} ms until ${what}`))),
      PATIENCE_MS,
    );
    this.listeners.add(look);
    try {
      look();
      await promise;
    } finally {
      clearTimeout(timer);
      this.listeners.delete(look);
    }
  }

  private async listen(stream: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      this.said.push(...lines);
      this.tell();
    }
    if (rest !== "") this.said.push(rest);
  }

  private tell(): void {
    for (const look of [...this.listeners]) look();
  }
}

/** What `promise` gives; throws with `what` when that takes longer than `ms`. */
export async function within<T>(promise: Promise<T>, what: string, ms = PATIENCE_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) =>
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms)
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A data directory that is gone after `use`. */
export async function withDataDir(use: (directory: string) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "trackway-durability-" });
  try {
    await use(join(parent, "data"));
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}
