/** The judge of the transactions course: what it must call wrong, on records made up for it. */

import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";

import {
  onceFault,
  orderFault,
  type Outcome,
  parseMade,
  type Read,
  sameFault,
  toldFault,
  tornFault,
} from "./judge.ts";

const partitions = 3;

/** Records "v0", "v1", ... of a partition of the input. */
function source(partition: number, count: number): Read[] {
  return Array.from({ length: count }, (_, offset) => ({ partition, offset, value: `v ${offset}` }));
}

/** What transactions of these sizes make of them, each marker taking an offset. */
function made(input: readonly Read[], sizes: readonly number[], of = "t"): Read[] {
  const ends = Array(partitions).fill(0);
  let next = 0;
  return sizes.flatMap((size, tx) => {
    const records = input.slice(next, next += size).flatMap(({ partition, offset, value }) =>
      [0, 1].map((copy) => {
        const to = (partition + copy) % partitions;
        const text = `${partition} ${offset} ${copy} ${of}-${tx} ${2 * size} ${value}`;
        return { partition: to, offset: ends[to]++, value: text };
      })
    );
    for (const to of new Set(records.map(({ partition }) => partition))) ends[to]++;
    return records;
  });
}

const input = [...source(0, 3), ...source(1, 2)];
const output = made(input, [1, 2, 2]);
const without = (i: number) => output.toSpliced(i, 1);
const changed = (i: number, by: Partial<Read>) => output.with(i, { ...output[i], ...by });
const outcome = (tx: string, end: Outcome["end"]): Outcome => ({ tx, end });
const told = [
  ...["t-0", "t-1", "t-2"].map((tx) => outcome(tx, "committed")),
  ...[outcome("t-3", "aborted"), outcome("t-4", "fenced")],
];

Deno.test("the judge finds nothing wrong with what is right", () => {
  assertEquals(onceFault(input, output), null);
  assertEquals(orderFault(output, partitions), null);
  assertEquals(tornFault(output), null);
  assertEquals(toldFault(told, output), null);
  assertEquals(sameFault(output, output), null);
});

Deno.test("parseMade() keeps spaces of the value and refuses what is no record of the course", () => {
  assertEquals(parseMade("1 2 0 t-1 4 a b").value, "a b");
  assertThrows(() => parseMade("1 2 0 t-1"), Error, `says "1 2 0 t-1"`);
});

for (
  const [flaw, found, fault] of [
    ["a missing copy", without(1), `1 records are missing, among them "0 0 1"`],
    ["a repeated one", [...output, { ...output[0], offset: 99 }], `the record at 0@99 repeats "0 0 0"`],
    ["one of no source", changed(0, { value: "2 9 0 t-0 2 v 9" }), "made of nothing"],
    ["a wrong value", changed(0, { value: "0 0 0 t-0 2 v 1" }), `says "v 1" and not "v 0"`],
  ] as const
) {
  Deno.test(`onceFault() tells ${flaw}`, () => {
    assertEquals(onceFault(input, found)?.includes(fault), true);
  });
}

Deno.test("onceFault() is not content with an empty input", () => {
  assertEquals(onceFault([], []), "there was nothing to compare");
});

Deno.test("orderFault() tells a record that comes late, and one in another's partition", () => {
  assertEquals(
    orderFault(changed(0, { offset: 99 }), partitions),
    "the record at 0@99, of offset 0, follows on 2",
  );
  assertEquals(
    orderFault(changed(0, { partition: 2 }), partitions),
    "the record at 2@0 belongs into partition 0",
  );
});

Deno.test("tornFault() tells a transaction of which a record is not there", () => {
  assertEquals(tornFault(without(3)), "of transaction t-1 there are 3 of 4 records");
});

for (const end of ["aborted", "fenced"] as const) {
  Deno.test(`toldFault() tells a transaction that was ${end} and is there`, () => {
    assertEquals(
      toldFault([...told, outcome("t-1", end)], output),
      `transaction t-1 was ${end} and is there`,
    );
  });
}

Deno.test("toldFault() tells a committed transaction that is not there", () => {
  assertEquals(
    toldFault([...told, outcome("t-9", "committed")], output),
    "transaction t-9 was committed and is not there",
  );
});

Deno.test("toldFault() lets a transaction be either whose owner failed, and wants both ends seen", () => {
  assertEquals(toldFault([...told, outcome("t-8", "failed")], output), null);
  assertEquals(toldFault(told.slice(0, 3), output), "no transaction was aborted");
});

Deno.test("sameFault() tells a record too few, too many, and another", () => {
  assertEquals(
    sameFault(output, without(1)),
    `the record at 1@0 came as the record at 1@2 "${output[3].value}"`,
  );
  assertEquals(sameFault(without(9), output), "10 records came, and not 9");
  assertEquals(
    sameFault(output, changed(0, { value: "other" })),
    `the record at 0@0 came as the record at 0@0 "other"`,
  );
});
