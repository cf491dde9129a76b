/** The command line's first word, the help texts and the version. */
import { assertEquals } from "@std/assert/equals";
import { runCommand } from "../../src/cli/command.ts";
import { VERSION } from "../../src/cli/version.ts";
import { FakeTerminal } from "./fakes.ts";

async function run(...args: string[]) {
  const terminal = new FakeTerminal();
  const code = await runCommand(args, terminal, () => Promise.reject(new Error("no broker is wanted here")));
  return { code, out: terminal.outLines, err: terminal.errLines };
}

Deno.test("no word, help, --help and -h print the general help", async () => {
  for (const args of [[], ["help"], ["--help"], ["-h"]]) {
    const { code, out, err } = await run(...args);
    assertEquals([code, err, out[0].includes("trackway start")], [0, [], true]);
  }
});

Deno.test("help start and start --help print the same text and start nothing", async () => {
  const [first, second] = [await run("help", "start"), await run("start", "--help")];
  assertEquals(first, second);
  assertEquals([first.code, first.out[0].includes("--set NAME=VALUE")], [0, true]);
});

Deno.test("version and --version print the version of deno.json", async () => {
  const project = JSON.parse(await Deno.readTextFile(new URL("../../deno.json", import.meta.url)));
  assertEquals(VERSION, project.version);
  for (const word of ["version", "--version"]) {
    const { code, out } = await run(word);
    assertEquals([code, out[0].startsWith(`Trackway ${VERSION} (Deno `)], [0, true]);
  }
});

Deno.test("an unknown word is one line and exit code 1", async () => {
  const line = "trackway: there is no command stop: trackway help lists them";
  assertEquals(await run("stop"), { code: 1, out: [], err: [line] });
  assertEquals(await run("help", "stop"), { code: 1, out: [], err: [line] });
});
