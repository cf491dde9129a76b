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
  // What Kafka's engine has and JavaScript's has not.
  ["\\Qa.b\\E.*", "a.b-1", true],
  ["\\Qa.b\\E.*", "axb-1", false],
  ["id-\\pN+", "id-12", true],
  ["[[:alpha:]]+", "abc", true],
  ["\\Aid.*\\z", "id-1", true],
  ["(?P<x>id)", "id", true],
  ["\\x{69}d", "id", true],
  ["(?s:.)", "\n", true],
  [".", "\n", false],
  ["a)|(b", "a", null],
  // What would have to go back.
  ["(?=a)a", "a", null],
  ["(a)\\1", "aa", null],
  ["a++", "a", null],
  // What costs too much.
  ["[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}", "01234567-89ab-0123456789ab", true],
  ["x{500}", "x".repeat(500), true],
  ["x{501}", "x".repeat(501), null],
  ["x{251}y{0,250}", "x", null],
  ["a".repeat(255), "a".repeat(255), true],
  ["a".repeat(256), "a".repeat(256), null],
];
for (const [pattern, text, matches] of cases) {
  const [p, t] = [pattern, text].map((each) => JSON.stringify(each.slice(0, 50)));
  Deno.test(`wholePattern(${p}) of ${pattern.length} and ${t}: ${matches ?? "no pattern"}`, () => {
    assertEquals(wholePattern(pattern)?.test(text) ?? null, matches);
  });
}

Deno.test("WholePattern.longestText goes down as what a pattern repeats goes up", () => {
  const longest = (pattern: string) => wholePattern(pattern)!.longestText;
  // The longest transactional id has 32,767 characters.
  assertEquals(longest("id-.*") > 32_767, true);
  assertEquals(longest("x{0,500}") < 1000, true);
  assertEquals(longest("(x{0,30}){0,30}(x{0,30}){0,30}") < 500, true);
});
