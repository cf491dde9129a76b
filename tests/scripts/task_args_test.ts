/** What tasks make of their arguments and surroundings: a question starts nothing, and neither does a mistake. */
import { assertEquals } from "@std/assert/equals";
import { dirname, join } from "node:path";
import { readTaskArgs } from "../../scripts/lib/task_args.ts";

const usage = `deno task walk [MILES] [flags]: walks

  --minutes N        how long (1)
  --with FILE|NAME   in company
  --slowly           takes its time`;

for (
  const [args, error] of [
    [["--bogus"], "does not know --bogus"],
    [["-x"], "does not know -x"],
    [["--minutes"], "needs a value for --minutes"],
    [["--minutes", "--slowly"], "needs a value for --minutes"],
    [["--minutes", "some"], "needs a number for --minutes, not some"],
    [["--slowly=yes"], "takes no value for --slowly"],
    [["1", "2"], "does not know what to do with 2"],
  ] as const
) {
  Deno.test(`readTaskArgs() refuses ${args.join(" ")}`, () => {
    assertEquals(readTaskArgs(args, usage, 1), { error });
  });
}

Deno.test("readTaskArgs() takes the flags of the usage text, and words between them", () => {
  const read = readTaskArgs(["--minutes", "1.5", "7", "--with=a dog", "--slowly"], usage, 1);
  if (!("given" in read)) throw new Error(JSON.stringify(read));
  const { given } = read;
  assertEquals([given.number("minutes", 1), given.text("with"), given.has("slowly"), given.words], [
    1.5,
    "a dog",
    true,
    ["7"],
  ]);
  assertEquals(readTaskArgs(["7", "--help", "--bogus"], usage, 1), { help: true });
});

const root = join(dirname(import.meta.dirname!), "..");
for (
  const [script, ...words] of [
    ["scripts/durability_kill.ts"],
    ["scripts/fuzz.ts"],
    ["bench/run.ts"],
    ["bench/scale.ts"],
    ["bench/soak.ts"],
    ["tests/durability/io_main.ts"],
    ["tests/durability/io_main.ts", "replay"],
  ]
) {
  const name = [script, ...words].join(" ");
  Deno.test(`${name} explains itself on --help and refuses what it does not know, starting nothing`, async () => {
    const run = async (flag: string) => {
      const args = ["run", "-A", join(root, script), ...words, flag];
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
      return { code, out: text(stdout), err: text(stderr) };
    };
    const help = await run("--help");
    assertEquals([help.code, help.out.startsWith("deno task "), help.err], [0, true, ""]);
    const bogus = await run("--bogus");
    assertEquals([bogus.code, bogus.out, bogus.err.split("\n").length], [2, "", 1], bogus.err);
  });
}

Deno.test("bench says in one line that there is no Kafka, before it starts anything", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(root, "bench/run.ts"), "16k"],
    env: { KAFKA_HOME: "/nowhere" },
  }).output();
  assertEquals([code, stdout.length], [2, 0]);
  assertEquals(
    new TextDecoder().decode(stderr),
    "bench finds no Kafka to compare with: set KAFKA_HOME to an unpacked Apache Kafka, or KAFKA_BASELINE to a script " +
      "that starts one (there is no /nowhere/bin/kafka-server-start.sh)\n",
  );
});

Deno.test("vectors says so where a folder has no vectors", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", join(root, "scripts/vectors.ts"), folder],
    }).output();
    assertEquals([code, stdout.length], [1, 0]);
    assertEquals(
      new TextDecoder().decode(stderr),
      `There are no vectors in ${folder}: no .jsonl file has a line\n`,
    );
  } finally {
    await Deno.remove(folder);
  }
});
