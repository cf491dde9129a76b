/** What a failed `deno compile` is explained with; the outputs are Deno's own. */
import { assertEquals } from "@std/assert/equals";

import { explainCompile } from "../../scripts/compile.ts";
import { reasonIn } from "../../scripts/lib/run.ts";

const unreachable = `Compile src/main.ts to dist/trackway
Download https://downloads.example/denort.zip
error: Writing deno compile executable to temporary file '/x/t.tmp-1'

Caused by:
    0: Setting up base binary.
    1: error sending request
    2: dns error: Name or service not known

Stack backtrace:
   0: <unknown>
`;

Deno.test("explainCompile() names DENORT_BIN and the other way when denort cannot be fetched", () => {
  assertEquals(
    explainCompile(unreachable, "2.9.6", undefined),
    "Cannot compile: Deno's download host, which has denort 2.9.6, cannot be reached " +
      "(dns error: Name or service not known). Set DENORT_BIN to a local denort of this version, " +
      "or use `deno task pack`, which needs none",
  );
});

Deno.test("explainCompile() gives Deno's own reason when DENORT_BIN was set", () => {
  assertEquals(
    explainCompile(unreachable, "2.9.6", "/opt/denort"),
    "Cannot compile: dns error: Name or service not known",
  );
});

Deno.test("reasonIn() gives the error without its backtrace", () => {
  assertEquals(
    reasonIn('Check x\nerror: Module not found "a.ts".\n\nStack backtrace:\n   0: <unknown>\n'),
    'Module not found "a.ts".',
  );
});

Deno.test("reasonIn() gives the last line of what has no error line, and never nothing", () => {
  assertEquals(reasonIn("one\ntwo\n\n"), "two");
  assertEquals(reasonIn(""), "it printed no reason");
});
