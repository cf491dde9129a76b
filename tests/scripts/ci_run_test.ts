/** How .ci/run counts: its functions are sourced into a shell and handed the output of a stage. */
import { assertEquals } from "@std/assert/equals";
import { dirname, join } from "node:path";

const ci = join(dirname(import.meta.dirname!), "../.ci/run");

/** What `stage_counts` prints for a stage with this output and exit code. */
async function counts(parser: string, output: string, code: number): Promise<string> {
  const log = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(log, output);
    const shell = new Deno.Command("bash", {
      args: ["-c", 'source "$1" && stage_counts "$2" "$3" "$4"', "bash", ci, parser, log, String(code)],
    });
    const { stdout } = await shell.output();
    return new TextDecoder().decode(stdout).trim();
  } finally {
    await Deno.remove(log);
  }
}

const cases: { of: string; parser: string; output: string; code: number; gives: string }[] = [
  {
    of: "passing tests",
    parser: "deno_counts",
    output: "a ... ok\n\nok | 12 passed | 0 failed (3s)\n",
    code: 0,
    gives: "12 0",
  },
  {
    of: "tests with steps",
    parser: "deno_counts",
    output: "ok | 12 passed (40 steps) | 0 failed (3s)\n",
    code: 0,
    gives: "12 0",
  },
  {
    of: "failing tests",
    parser: "deno_counts",
    output: "FAILED | 10 passed (1 step) | 2 failed (1 step) | 1 ignored (3s)\n\nerror: Test failed\n",
    code: 1,
    gives: "10 2",
  },
  {
    of: "one failing test",
    parser: "deno_counts",
    output: "FAILED | 0 passed | 1 failed (3s)\n",
    code: 1,
    gives: "0 1",
  },
  {
    of: "an error outside any test",
    parser: "deno_counts",
    output: "ok | 5 passed | 0 failed (3s)\n",
    code: 1,
    gives: "5 1",
  },
  {
    of: "no test at all",
    parser: "deno_counts",
    output: "ok | 0 passed | 0 failed (0s)\n",
    code: 0,
    gives: "0 1",
  },
  {
    of: "tests that never came to an end",
    parser: "deno_counts",
    output: "running 3 tests\n",
    code: 124,
    gives: "0 1",
  },
  {
    of: "clients",
    parser: "plain_counts",
    output: "took 9 s\n110 passed, 3 failed\n",
    code: 1,
    gives: "110 3",
  },
  {
    of: "the last of two closing lines",
    parser: "plain_counts",
    output: "1 passed, 1 failed\n2 passed, 0 failed\n",
    code: 0,
    gives: "2 0",
  },
  { of: "clients that say nothing", parser: "plain_counts", output: "", code: 0, gives: "0 1" },
  { of: "a check that passes", parser: "one_count", output: "", code: 0, gives: "1 0" },
  { of: "a check that fails", parser: "one_count", output: "", code: 1, gives: "0 1" },
];

for (const { of, parser, output, code, gives } of cases) {
  Deno.test(`stage_counts counts ${of} as ${gives}`, async () => {
    assertEquals(await counts(parser, output, code), gives);
  });
}
