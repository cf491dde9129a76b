/**
 * The clients of a course. A slot is one job, with its transactional id or group; a worker is a process that does it, and
 * makes way for the next one. What they say goes into the history.
 */
import type { Line, Running } from "../clients/adapter.ts";
import type { OwnCourse } from "../clients/own_course.ts";
import { Changes } from "../clients/waiting.ts";
import type { ClientEvent, Place, TransactionEvent } from "./history.ts";

/** Lines of a client that are kept for the message of a failure. */
const KEPT_LINES = 50;

export interface Slot extends Omit<ClientEvent, "f" | "process"> {
  readonly name: string;
  /** The program and its verb. */
  readonly command: readonly string[];
  readonly flags: Readonly<Record<string, string | number>>;
}

export interface Worker {
  readonly slot: Slot;
  readonly process: string;
  readonly running: Running;
  state: "works" | "stopped" | "killed" | "ending" | "gone";
  wasFenced: boolean;
}

export class Workers {
  readonly changes = new Changes();
  readonly all: Worker[] = [];
  /** By slot: transactions that were committed, or polls that gave something. */
  readonly steps = new Map<Slot, number>();
  /** By reader and place: the offset after the last record that it was given. */
  readonly given = new Map<string, Map<Place, number>>();
  /** By group: what its offsets were found to be at last. */
  readonly offsets = new Map<string, { began: number; at: number; of: Map<Place, number> }>();
  private readonly starts = new Map<Slot, number>();
  private waitingForCommit: { of: Worker | null; wake: () => void }[] = [];
  private fault: Error | null = null;

  constructor(
    private readonly course: OwnCourse,
    private readonly seed: number,
    private readonly record: (event: TransactionEvent) => void,
  ) {}

  /** Starts the next process of a slot. */
  start(slot: Slot): Worker {
    const start = (this.starts.get(slot) ?? 0) + 1;
    this.starts.set(slot, start);
    const { name, command, flags, role, isolation, transactionalId, group } = slot;
    const process = `${name}#${start}`;
    this.record({ f: "client", process, role, isolation, transactionalId, group });
    const all = {
      ...{ bootstrap: this.course.broker.bootstrap, name: process, isolation },
      ...(transactionalId === undefined ? {} : { "transactional-id": transactionalId }),
      ...(group === undefined ? {} : { group }),
      ...{ seed: this.seed + 1000 * start + [...name].reduce((sum, c) => sum + c.charCodeAt(0), 0) },
      ...flags,
    };
    const args = Object.entries(all).flatMap(([flag, value]) => [`--${flag}`, String(value)]);
    const running = this.course.start([...command, ...args], (line) => this.take(worker, line), KEPT_LINES);
    const worker: Worker = { slot, process, running, state: "works", wasFenced: false };
    this.all.push(worker);
    running.finished.then(() => this.exited(worker));
    return worker;
  }

  /** Starts a program that watches the offsets of groups. */
  watch(command: readonly string[]): Running {
    return this.course.start([...command], (line) => {
      this.record(line as TransactionEvent);
      this.offsets.set(line.group, { began: line.began, at: line.at, of: new Map(line.offsets) });
      this.changes.notify();
    }, KEPT_LINES);
  }

  /** Those of a role that are to get on. */
  working(role?: Slot["role"]): Worker[] {
    return this.all.filter(({ slot, state }) =>
      state === "works" && (role === undefined || slot.role === role)
    );
  }

  stop(worker: Worker): void {
    if (worker.state !== "works") return; // it was fenced in the meantime
    worker.state = "stopped";
    worker.running.signal("SIGSTOP");
  }

  goOn(worker: Worker): void {
    if (worker.state !== "stopped") return;
    worker.state = "works";
    worker.running.signal("SIGCONT");
  }

  async kill(worker: Worker): Promise<void> {
    worker.state = "killed";
    await this.course.kill(worker.running);
  }

  /** Resolves while a worker, or any, is about to commit; after `timeoutMs` in any case, as it may be stuck. */
  async commits(of: Worker | null, timeoutMs: number): Promise<void> {
    const { promise, resolve: wake } = Promise.withResolvers<void>();
    this.waitingForCommit.push({ of, wake });
    const timer = setTimeout(wake, timeoutMs);
    await promise;
    clearTimeout(timer);
  }

  /** Has workers end as they do by themselves when they are told to. */
  async end(workers: readonly Worker[], timeoutMs: number): Promise<void> {
    for (const worker of workers) {
      worker.state = "ending";
      worker.running.closeStdin();
    }
    for (const { process, running } of workers) {
      await this.until(() => `${process} to end`, timeoutMs, () => running.exitCode !== null)
        .catch((error) => {
          throw running.failure(error.message);
        });
      if (running.exitCode !== 0) throw running.failure(`${process} ended with ${running.exitCode}`);
    }
  }

  /** Resolves when `holds`; throws when a worker ended that was not told to, or after `timeoutMs`. */
  until(what: () => string, timeoutMs: number, holds: () => boolean): Promise<void> {
    return this.changes.until(
      () => {
        if (this.fault !== null) throw this.fault;
        return holds();
      },
      timeoutMs,
      what,
    );
  }

  private take(worker: Worker, line: Line): void {
    const { slot, process } = worker;
    this.record({ ...line, process } as TransactionEvent);
    if (line.f === "fenced") worker.wasFenced = true;
    if (line.f === "commit") {
      const waiting = this.waitingForCommit;
      this.waitingForCommit = waiting.filter(({ of }) => of !== null && of !== worker);
      for (const { of, wake } of waiting) if (of === null || of === worker) wake();
    }
    if (line.f === "poll") {
      if (!this.given.has(process)) this.given.set(process, new Map());
      for (const [place, offset] of line.records) this.given.get(process)!.set(place, offset + 1);
    }
    const isStep = slot.role === "reader" ? line.f === "poll" : line.f === "txn" && line.type === "ok";
    if (isStep) this.steps.set(slot, (this.steps.get(slot) ?? 0) + 1);
    this.changes.notify();
  }

  private exited(worker: Worker): void {
    const { state, slot, wasFenced, running, process } = worker;
    worker.state = "gone";
    if (state === "works" || state === "stopped") {
      if (!wasFenced || running.exitCode !== 0) {
        this.fault ??= running.failure(`${process} ended by itself with ${running.exitCode}`);
      } else if (!this.all.some((other) => other.slot === slot && other.state !== "gone")) {
        // Who was fenced makes way for whoever has its place; where nobody has, a new one is started.
        this.start(slot);
      }
    }
    this.changes.notify();
  }
}
