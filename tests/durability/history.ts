/**
 * What clients did and saw while a broker was ended again and again: a list of events, kept as JSON lines, that
 * checker.ts holds against itself. Records have numbers: the n-th of a producer in a partition says "producer n".
 */

/** A producer that will send, and what its client promises. */
export interface ProducerEvent {
  readonly type: "producer";
  readonly producer: string;
  /** Idempotent: no record twice. */
  readonly once: boolean;
  /** One request at a time, or idempotent: no record before an earlier one. */
  readonly ordered: boolean;
}

/** Records `first` to `first + count - 1` of a producer in a partition are about to be given to its client. */
export interface SendingEvent {
  readonly type: "sending";
  readonly producer: string;
  readonly partition: number;
  readonly first: number;
  readonly count: number;
}

/** They were acknowledged, the first at `offset`, each at the next one. */
export interface AckedEvent {
  readonly type: "acked";
  readonly producer: string;
  readonly partition: number;
  readonly first: number;
  readonly count: number;
  readonly offset: number;
}

/** The client gave up on them: they may be there or not. */
export interface FailedEvent {
  readonly type: "failed";
  readonly producer: string;
  readonly partition: number;
  readonly first: number;
  readonly count: number;
  readonly error: string;
}

/** The producer ended, with so many records that are neither acknowledged nor given up. */
export interface FlushedEvent {
  readonly type: "flushed";
  readonly producer: string;
  readonly left: number;
}

/** A member of a group was given what stands at `offset` and after. */
export interface ReadEvent {
  readonly type: "read";
  readonly reader: string;
  readonly group: string;
  /** When, by a clock that the members of all groups share: lines of two processes may arrive in another order. */
  readonly at: number;
  /**
   * The member was stopped and has not come to know yet that others may have taken its place: what its client had
   * fetched before is still given out.
   */
  readonly stale?: boolean;
  readonly partition: number;
  readonly offset: number;
  /** "producer n" for each record. */
  readonly records: readonly string[];
}

/** A commit of a group was acknowledged: `offset` is the next to read. */
export interface CommitEvent {
  readonly type: "commit";
  readonly reader: string;
  readonly group: string;
  readonly at: number;
  readonly partition: number;
  readonly offset: number;
}

/** Somebody is about to ask for the committed offsets of a group. */
export interface AskingEvent {
  readonly type: "asking";
  readonly group: string;
}

/** What a group's committed offset was found to be, when it was last asked for. */
export interface CommittedEvent {
  readonly type: "committed";
  readonly group: string;
  readonly partition: number;
  readonly offset: number;
}

/** All that a partition holds at the end, from its start, read in one go. */
export interface LogEvent {
  readonly type: "log";
  readonly partition: number;
  /** Where ListOffsets says that it starts and ends. */
  readonly start: number;
  readonly end: number;
  readonly offsets: readonly number[];
  readonly records: readonly string[];
}

/** What was done to the broker; tells a reader of the history where an event falls. */
export interface BrokerEvent {
  readonly type: "broker";
  readonly did: string;
}

export type HistoryEvent =
  | ProducerEvent
  | SendingEvent
  | AckedEvent
  | FailedEvent
  | FlushedEvent
  | ReadEvent
  | CommitEvent
  | AskingEvent
  | CommittedEvent
  | LogEvent
  | BrokerEvent;

/** Writes events down as they come, each with its time in milliseconds since the beginning. */
export class HistoryFile<Event extends object = HistoryEvent> implements Disposable {
  private readonly file: Deno.FsFile;
  private readonly encoder = new TextEncoder();
  private readonly beganAt = performance.now();
  private pending: string[] = [];

  constructor(readonly path: string) {
    this.file = Deno.openSync(path, { write: true, create: true, truncate: true });
  }

  add(event: Event): void {
    this.pending.push(JSON.stringify({ atMs: Math.round(performance.now() - this.beganAt), ...event }));
    if (this.pending.length >= 1000) this.flush();
  }

  flush(): void {
    if (this.pending.length === 0) return;
    const bytes = this.encoder.encode(this.pending.join("\n") + "\n");
    this.pending = [];
    for (let written = 0; written < bytes.length;) written += this.file.writeSync(bytes.subarray(written));
  }

  [Symbol.dispose](): void {
    this.flush();
    this.file.close();
  }
}

/** The events of a history file, in their order. */
export async function* readHistory<Event = HistoryEvent>(path: string): AsyncGenerator<Event> {
  using file = await Deno.open(path);
  let rest = "";
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(1 << 16);
  for (;;) {
    const read = await file.read(chunk);
    if (read === null) break;
    const lines = (rest + decoder.decode(chunk.subarray(0, read), { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
  if (rest !== "") yield JSON.parse(rest);
}
