/** Each transaction is in the logs as its client was told: all of it or nothing, once, in order, by nobody who was fenced. */
import type { InitEvent, TransactionEvent } from "../history.ts";
import type { Entry, Ledger, Log, Txn } from "./ledger.ts";
import type { Violations } from "./violations.ts";

export function checkAtomicity(ledger: Ledger, violations: Violations): void {
  for (const txn of ledger.txns.values()) checkTxn(txn, violations);
  for (const log of ledger.logs.values()) checkOrder(log, ledger, violations);
}

function checkTxn(txn: Txn, violations: Violations): void {
  const { process, number, told, places, isCommitted, began, acked } = txn;
  const name = `${process} ${number}`;
  if (!isCommitted) {
    if (told === "committed") violations.add("lost", `${name} is committed, of its records none is`);
    return;
  }
  if (told === "aborted") {
    const entry = places.find((entry) => entry?.state === "committed")!;
    const why = txn.endedAt === Infinity ? "was not asked to commit" : "was aborted";
    violations.add("G1a", `${name} ${why}, and is committed at ${at(entry)}`);
  }
  const missing = places.findIndex((entry) => entry?.state !== "committed");
  if (missing >= 0) {
    const of = places.filter((entry) => entry?.state === "committed").length;
    const where = places[missing] === undefined
      ? `is not in ${began.sends[missing]}`
      : `is ${places[missing].state} at ${at(places[missing])}`;
    violations.add("torn", `of ${name} ${of} of ${places.length} records are committed, ${missing} ${where}`);
  }
  const ends = new Map<string, number>();
  places.forEach((entry, n) => {
    if (entry === undefined) return;
    if (told === "committed" && acked[n] >= 0 && acked[n] !== entry.offset) {
      violations.add("lost", `${name} ${n} was acknowledged at ${acked[n]}, is at ${at(entry)}`);
    }
    const end = ends.get(entry.place) ?? entry.endedBy;
    if (end !== entry.endedBy) {
      violations.add("torn", `${name} ends at ${entry.place}@${end} and again at ${entry.endedBy}`);
    }
    ends.set(entry.place, end);
  });
}

/** In one place: the records of a process as it sent them, and those of a producer id by epochs. */
function checkOrder(log: Log, ledger: Ledger, violations: Violations): void {
  const last = new Map<string, { entry: Entry; number: number; n: number }>();
  const epochs = new Map<number, Entry>();
  for (const entry of log.entries) {
    const newest = epochs.get(entry.producerId);
    if (newest !== undefined && newest.epoch > entry.epoch) {
      violations.add(
        "fenced",
        `"${entry.value}" at ${
          at(entry)
        } is of epoch ${entry.epoch}, after "${newest.value}" of ${newest.epoch}`,
      );
    } else epochs.set(entry.producerId, entry);
    const sender = ledger.sender(entry.value, entry.place);
    if (sender === undefined) continue;
    const { txn: { process, number }, n } = sender;
    const before = last.get(process);
    if (
      before !== undefined && (before.number > number || before.number === number && before.n > n)
    ) {
      violations.add("order", `"${entry.value}" at ${at(entry)} comes after "${before.entry.value}"`);
      continue;
    }
    last.set(process, { entry, number, n });
  }
}

interface Session {
  readonly process: string;
  readonly beganAt: number;
  readonly readyAt: number;
}

/** Once a producer is ready, no transaction of an earlier one with its transactional id is committed any more. */
export function checkFencing(
  events: Iterable<TransactionEvent>,
  ledger: Ledger,
  violations: Violations,
): void {
  const ids = new Map<string, string>();
  const sessions = new Map<string, Session[]>();
  const begun = new Map<string, InitEvent>();
  for (const event of events) {
    if (event.f === "client" && event.transactionalId !== undefined) {
      ids.set(event.process, event.transactionalId);
    }
    if (event.f !== "init") continue;
    if (event.type === "invoke") {
      begun.set(event.process, event);
      continue;
    }
    const id = ids.get(event.process) ?? event.process;
    if (!sessions.has(id)) sessions.set(id, []);
    const beganAt = begun.get(event.process)?.at ?? event.at;
    sessions.get(id)!.push({ process: event.process, beganAt, readyAt: event.at });
  }
  for (const txn of ledger.txns.values()) {
    if (!txn.isCommitted) continue;
    const all = sessions.get(ids.get(txn.process) ?? txn.process) ?? [];
    const own = all.findLast(({ process, readyAt }) => process === txn.process && readyAt <= txn.began.at);
    if (own === undefined) continue;
    const later = all.find(({ beganAt, readyAt }) => beganAt > own.readyAt && readyAt < txn.askedAt);
    if (later === undefined || txn.askedAt === Infinity) continue;
    violations.add(
      "fenced",
      `${txn.process} ${txn.number} was committed ${Math.round(txn.askedAt - later.readyAt)} ms after ` +
        `${later.process} had its transactional id`,
    );
  }
}

function at({ place, offset }: Entry): string {
  return `${place}@${offset}`;
}
