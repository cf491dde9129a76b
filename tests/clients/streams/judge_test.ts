/** The judge of the Streams course: what it must call wrong, on records made up for it. */

import { assertEquals } from "@std/assert/equals";

import {
  countsFault,
  joinedForeign,
  joinedTables,
  lastValues,
  lessFault,
  onceFault,
  type Record as Read,
  setFault,
  tableFault,
  windowedCounts,
  windowedPairs,
  wordCounts,
} from "./judge.ts";

/** Records of one partition, a millisecond apart. */
function records(...pairs: [key: string | null, value: string | null, timestamp?: number][]): Read[] {
  return pairs.map(([key, value, timestamp], offset) => ({
    ...{ topic: "t", partition: 0, offset, key, value },
    timestamp: timestamp ?? offset,
  }));
}

const table = (...pairs: [string, string][]) => new Map(pairs);

Deno.test("lastValues() keeps the last value of a key and forgets deleted ones", () => {
  assertEquals(
    lastValues(records(["a", "1"], ["b", "2"], ["a", "3"], ["b", null])),
    table(["a", "3"]),
  );
});

Deno.test("wordCounts() counts the lines that a word is in", () => {
  assertEquals(
    wordCounts(records([null, "0 0 x y x"], [null, "1 0 y"])),
    table(["x", "1"], ["y", "2"]),
  );
});

Deno.test("windowedCounts() counts by the time of the lines", () => {
  assertEquals(
    windowedCounts(records([null, "0 0 x", 99], [null, "0 1 x", 100], [null, "0 2 x y", 199]), 100),
    table(["x@0", "1"], ["x@100", "2"], ["y@100", "1"]),
  );
});

Deno.test("windowedPairs() joins what has one key and is within the window on either side", () => {
  const left = records(["k", "L", 1000]);
  const right = records(["k", "R0", 899], ["k", "R1", 900], ["k", "R2", 1100], ["k", "R3", 1101], [
    "j",
    "R4",
    1000,
  ]);
  assertEquals(windowedPairs(left, right, 100), new Set(["L|R1", "L|R2"]));
});

Deno.test("joinedTables() and joinedForeign() give what both sides have", () => {
  const orders = table(["o1", "O1 c1"], ["o2", "O2 c2"]);
  assertEquals(joinedTables(orders, table(["o2", "P"], ["o3", "P"])), table(["o2", "O2 c2|P"]));
  assertEquals(joinedForeign(orders, table(["c1", "C"])), table(["o1", "O1 c1|C"]));
});

for (
  const [flaw, found] of [
    ["a missing key", table(["a", "1"])],
    ["a wrong value", table(["a", "1"], ["b", "3"])],
    ["a key from nowhere", table(["a", "1"], ["b", "2"], ["c", "3"])],
  ] as const
) {
  Deno.test(`tableFault() tells ${flaw}`, () => {
    assertEquals(tableFault(table(["a", "1"], ["b", "2"]), found)?.startsWith("1 of "), true);
  });
}

Deno.test("tableFault() is null for equal tables, but not for empty ones", () => {
  assertEquals(tableFault(table(["a", "1"]), table(["a", "1"])), null);
  assertEquals(tableFault(table(), table()), "there was nothing to compare");
});

Deno.test("lessFault() lets numbers be larger, and tells of smaller and missing ones", () => {
  assertEquals(lessFault(table(["a", "9"]), table(["a", "10"])), null);
  assertEquals(
    lessFault(table(["a", "10"], ["b", "1"]), table(["a", "9"])),
    "2 numbers are too small, among them that of a: 9 and not 10",
  );
});

Deno.test("setFault() tells what is missing and what is from nowhere", () => {
  assertEquals(setFault(new Set(["a"]), new Set(["a"])), null);
  assertEquals(
    setFault(new Set(["a", "b"]), new Set(["a", "c"])),
    "1 of 2 are missing (b), 1 from nowhere (c)",
  );
});

Deno.test("countsFault() wants every number of a count once, in order, up to the last", () => {
  const wanted = table(["a", "2"], ["b", "1"]);
  assertEquals(countsFault(wanted, records(["a", "1"], ["b", "1"], ["a", "2"])), null);
  assertEquals(
    countsFault(wanted, records(["a", "1"], ["b", "1"], ["a", "1"])),
    "the count of a goes from 1 to 1",
  );
  assertEquals(countsFault(wanted, records(["a", "2"])), "the count of a goes from 0 to 2");
  assertEquals(
    countsFault(wanted, records(["a", "1"], ["b", "1"])),
    "1 of 2 keys are wrong, among them a: 1 instead of 2",
  );
});

Deno.test("onceFault() tells what is there twice", () => {
  assertEquals(onceFault(["a", "b"]), null);
  assertEquals(onceFault(["a", "b", "a"]), "1 are there again, among them a");
});
