/** Reading values: Java's habits, exact 64-bit numbers, and error texts that say what is allowed. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import {
  boolean,
  double,
  firstInvalidValue,
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
    [int({ or: 5, min: 1, doc }), "0", "Value must be at least 1"],
    [int({ or: 5, min: 1, max: 9, also: -1, doc }), "0", "Value must be between 1 and 9 or equal to -1"],
    [long({ or: 5, doc }), "5 days", "Not a number of type LONG"],
    [double({ or: 0.5, min: 0, max: 1, doc }), "2", "Value must be no more than 1"],
    [double({ or: 0.5, doc }), "NaN", "Not a number of type DOUBLE"],
    [boolean({ or: true, doc }), "yes", "Expected value to be either true or false"],
    [string({ or: "a", oneOf: ["a", "b"], doc }), "A", "String must be one of: a, b"],
    [list({ or: "a", oneOf: ["a", "b"], doc }), "a,c", "String must be one of: a, b"],
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

Deno.test("invalidValue() names the setting, the value as it was read and what is allowed", () => {
  const cases: [Setting<unknown>, string, string][] = [
    [
      long({ or: 5, min: -1, doc }),
      " -05",
      "Invalid value -5 for configuration x: Value must be at least -1",
    ],
    [long({ or: 5, doc }), "a", "Invalid value a for configuration x: Not a number of type LONG"],
    [
      double({ or: 0, max: 1, doc }),
      "2",
      "Invalid value 2.0 for configuration x: Value must be no more than 1",
    ],
    [
      list({ or: "", oneOf: ["a"], doc }),
      "a,b,c",
      "Invalid value b for configuration x: String must be one of: a",
    ],
    [
      list({ or: "", check: (all) => all.length > 1 ? "no" : null, doc }),
      "a, b",
      "Invalid value [a, b] for configuration x: no",
    ],
    [list({ or: "", doc }), "a,,b", "Configuration 'x' values must not be empty."],
    [list({ or: "", odd: "refused", doc }), "a,a", "Configuration 'x' values must not be duplicated."],
  ];
  for (const [row, text, expected] of cases) {
    const parsed = row.parse(text);
    assertEquals("error" in parsed && invalidValue("x", text, parsed), expected);
  }
});

Deno.test("list() keeps each element once", () => {
  assertEquals(list({ or: "", doc }).parse(" a , b,a"), { value: ["a", "b"], text: "a,b" });
});

Deno.test("firstInvalidValue() goes by the order of the table", () => {
  const rows = { a: int({ or: 1, doc }), b: int({ or: 1, doc }) };
  const values = new Map([["b", "x"], ["a", "y"]]);
  assertEquals(
    firstInvalidValue(rows, values),
    "Invalid value y for configuration a: Not a number of type INT",
  );
  assertEquals(firstInvalidValue(rows, new Map([["a", "1"]])), null);
});
