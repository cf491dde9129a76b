/** The .properties format, with the corners that Java's own reader has. */
import { assertEquals } from "@std/assert/equals";
import { parseProperties } from "../../src/config/properties.ts";

const cases: [claim: string, text: string, expected: [string, string][]][] = [
  ["reads names and values", "a=1\nb = 2\nc:3\nd 4\ne\t=\t5", [
    ["a", "1"],
    ["b", "2"],
    ["c", "3"],
    ["d", "4"],
    ["e", "5"],
  ]],
  ["skips comments and blank lines", "# a=1\n! b=2\n\n   # c=3\n \t\nd=4", [["d", "4"]]],
  ["does not see a comment after a value", "a=1 # one", [["a", "1 # one"]]],
  ["joins continued lines without their indentation", "a=1,\\\n    2,\\\n\t3\nb=4", [["a", "1,2,3"], [
    "b",
    "4",
  ]]],
  ["does not continue after an escaped backslash", "a=1\\\\\nb=2", [["a", "1\\"], ["b", "2"]]],
  ["reads a continued line that looks like a comment", "a=1\\\n# 2", [["a", "1# 2"]]],
  ["ends a continued last line at the end of the file", "a=1\\", [["a", "1"]]],
  ["splits at the first separator only", "a=b=c:d", [["a", "b=c:d"]]],
  ["takes escaped separators into the name", "a\\=b\\:c\\ d=1", [["a=b:c d", "1"]]],
  ["reads escapes", "a=\\t\\n\\u00e9\\\\\\q", [["a", "\t\né\\q"]]],
  ["reads all three line ends", "a=1\r\nb=2\rc=3", [["a", "1"], ["b", "2"], ["c", "3"]]],
  ["gives a name alone an empty value", "a\nb=", [["a", ""], ["b", ""]]],
  ["keeps the order and both values of a name that comes twice", "a=1\na=2", [["a", "1"], ["a", "2"]]],
  ["keeps white space at the end of a value", "a=1 ", [["a", "1 "]]],
];

for (const [claim, text, expected] of cases) {
  Deno.test(`parseProperties() ${claim}`, () => {
    const { entries, errors } = parseProperties(text);
    assertEquals(entries.map(({ name, value }) => [name, value]), expected);
    assertEquals(errors, []);
  });
}

Deno.test("parseProperties() gives the line where an entry begins", () => {
  const { entries } = parseProperties("# head\na=1,\\\n 2\n\nb=3");
  assertEquals(entries.map(({ line }) => line), [2, 5]);
});

Deno.test("parseProperties() refuses a broken \\u and reads the rest", () => {
  const { entries, errors } = parseProperties("a=1\nb=\\u12g4\nc=\\\\u12");
  assertEquals(errors, ["line 2: \\u needs four hexadecimal digits"]);
  assertEquals(entries.map(({ value }) => value), ["1", "\\u12"]);
});
