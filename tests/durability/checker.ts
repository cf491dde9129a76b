/**
 * Holds a history (history.ts) against what a broker promises: what was acknowledged is there, where it was said to be;
 * nothing twice, out of order, missing, or from nowhere; a group's commits never go back, and it is given everything.
 * Pure: events in, violations out.
 */
import type { AckedEvent, CommitEvent, HistoryEvent, LogEvent, ReadEvent } from "./history.ts";

export type Rule =
  /** An acknowledged record is not where its acknowledgement said. */
  | "loss"
  /** A record of an idempotent producer is there twice. */
  | "duplicate"
  /** A record came before an earlier one of the same producer. */
  | "order"
  /** A record that nobody sent. */
  | "phantom"
  /** Offsets that nothing stands at. */
  | "gap"
  /** Two readers were given different records at the same offset. */
  | "changed"
  /** A committed offset went back, or is beyond all that the group read. */
  | "commit"
  /** A group was given again what it had committed. */
  | "again"
  /** A group committed past records that none of its members was given. */
  | "skipped"
  /** A client gave up, or was not answered to the end. */
  | "refused"
  /** The history contradicts itself: the fault is the test's. */
  | "history";

export const rules: readonly Rule[] = [
  ...["loss", "duplicate", "order", "phantom", "gap", "changed", "commit", "again", "skipped"] as const,
  ...["refused", "history"] as const,
];

export interface Violation {
  readonly rule: Rule;
  readonly text: string;
}

/** What a history holds, so that one that holds nothing does not pass for a good one. */
export interface Counts {
  sent: number;
  acked: number;
  inLogs: number;
  readByGroups: number;
  commits: number;
}

/** One producer in one partition. */
interface Sequence {
  readonly producer: string;
  readonly partition: number;
  sent: number;
  readonly acked: AckedEvent[];
}

/** Violations of one rule that are told; what one fault does to thousands of records is told by its first ones. */
const TOLD_PER_RULE = 10;

export class Checker {
  readonly counts: Counts = { sent: 0, acked: 0, inLogs: 0, readByGroups: 0, commits: 0 };
  private readonly promises = new Map<string, { once: boolean; ordered: boolean }>();
  private readonly sequences = new Map<string, Sequence>();
  private readonly logs = new Map<number, LogEvent>();
  /** By partition and offset: the first record that was read there. */
  private readonly seen = new Map<number, string[]>();
  /** By group and partition. */
  private readonly groups = new Map<string, (ReadEvent | CommitEvent)[]>();
  private readonly acknowledgedCommits = new Map<string, number>();
  /** What was acknowledged when the group's offsets were last asked for. */
  private readonly asked = new Map<string, number>();
  private readonly lastCommitted = new Map<string, number>();
  private readonly violations: Violation[] = [];
  private readonly told = new Map<Rule, number>();

  /** Takes the next event. */
  take(event: HistoryEvent): void {
    switch (event.type) {
      case "producer":
        this.promises.set(event.producer, event);
        return;
      case "sending": {
        const sequence = this.sequence(event);
        this.must(
          event.first === sequence.sent,
          "history",
          () => `${named(event)} sends ${event.first} after ${sequence.sent}`,
        );
        sequence.sent = event.first + event.count;
        this.counts.sent += event.count;
        return;
      }
      case "acked":
        this.sequence(event).acked.push(event);
        this.counts.acked += event.count;
        return;
      case "failed":
        return this.must(false, "refused", () => `${named(event)}: ${event.first} on: ${event.error}`);
      case "flushed":
        return this.must(event.left === 0, "refused", () => `${event.producer}: ${event.left} unanswered`);
      case "read":
        this.counts.readByGroups += event.records.length;
        event.records.forEach((record, i) => this.compare(event.partition, event.offset + i, record));
        this.ofGroup(event).push(event);
        return;
      case "commit": {
        this.counts.commits++;
        const key = groupKey(event);
        this.acknowledgedCommits.set(key, Math.max(event.offset, this.acknowledgedCommits.get(key) ?? 0));
        this.ofGroup(event).push(event);
        return;
      }
      case "asking":
        for (const [key, offset] of this.acknowledgedCommits) {
          if (key.startsWith(`${event.group}/`)) this.asked.set(key, offset);
        }
        return;
      case "committed": {
        const key = groupKey(event);
        const atLeast = Math.max(this.asked.get(key) ?? 0, this.lastCommitted.get(key) ?? 0);
        this.must(
          event.offset >= atLeast,
          "commit",
          () => `${key}: ${event.offset} is committed, was ${atLeast}`,
        );
        this.lastCommitted.set(key, event.offset);
        return;
      }
      case "log":
        this.logs.set(event.partition, event);
        this.counts.inLogs += event.records.length;
        return;
      case "broker":
        return;
    }
  }

  /** What is wrong, after the last event. */
  finish(): Violation[] {
    for (const log of this.logs.values()) this.checkLog(log);
    for (const sequence of this.sequences.values()) this.checkAcknowledged(sequence);
    this.checkPhantoms();
    for (const [key, events] of this.groups) this.checkGroup(key, events);
    for (const [rule, count] of this.told) {
      if (count > TOLD_PER_RULE) {
        this.violations.push({ rule, text: `and ${count - TOLD_PER_RULE} more of this kind` });
      }
    }
    return this.violations;
  }

  private checkLog(log: LogEvent): void {
    const { partition, offsets, records } = log;
    const [first, end] = offsets.length > 0 ? [offsets[0], offsets.at(-1)! + 1] : [log.start, log.start];
    this.must(
      first === log.start && end === log.end,
      "gap",
      () => `partition ${partition} was read from ${first} to ${end}, is from ${log.start} to ${log.end}`,
    );
    for (let i = 1; i < offsets.length; i++) {
      const before = offsets[i - 1];
      this.must(
        offsets[i] === before + 1,
        "gap",
        () => `partition ${partition}: ${offsets[i]} comes after ${before}`,
      );
    }
    offsets.forEach((offset, i) => this.compare(partition, offset, records[i]));
    const occurrences = new Map<string, Set<number>>();
    const highest = new Map<string, number>();
    records.forEach((record, i) => {
      const { producer, number } = parse(record);
      const promise = this.promises.get(producer);
      if (promise === undefined) return;
      if (!occurrences.has(producer)) occurrences.set(producer, new Set());
      const numbers = occurrences.get(producer)!;
      const isRepeated = numbers.has(number);
      const place = () => `${record} at ${partition}@${offsets[i]}`;
      this.must(!(promise.once && isRepeated), "duplicate", () => `${place()} is there again`);
      const last = highest.get(producer) ?? -1;
      // A repeated one is judged by its first place.
      this.must(
        !promise.ordered || isRepeated || number > last,
        "order",
        () => `${place()} comes after ${last} of ${producer}`,
      );
      numbers.add(number);
      highest.set(producer, Math.max(last, number));
    });
  }

  private checkAcknowledged({ producer, partition, sent, acked }: Sequence): void {
    const log = this.logs.get(partition);
    for (const { first, count, offset } of acked) {
      this.must(
        first + count <= sent,
        "history",
        () => `${producer} in ${partition}: ${first} was acknowledged, ${sent} were sent`,
      );
      for (let i = 0; i < count; i++) {
        const expected = `${producer} ${first + i}`;
        const found = log === undefined ? undefined : log.records[offset + i - log.start];
        this.must(
          found === expected,
          "loss",
          () => `${expected} was acknowledged at ${partition}@${offset + i}, where ${found ?? "nothing"} is`,
        );
      }
    }
  }

  private checkPhantoms(): void {
    for (const [partition, records] of this.seen) {
      records.forEach((record, offset) => {
        const { producer, number } = parse(record);
        const sent = this.sequences.get(`${producer}/${partition}`)?.sent ?? 0;
        this.must(
          number >= 0 && number < sent,
          "phantom",
          () => `${partition}@${offset} says "${record}", of which ${sent} were sent`,
        );
      });
    }
  }

  /** What one group did in one partition, in the order of its own clock. */
  private checkGroup(key: string, events: (ReadEvent | CommitEvent)[]): void {
    events.sort((a, b) => a.at - b.at);
    let committed = 0;
    let end = 0;
    const given = new Set<number>();
    for (const event of events) {
      const { offset, reader } = event;
      if (event.type === "commit") {
        this.must(
          offset >= committed,
          "commit",
          () => `${key}: ${reader} commits ${offset} after ${committed}`,
        );
        committed = Math.max(committed, offset);
        continue;
      }
      this.must(
        offset >= committed || event.stale === true,
        "again",
        () => `${key}: ${reader} was given ${offset}, committed was ${committed}`,
      );
      for (let i = 0; i < event.records.length; i++) given.add(offset + i);
      end = Math.max(end, offset + event.records.length);
    }
    const atLast = Math.max(committed, this.lastCommitted.get(key) ?? 0);
    this.must(atLast <= end, "commit", () => `${key}: ${atLast} is committed, ${end} is what was read`);
    for (let offset = 0; offset < Math.min(atLast, end); offset++) {
      this.must(
        given.has(offset),
        "skipped",
        () => `${key}: nobody was given ${offset}, committed is ${atLast}`,
      );
    }
  }

  private compare(partition: number, offset: number, record: string): void {
    if (!this.seen.has(partition)) this.seen.set(partition, []);
    const seen = this.seen.get(partition)!;
    const before = seen[offset] ??= record;
    this.must(
      before === record,
      "changed",
      () => `${partition}@${offset} says "${record}", where "${before}" was read`,
    );
  }

  private sequence({ producer, partition }: { producer: string; partition: number }): Sequence {
    const key = `${producer}/${partition}`;
    let sequence = this.sequences.get(key);
    if (sequence === undefined) {
      sequence = { producer, partition, sent: 0, acked: [] };
      this.sequences.set(key, sequence);
      this.must(this.promises.has(producer), "history", () => `${producer} was not introduced`);
    }
    return sequence;
  }

  private ofGroup(event: ReadEvent | CommitEvent): (ReadEvent | CommitEvent)[] {
    const key = groupKey(event);
    if (!this.groups.has(key)) this.groups.set(key, []);
    return this.groups.get(key)!;
  }

  private must(holds: boolean, rule: Rule, otherwise: () => string): void {
    if (holds) return;
    const told = (this.told.get(rule) ?? 0) + 1;
    this.told.set(rule, told);
    if (told <= TOLD_PER_RULE) this.violations.push({ rule, text: otherwise() });
  }
}

/** The violations in a history that is at hand. */
export function check(events: Iterable<HistoryEvent>): Violation[] {
  const checker = new Checker();
  for (const event of events) checker.take(event);
  return checker.finish();
}

/** "producer n" in its parts; number -1 when it is none. */
function parse(record: string): { producer: string; number: number } {
  const parts = /^(\S+) (\d+)$/.exec(record);
  return parts === null ? { producer: record, number: -1 } : { producer: parts[1], number: Number(parts[2]) };
}

function named({ producer, partition }: { producer: string; partition: number }): string {
  return `${producer} in ${partition}`;
}

function groupKey({ group, partition }: { group: string; partition: number }): string {
  return `${group}/${partition}`;
}
