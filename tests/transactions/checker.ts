/**
 * Holds a history (history.ts) against what transactions promise. Pure: events in, violations out. `checker/` has a file
 * for each promise; `checker/violations.ts` lists what may be broken.
 */
import { checkAtomicity, checkFencing } from "./checker/atomicity.ts";
import { checkCycles } from "./checker/cycles.ts";
import { Ledger } from "./checker/ledger.ts";
import { checkOffsets } from "./checker/offsets.ts";
import { checkReading } from "./checker/reading.ts";
import { type Violation, Violations } from "./checker/violations.ts";
import type { TransactionEvent } from "./history.ts";

export { type Rule, rules, type Violation } from "./checker/violations.ts";

/** What a history holds, so that one that holds nothing does not pass for a good one. */
export interface Counts {
  readonly committed: number;
  readonly aborted: number;
  /** Of both, those whose clients never knew how they ended. */
  readonly unknown: number;
  readonly records: number;
  readonly polls: number;
  /** Records that read_committed readers were given. */
  readonly read: number;
  /** Records that transactions were given while they were open. */
  readonly readFrom: number;
  /** How often a group's offsets were asked for. */
  readonly observed: number;
  /** Committed transactions in a circle of writes (G0), which Kafka allows. */
  readonly inWriteCycles: number;
  readonly fenced: number;
}

export interface Verdict {
  readonly violations: Violation[];
  readonly counts: Counts;
}

export function check(events: readonly TransactionEvent[]): Verdict {
  const violations = new Violations();
  const ledger = new Ledger(events, violations);
  checkAtomicity(ledger, violations);
  checkFencing(events, ledger, violations);
  const reading = checkReading(events, ledger, violations);
  const { observed } = checkOffsets(events, ledger, violations);
  const cycles = checkCycles(events, ledger, violations);
  const txns = [...ledger.txns.values()];
  const committed = txns.filter(({ isCommitted }) => isCommitted).length;
  const counts = {
    ...{ committed, aborted: txns.length - committed },
    unknown: txns.filter(({ told }) => told === "unknown").length,
    records: [...ledger.logs.values()].reduce((sum, { entries }) => sum + entries.length, 0),
    ...{ ...reading, ...cycles, observed },
    fenced: events.filter(({ f }) => f === "fenced").length,
  };
  return { violations: violations.all(), counts };
}

/**
 * The history as if a reader had asked for committed records only: what it was given of others has to be found then, or the
 * checker sees nothing.
 */
export function takenForCommitted(events: readonly TransactionEvent[]): TransactionEvent[] {
  return events.map((event) =>
    event.f === "client" && event.isolation === "read_uncommitted"
      ? { ...event, isolation: "read_committed" }
      : event
  );
}
