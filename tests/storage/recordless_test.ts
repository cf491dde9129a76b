import { assertEquals } from "@std/assert/equals";
import { RecordlessStretches } from "../../src/storage/log/recordless.ts";

Deno.test("RecordlessStretches knows several, each as far as somebody came", () => {
  const stretches = new RecordlessStretches();
  for (const [from, to] of [[0, 10], [50, 60], [0, 20]]) {
    stretches.at(from, 0);
    stretches.add({ from, to });
  }
  assertEquals([0, 20, 21, 55, 60, 61].map((offset) => stretches.at(offset, 0)?.to ?? null), [
    20,
    20,
    null,
    60,
    60,
    null,
  ]);
});

Deno.test("RecordlessStretches forgets all when the log's end was cut off, and the one that is longest of no use", () => {
  const stretches = new RecordlessStretches();
  for (let i = 0; i < 16; i++) stretches.add({ from: 100 * i, to: 100 * i + 50 });
  assertEquals(stretches.at(0, 0)?.to, 50);
  stretches.add({ from: 5000, to: 5050 });
  assertEquals([0, 100, 200].map((offset) => stretches.at(offset, 0)?.to ?? null), [50, null, 250]);
  assertEquals(stretches.at(0, 1), null);
});
