/**
 * The two sides of a history: what clients say of their transactions, and what the logs say of them. The logs have the last
 * word on a transaction of which its client does not know how it ended: it is committed if a record of it is.
 */
import type { BeginEvent, LogEvent, Place, TransactionEvent } from "../history.ts";
import type { Violations } from "./violations.ts";

/** A transaction as its client tells of it. */
export interface Txn {
  readonly process: string;
  readonly number: number;
  readonly began: BeginEvent;
  /** When it was asked to commit; Infinity if that was not done. */
  askedAt: number;
  /** When its client knew how it ended; Infinity if never. */
  endedAt: number;
  /** By the word of the client. */
  told: "committed" | "aborted" | "unknown";
  acked: readonly number[];
  /** Where the n-th record is in the logs. */
  readonly places: (Entry | undefined)[];
  /** Whether a record of it is committed in the logs. */
  isCommitted: boolean;
}

/** A record in a log. */
export interface Entry {
  readonly place: Place;
  readonly offset: number;
  readonly value: string;
  readonly producerId: number;
  readonly epoch: number;
  /** How its transaction ended in this place. */
  state: "committed" | "aborted" | "open";
  /** Where; -1 while it is open. */
  endedBy: number;
}

export interface Log {
  readonly event: LogEvent;
  /** In the order of offsets. */
  readonly entries: readonly Entry[];
  readonly byOffset: ReadonlyMap<number, Entry>;
}

export class Ledger {
  readonly txns = new Map<string, Txn>();
  readonly logs = new Map<Place, Log>();

  constructor(events: Iterable<TransactionEvent>, private readonly violations: Violations) {
    for (const event of events) {
      if (event.f === "txn" || event.f === "commit") this.take(event);
      else if (event.f === "log") this.logs.set(event.place, readLog(event, violations));
    }
    for (const { entries } of this.logs.values()) {
      for (const entry of entries) this.find(entry);
    }
    for (const txn of this.txns.values()) {
      txn.isCommitted = txn.places.some((entry) => entry?.state === "committed");
    }
  }

  /** The transaction that a record is of, and its number in it; undefined for what nobody sent, or not there. */
  sender(value: string, place: Place): { txn: Txn; n: number } | undefined {
    const [process, number, n, ...input] = value.split(" ");
    const txn = this.txns.get(`${process} ${number}`);
    if (txn === undefined || txn.began.sends[Number(n)] !== place) return undefined;
    const answered = txn.began.inputs?.[Number(n)];
    const isAnswer = input.join(" ") === (answered === undefined ? "" : `${answered[0]}@${answered[1]}`);
    return isAnswer ? { txn, n: Number(n) } : undefined;
  }

  private take(event: Extract<TransactionEvent, { f: "txn" | "commit" }>): void {
    const key = `${event.process} ${event.txn}`;
    if (event.f === "txn" && event.type === "invoke") {
      if (this.txns.has(key)) this.violations.add("history", `${key} begins twice`);
      this.txns.set(key, {
        ...{ process: event.process, number: event.txn, began: event, askedAt: Infinity, endedAt: Infinity },
        // What was never asked to commit cannot be committed, whatever became of the client.
        ...{ told: "aborted", acked: [], places: event.sends.map(() => undefined), isCommitted: false },
      });
      return;
    }
    const txn = this.txns.get(key);
    if (txn === undefined) return this.violations.add("history", `${key} did not begin`);
    if (event.f === "commit") {
      txn.askedAt = event.at;
      txn.told = "unknown";
    } else if (event.type === "ok") {
      txn.told = "committed";
      txn.endedAt = event.at;
      txn.acked = event.offsets ?? [];
    } else if (event.type === "fail") {
      txn.told = "aborted";
      txn.endedAt = event.at;
    }
  }

  private find(entry: Entry): void {
    const at = `${entry.place}@${entry.offset}`;
    const sender = this.sender(entry.value, entry.place);
    if (sender === undefined) return this.violations.add("phantom", `${at} says "${entry.value}"`);
    const before = sender.txn.places[sender.n];
    if (before !== undefined) {
      this.violations.add(
        "duplicate",
        `"${entry.value}" is at ${at} and at ${before.place}@${before.offset}`,
      );
      if (before.state === "committed") return;
    }
    sender.txn.places[sender.n] = entry;
  }
}

/** Tells of each record how its transaction ended, by the markers; those of a producer end what it had begun before. */
function readLog(event: LogEvent, violations: Violations): Log {
  const entries: Entry[] = [];
  const open = new Map<number, Entry[]>();
  let next = event.start;
  for (const batch of event.batches) {
    const { offset, producerId, epoch } = batch;
    if (offset !== next) violations.add("lost", `${event.place}: ${offset} comes after ${next - 1}`);
    if ("marker" in batch) {
      next = offset + 1;
      for (const entry of open.get(producerId) ?? []) {
        entry.state = batch.marker === "commit" ? "committed" : "aborted";
        entry.endedBy = offset;
      }
      open.delete(producerId);
      continue;
    }
    next = offset + batch.values.length;
    batch.values.forEach((value, i) => {
      const entry: Entry = {
        ...{ place: event.place, offset: offset + i, value, producerId, epoch },
        ...{ state: "open", endedBy: -1 },
      };
      entries.push(entry);
      if (!open.has(producerId)) open.set(producerId, []);
      open.get(producerId)!.push(entry);
    });
  }
  if (next !== event.end) violations.add("lost", `${event.place} was read to ${next}, ends at ${event.end}`);
  if (event.stable < event.end || open.size > 0) {
    const [first] = [...open.values()].flat();
    violations.add(
      "stuck",
      `${event.place} is stable to ${event.stable} of ${event.end}; ` +
        (first === undefined ? "nothing is open" : `"${first.value}" at ${first.offset} is in a transaction`),
    );
  }
  return { event, entries, byOffset: new Map(entries.map((entry) => [entry.offset, entry])) };
}
