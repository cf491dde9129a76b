import { assertEquals } from "@std/assert/equals";
import { shortCopy } from "../../src/base/short_copy.ts";

Deno.test("shortCopy() gives the beginning of a text, whatever is in it, and short ones as they are", () => {
  assertEquals(shortCopy("client", 255), "client");
  assertEquals(shortCopy("", 0), "");
  const odd = `é${String.fromCharCode(0xd800)}x\u{1f996}`.repeat(100);
  assertEquals(shortCopy(odd, 255), odd.slice(0, 255));
});

Deno.test("shortCopy() does not keep the text that it is a part of in memory", () => {
  const before = Deno.memoryUsage().heapUsed;
  const kept: string[] = [];
  for (let i = 0; i < 4000; i++) kept.push(shortCopy(JSON.parse(`"${"x".repeat(32_000)}${i}"`), 255));
  // 128 MB if the long ones were kept.
  assertEquals(Deno.memoryUsage().heapUsed - before < 64_000_000, true);
  assertEquals(kept.length, 4000);
});
