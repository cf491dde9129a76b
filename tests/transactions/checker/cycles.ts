/**
 * Who depends on whom. Under read_committed a transaction that reads from another ends after it, so reading goes round in
 * no circle (G1c). Writing may (G0): Kafka does not keep transactions apart that write to the same partitions, and such
 * circles are everywhere; they are counted, since a history without any had nothing at the same time.
 */
import type { TransactionEvent } from "../history.ts";
import type { Ledger, Txn } from "./ledger.ts";
import type { Violations } from "./violations.ts";

/** Gives how many committed transactions are in a circle of writes. */
export function checkCycles(
  events: Iterable<TransactionEvent>,
  ledger: Ledger,
  violations: Violations,
): { inWriteCycles: number; readFrom: number } {
  const reads = new Map<Txn, Set<Txn>>();
  let readFrom = 0;
  for (const event of events) {
    if (event.f !== "poll" || event.txn === undefined) continue;
    const reader = ledger.txns.get(`${event.process} ${event.txn}`);
    if (reader === undefined || !reader.isCommitted) continue;
    if (!reads.has(reader)) reads.set(reader, new Set());
    for (const [place, , value] of event.records) {
      const txn = ledger.sender(value, place)?.txn;
      // What it reads of itself was read before it was committed, which has a name of its own.
      if (txn === undefined || txn === reader) continue;
      reads.get(reader)!.add(txn);
      readFrom++;
    }
  }
  for (const circle of circles(reads)) {
    const names = circle.slice(0, 5).map(({ process, number }) => `${process} ${number}`).join(", ");
    violations.add("G1c", `${circle.length} transactions read from each other: ${names}`);
  }
  return { inWriteCycles: circles(writes(ledger)).flat().length, readFrom };
}

/** Each committed transaction to the one that wrote after it in a place. */
function writes(ledger: Ledger): Map<Txn, Set<Txn>> {
  const edges = new Map<Txn, Set<Txn>>();
  for (const { entries } of ledger.logs.values()) {
    let last: Txn | undefined;
    for (const { place, value, state } of entries) {
      const txn = ledger.sender(value, place)?.txn;
      if (state !== "committed" || txn === undefined) continue;
      if (last !== undefined && last !== txn) {
        if (!edges.has(last)) edges.set(last, new Set());
        edges.get(last)!.add(txn);
      }
      last = txn;
    }
  }
  return edges;
}

/** The strongly connected parts of a graph with more than one node: Tarjan's algorithm, without recursion. */
export function circles<Node>(edges: ReadonlyMap<Node, ReadonlySet<Node>>): Node[][] {
  const found: Node[][] = [];
  const state = new Map<Node, { index: number; low: number; isOnStack: boolean }>();
  const stack: Node[] = [];
  const none: ReadonlySet<Node> = new Set();
  const enter = (node: Node) => {
    const own = { index: state.size, low: state.size, isOnStack: true };
    state.set(node, own);
    stack.push(node);
    return { node, own, rest: (edges.get(node) ?? none).values() };
  };
  for (const root of edges.keys()) {
    if (state.has(root)) continue;
    for (const path = [enter(root)]; path.length > 0;) {
      const { node, own, rest } = path.at(-1)!;
      const { value: target, done } = rest.next();
      if (!done) {
        const known = state.get(target);
        if (known === undefined) path.push(enter(target));
        else if (known.isOnStack) own.low = Math.min(own.low, known.index);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) parent.own.low = Math.min(parent.own.low, own.low);
      if (own.low !== own.index) continue;
      const part = stack.splice(stack.lastIndexOf(node));
      for (const member of part) state.get(member)!.isOnStack = false;
      if (part.length > 1) found.push(part);
    }
  }
  return found;
}
