/** What a history may break, and the list of what it does. */

export type Rule =
  /** A record or an offset of an aborted transaction was to be read. */
  | "G1a"
  /** It was to be read before its transaction was asked to commit. */
  | "G1b"
  /** Transactions read from each other in a circle. */
  | "G1c"
  /** Of a committed transaction nothing is there, or it is not where it was acknowledged; offsets went back. */
  | "lost"
  /** A record is there twice, or was answered twice. */
  | "duplicate"
  /** Of a transaction a part is there and another is not. */
  | "torn"
  /** Records of one producer are not in the order in which it sent them. */
  | "order"
  /** A producer wrote or committed that another had fenced. */
  | "fenced"
  /** A reader was not given a committed record that it went past: within a poll, or from one to the next. */
  | "int-poll-skip"
  | "poll-skip"
  /** A reader was given a record after a later one: within a poll, or from one to the next. */
  | "int-nonmonotonic-poll"
  | "nonmonotonic-poll"
  /** A reader that had the time was not given what is committed. */
  | "unread"
  /** Two readers were given different records for one offset. */
  | "changed"
  /** A record that nobody sent, or not there. */
  | "phantom"
  /** Something was still in a transaction after every one had to be over. */
  | "stuck"
  /** Committed offsets and the records of their transactions do not belong together. */
  | "offsets"
  /** The history contradicts itself: the fault is the test's. */
  | "history";

export const rules: readonly Rule[] = [
  ...["G1a", "G1b", "G1c", "lost", "duplicate", "torn", "order", "fenced"] as const,
  ...["int-poll-skip", "poll-skip", "int-nonmonotonic-poll", "nonmonotonic-poll", "unread"] as const,
  ...["changed", "phantom", "stuck", "offsets", "history"] as const,
];

export interface Violation {
  readonly rule: Rule;
  readonly text: string;
}

/** Of one rule only so many are told: one fault may do something to thousands of records. */
const TOLD_PER_RULE = 10;

export class Violations {
  private readonly told: Violation[] = [];
  private readonly counts = new Map<Rule, number>();

  add(rule: Rule, text: string): void {
    const count = (this.counts.get(rule) ?? 0) + 1;
    this.counts.set(rule, count);
    if (count <= TOLD_PER_RULE) this.told.push({ rule, text });
  }

  all(): Violation[] {
    const more = [...this.counts].filter(([, count]) => count > TOLD_PER_RULE);
    return [
      ...this.told,
      ...more.map(([rule, count]) => ({ rule, text: `and ${count - TOLD_PER_RULE} more of this kind` })),
    ];
  }
}
