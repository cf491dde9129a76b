/**
 * `deno task vectors DIR`: holds the codec against every golden vector of a folder, and ends with a line that
 * counts. Exit code 1 when one failed or none was found.
 */
import { checkRecordBatchLine } from "../tests/codec/record_batch_vectors.ts";
import { checkVector } from "../tests/codec/vectors.ts";

const [folder] = Deno.args;
if (folder === undefined) {
  console.error("usage: deno task vectors DIR  (a folder of .jsonl files, one golden vector a line)");
  Deno.exit(1);
}

let passed = 0, failed = 0;
for (const { name } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)) {
  if (!name.endsWith(".jsonl")) continue;
  const lines = Deno.readTextFileSync(`${folder}/${name}`).split("\n");
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const problem = problemOf(line);
    if (problem === null) {
      passed++;
    } else {
      failed++;
      console.log(`${name}:${index + 1}: ${problem.slice(0, 400)}`);
    }
  }
}

/** What is wrong with a line, or null. An error counts as its line's failure: the run goes on, to count the rest. */
function problemOf(line: string): string | null {
  try {
    const vector = JSON.parse(line);
    return vector.message === "RecordBatch" ? checkRecordBatchLine(vector) : checkVector(vector);
  } catch (error) {
    return String(error);
  }
}

if (passed + failed === 0) {
  console.error(`There are no vectors in ${folder}: no .jsonl file has a line`);
  Deno.exit(1);
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) Deno.exit(1);
