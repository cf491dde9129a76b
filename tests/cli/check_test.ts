/** `trackway check` as a process of its own: exit codes, which line goes to which stream, and that nothing is changed. */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { SqliteStore } from "../../src/cluster/sqlite.ts";
import { METADATA_FILE } from "../../src/cluster/sqlite_file.ts";
import { runCommand } from "../../src/cli/command.ts";
import { fakeBroker, FakeTerminal } from "./fakes.ts";

const program = new URL("../../src/main.ts", import.meta.url).pathname;
const fixtures = new URL("../storage/fixtures/", import.meta.url).pathname;
const SEGMENT = "golden-0/00000000000000000000.log";

async function checked(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, "check", ...args],
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", NO_COLOR: "1" },
  }).output();
  const lines = (bytes: Uint8Array) => new TextDecoder().decode(bytes).split("\n").slice(0, -1);
  return { code, out: lines(stdout), err: lines(stderr) };
}

/** Runs `use` on a copy of a directory that Kafka wrote. */
async function withKafkas(fixture: string, use: (directory: string) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir({ prefix: "trackway-check-" });
  try {
    const directory = join(parent, "data");
    copy(join(fixtures, fixture), directory);
    await use(directory);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}

function copy(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copy(join(from, name), join(to, name));
    else Deno.copyFileSync(join(from, name), join(to, name));
  }
}

/** Every file with its content, as text that can be compared. */
function contentOf(directory: string): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? contentOf(join(directory, name)).map((line) => `${name}/${line}`)
      : [`${name} ${Deno.readFileSync(join(directory, name)).toString()}`]
  ).sort();
}

function flip(path: string, position: number): void {
  const bytes = Deno.readFileSync(path);
  bytes[position] ^= 0x40;
  Deno.writeFileSync(path, bytes);
}

for (
  const [fixture, left] of [["kafka-4.4-closed", "closed in order"], [
    "kafka-4.4-crashed",
    "not closed in order",
  ]]
) {
  Deno.test(`check finds nothing in ${fixture}, says so in one line, exits with 0 and changes nothing`, async () => {
    await withKafkas(fixture, async (directory) => {
      const before = contentOf(directory);
      const { code, out, err } = await checked("--data", directory, "--deep");
      assertEquals([code, out.length, err], [0, 1, []], out.join("\n"));
      assertEquals(
        out[0].startsWith(`${directory} (${left}): `) && out[0].includes("no damage, 0 notes"),
        true,
        out[0],
      );
      assertEquals(contentOf(directory), before);
    });
  });
}

Deno.test("check names file, position, fault and what comes of it for each piece of damage, and exits with 1", async () => {
  await withKafkas("kafka-4.4-closed", async (directory) => {
    flip(join(directory, SEGMENT), 200);
    Deno.removeSync(join(directory, "lat-0/partition.metadata"));
    const { code, out } = await checked("--data", directory);
    const findings = out.slice(0, -1);
    assertEquals([code, findings.length], [1, 2], out.join("\n"));
    assertEquals(
      /^damage {2}.*golden-0\/0{20}\.log at 0: CRC is \d+, computed \d+; the broker gives/.test(findings[0]),
      true,
      findings[0],
    );
    assertEquals(
      /^damage {2}.*lat-0\/partition\.metadata: it is missing; the broker /.test(findings[1]),
      true,
      findings[1],
    );
    assertEquals(out[2].includes("2 damaged, 0 notes"), true, out[2]);
  });
});

Deno.test("check --json prints an object a line, the summary last", async () => {
  await withKafkas("kafka-4.4-closed", async (directory) => {
    flip(join(directory, SEGMENT), 200);
    const { code, out, err } = await checked("--json", "--data", directory);
    const [finding, { summary }] = out.map((line) => JSON.parse(line));
    assertEquals([code, out.length, err], [1, 2, []]);
    assertEquals(Object.keys(finding), ["severity", "file", "position", "problem", "outcome"]);
    assertEquals([finding.severity, finding.file, finding.position], ["damage", join(directory, SEGMENT), 0]);
    const { closed, partitions, segments, damage, note } = summary;
    assertEquals({ closed, partitions, segments, damage, note }, {
      closed: true,
      partitions: 2,
      segments: 3,
      damage: 1,
      note: 0,
    });
  });
});

Deno.test("check exits with 0 when it finds only what an interrupted process leaves, and with 2 while a broker runs", async () => {
  await withKafkas("kafka-4.4-crashed", async (directory) => {
    const log = join(directory, "golden-0/00000000000000000153.log");
    Deno.writeFileSync(log, new Uint8Array(40), { append: true });
    const { code, out } = await checked("--data", directory);
    assertEquals([code, out.length], [0, 2], out.join("\n"));
    assertEquals(
      out[0].startsWith("note    ") && out[0].endsWith("an append that was not finished"),
      true,
      out[0],
    );

    const lock = Deno.openSync(join(directory, ".lock"), { create: true, write: true });
    lock.lockSync(true);
    const refused = await checked("--data", directory);
    lock.close();
    assertEquals(refused, {
      code: 2,
      out: [],
      err: [`trackway: Cannot check ${directory}: a broker is running on it. Stop it first`],
    });
  });
});

/** What a command says inside of this process. */
async function said(...args: string[]) {
  const terminal = new FakeTerminal();
  const code = await runCommand(["check", ...args], terminal, fakeBroker().startBroker);
  return { code, out: terminal.outLines, err: terminal.errLines };
}

Deno.test("check exits with 2 and one line when there is nothing that it could check", async () => {
  const directory = await Deno.makeTempDir();
  for (
    const [args, part] of [
      [["--data", join(directory, "nowhere")], "there is no such directory"],
      [["--data", directory], "there is neither meta.properties nor a partition in it"],
      [["--data"], "--data needs a value"],
      [["--fix"], "check does not know --fix"],
    ] as const
  ) {
    const { code, out, err } = await said(...args);
    assertEquals([code, out, err.length, err[0].includes(part)], [2, [], 1, true], err.join("\n"));
  }
  await Deno.remove(directory, { recursive: true });
});

Deno.test("check --help says what the exit codes mean", async () => {
  const { code, out } = await said("--help");
  assertEquals([code, out[0].includes("Exit code 0: no damage. 1: damage was found. 2:")], [0, true]);
});

Deno.test("check holds metadata and directories against each other", async () => {
  await withKafkas("kafka-4.4-closed", async (directory) => {
    const store = SqliteStore.open(directory);
    const partition = { leader: 1, leaderEpoch: 0, partitionEpoch: 0, replicas: [1], isr: [1] };
    const topic = (id: string) => JSON.stringify({ id, partitions: [partition], configs: {} });
    await store.commit({
      compare: [],
      put: [
        { key: "cluster", value: JSON.stringify({ id: "gl9XOgETQuKw1Mp1kL5K1Q" }) },
        { key: "topic/golden", value: topic("AAAAAAAAQACAAAAAAAAAAA") },
        { key: "topic/gone", value: topic("BBBBBBBBQACAAAAAAAAAAA") },
      ],
      delete: [],
    });
    await store.close();
    const { code, out } = await said("--data", directory);
    const problems = out.slice(0, -1).map((line) =>
      line.slice(line.indexOf(directory) + directory.length + 1)
    );
    assertEquals([code, problems], [1, [
      "lat-0: the metadata does not know it; the broker sets it aside and keeps it",
      "golden-0/partition.metadata: the topic id is Ijc7BQyqR_STSj4ph1otqA, the metadata has AAAAAAAAQACAAAAAAAAAAA for " +
      "the topic; the broker sets the directory aside, keeps it, and begins an empty one",
      "gone-0: it is missing; the broker makes it anew, empty",
    ]]);
    flip(join(directory, METADATA_FILE), 20);
    const damaged = await said("--data", directory);
    assertEquals([damaged.code, damaged.out[0].includes(METADATA_FILE)], [1, true], damaged.out.join("\n"));
  });
});

Deno.test("check takes the directory without --data too, but one only", async () => {
  await withKafkas("kafka-4.4-closed", async (directory) => {
    assertEquals((await said(directory)).code, 0);
    for (const args of [[directory, "other"], [directory, "--data", directory]]) {
      const { code, err } = await said(...args);
      assertEquals([code, err.length], [2, 1], err.join("\n"));
    }
  });
});

Deno.test("check hints at the directory that was meant when it was given one above or below it", async () => {
  await withKafkas("kafka-4.4-closed", async (directory) => {
    const above = await said("--data", join(directory, ".."));
    assertEquals(
      above.err[0].endsWith(`. There is one in ${join(directory, "..")}/data: check that`),
      true,
      above.err[0],
    );
    const below = await said("--data", join(directory, "golden-0"));
    assertEquals(
      below.err[0].endsWith(". It is a partition's directory itself: check the one that it is in"),
      true,
      below.err[0],
    );
    assertEquals([above.code, below.code], [2, 2]);
  });
});

Deno.test("check --json says in JSON too why nothing could be checked", async () => {
  for (const args of [["--data", "/nowhere/at/all"], ["--fix"], ["--data"]]) {
    const { code, out, err } = await said("--json", ...args);
    assertEquals([code, out.length, err], [2, 1, []]);
    assertEquals(Object.keys(JSON.parse(out[0])), ["error"]);
  }
});
