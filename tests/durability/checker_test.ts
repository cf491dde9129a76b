/** The checker's own judgement: a good history passes, and each kind of fault is called by its name. */
import { assertEquals } from "@std/assert/equals";
import { check, Checker, type Rule, rules } from "./checker.ts";
import { type HistoryEvent, HistoryFile, readHistory } from "./history.ts";

/** Two producers in one partition, one group, ten records; nothing is wrong. */
const GOOD: readonly HistoryEvent[] = [
  { type: "producer", producer: "once", once: true, ordered: true },
  { type: "producer", producer: "plain", once: false, ordered: false },
  { type: "sending", producer: "once", partition: 0, first: 0, count: 4 },
  { type: "acked", producer: "once", partition: 0, first: 0, count: 4, offset: 0 },
  { type: "sending", producer: "plain", partition: 0, first: 0, count: 2 },
  { type: "acked", producer: "plain", partition: 0, first: 0, count: 2, offset: 4 },
  read(0, "once 0", "once 1", "once 2"),
  { type: "commit", reader: "a", group: "g", at: 2, partition: 0, offset: 3 },
  { type: "broker", did: "SIGKILL" },
  { type: "asking", group: "g" },
  { type: "committed", group: "g", partition: 0, offset: 3 },
  read(3, "once 3", "plain 0", "plain 1"),
  { type: "commit", reader: "a", group: "g", at: 4, partition: 0, offset: 6 },
  // Sent, never acknowledged, and there all the same.
  { type: "sending", producer: "once", partition: 0, first: 4, count: 1 },
  { type: "flushed", producer: "once", left: 0 },
  log("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 4"),
];

function read(offset: number, ...records: string[]): HistoryEvent {
  return {
    type: "read",
    reader: "a",
    group: "g",
    at: 1 + (offset > 0 ? 2 : 0),
    partition: 0,
    offset,
    records,
  };
}

function log(...records: string[]): HistoryEvent & { type: "log" } {
  const offsets = records.map((_, i) => i);
  return { type: "log", partition: 0, start: 0, end: records.length, offsets, records };
}

/** GOOD with another whole log. */
function withLog(...records: string[]): HistoryEvent[] {
  return [...GOOD.slice(0, -1), log(...records)];
}

/** GOOD with `more` before its end. */
function withEvents(...more: HistoryEvent[]): HistoryEvent[] {
  return [...GOOD.slice(0, -1), ...more, GOOD.at(-1)!];
}

/** The rules that a history breaks, each once. */
function broken(events: Iterable<HistoryEvent>): Rule[] {
  const found = new Set(check(events).map(({ rule }) => rule));
  return rules.filter((rule) => found.has(rule));
}

Deno.test("check() finds nothing wrong with a history in which nothing is", () => {
  assertEquals(check(GOOD), []);
});

const faults: [string, HistoryEvent[], Rule[]][] = [
  [
    "an acknowledged record at the end that is gone",
    withLog("once 0", "once 1", "once 2", "once 3", "plain 0"),
    [
      "loss",
    ],
  ],
  [
    "an acknowledged record in the middle that is gone, so that all behind it moved",
    withLog("once 0", "once 1", "once 3", "plain 0", "plain 1", "once 4"),
    ["loss", "changed"],
  ],
  ["a partition of which nothing is left", [...GOOD.slice(0, -1), log()], ["loss"]],
  [
    "a record of an idempotent producer that is there twice",
    withLog("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 3"),
    ["duplicate"],
  ],
  [
    "records of an ordered producer out of order",
    [
      ...withEvents({ type: "sending", producer: "once", partition: 0, first: 5, count: 1 }).slice(0, -1),
      log("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 5", "once 4"),
    ],
    ["order"],
  ],
  [
    "a record that was never sent",
    withLog("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 5"),
    ["phantom"],
  ],
  [
    "a record of nobody",
    withLog("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "garbage"),
    ["phantom"],
  ],
  [
    "an offset that is left out",
    [...GOOD.slice(0, -1), {
      ...log("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 4"),
      offsets: [0, 1, 2, 3, 4, 5, 7],
      end: 8,
    }],
    ["gap"],
  ],
  [
    "a log that ends before it should",
    [...GOOD.slice(0, -1), { ...GOOD.at(-1) as HistoryEvent & { type: "log" }, end: 8 }],
    ["gap"],
  ],
  [
    "a group that read something else than what is there",
    withEvents({ ...read(6, "plain 0"), at: 5 } as HistoryEvent),
    ["changed"],
  ],
  [
    "a committed offset that went back",
    withEvents({ type: "asking", group: "g" }, { type: "committed", group: "g", partition: 0, offset: 3 }),
    ["commit"],
  ],
  [
    "a committed offset that went back from what was found before, though nobody saw it acknowledged",
    withEvents(
      { type: "committed", group: "g", partition: 0, offset: 6 },
      { type: "committed", group: "g", partition: 0, offset: 5 },
    ),
    ["commit"],
  ],
  [
    "a commit that was accepted after a later one",
    withEvents({ type: "commit", reader: "b", group: "g", at: 5, partition: 0, offset: 5 }),
    ["commit"],
  ],
  [
    "a committed offset beyond all that was read",
    withEvents({ type: "committed", group: "g", partition: 0, offset: 7 }),
    ["commit"],
  ],
  [
    "a group that is given again what it committed",
    withEvents({ ...read(2, "once 2"), at: 5 } as HistoryEvent),
    [
      "again",
    ],
  ],
  [
    "a group that went on behind where it had committed",
    withEvents(
      { ...read(7, "once 5"), at: 5 } as HistoryEvent,
      { type: "sending", producer: "once", partition: 0, first: 5, count: 1 },
      { type: "commit", reader: "a", group: "g", at: 6, partition: 0, offset: 8 },
    ).slice(0, -1).concat(
      log("once 0", "once 1", "once 2", "once 3", "plain 0", "plain 1", "once 4", "once 5"),
    ),
    ["skipped"],
  ],
  [
    "a client that gave up",
    withEvents({ type: "failed", producer: "once", partition: 0, first: 4, count: 1, error: "timed out" }),
    ["refused"],
  ],
  ["a client that was not answered", withEvents({ type: "flushed", producer: "plain", left: 2 }), [
    "refused",
  ]],
  [
    "an acknowledgement of what was not sent",
    withEvents({ type: "acked", producer: "plain", partition: 0, first: 2, count: 1, offset: 7 }),
    ["loss", "history"],
  ],
  [
    "numbers that do not follow each other",
    withEvents({ type: "sending", producer: "once", partition: 0, first: 9, count: 1 }),
    [
      "history",
    ],
  ],
];

for (const [fault, events, expected] of faults) {
  Deno.test(`check() finds ${fault}`, () => assertEquals(broken(events), expected));
}

Deno.test("check() lets a producer without idempotence repeat itself, and one without order mix its records", () => {
  const mixed = [
    ...GOOD.slice(0, -1),
    { type: "sending", producer: "plain", partition: 0, first: 2, count: 2 } as const,
    log(
      "once 0",
      "once 1",
      "once 2",
      "once 3",
      "plain 0",
      "plain 1",
      "plain 3",
      "plain 2",
      "plain 3",
      "once 4",
    ),
  ];
  assertEquals(check(mixed), []);
});

Deno.test("check() takes a repeated batch of an ordered producer without idempotence by its first place", () => {
  const introduced: HistoryEvent[] = [
    { type: "producer", producer: "p", once: false, ordered: true },
    { type: "sending", producer: "p", partition: 0, first: 0, count: 4 },
  ];
  assertEquals(check([...introduced, log("p 0", "p 1", "p 0", "p 1", "p 2", "p 3")]), []);
  assertEquals(broken([...introduced, log("p 0", "p 2", "p 1", "p 3")]), ["order"]);
});

Deno.test("check() lets a member that was stopped be given what it had, but not commit it over later commits", () => {
  const stale: HistoryEvent = {
    ...{ type: "read", reader: "b", group: "g", at: 5, stale: true, partition: 0, offset: 2 },
    records: ["once 2"],
  };
  assertEquals(check(withEvents(stale)), []);
  const commit: HistoryEvent = { type: "commit", reader: "b", group: "g", at: 6, partition: 0, offset: 3 };
  assertEquals(broken(withEvents(stale, commit)), ["commit"]);
});

Deno.test("check() goes by the members' clock where their lines arrived in another order", () => {
  const swapped: HistoryEvent[] = [
    { type: "commit", reader: "b", group: "g", at: 9, partition: 0, offset: 7 },
    { type: "read", reader: "b", group: "g", at: 8, partition: 0, offset: 6, records: ["once 4"] },
  ];
  assertEquals(check(withEvents(...swapped)), []);
});

Deno.test("check() tells the first of many violations and how many more there are", () => {
  const lost = Array.from({ length: 30 }, (_, i) => `once ${i}`);
  const violations = check([
    { type: "producer", producer: "once", once: true, ordered: true },
    { type: "sending", producer: "once", partition: 0, first: 0, count: lost.length },
    { type: "acked", producer: "once", partition: 0, first: 0, count: lost.length, offset: 0 },
    log(),
  ]);
  assertEquals(violations.length, 11);
  assertEquals(violations.at(-1), { rule: "loss", text: "and 20 more of this kind" });
});

Deno.test("a history that was written down is the same when it is read, and its events are counted", async () => {
  const path = await Deno.makeTempFile();
  try {
    {
      using file = new HistoryFile(path);
      for (const event of GOOD) file.add(event);
    }
    const checker = new Checker();
    for await (const event of readHistory(path)) checker.take(event);
    assertEquals(checker.finish(), []);
    assertEquals(checker.counts, { sent: 7, acked: 6, inLogs: 7, readByGroups: 6, commits: 2 });
  } finally {
    await Deno.remove(path);
  }
});
