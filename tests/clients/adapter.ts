/**
 * Runs client adapters: one process per verb, JSON lines out. README.md beside this file is the contract. What a
 * library cannot do is declared in clients.ts; an undeclared refusal and a declared one that works are failures.
 */

import { join } from "node:path";

import { Changes, tail } from "./waiting.ts";

/** What a library may lack. A verb, or an option of one. */
export type Feature =
  | Verb
  | `codec:${Codec}`
  | "idempotence"
  | "partition"
  | "timestamps"
  | "from-timestamp"
  | "static-member"
  | "next-gen"
  | "commit-per-poll";

export type Verb =
  | "create"
  | "list"
  | "describe"
  | "delete"
  | "produce"
  | "pump"
  | "consume"
  | "member"
  | "committed"
  | "groups"
  | "describe-group"
  | "delete-group";

export const codecs = ["none", "gzip", "snappy", "lz4", "zstd"] as const;
export type Codec = typeof codecs[number];

export interface Client {
  id: string;
  /** The program and its first arguments; the verb and its flags follow. Relative paths are from the checkout. */
  command: string[];
  /** Makes the command runnable; cheap when it already is. Throws when an interpreter is missing. */
  install(): Promise<void>;
  /** What the library cannot do, and why. */
  unsupported: Partial<Record<Feature, string>>;
}

export type Flags = Record<string, string | number | boolean>;
// deno-lint-ignore no-explicit-any -- lines of a foreign process; the scenario compares what it needs
export type Line = Record<string, any>;

/** An adapter that failed, with all that it printed. */
export class AdapterFailure extends Error {
  override name = "AdapterFailure";
}

/** A verb that the library lacks, as declared. */
export class NotSupported extends Error {
  override name = "NotSupported";
}

const unsupportedExit = 64;

/** Starts adapters against one broker and keeps all their output under `logDir`. */
export class Adapters {
  #sequence = 0;
  #running = new Map<Running, Promise<void>>();

  constructor(
    private root: string,
    private bootstrap: string,
    private logDir: string,
    private verbTimeoutMs = 60_000,
  ) {}

  /** Runs a verb to its end and gives its lines. Throws NotSupported or AdapterFailure. */
  async run(client: Client, verb: Verb, flags: Flags = {}): Promise<Line[]> {
    const running = this.spawn(client, verb, flags);
    running.closeStdin();
    const changes = new Changes();
    running.finished.then(() => changes.notify());
    try {
      await changes.until(
        () => running.exitCode !== null,
        this.verbTimeoutMs,
        () => `the end of ${running.title}`,
      );
    } catch (hang) {
      running.kill();
      await running.finished;
      throw running.failure((hang as Error).message);
    }
    const missing = featuresOf(verb, flags).filter((feature) => client.unsupported[feature]);
    if (running.exitCode === unsupportedExit) {
      const reason = running.lines.at(-1)?.unsupported ?? "no reason given";
      if (missing.length === 0) throw running.failure(`says "${reason}", which clients.ts does not declare`);
      throw new NotSupported(client.unsupported[missing[0]]);
    }
    if (running.exitCode !== 0) throw running.failure(tail(running.stderr, 1));
    if (missing.length > 0) {
      throw running.failure(`works, though clients.ts declares: no ${missing.join(", ")}`);
    }
    return running.lines;
  }

  /**
   * Starts a verb and leaves it running; `onLine` is called for every line as it comes. The last `keptLines` of them
   * are kept.
   */
  spawn(
    client: Client,
    verb: Verb,
    flags: Flags,
    onLine: (line: Line) => void = () => {},
    keptLines = Infinity,
  ): Running {
    const number = String(++this.#sequence).padStart(4, "0");
    const running = new Running(
      [...client.command, verb, "--bootstrap", this.bootstrap, ...toArgs(flags)],
      this.root,
      onLine,
      keptLines,
    );
    const log = join(this.logDir, `${number}-${client.id}-${verb}.log`);
    this.#running.set(
      running,
      running.finished.then(() => Deno.writeTextFile(log, running.transcript())).finally(() =>
        this.#running.delete(running)
      ),
    );
    return running;
  }

  /** Ends whatever still runs, and waits until it is gone and logged. */
  async killAll(): Promise<void> {
    for (const running of this.#running.keys()) {
      running.kill();
      running.closeStdin();
    }
    await Promise.all(this.#running.values());
  }
}

/** One adapter process. */
export class Running {
  readonly child: Deno.ChildProcess;
  readonly title: string;
  readonly lines: Line[] = [];
  /** Resolves when the process is gone and all its output was read. */
  readonly finished: Promise<void>;
  stderr = "";
  exitCode: number | null = null;
  #stdin: WritableStreamDefaultWriter<Uint8Array>;
  #malformed: string | null = null;

  constructor(
    command: string[],
    cwd: string,
    private onLine: (line: Line) => void,
    private keptLines = Infinity,
  ) {
    const [program, ...args] = command;
    this.title = command.join(" ");
    this.child = new Deno.Command(program, { args, cwd, stdin: "piped", stdout: "piped", stderr: "piped" })
      .spawn();
    this.#stdin = this.child.stdin.getWriter();
    this.finished = Promise.all([this.readLines(), this.readStderr(), this.child.status]).then(
      ([, , status]) => {
        this.exitCode = this.#malformed === null ? status.code : -1;
      },
    );
  }

  /** Writes a line to its stdin. */
  tell(line: string): void {
    // of a process that is gone its exit code tells
    this.#stdin.write(new TextEncoder().encode(`${line}\n`)).catch(() => {});
  }

  /** Tells a member to leave; the other verbs do not read stdin. */
  closeStdin(): void {
    // a process that is already gone has closed the other end, which is what was wanted
    this.#stdin.close().catch(() => {});
  }

  /** Ends the process as a crash would. */
  kill(): void {
    this.signal("SIGKILL");
  }

  /** Sends a signal if the process is still there. */
  signal(signal: Deno.Signal): void {
    try {
      this.child.kill(signal);
    } catch (error) {
      // Deno's word for a process that has ended by itself, which the caller will see from its exit code
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** An error for this process with the end of what it printed. */
  failure(reason: string): AdapterFailure {
    return new AdapterFailure(`${this.#malformed ?? reason}\n${indent(this.transcript())}`);
  }

  /** The command, the last lines it wrote, and its log. */
  transcript(): string {
    const said = this.lines.slice(-20).map((line) => JSON.stringify(line)).join("\n");
    return `$ ${this.title}\n${said}\n--- stderr\n${tail(this.stderr, 40)}\n--- exit code ${this.exitCode}`;
  }

  private async readLines(): Promise<void> {
    let rest = "";
    for await (const chunk of this.child.stdout.pipeThrough(new TextDecoderStream())) {
      const pieces = (rest + chunk).split("\n");
      rest = pieces.pop()!;
      for (const piece of pieces) this.take(piece);
    }
    if (rest) this.take(rest);
  }

  private take(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text);
    } catch {
      // reported as the failure of this run
      this.#malformed = `printed a line that is not JSON: ${text}`;
      return;
    }
    this.lines.push(line);
    // in one go, since each removal moves what is left
    if (this.lines.length > 2 * this.keptLines) this.lines.splice(0, this.lines.length - this.keptLines);
    this.onLine(line);
  }

  private async readStderr(): Promise<void> {
    for await (const chunk of this.child.stderr.pipeThrough(new TextDecoderStream())) {
      this.stderr = (this.stderr + chunk).slice(-64_000);
    }
  }
}

/** Every feature that an invocation needs. */
function featuresOf(verb: Verb, flags: Flags): Feature[] {
  const features: Feature[] = [verb];
  if (flags.codec) features.push(`codec:${flags.codec as Codec}`);
  if (flags.idempotent === true) features.push("idempotence");
  if (flags.partition !== undefined) features.push("partition");
  if (flags.timestampBase !== undefined) features.push("timestamps");
  if (flags.from !== undefined && flags.from !== "beginning") features.push("from-timestamp");
  if (flags.instanceId !== undefined) features.push("static-member");
  if (flags.groupProtocol === "consumer") features.push("next-gen");
  return features;
}

/** { timestampBase: 5 } as ["--timestamp-base", "5"]. */
function toArgs(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    String(value),
  ]);
}

function indent(text: string): string {
  return text.split("\n").map((line) => `      ${line}`).join("\n");
}
