import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { AssertionError } from "../../src/base/assert.ts";
import { isPromiseLike, Later } from "../../src/base/later.ts";

Deno.test("Later hands its value on in the call that brings it, through every step", () => {
  const later = new Later<number>();
  const got: unknown[] = [];
  later.then((n) => n + 1).then((n) => got.push(n));
  assertEquals(got, []);
  later.settle(1);
  assertEquals(got, [2]);
});

Deno.test("Later hands a value on that was there before its listener", () => {
  const later = new Later<string>();
  later.settle("a");
  let got = "";
  later.then((value) => got = value);
  assertEquals(got, "a");
});

Deno.test("Later hands failures past those who only want the value, also what they throw themselves", () => {
  const errors: string[] = [];
  const note = (error: unknown) => errors.push((error as Error).message);
  const failing = new Later<number>();
  failing.then(() => errors.push("called")).then(undefined, note);
  failing.fail(new Error("failed"));
  const throwing = new Later<number>();
  throwing.then(() => {
    throw new Error("thrown");
  }).then(undefined, note);
  throwing.settle(1);
  const giving = new Later<number>();
  giving.then(undefined, note);
  giving.settleWith(() => {
    throw new Error("not given");
  });
  assertEquals(errors, ["failed", "thrown", "not given"]);
});

Deno.test("Later can be awaited, and waits for promises that its listener gives", async () => {
  const later = new Later<number>();
  queueMicrotask(() => later.settle(1));
  assertEquals(await later, 1);
  const chained = new Later<number>();
  chained.settle(2);
  assertEquals(await chained.then((n) => Promise.resolve(n * 2)), 4);
  const failing = new Later<number>();
  failing.fail(new Error("no"));
  await assertRejects(async () => await failing, Error, "no");
});

Deno.test("Later refuses a second value and a second listener", () => {
  const later = new Later<number>();
  later.settle(1);
  assertThrows(() => later.settle(2), AssertionError);
  later.then(() => {});
  assertThrows(() => later.then(() => {}), AssertionError);
});

Deno.test("isPromiseLike() tells promises and laters from answers", () => {
  assertEquals([Promise.resolve(), new Later()].map(isPromiseLike), [true, true]);
  assertEquals([null, undefined, {}, [], new Uint8Array(0), 1].map(isPromiseLike), Array(6).fill(false));
});
