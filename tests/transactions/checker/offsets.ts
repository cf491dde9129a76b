/**
 * Offsets that are committed in transactions: they are to be read with the records of their transaction or not at all, and
 * what is read, transformed and written in transactions is there exactly once.
 */
import type { OffsetsEvent, Place, TransactionEvent } from "../history.ts";
import type { Ledger, Txn } from "./ledger.ts";
import type { Violations } from "./violations.ts";

/** One offset of a group that a transaction takes along. */
interface Step {
  readonly txn: Txn;
  readonly offset: number;
}

export function checkOffsets(
  events: Iterable<TransactionEvent>,
  ledger: Ledger,
  violations: Violations,
): { observed: number } {
  const transforming = new Map<string, Set<string>>();
  const observations = new Map<string, OffsetsEvent[]>();
  for (const event of events) {
    if (event.f === "client" && event.role === "transformer" && event.group !== undefined) {
      if (!transforming.has(event.group)) transforming.set(event.group, new Set());
      transforming.get(event.group)!.add(event.process);
    }
    if (event.f !== "offsets") continue;
    if (!observations.has(event.group)) observations.set(event.group, []);
    observations.get(event.group)!.push(event);
  }
  let observed = 0;
  for (const [group, processes] of transforming) {
    const txns = [...ledger.txns.values()].filter(({ process }) => processes.has(process));
    const seen = observations.get(group) ?? [];
    observed += seen.length;
    checkObservations(group, txns, seen, violations);
    checkOnce(group, txns, new Map(seen.at(-1)?.offsets), ledger, violations);
  }
  return { observed };
}

/** Each offset that was found is one that a committed transaction took along, and none before its time. */
function checkObservations(
  group: string,
  txns: readonly Txn[],
  observations: readonly OffsetsEvent[],
  violations: Violations,
): void {
  const steps = new Map<Place, Step[]>();
  for (const txn of txns) {
    for (const [place, offset] of txn.began.offsets ?? []) {
      if (!steps.has(place)) steps.set(place, []);
      steps.get(place)!.push({ txn, offset });
    }
  }
  const sorted = new Map([...steps].map(([place, all]) => [place, byOffset(all)]));
  /** By place: the offsets of committed transactions, by when their clients knew of it. */
  const settled = new Map([...steps].map(([place, all]) => [
    place,
    all.filter(({ txn }) => txn.isCommitted).sort((a, b) => a.txn.endedAt - b.txn.endedAt),
  ]));
  const least = new Map<Place, { offset: number; taken: number }>();
  for (const { began, at, offsets } of observations) {
    for (const [place, offset] of offsets) {
      const told = `${group} was found at ${offset} of ${place}`;
      const takers = sorted.get(place)?.get(offset) ?? [];
      const committed = takers.filter(({ txn }) => txn.isCommitted);
      if (committed.length === 0) {
        const [taker] = takers;
        if (taker === undefined) violations.add("offsets", `${told}, which no transaction took along`);
        else violations.add("G1a", `${told}, of ${name(taker.txn)}, which was aborted`);
      } else if (committed.every(({ txn }) => at < txn.askedAt)) {
        violations.add("G1b", `${told}, of ${name(committed[0].txn)}, before it was asked to commit`);
      }
      const known = least.get(place) ?? { offset: 0, taken: 0 };
      const ended = settled.get(place) ?? [];
      let { offset: floor, taken } = known;
      for (; taken < ended.length && ended[taken].txn.endedAt <= began; taken++) {
        floor = Math.max(floor, ended[taken].offset);
      }
      if (offset < floor) violations.add("lost", `${told}, after ${floor} had been committed`);
      // What should not have been found is no measure for what is found later.
      least.set(place, { offset: committed.length > 0 ? Math.max(floor, offset) : floor, taken });
    }
  }
}

/** Each committed record before a group's offset is answered once, and none behind it. */
function checkOnce(
  group: string,
  txns: readonly Txn[],
  ends: ReadonlyMap<Place, number>,
  ledger: Ledger,
  violations: Violations,
): void {
  const answers = new Map<string, Txn>();
  for (const txn of txns) {
    if (!txn.isCommitted) continue;
    for (const [place, offset] of txn.began.inputs ?? []) {
      const input = `${place}@${offset}`;
      const before = answers.get(input);
      if (before !== undefined) {
        violations.add("duplicate", `${input} was answered by ${name(before)} and by ${name(txn)}`);
      }
      answers.set(input, txn);
      if (offset >= (ends.get(place) ?? 0)) {
        const end = ends.get(place) ?? "none";
        violations.add("offsets", `${name(txn)} answered ${input}, and the offset of ${group} is ${end}`);
      }
    }
  }
  for (const [place, end] of ends) {
    for (const { offset, state, value } of ledger.logs.get(place)?.entries ?? []) {
      if (offset >= end || state !== "committed" || answers.has(`${place}@${offset}`)) continue;
      violations.add(
        "offsets",
        `${group} is at ${end} of ${place}, and nobody answered "${value}" at ${offset}`,
      );
    }
  }
}

function byOffset(steps: readonly Step[]): Map<number, Step[]> {
  const all = new Map<number, Step[]>();
  for (const step of steps) {
    if (!all.has(step.offset)) all.set(step.offset, []);
    all.get(step.offset)!.push(step);
  }
  return all;
}

function name({ process, number }: Txn): string {
  return `${process} ${number}`;
}
