/**
 * Each reader is given what is committed, no sooner, all of it, in order. What it has gone past without being given it is
 * judged by the logs: a record of a transaction of which it was given another makes that one torn.
 */
import type { Place, PollEvent, TransactionEvent } from "../history.ts";
import type { Entry, Ledger, Txn } from "./ledger.ts";
import type { Rule, Violations } from "./violations.ts";

export interface ReadingCounts {
  /** Records that read_committed readers were given. */
  read: number;
  polls: number;
}

export function checkReading(
  events: Iterable<TransactionEvent>,
  ledger: Ledger,
  violations: Violations,
): ReadingCounts {
  const counts = { read: 0, polls: 0 };
  const readers = new Map<string, Reader>();
  const groups = new Map<string, Reader[]>();
  const committed = new Map<string, readonly (readonly [Place, number])[]>();
  for (const event of events) {
    switch (event.f) {
      case "client": {
        const isDirty = event.isolation === "read_uncommitted";
        const reader = new Reader(event.process, isDirty, event.group === undefined, ledger, violations);
        readers.set(event.process, reader);
        if (event.group !== undefined) groups.set(event.group, [...groups.get(event.group) ?? [], reader]);
        break;
      }
      case "assigned":
      case "revoked":
      case "rewound":
        readers.get(event.process)?.moved();
        break;
      case "poll": {
        const reader = readers.get(event.process);
        if (reader === undefined) {
          violations.add("history", `${event.process} was not introduced`);
          break;
        }
        counts.polls++;
        if (!reader.isDirty) counts.read += event.records.length;
        reader.poll(event);
        break;
      }
      case "ended":
        readers.get(event.process)?.ended();
        break;
      case "offsets":
        committed.set(event.group, event.offsets);
        break;
    }
  }
  for (const reader of readers.values()) reader.finish();
  for (const [group, offsets] of committed) {
    checkGroup(group, groups.get(group) ?? [], offsets, ledger, violations);
  }
  return counts;
}

class Reader {
  /** By place: the offset from which on nothing was given yet; unknown after a member's places have changed. */
  private readonly next = new Map<Place, number>();
  readonly given = new Map<Place, Set<number>>();
  private readonly skipped: { entry: Entry; rule: Rule; text: string }[] = [];
  private hasMoved = false;

  constructor(
    private readonly process: string,
    readonly isDirty: boolean,
    private readonly fromStart: boolean,
    private readonly ledger: Ledger,
    private readonly violations: Violations,
  ) {
    this.moved();
  }

  moved(): void {
    this.next.clear();
    this.hasMoved = !this.fromStart;
    if (!this.fromStart) return;
    for (const [place, { event }] of this.ledger.logs) this.next.set(place, event.start);
  }

  poll(event: PollEvent): void {
    const inThisPoll = new Set<Place>();
    for (const [place, offset, value] of event.records) {
      this.follow(place, offset, inThisPoll.has(place), `${this.process} was given ${offset}`);
      inThisPoll.add(place);
      if (!this.given.has(place)) this.given.set(place, new Set());
      this.given.get(place)!.add(offset);
      this.judge(event, place, offset, value);
    }
    for (const [place, position] of event.positions ?? []) {
      this.skip(place, position, "poll-skip", `${this.process} is at ${position}`);
    }
    this.hasMoved = false;
  }

  ended(): void {
    if (!this.fromStart) return;
    for (const [place, { event, entries }] of this.ledger.logs) {
      const next = this.next.get(place) ?? event.start;
      for (const { offset, value, state } of entries) {
        if (offset < next || !this.isDirty && state !== "committed" || this.given.get(place)?.has(offset)) {
          continue;
        }
        this.violations.add("unread", `${this.process} was not given "${value}" at ${place}@${offset}`);
      }
    }
  }

  /** What was skipped, now that it is known what else was given of each transaction. */
  finish(): void {
    for (const { entry, rule, text } of this.skipped) {
      const txn = this.ledger.sender(entry.value, entry.place)?.txn;
      const isTorn = txn !== undefined &&
        txn.places.some((other) => other !== undefined && this.given.get(other.place)?.has(other.offset));
      this.violations.add(isTorn ? "torn" : rule, text);
    }
  }

  private follow(place: Place, offset: number, isSamePoll: boolean, what: string): void {
    const next = this.next.get(place);
    // In librdkafka a member's places may change in the middle of a poll.
    const isSure = !(isSamePoll && this.hasMoved);
    if (next !== undefined && isSure && offset < next) {
      const rule = isSamePoll ? "int-nonmonotonic-poll" : "nonmonotonic-poll";
      this.violations.add(rule, `${what} of ${place} after ${next - 1}`);
    } else if (isSure) {
      this.skip(place, offset, isSamePoll ? "int-poll-skip" : "poll-skip", what);
    }
    this.next.set(place, offset + 1);
  }

  private skip(place: Place, to: number, rule: Rule, what: string): void {
    const from = this.next.get(place);
    if (from === undefined) return;
    const log = this.ledger.logs.get(place);
    for (let offset = from; offset < to; offset++) {
      const entry = log?.byOffset.get(offset);
      if (entry === undefined || !this.isDirty && entry.state !== "committed") continue;
      const text = `${what} of ${place}, and was not given "${entry.value}" at ${offset}`;
      this.skipped.push({ entry, rule, text });
    }
    this.next.set(place, Math.max(from, to));
  }

  private judge(event: PollEvent, place: Place, offset: number, value: string): void {
    const told = `${this.process} was given "${value}" at ${place}@${offset}`;
    const entry = this.ledger.logs.get(place)?.byOffset.get(offset);
    if (entry === undefined) return this.violations.add("lost", `${told}, where nothing is`);
    if (entry.value !== value) {
      return this.violations.add("changed", `${told}, where "${entry.value}" is`);
    }
    if (this.isDirty) return;
    const txn = this.ledger.sender(value, place)?.txn;
    if (entry.state === "aborted" || txn !== undefined && isAborted(txn)) {
      return this.violations.add("G1a", `${told}, whose transaction was aborted`);
    }
    if (txn === undefined) return; // a phantom, which was told
    if (entry.state === "open") return this.violations.add("G1b", `${told}, whose transaction is still open`);
    if (event.at < txn.askedAt) {
      this.violations.add(
        "G1b",
        `${told}, ${Math.round(txn.askedAt - event.at)} ms before its transaction was asked to commit`,
      );
    }
  }
}

function isAborted({ told }: Txn): boolean {
  return told === "aborted";
}

/** All that is committed before a group's offsets was given to one of its members. */
function checkGroup(
  group: string,
  members: readonly Reader[],
  offsets: readonly (readonly [Place, number])[],
  ledger: Ledger,
  violations: Violations,
): void {
  for (const [place, end] of offsets) {
    for (const { offset, state, value } of ledger.logs.get(place)?.entries ?? []) {
      if (offset >= end || state !== "committed") continue;
      if (members.some(({ given }) => given.get(place)?.has(offset))) continue;
      violations.add(
        "poll-skip",
        `${group} is at ${end} of ${place}, and nobody was given "${value}" at ${offset}`,
      );
    }
  }
}
