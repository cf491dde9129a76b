import { assertEquals } from "@std/assert/equals";
import { checkRecordBatchLine } from "./record_batch_vectors.ts";

const lines = Deno.readTextFileSync(new URL("../vectors/RecordBatch.jsonl", import.meta.url)).trimEnd().split(
  "\n",
);

Deno.test("RecordBatch.jsonl has all of its 140 cases", () => assertEquals(lines.length, 140));

for (const text of lines) {
  const line = JSON.parse(text);
  const claim = line.kind === "valid" ? "is read and rebuilt as Java made it" : "is judged as documented";
  Deno.test(`record batch vector ${line.case} ${claim}`, () =>
    assertEquals(checkRecordBatchLine(line), null));
}

Deno.test("checkRecordBatchLine() notices a changed byte, so that it cannot pass by looking away", () => {
  const line = JSON.parse(lines.find((text) => text.includes('"magic2-none-several"'))!);
  line.batches[0].records[0].key = "AAAA";
  assertEquals(checkRecordBatchLine(line)?.includes("key is"), true);
});
