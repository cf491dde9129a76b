/**
 * Real clients that go on for as long as they may: pumps that send numbered records, members of groups that read and
 * commit them. What they say becomes events of a history (tests/durability/history.ts), which others judge.
 */
import type { HistoryEvent, ReadEvent } from "../durability/history.ts";
import type { Adapters, Client, Flags, Line, Running } from "./adapter.ts";
import { Changes } from "./waiting.ts";

/** Lines of a client that are kept for the message of a failure. */
const KEPT_LINES = 50;
/** Records that a member was given one after the other are one event, up to this many. */
const EVENT_RECORDS = 500;

export interface PumpOptions {
  readonly producer: string;
  readonly idempotent: boolean;
  readonly acks: "all" | "1";
  readonly codec: string;
  /** Requests on the way at once; as the client likes when left out. */
  readonly inFlight?: number;
  /** Records per second. */
  readonly rate: number;
  readonly seed: number;
}

/** One client process of the load, and when it was last seen to get on. */
export interface Worker {
  readonly name: string;
  readonly running: Running;
  /** Acknowledgements or commits so far. */
  steps: number;
  /** It was told to end, or killed. */
  isEnding: boolean;
  /** What a member owns by its own word. */
  partitions: number[];
  /** How often that has changed. */
  assignments: number;
}

export class Load {
  readonly changes = new Changes();
  readonly pumps: Worker[] = [];
  readonly members: Worker[] = [];
  private readonly books = new Map<Worker, MemberBook>();

  constructor(
    private readonly adapters: Adapters,
    private readonly topic: string,
    private readonly partitions: number,
    private readonly record: (event: HistoryEvent) => void,
  ) {}

  /** Starts a producer. */
  pump(client: Client, { producer, idempotent, acks, codec, inFlight, rate, seed }: PumpOptions): Worker {
    const ordered = idempotent || inFlight === 1;
    this.record({ type: "producer", producer, once: idempotent, ordered });
    const { topic, partitions } = this;
    const flags: Flags = { topic, partitions, producer, idempotent, acks, codec, rate, seed };
    if (inFlight !== undefined) flags.inFlight = inFlight;
    const worker = this.start(this.pumps, producer, client, "pump", flags, (line) => {
      const { event, ...rest } = line;
      if (event === "acked") worker.steps++;
      this.record({ type: event, producer, ...rest } as HistoryEvent);
    });
    return worker;
  }

  /** Starts a member of a group. */
  member(client: Client, group: string, name: string): Worker {
    const book = new MemberBook(name, group, this.record);
    const flags = { topic: this.topic, group };
    const worker = this.start(this.members, name, client, "member", flags, (line) => {
      if (line.event === "committed") worker.steps++;
      book.isStale &&= line.event !== "assigned";
      if (line.event === "assigned") {
        worker.partitions = line.partitions;
        worker.assignments++;
      }
      book.take(line);
    });
    this.books.set(worker, book);
    return worker;
  }

  /** Stops a member's process. From here on, until it gets an assignment again, it may be given what it had fetched. */
  stop(member: Worker): void {
    this.books.get(member)!.isStale = true;
    member.running.signal("SIGSTOP");
  }

  /** Lets it go on. */
  goOn(member: Worker): void {
    member.running.signal("SIGCONT");
  }

  /** Tells workers to end in order and waits until they have; throws when one does not, or with an error. */
  async end(workers: readonly Worker[], timeoutMs: number): Promise<void> {
    for (const worker of workers) {
      worker.isEnding = true;
      worker.running.closeStdin();
    }
    for (const { name, running } of workers) {
      await this.changes.until(() => running.exitCode !== null, timeoutMs, () => `${name} to end`)
        .catch((error) => {
          throw running.failure(error.message);
        });
      if (running.exitCode !== 0) throw running.failure(`${name} ended with ${running.exitCode}`);
    }
  }

  /** Resolves when `condition` holds; throws when a worker ends that was not told to, or after `timeoutMs`. */
  async until(what: () => string, timeoutMs: number, condition: () => boolean): Promise<void> {
    const holds = () => {
      for (const { name, running, isEnding } of [...this.pumps, ...this.members]) {
        if (running.exitCode !== null && !isEnding) throw running.failure(`${name} ended by itself`);
      }
      return condition();
    };
    await this.changes.until(holds, timeoutMs, what);
  }

  private start(
    list: Worker[],
    name: string,
    client: Client,
    verb: "pump" | "member",
    flags: Flags,
    take: (line: Line) => void,
  ): Worker {
    const running = this.adapters.spawn(client, verb, flags, (line) => {
      take(line);
      this.changes.notify();
    }, KEPT_LINES);
    const worker = { name, running, steps: 0, isEnding: false, partitions: [], assignments: 0 };
    list.push(worker);
    running.finished.then(() => this.changes.notify());
    return worker;
  }
}

/** What one member was given and has committed, out of its lines. */
class MemberBook {
  /** By partition: records that follow each other and are not told yet. */
  private readonly runs = new Map<number, ReadEvent & { records: string[] }>();
  /** By partition: the offset after the last record that is not committed yet. */
  private readonly uncommitted = new Map<number, number>();
  isStale = false;

  constructor(
    private readonly reader: string,
    private readonly group: string,
    private readonly record: (event: HistoryEvent) => void,
  ) {}

  take(line: Line): void {
    const { reader, group } = this;
    if (line.event === "record") return this.given(line);
    for (const partition of [...this.runs.keys()]) this.tell(partition);
    if (line.event === "assigned") {
      // What it could not commit before it lost the partition is for the next owner.
      for (const partition of this.uncommitted.keys()) {
        if (!line.partitions.includes(partition)) this.uncommitted.delete(partition);
      }
      return;
    }
    for (const [partition, offset] of this.uncommitted) {
      this.record({ type: "commit", reader, group, at: line.at, partition, offset });
    }
    this.uncommitted.clear();
  }

  private given({ at, partition, offset, value }: Line): void {
    const { reader, group } = this;
    const record = value.slice(0, value.lastIndexOf(" "));
    this.uncommitted.set(partition, offset + 1);
    const run = this.runs.get(partition);
    if (run && offset === run.offset + run.records.length && run.records.length < EVENT_RECORDS) {
      run.records.push(record);
      return;
    }
    this.tell(partition);
    const stale = this.isStale ? { stale: true } : {};
    this.runs.set(partition, {
      type: "read",
      reader,
      group,
      at,
      ...stale,
      partition,
      offset,
      records: [record],
    });
  }

  private tell(partition: number): void {
    const run = this.runs.get(partition);
    if (run) this.record(run);
    this.runs.delete(partition);
  }
}
