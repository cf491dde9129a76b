/** Reading values: Java's habits, exact 64-bit numbers, and error texts that say what is allowed. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import {
  boolean,
  double,
  int,
  invalidValue,
  javaDouble,
  list,
  long,
  password,
  type Setting,
  string,
} from "../../src/config/setting.ts";

const doc = "A row for a test.";

function error(row: Setting<unknown>, text: string): string | null {
  const parsed = row.parse(text);
  return "error" in parsed ? parsed.error : null;
}

Deno.test("long() keeps the text of 2^63-1 exact and saturates its number", () => {
  const row = long({ or: "9223372036854775807", doc });
  assertEquals(row.defaultText, "9223372036854775807");
  assertEquals(row.defaultValue, Number.MAX_SAFE_INTEGER);
  assertEquals(row.parse("-9223372036854775808"), {
    value: Number.MIN_SAFE_INTEGER,
    text: "-9223372036854775808",
  });
  assertEquals(row.parse("9007199254740993"), { value: Number.MAX_SAFE_INTEGER, text: "9007199254740993" });
});

Deno.test("int() reads numbers as Java does and gives them their canonical text", () => {
  const row = int({ or: 0, doc });
  for (const text of ["7", " 7 ", "+7", "007"]) assertEquals(row.parse(text), { value: 7, text: "7" });
  assertEquals(row.parse("-0"), { value: 0, text: "0" });
});

Deno.test("a refused value says what is allowed", () => {
  const cases: [Setting<unknown>, string, string][] = [
    [int({ or: 5, min: 1, doc }), "0", "must be a whole number (int), at least 1"],
    [int({ or: 5, min: 1, max: 9, also: -1, doc }), "0", "must be a whole number (int) from 1 to 9, or -1"],
    [long({ or: 5, doc }), "5 days", "must be a whole number"],
    [double({ or: 0.5, min: 0, max: 1, doc }), "2", "must be a number from 0 to 1"],
    [double({ or: 0.5, doc }), "NaN", "must be a number"],
    [boolean({ or: true, doc }), "yes", "must be true or false"],
    [string({ or: "a", oneOf: ["a", "b"], doc }), "A", "must be one of a, b"],
    [list({ or: "a", oneOf: ["a", "b"], doc }), "a,c", "must be a list of any of a, b"],
  ];
  for (const [row, text, expected] of cases) assertEquals(error(row, text), expected);
});

Deno.test("list() splits at commas, drops white space, and makes an empty list of an empty text", () => {
  const row = list({ or: "", doc });
  assertEquals(row.parse(" a , b,c "), { value: ["a", "b", "c"], text: "a,b,c" });
  assertEquals(row.parse("  "), { value: [], text: "" });
});

Deno.test("password() is sensitive and has no default", () => {
  const row = password({ doc });
  assertEquals([row.sensitive, row.defaultText, row.type], [true, null, "password"]);
});

Deno.test("a default outside of its own row's range is a bug", () => {
  assertThrows(() => int({ or: 0, min: 1, doc }), Error, "default 0");
});

Deno.test("javaDouble() writes numbers as Java does", () => {
  const cases: [number, string][] = [
    [0.5, "0.5"],
    [1, "1.0"],
    [0, "0.0"],
    [9999999, "9999999.0"],
    [1e7, "1.0E7"],
    [1.5e-5, "1.5E-5"],
    [Number.MAX_VALUE, "1.7976931348623157E308"],
  ];
  for (const [value, expected] of cases) assertEquals(javaDouble(value), expected);
});

Deno.test("invalidValue() names the setting, the value and what is allowed", () => {
  const text = invalidValue("retention.ms", "-5", "must be a whole number, at least -1");
  assertEquals(text, "Invalid value -5 for configuration retention.ms: must be a whole number, at least -1");
});
