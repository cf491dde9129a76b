/** The checker's own judgement: a good history passes, and each anomaly that is planted in it is called by its name. */
import { assertEquals } from "@std/assert/equals";
import { check, type Rule, rules, takenForCommitted } from "./checker.ts";
import { circles } from "./checker/cycles.ts";
import type {
  BeginEvent,
  ClientEvent,
  CommitEvent,
  EndEvent,
  LogEvent,
  LoggedBatch,
  MovedEvent,
  OffsetsEvent,
  Place,
  PollEvent,
  TransactionEvent,
} from "./history.ts";

function client(process: string, role: ClientEvent["role"], more: Partial<ClientEvent> = {}): ClientEvent {
  return { f: "client", process, role, isolation: "read_committed", ...more };
}

function init(process: string, beganAt: number, readyAt: number): TransactionEvent[] {
  return [
    { f: "init", type: "invoke", process, at: beganAt },
    { f: "init", type: "ok", process, at: readyAt },
  ];
}

function begin(
  at: number,
  process: string,
  txn: number,
  sends: Place[],
  more: Partial<BeginEvent> = {},
): BeginEvent {
  return { f: "txn", type: "invoke", at, process, txn, sends, commit: true, ...more };
}

function ask(at: number, process: string, txn: number): CommitEvent {
  return { f: "commit", type: "invoke", at, process, txn };
}

function end(at: number, process: string, txn: number, type: EndEvent["type"], offsets?: number[]): EndEvent {
  return { f: "txn", type, at, process, txn, ...(offsets === undefined ? {} : { offsets }) };
}

function poll(at: number, process: string, ...records: [Place, number, string][]): PollEvent {
  return { f: "poll", at, process, records };
}

function offsets(began: number, at: number, ...offsets: [Place, number][]): OffsetsEvent {
  return { f: "offsets", began, at, group: "g", offsets };
}

function moved(process: string): MovedEvent {
  return { f: "assigned", process, at: 0 };
}

type Batches = readonly (readonly [number, number, readonly string[] | "commit" | "abort"])[];

/** A log of these batches, one after the other: values, or a marker, of a producer id and an epoch. */
function log(place: Place, ...batches: Batches): LogEvent {
  let next = 0;
  const logged: LoggedBatch[] = batches.map(([producerId, epoch, what]) => {
    const offset = next;
    next += typeof what === "string" ? 1 : what.length;
    return {
      ...{ offset, producerId, epoch },
      ...(typeof what === "string" ? { marker: what } : { values: what }),
    };
  });
  return { f: "log", place, start: 0, stable: next, end: next, batches: logged };
}

/** a-0: w 1 at 0 and 1, its marker, w 2 (aborted) at 3, its marker, w 3 at 5, its marker. */
const LOG_A0 = log(
  "a-0",
  ...[[7, 0, ["w 1 0", "w 1 1"]], [7, 0, "commit"], [7, 0, ["w 2 0"]], [7, 0, "abort"]] as const,
  ...[[7, 0, ["w 3 0"]], [7, 0, "commit"]] as const,
);
/** a-1: w 1 at 0, its marker, w 2 (aborted) at 2, its marker. */
const LOG_A1 = log("a-1", [7, 0, ["w 1 2"]], [7, 0, "commit"], [7, 0, ["w 2 1"]], [7, 0, "abort"]);
/** b-0: what t made of a-0@0, a-0@1 and a-1@0. */
const LOG_B0 = log("b-0", [8, 0, ["t 1 0 a-0@0", "t 1 1 a-0@1", "t 1 2 a-1@0"]], [8, 0, "commit"]);

const POLL = poll(
  50,
  "r",
  ["a-0", 0, "w 1 0"],
  ["a-0", 1, "w 1 1"],
  ["a-1", 0, "w 1 2"],
  ["a-0", 5, "w 3 0"],
);
const TRANSFORM = begin(61, "t", 1, ["b-0", "b-0", "b-0"], {
  inputs: [["a-0", 0], ["a-0", 1], ["a-1", 0]],
  offsets: [["a-0", 2], ["a-1", 1]],
});
const LAST_LOOK = offsets(80, 81, ["a-0", 2], ["a-1", 1]);

/** A writer, a transformer of a part of what it wrote, two readers; nothing is wrong. */
const GOOD: readonly TransactionEvent[] = [
  client("w", "writer", { transactionalId: "W" }),
  client("r", "reader"),
  client("dirty", "reader", { isolation: "read_uncommitted" }),
  client("t", "transformer", { transactionalId: "T", group: "g" }),
  ...init("w", 1, 2),
  begin(10, "w", 1, ["a-0", "a-0", "a-1"]),
  ask(11, "w", 1),
  end(12, "w", 1, "ok", [0, 1, 0]),
  begin(20, "w", 2, ["a-0", "a-1"]),
  end(22, "w", 2, "fail"),
  // Killed before it knew: it may be there or not.
  begin(30, "w", 3, ["a-0"]),
  ask(31, "w", 3),
  begin(40, "w", 4, ["a-1"]),
  { f: "nemesis", did: "SIGKILL" },
  POLL,
  moved("t"),
  poll(60, "t", ["a-0", 0, "w 1 0"], ["a-0", 1, "w 1 1"], ["a-1", 0, "w 1 2"]),
  TRANSFORM,
  offsets(61, 62),
  ask(63, "t", 1),
  end(65, "t", 1, "ok", [0, 1, 2]),
  poll(70, "r", ["b-0", 0, "t 1 0 a-0@0"], ["b-0", 1, "t 1 1 a-0@1"], ["b-0", 2, "t 1 2 a-1@0"]),
  poll(71, "dirty", ["a-0", 0, "w 1 0"], ["a-0", 1, "w 1 1"], ["a-0", 3, "w 2 0"], ["a-0", 5, "w 3 0"]),
  LAST_LOOK,
  { f: "ended", process: "r" },
  ...[LOG_A0, LOG_A1, LOG_B0],
];

/** A history with an event exchanged for others, or for none. */
function exchange(
  events: readonly TransactionEvent[],
  event: TransactionEvent,
  ...others: TransactionEvent[]
): TransactionEvent[] {
  const at = events.indexOf(event);
  if (at < 0) throw new Error("what is to be exchanged is not in the history");
  return events.toSpliced(at, 1, ...others);
}

/** GOOD with an event exchanged. */
function exchanged(event: TransactionEvent, ...others: TransactionEvent[]): TransactionEvent[] {
  return exchange(GOOD, event, ...others);
}

/** A log with more behind it. */
function appended(before: LogEvent, ...more: Batches): LogEvent {
  const { batches, end } = log("", ...more);
  const moved = batches.map((batch) => ({ ...batch, offset: batch.offset + before.end }));
  return {
    ...before,
    ...{ batches: [...before.batches, ...moved], end: before.end + end, stable: before.end + end },
  };
}

/** The event of GOOD that says how a transaction ended. */
function found(part: Pick<EndEvent, "process" | "txn" | "type">): TransactionEvent {
  return GOOD.find((event) =>
    event.f === "txn" && event.process === part.process && event.txn === part.txn && event.type === part.type
  )!;
}

/** The rules that a history breaks, each once. */
function broken(events: readonly TransactionEvent[]): Rule[] {
  const found = new Set(check(events).violations.map(({ rule }) => rule));
  return rules.filter((rule) => found.has(rule));
}

Deno.test("check() finds nothing wrong with a history in which nothing is, and counts what it holds", () => {
  const { violations, counts } = check(GOOD);
  assertEquals(violations, []);
  assertEquals(counts, {
    ...{ committed: 3, aborted: 2, unknown: 1, records: 9, polls: 4, read: 10 },
    ...{ readFrom: 0, observed: 2, inWriteCycles: 0, fenced: 0 },
  });
});

Deno.test("check() takes a transaction of which nobody knows for aborted when nothing of it is committed", () => {
  const aborted = { ...LOG_A0, batches: LOG_A0.batches.with(-1, { ...LOG_A0.batches[3], offset: 6 }) };
  const polled = { ...POLL, records: POLL.records.slice(0, 3) };
  assertEquals(broken(exchange(exchanged(LOG_A0, aborted), POLL, polled)), []);
});

Deno.test("check() lets a member go back, and the same records come again, after its places have changed", () => {
  const again = poll(61, "t", ["a-0", 0, "w 1 0"], ["a-0", 1, "w 1 1"]);
  assertEquals(broken(exchanged(TRANSFORM, moved("t"), again, TRANSFORM)), []);
});

Deno.test("takenForCommitted() has the checker find what a reader of uncommitted records was given", () => {
  assertEquals(broken(takenForCommitted(GOOD)), ["G1a"]);
});

const okOfOne = found({ process: "w", txn: 1, type: "ok" });
const failOfTwo = found({ process: "w", txn: 2, type: "fail" });
const askOfOne = GOOD.find((event) => event.f === "commit" && event.txn === 1)!;
const askOfThree = GOOD.find((event) => event.f === "commit" && event.txn === 3)!;
const askOfT = GOOD.find((event) => event.f === "commit" && event.process === "t")!;

/** GOOD with two more committed records, at a-0@7 and a-0@9, and other polls. */
function withMore(...polls: PollEvent[]): TransactionEvent[] {
  const more = [5, 6].flatMap((txn) => [begin(40 + txn, "w", txn, ["a-0"]), ask(40 + txn, "w", txn)]);
  const batches = [5, 6].flatMap((txn): Batches => [[7, 0, [`w ${txn} 0`]], [7, 0, "commit"]]);
  return exchange(exchanged(POLL, ...more, ...polls), LOG_A0, appended(LOG_A0, ...batches));
}

/** Each reads what the other has not committed yet. */
const CIRCLE: TransactionEvent[] = [
  ...[client("x", "writer"), client("y", "writer")],
  ...[begin(1, "x", 1, ["c-0"]), begin(2, "y", 1, ["d-0"])],
  { ...poll(3, "x", ["d-0", 0, "y 1 0"]), txn: 1 },
  { ...poll(3, "y", ["c-0", 0, "x 1 0"]), txn: 1 },
  ...[ask(4, "x", 1), ask(4, "y", 1)],
  ...[log("c-0", [1, 0, ["x 1 0"]], [1, 0, "commit"]), log("d-0", [2, 0, ["y 1 0"]], [2, 0, "commit"])],
];

/** Each anomaly, the rules that it breaks, and a history in which it is planted. */
const PLANTED: [string, Rule[], TransactionEvent[]][] = [
  [
    "a read of a record whose transaction was aborted",
    ["G1a"],
    exchanged(POLL, { ...POLL, records: POLL.records.toSpliced(3, 0, ["a-0", 3, "w 2 0"]) }),
  ],
  [
    "an aborted transaction that is committed in the log, and its readers",
    ["G1a"],
    exchanged(okOfOne, end(12, "w", 1, "fail")),
  ],
  ["a transaction that is committed without being asked to", ["G1a"], exchanged(askOfThree)],
  ["a read before the transaction was asked to commit", ["G1b"], exchanged(POLL, { ...POLL, at: 25 })],
  [
    "a read within a transaction of what it wrote itself",
    ["G1b"],
    exchanged(askOfOne, poll(10.5, "w", ["a-0", 0, "w 1 0"]), askOfOne),
  ],
  ["transactions that read from each other", ["G1b", "G1c"], CIRCLE],
  [
    "a committed transaction of which nothing is there",
    ["lost"],
    exchanged(failOfTwo, ask(21, "w", 2), end(22, "w", 2, "ok")),
  ],
  [
    "a record that is not where it was acknowledged",
    ["lost"],
    exchanged(okOfOne, end(12, "w", 1, "ok", [0, 1, 4])),
  ],
  [
    "a log that cannot be read to its end",
    ["lost", "stuck"],
    exchanged(LOG_B0, { ...LOG_B0, end: 9 }),
  ],
  [
    "a record that is there twice",
    ["duplicate", "order"],
    exchanged(LOG_A1, appended(LOG_A1, [7, 0, ["w 1 2"]], [7, 0, "abort"])),
  ],
  [
    "a transaction of which a part was aborted",
    ["G1a", "torn"],
    exchanged(
      LOG_A1,
      log("a-1", [7, 0, ["w 1 2"]], [7, 0, "abort"], [7, 0, ["w 2 1"]], [7, 0, "abort"]),
    ),
  ],
  [
    "a transaction of which a part is missing",
    ["lost", "torn"],
    exchanged(LOG_B0, log("b-0", [8, 0, ["t 1 0 a-0@0", "t 1 1 a-0@1"]], [8, 0, "commit"])),
  ],
  [
    "a transaction that ends twice in one place",
    ["torn"],
    [
      ...[begin(1, "x", 1, ["c-0", "c-0"]), ask(2, "x", 1)],
      log("c-0", [1, 0, ["x 1 0"]], [1, 0, "commit"], [1, 0, ["x 1 1"]], [1, 0, "commit"]),
    ],
  ],
  [
    "a reader that went past a record of a transaction of which it was given another",
    ["torn"],
    exchanged(POLL, { ...POLL, records: POLL.records.toSpliced(1, 1) }),
  ],
  [
    "a reader whose position is past a record that it was not given",
    ["torn"],
    exchanged(POLL, { ...POLL, records: POLL.records.toSpliced(2, 1), positions: [["a-1", 4]] }),
  ],
  [
    "records of a producer that changed their order",
    ["lost", "order", "changed"],
    exchanged(LOG_A0, { ...LOG_A0, batches: LOG_A0.batches.with(0, swapped(LOG_A0.batches[0])) }),
  ],
  [
    "a record of an epoch that is over",
    ["fenced"],
    exchanged(
      LOG_A1,
      log("a-1", [7, 1, ["w 1 2"]], [7, 1, "commit"], [7, 0, ["w 2 1"]], [7, 0, "abort"]),
    ),
  ],
  [
    "a commit of a producer after another took its place",
    ["fenced"],
    exchanged(
      askOfThree,
      client("w2", "writer", { transactionalId: "W" }),
      ...init("w2", 30.1, 30.2),
      askOfThree,
    ),
  ],
  [
    "a committed record that a reader was not given within a poll",
    ["int-poll-skip"],
    withMore({ ...POLL, records: [...POLL.records, ["a-0", 9, "w 6 0"]] }),
  ],
  [
    "a committed record that a reader was not given between polls",
    ["poll-skip"],
    withMore(POLL, poll(55, "r", ["a-0", 9, "w 6 0"])),
  ],
  [
    "a record after a later one within a poll",
    ["int-nonmonotonic-poll"],
    exchanged(POLL, { ...POLL, records: [...POLL.records, POLL.records[0]] }),
  ],
  ["a poll that begins again", ["nonmonotonic-poll"], exchanged(POLL, POLL, POLL)],
  ["what a reader that had the time was not given", ["unread"], withMore(POLL)],
  [
    "a record that says something else to another reader",
    ["changed"],
    exchanged(POLL, { ...POLL, records: POLL.records.with(3, ["a-0", 5, "w 4 0"]) }),
  ],
  [
    "a record that nobody sent",
    ["phantom"],
    exchanged(LOG_A1, appended(LOG_A1, [9, 0, ["x 1 0"]], [9, 0, "abort"])),
  ],
  [
    "a record in a place to which it was not sent",
    ["phantom"],
    exchanged(LOG_A1, appended(LOG_A1, [7, 0, ["w 3 0"]], [7, 0, "abort"])),
  ],
  [
    "a transaction that is still open when all must have ended",
    ["stuck"],
    exchanged(LOG_A1, { ...appended(LOG_A1, [7, 0, ["w 4 0"]]), stable: 4 }),
  ],
  ["a stable offset that stays behind", ["stuck"], exchanged(LOG_A1, { ...LOG_A1, stable: 2 })],
  [
    "an offset of an aborted transaction",
    ["G1a"],
    exchanged(
      LAST_LOOK,
      begin(66, "t", 2, ["b-0"], { inputs: [["a-0", 5]], offsets: [["a-0", 6]] }),
      end(67, "t", 2, "fail"),
      offsets(68, 69, ["a-0", 6], ["a-1", 1]),
      LAST_LOOK,
    ),
  ],
  [
    "an offset before its transaction was asked to commit",
    ["G1b"],
    exchanged(askOfT, offsets(61, 62, ["a-0", 2]), askOfT),
  ],
  [
    "an offset that goes back to where nobody committed it",
    ["lost", "offsets"],
    exchanged(LAST_LOOK, offsets(71, 72, ["a-0", 1], ["a-1", 1]), LAST_LOOK),
  ],
  ["records whose offsets are not there", ["offsets"], exchanged(LAST_LOOK, offsets(80, 81, ["a-1", 1]))],
  [
    "offsets that went past a record that nobody was given and nobody answered",
    ["poll-skip", "offsets"],
    exchange(
      exchanged(TRANSFORM, { ...TRANSFORM, offsets: [["a-0", 6], ["a-1", 1]] }),
      LAST_LOOK,
      offsets(80, 81, ["a-0", 6], ["a-1", 1]),
    ),
  ],
  [
    "a record that was answered twice",
    ["duplicate"],
    exchange(
      exchanged(LOG_B0, appended(LOG_B0, [8, 0, ["t 2 0 a-1@0"]], [8, 0, "commit"])),
      LAST_LOOK,
      begin(75, "t", 2, ["b-0"], { inputs: [["a-1", 0]], offsets: [["a-1", 1]] }),
      ask(76, "t", 2),
      poll(77, "r", ["b-0", 4, "t 2 0 a-1@0"]),
      LAST_LOOK,
    ),
  ],
  ["a transaction that is asked to commit without having begun", ["history"], [...GOOD, ask(1, "z", 1)]],
];

/** A batch with its values the other way round. */
function swapped(batch: LoggedBatch): LoggedBatch {
  return "values" in batch ? { ...batch, values: batch.values.toReversed() } : batch;
}

for (const [what, expected, events] of PLANTED) {
  Deno.test(`check() finds ${what}`, () => {
    assertEquals(broken(events), expected);
  });
}

Deno.test("every rule has a history that breaks it", () => {
  const seen = new Set(PLANTED.flatMap(([, expected]) => expected));
  assertEquals(rules.filter((rule) => !seen.has(rule)), []);
});

Deno.test("circles() gives the parts of a graph in which every node leads to every other", () => {
  const edges = (pairs: string) => {
    const all = new Map<string, Set<string>>();
    for (const [from, to] of pairs.split(" ")) all.set(from, (all.get(from) ?? new Set()).add(to));
    return all;
  };
  assertEquals(circles(edges("ab bc cd")), []);
  assertEquals(circles(edges("ab bc ca cd de ed")).map((part) => part.sort()), [["d", "e"], ["a", "b", "c"]]);
});
