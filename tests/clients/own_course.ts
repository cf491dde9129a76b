/**
 * A course of steps of its own, on a broker of its own: what an application does on Kafka, and what befalls it. Each
 * step is one result; the first that fails ends the course, since the others stand on it.
 */

import { basename, join } from "node:path";

import type { Client as RawClient } from "../../src/client/client.ts";
import { connect } from "../durability/requests.ts";
import { type Line, Running } from "./adapter.ts";
import { type Broker, brokerFromEnv } from "./broker.ts";
import { root } from "./install.ts";
import type { Report } from "./report.ts";
import { Changes } from "./waiting.ts";

/** Between two looks at what nobody tells of. */
const lookEveryMs = 200;
const endTimeoutMs = 40_000;

export class OwnCourse {
  #running = new Map<Running, Promise<void>>();
  #sequence = 0;

  constructor(
    readonly broker: Broker,
    /** For whatever the course has to keep on the disk; is removed after. */
    readonly dir: string,
    readonly logDir: string,
    /** Runs and reports one step. */
    readonly step: (name: string, work: () => Promise<void>) => Promise<void>,
  ) {}

  /**
   * Starts a program; what it prints must be JSON lines, or go to stderr. The last `keptLines` of them are kept. Its end
   * goes to the logs.
   */
  start(command: string[], onLine?: (line: Line) => void, keptLines = Infinity): Running {
    const running = new Running(command, root, onLine ?? (() => {}), keptLines);
    const name = `${String(++this.#sequence).padStart(2, "0")}-${basename(command[0])}.log`;
    const logged = running.finished.then(() =>
      Deno.writeTextFile(join(this.logDir, name), `${running.transcript()}\n\n${running.stderr}`)
    );
    this.#running.set(running, logged.finally(() => this.#running.delete(running)));
    return running;
  }

  /** Runs a program to its end and gives the lines that it printed. */
  async run(command: string[]): Promise<Line[]> {
    const running = this.start(command);
    await this.ended(running);
    return running.lines;
  }

  /** Has a program end in order: by closing its stdin, or by the signal that asks for it. Throws if it does not. */
  async end(running: Running, how: "stdin" | "SIGTERM", code: number): Promise<void> {
    if (how === "stdin") running.closeStdin();
    else running.signal(how);
    await this.ended(running, code);
  }

  async kill(running: Running): Promise<void> {
    running.kill();
    running.closeStdin();
    await running.finished;
  }

  /** Waits for what programs tell of by their lines; throws when one of them ends instead. */
  async until(
    changes: Changes,
    holds: () => boolean,
    alive: readonly Running[],
    what: () => string,
    timeoutMs = 60_000,
  ): Promise<void> {
    for (const running of alive) running.finished.then(() => changes.notify());
    const check = () => {
      const gone = alive.find(({ exitCode }) => exitCode !== null);
      if (gone) throw gone.failure(`ended while waiting for ${what()}`);
      return holds();
    };
    try {
      await changes.until(check, timeoutMs, what);
    } catch (error) {
      if (alive.some(({ exitCode }) => exitCode !== null)) throw error;
      throw new Error([
        (error as Error).message,
        ...alive.map((running) => running.failure("still runs").message),
      ].join("\n"));
    }
  }

  /** Looks again and again, for what nobody tells of, until `look` gives something other than null. */
  async look<T>(what: () => string, look: () => Promise<T | null>, timeoutMs = 60_000): Promise<T> {
    for (const deadline = performance.now() + timeoutMs;;) {
      const found = await look();
      if (found !== null) return found;
      if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what()}`);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }

  /** Gives `use` a connection of its own to the broker. */
  async withClient<T>(use: (client: RawClient) => Promise<T>): Promise<T> {
    const client = await connect(Number(this.broker.bootstrap.split(":")[1]), "course");
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }

  async killAll(): Promise<void> {
    for (const running of this.#running.keys()) {
      running.kill();
      running.closeStdin();
    }
    await Promise.all(this.#running.values());
  }

  private async ended(running: Running, code = 0): Promise<void> {
    const changes = new Changes();
    running.finished.then(() => changes.notify());
    const what = () => `the end of ${running.title}`;
    await changes.until(() => running.exitCode !== null, endTimeoutMs, what).catch((error) => {
      throw running.failure(error.message);
    });
    if (running.exitCode !== code) throw running.failure(`ended with ${running.exitCode}, not ${code}`);
  }
}

/** A step failed and was reported: the rest of its course is not run. */
class Ended extends Error {}

/** Runs a course on a broker with these settings. Never throws: failures go to the report under the course's name. */
export async function runOwnCourse(
  name: string,
  logDir: string,
  report: Report,
  settings: Record<string, string>,
  work: (course: OwnCourse) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "trackway-clients-" });
  const logs = join(logDir, name);
  await Deno.mkdir(logs, { recursive: true });
  const paths = { root, dataDir: join(dir, "data"), logFile: join(logs, "broker.log") };
  const broker = brokerFromEnv(paths, settings);
  const course = new OwnCourse(broker, dir, logs, async (step, work) => {
    const startedAt = performance.now();
    try {
      await work();
      const fault = broker.fault();
      if (fault !== null) throw new Error(fault);
    } catch (error) {
      report.failed(name, step, [(error as Error).message, broker.fault() ?? ""].join("\n").trimEnd());
      throw new Ended();
    }
    report.passed(name, step, (performance.now() - startedAt) / 1000);
  });
  const giveUp = async () => {
    await course.killAll();
    await broker.stop("SIGKILL");
    Deno.exit(130);
  };
  Deno.addSignalListener("SIGINT", giveUp);
  try {
    await broker.start();
    await work(course);
    await broker.stop("SIGTERM");
  } catch (error) {
    if (!(error instanceof Ended)) report.failed(name, "course", (error as Error).message);
  } finally {
    Deno.removeSignalListener("SIGINT", giveUp);
    await course.killAll();
    await broker.stop("SIGKILL");
    await Deno.remove(dir, { recursive: true });
  }
}
