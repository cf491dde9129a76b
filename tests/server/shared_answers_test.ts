import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { SharedAnswers } from "../../src/server/shared_answers.ts";
import { joined } from "./fakes.ts";

/** An answer of `bytes` bytes after its size, with correlation id 1. */
function answerOf(bytes: number): Uint8Array {
  const answer = Uint8Array.from({ length: 4 + bytes }, (_, i) => i);
  new DataView(answer.buffer).setInt32(0, bytes);
  new DataView(answer.buffer).setInt32(4, 1);
  return answer;
}

Deno.test("SharedAnswers gives the same bytes again with another correlation id", () => {
  const shared = new SharedAnswers();
  shared.keep("k", 1, answerOf(30));
  const expected = answerOf(30);
  new DataView(expected.buffer).setInt32(4, -7);
  assertEquals(joined(shared.get("k", 1, -7)!), expected);
});

Deno.test("SharedAnswers tells keys apart, and forgets everything when what they tell of has changed", () => {
  const shared = new SharedAnswers();
  shared.keep("a", 1, answerOf(10));
  shared.keep("b", 1, answerOf(20));
  assertEquals([joined(shared.get("a", 1, 1)!).length, joined(shared.get("b", 1, 1)!).length], [14, 24]);
  assertEquals(shared.get("c", 1, 1), null);
  assertEquals([shared.get("a", 2, 1), shared.get("a", 1, 1), shared.get("b", 1, 1)], [null, null, null]);
});

Deno.test("SharedAnswers keeps no more than it may, and nothing that is larger than that", () => {
  const shared = new SharedAnswers(100);
  shared.keep("a", 1, answerOf(54));
  shared.keep("a", 1, answerOf(54));
  shared.keep("b", 1, answerOf(54));
  assert(shared.get("a", 1, 1) !== null && shared.get("b", 1, 1) !== null);
  shared.keep("c", 1, answerOf(54));
  assertEquals(["a", "b", "c"].map((key) => shared.get(key, 1, 1) !== null), [false, false, true]);
  shared.keep("d", 1, answerOf(200));
  assertEquals(shared.get("d", 1, 1), null);
});
