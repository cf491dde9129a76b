import { assertEquals } from "@std/assert/equals";
import { checkVector, messages, type Vector } from "./vectors.ts";

const folder = new URL("../vectors/", import.meta.url);
const files = [...Deno.readDirSync(folder)].map((f) => f.name).filter((f) => f !== "RecordBatch.jsonl")
  .sort();

for (const file of files) {
  Deno.test(`${file.replace(".jsonl", "")} decodes and encodes every golden vector`, () => {
    const lines = Deno.readTextFileSync(new URL(file, folder)).trim().split("\n");
    const wrong = lines.map((line, i) => [i + 1, checkVector(JSON.parse(line) as Vector)]).filter(([, w]) =>
      w !== null
    );
    assertEquals(wrong, []);
  });
}

Deno.test("every declared message has golden vectors", () => {
  const named = new Set(files.map((f) => f.replace(".jsonl", "")));
  assertEquals([...messages.keys()].filter((name) => !named.has(name)), []);
});
