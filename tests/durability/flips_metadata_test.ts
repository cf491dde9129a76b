/**
 * Damage to the metadata: to the SQLite file and its write-ahead log at every structural place, and to the topic ids in the
 * partitions' directories. A broker ends with the file's name and the way out, or has everything as it was: it never takes
 * topics for gone. `FLIPS=all` tries every byte, `FLIPS_SEED` chooses bits.
 */
import { assertEquals } from "@std/assert/equals";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/base/finding.ts";
import { Prng } from "../../src/base/prng.ts";
import { StartupError } from "../../src/base/startup_error.ts";
import { checkMetadata } from "../../src/cluster/check.ts";
import { METADATA_FILE, SqliteStore } from "../../src/cluster/sqlite.ts";
import { batchOf, TestClient } from "../protocol/requests.ts";
import { freePortBroker } from "../lib/broker.ts";

const all = Deno.env.get("FLIPS") === "all";
const seed = Number(Deno.env.get("FLIPS_SEED") ?? 20261129);
const WAL = `${METADATA_FILE}-wal`;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;
const PAGE = 4096;
const COMMITS = 6;
/** Where the system has a file system in memory: SQLite syncs whatever it does. */
const MEMORY = existsSync("/dev/shm") ? "/dev/shm" : undefined;

type Files = ReadonlyMap<string, Uint8Array>;

/** Some commits of topics, as a broker leaves them that was closed, or killed. `states` is what is stored after each. */
async function sample(ending: "closed" | "killed"): Promise<{ files: Files; states: string[] }> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-flips-" });
  const store = SqliteStore.open(directory);
  const states = [await stored(store)];
  for (let i = 0; i < COMMITS; i++) {
    const partitions = [{ leader: 1, leaderEpoch: i, partitionEpoch: i, replicas: [1], isr: [1] }];
    const configs = { "retention.ms": String(1000 + i) };
    const value = JSON.stringify({ id: "Ijc7BQyqR_STSj4ph1otqA", partitions, configs });
    const cluster = { key: "cluster", value: JSON.stringify({ id: "HMLDNmsPQ_ajd9cJbC_sOg" }) };
    const put = [{ key: `topic/t${i % 4}`, value }, ...i === 0 ? [cluster] : []];
    await store.commit({ compare: [], put, delete: [] });
    states.push(await stored(store));
  }
  if (ending === "closed") await store.close();
  const files = new Map(
    [METADATA_FILE, WAL].filter((name) =>
      [...Deno.readDirSync(directory)].some((entry) => entry.name === name)
    )
      .map((name) => [name, Deno.readFileSync(join(directory, name))]),
  );
  if (ending === "killed") await store.close();
  await Deno.remove(directory, { recursive: true });
  return { files, states };
}

async function stored(store: SqliteStore): Promise<string> {
  const { revision, entries } = await store.list("");
  return JSON.stringify([revision, entries]);
}

interface Outcome {
  /** Null when the store could be opened. */
  readonly refusal: string | null;
  readonly state: string;
  readonly told: readonly string[];
  readonly findings: readonly Finding[];
}

async function opened(files: Files): Promise<Outcome> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-flips-", dir: MEMORY });
  try {
    for (const [name, bytes] of files) Deno.writeFileSync(join(directory, name), bytes);
    const findings: Finding[] = [];
    checkMetadata(directory, (finding) => findings.push(finding));
    const told: string[] = [];
    try {
      const store = SqliteStore.open(directory, (problem) => told.push(problem));
      const state = await stored(store);
      await store.close();
      return { refusal: null, state, told, findings };
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      return { refusal: error.message, state: "", told, findings };
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function flipped(files: Files, name: string, position: number, bit: number): Files {
  const bytes = files.get(name)!.slice();
  bytes[position] ^= 1 << bit;
  return new Map([...files, [name, bytes]]);
}

/** Null when what comes of the damage is as it has to be. `mayEndBefore` lets the latest commits be missing. */
function judged(outcome: Outcome, states: readonly string[], mayEndBefore: boolean): string | null {
  const { refusal, state, told, findings } = outcome;
  const isFound = findings.some(({ severity }) => severity === "damage");
  if (refusal !== null) {
    if (!refusal.includes(METADATA_FILE)) return `refused without naming the file: ${refusal}`;
    return isFound ? null : `refused, but the check finds nothing: ${refusal}`;
  }
  if (isFound) return `the check finds damage, but the broker opens it: ${findings[0].problem}`;
  // Where nothing is lost, the byte had no meaning: unused room in a page, a counter that nobody goes by.
  if (state === states.at(-1)) return null;
  if (!mayEndBefore || !states.includes(state)) return `it holds ${state}`;
  const isNoted = findings.some(({ severity }) => severity === "note");
  return told.length > 0 && !isNoted ? "told, but the check has no note of it" : null;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

Deno.test(`a flipped bit in the metadata file is told with its name, or was of no meaning, seed ${seed}`, async () => {
  const random = new Prng(seed);
  const { files, states } = await sample("closed");
  const { length } = files.get(METADATA_FILE)!;
  assertEquals(judged(await opened(files), states, false), null);
  const structural = range(0, 100).filter((at) => all || at % 3 === 0 || at === 18 || at === 19);
  const headers = range(1, length / PAGE).flatMap((page) => range(page * PAGE, page * PAGE + 12));
  const rest = range(100, length).filter((at) => all || at % 97 === 0);
  const failures: string[] = [];
  for (const position of new Set([...structural, ...headers, ...rest])) {
    const bit = random.int(8);
    const failure = judged(await opened(flipped(files, METADATA_FILE, position, bit)), states, false);
    if (failure !== null) failures.push(`bit ${bit} of byte ${position}: ${failure}`);
  }
  assertEquals(failures.slice(0, 5), []);
});

Deno.test(`a flipped bit in the write-ahead log loses no commit but, told, the last, seed ${seed}`, async () => {
  const random = new Prng(seed);
  const { files, states } = await sample("killed");
  const { length } = files.get(WAL)!;
  assertEquals(judged(await opened(files), states, false), null);
  const frames = range(0, (length - WAL_HEADER) / (FRAME_HEADER + PAGE)).map((n) =>
    WAL_HEADER + n * (FRAME_HEADER + PAGE)
  );
  const headers = frames.flatMap((at) => range(at, at + FRAME_HEADER)).filter((at) => all || at % 3 === 0);
  const pages = range(WAL_HEADER, length).filter((at) => all || at % 797 === 0);
  const failures: string[] = [];
  for (const position of new Set([...range(0, WAL_HEADER), ...headers, ...pages])) {
    const bit = random.int(8);
    const outcome = await opened(flipped(files, WAL, position, bit));
    const failure = judged(outcome, states, true);
    // No more than the last commit, and not silently.
    const isSilent = outcome.refusal === null && outcome.state !== states.at(-1) &&
      (outcome.state !== states.at(-2) || outcome.told.length === 0);
    if (failure !== null || isSilent) {
      failures.push(`bit ${bit} of byte ${position}: ${failure ?? "a loss nobody tells of"}`);
    }
  }
  assertEquals(failures.slice(0, 5), []);
});

Deno.test("a metadata file that is cut, extended, replaced or gone is told, or its topics are as they were", async () => {
  const random = new Prng(seed);
  const { files, states } = await sample("closed");
  const bytes = files.get(METADATA_FILE)!;
  const with_ = (content: Uint8Array) => new Map([[METADATA_FILE, content]]);
  const sizes = range(1, bytes.length / PAGE + 1).flatMap((
    page,
  ) => [page * PAGE - 1, page * PAGE, page * PAGE + 1]);
  const failures: string[] = [];
  for (const size of [1, 99, 100, 101, ...sizes].filter((size) => size < bytes.length)) {
    const failure = judged(await opened(with_(bytes.slice(0, size))), states, false);
    if (failure !== null) failures.push(`cut to ${size} of ${bytes.length}: ${failure}`);
  }
  for (
    const [what, tail] of [["zeros", new Uint8Array(PAGE)], ["garbage", random.bytes(PAGE)], [
      "a byte",
      random.bytes(1),
    ]] as const
  ) {
    const failure = judged(await opened(with_(new Uint8Array([...bytes, ...tail]))), states, false);
    if (failure !== null) failures.push(`extended with ${what}: ${failure}`);
  }
  assertEquals(failures, []);
  const { files: killed, states: killedStates } = await sample("killed");
  // SQLite would throw the write-ahead log away, and all topics with it.
  for (const lost of [undefined, new Uint8Array(0)]) {
    const left = new Map(killed);
    if (lost === undefined) left.delete(METADATA_FILE);
    else left.set(METADATA_FILE, lost);
    const outcome = await opened(left);
    assertEquals([outcome.refusal?.includes(WAL), judged(outcome, killedStates, false)], [true, null]);
  }
  // What was cut off an end is what a machine's stop leaves: the commits before it are all there.
  const wal = killed.get(WAL)!;
  for (
    const size of [
      WAL_HEADER,
      WAL_HEADER + FRAME_HEADER,
      wal.length - PAGE - FRAME_HEADER - 1,
      wal.length - 1,
    ]
  ) {
    const outcome = await opened(new Map([...killed, [WAL, wal.slice(0, size)]]));
    assertEquals(
      [outcome.refusal, ["[0,[]]", ...killedStates].includes(outcome.state)],
      [null, true],
      `cut to ${size}`,
    );
  }
});

Deno.test(`a flipped bit in a topic id is put right at the next start, with everything in its place, seed ${seed}`, async () => {
  const random = new Prng(seed);
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
    await client.append("a", batchOf(["x", "y"]));
  }
  await broker.stop();
  const path = join(broker.dataDir, "a-0", "partition.metadata");
  const right = Deno.readTextFileSync(path);
  const positions = range(0, right.length).filter((at) => all || at % 6 === 0);
  for (const position of positions) {
    const bytes = new TextEncoder().encode(right);
    bytes[position] ^= 1 << random.int(8);
    Deno.writeFileSync(path, bytes);
    await broker.restart();
    {
      await using client = await TestClient.to(broker);
      assertEquals(
        await client.append("a", batchOf(["z"])),
        2 + positions.indexOf(position),
        `byte ${position}`,
      );
    }
    await broker.stop();
    const isRead = position >= right.indexOf("topic_id");
    if (isRead) assertEquals([position, Deno.readTextFileSync(path)], [position, right]);
    else Deno.writeTextFileSync(path, right);
  }
  const names = [...Deno.readDirSync(broker.dataDir)].map(({ name }) => name);
  assertEquals(names.filter((name) => name.endsWith("-stray")), []);
});
