import { assertEquals } from "@std/assert/equals";
import { wholePattern } from "../../src/base/linear_pattern.ts";

const cases: [pattern: string, text: string, matches: boolean | null][] = [
  ["a.c", "abc", true],
  ["a.c", "abcd", false],
  ["a|b", "b", true],
  ["a|b", "ab", false],
  ["(?i)abc", "ABC", true],
  ["(?is)a.c", "A\nC", true],
  ["(?ii)a", "A", true],
  ["(", "(", null],
  ["(?x)a", "a", null],
  ["", "", true],
];
for (const [pattern, text, matches] of cases) {
  Deno.test(`wholePattern(${JSON.stringify(pattern)}) and ${JSON.stringify(text)}: ${matches ?? "no pattern"}`, () => {
    assertEquals(wholePattern(pattern)?.test(text) ?? null, matches);
  });
}
