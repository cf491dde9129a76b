/**
 * Trackway as a process of its own, to be killed, stopped and held. Everything that it said is kept, so that a test
 * that fails can show it; nothing here waits without a bound.
 */
import { v8Flags } from "../../scripts/lib/v8_flags.ts";
import { PATIENCE_MS } from "./waiting.ts";

const program = new URL("../../src/main.ts", import.meta.url).pathname;
/** The broker from source, started as users start it. */
export const FROM_SOURCE = [Deno.execPath(), "run", "-A", "--no-check", `--v8-flags=${v8Flags}`, program];

/** How a process ended: an exit code, or the signal that ended it. */
export interface Exit {
  readonly code: number;
  readonly signal: Deno.Signal | null;
}

/** How to start a broker; without anything, from source on 127.0.0.1. */
export interface BrokerOptions {
  /** More arguments of `start`. */
  readonly args?: readonly string[];
  /** The program and its first arguments; `start` and its flags follow. */
  readonly command?: readonly string[];
  /** More of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The address to listen on; null leaves it to the broker, which listens on both families of localhost. */
  readonly host?: string | null;
  /** Where to put down what the broker says, besides keeping it; is appended to. */
  readonly logFile?: string;
}

export class BrokerProcess {
  /** Lines of standard output and error together, as they came. */
  readonly said: string[] = [];
  private readonly streams: Promise<unknown>;
  private readonly listeners = new Set<() => void>();
  private ended: Exit | null = null;

  private constructor(private readonly child: Deno.ChildProcess, private readonly logFile?: string) {
    this.streams = Promise.all([this.listen(child.stdout), this.listen(child.stderr)]);
    void child.status.then(async ({ code, signal }) => {
      await this.streams;
      this.ended = { code, signal };
      this.tell();
    });
  }

  /** Starts the process; does not wait for anything. `port` 0 takes any free one. */
  static spawn(dataDir: string, port = 0, options: BrokerOptions = {}): BrokerProcess {
    const { args = [], command = FROM_SOURCE, env = {}, host = "127.0.0.1", logFile } = options;
    const [executable, ...first] = command;
    const child = new Deno.Command(executable, {
      args: [
        ...[...first, "start"],
        ...(host === null ? [] : ["--host", host]),
        ...["--port", String(port), "--data", dataDir, ...args],
      ],
      // The settings of whoever runs the tests are none of this broker's.
      clearEnv: true,
      env: {
        ...Object.fromEntries(
          Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("TRACKWAY_")),
        ),
        ...env,
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return new BrokerProcess(child, logFile);
  }

  /** Starts a broker and gives it once it answers. Throws what it said when it ends instead. */
  static async start(dataDir: string, port = 0, options: BrokerOptions = {}): Promise<BrokerProcess> {
    const broker = BrokerProcess.spawn(dataDir, port, options);
    try {
      await broker.up();
    } catch (error) {
      // Not to be left behind: the tests' own process waits for it.
      broker.signal("SIGKILL");
      throw error;
    }
    return broker;
  }

  get pid(): number {
    return this.child.pid;
  }

  /** How it ended; null while it runs. */
  get ending(): Exit | null {
    return this.ended;
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
      this.hear(lines);
      this.tell();
    }
    if (rest !== "") this.hear([rest]);
  }

  private hear(lines: readonly string[]): void {
    this.said.push(...lines);
    if (this.logFile !== undefined && lines.length > 0) {
      Deno.writeTextFileSync(this.logFile, lines.map((line) => `${line}\n`).join(""), { append: true });
    }
  }

  private tell(): void {
    for (const look of [...this.listeners]) look();
  }
}
