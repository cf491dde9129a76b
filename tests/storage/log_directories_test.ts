import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { DataDirectoryError } from "../../src/storage/directory/data_directory.ts";
import { type Files, replaceFile } from "../../src/storage/files/files.ts";
import { type Fault, FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import {
  KNOWN_DIRECTORIES_FILE,
  writeKnownDirectories,
} from "../../src/storage/directory/known_directories.ts";
import type { LogDirectories } from "../../src/storage/manager/log_directories.ts";
import { MOVED_FROM_FILE } from "../../src/storage/directory/names.ts";
import {
  assertIncludes,
  batch,
  DIRECTORIES,
  mustAppend,
  openDirectories,
  readAll,
  START,
  TOPIC_ID,
} from "./helpers.ts";

const [ONE, TWO, THREE] = DIRECTORIES;

function memory(): MemoryFiles {
  return new MemoryFiles(() => START);
}

/** In which directory each log is. */
function placesOf(logs: LogDirectories): Record<string, string> {
  return Object.fromEntries([...logs.all()].map((log) => [log.name, logs.managerOf(log)!.directory]));
}

/** A disk on which everything in `directory` fails. */
function broken(files: Files, directory: string): FaultyFiles {
  return new FaultyFiles(files, ({ path }): Fault | null => {
    return path === directory || path.startsWith(`${directory}/`) ? { code: "EIO" } : null;
  });
}

Deno.test("LogDirectories.create() takes the directory that has the fewest partitions", async () => {
  const { logs } = await openDirectories(memory());
  for (let i = 0; i < 7; i++) logs.create("t", i, TOPIC_ID);
  assertEquals(placesOf(logs), {
    ...{ "t-0": ONE, "t-1": TWO, "t-2": THREE, "t-3": ONE, "t-4": TWO, "t-5": THREE, "t-6": ONE },
  });
  logs.remove("t", 1);
  logs.create("u", 0, TOPIC_ID);
  logs.create("u", 1, TOPIC_ID);
  assertEquals([placesOf(logs)["u-0"], placesOf(logs)["u-1"]], [TWO, TWO]);
  await logs.close();
});

Deno.test("LogDirectories.create() takes no cordoned directory, unless all are, and the one that was asked for", async () => {
  let cordoned: string[] = [ONE, TWO];
  const { logs } = await openDirectories(memory(), { isCordoned: (path) => cordoned.includes(path) });
  for (let i = 0; i < 3; i++) logs.create("t", i, TOPIC_ID);
  assertEquals(placesOf(logs), { "t-0": THREE, "t-1": THREE, "t-2": THREE });
  cordoned = DIRECTORIES;
  logs.create("u", 0, TOPIC_ID);
  logs.prefer("u", 1, logs.directories[2].manager!);
  logs.create("u", 1, TOPIC_ID);
  assertEquals([placesOf(logs)["u-0"], placesOf(logs)["u-1"]], [ONE, THREE]);
  await logs.close();
});

Deno.test("LogDirectories.create() goes on to the next directory when one fails", async () => {
  const files = memory();
  await (await openDirectories(files)).logs.close();
  let isBroken = false;
  const { logs } = await openDirectories(
    new FaultyFiles(files, ({ path }) => isBroken && path.startsWith(`${ONE}/`) ? { code: "ENOSPC" } : null),
  );
  isBroken = true;
  logs.create("t", 0, TOPIC_ID);
  assertEquals(placesOf(logs), { "t-0": TWO });
  isBroken = false;
  await logs.close();
});

Deno.test("all directories belong to one cluster, also one that is added, and each has an id of its own", async () => {
  const files = memory();
  const { logs } = await openDirectories(files, { directories: [ONE], clusterId: null });
  await logs.close();
  const { logs: more } = await openDirectories(files, { clusterId: null });
  const metas = more.directories.map(({ manager }) => manager!.meta);
  assertEquals(new Set(metas.map(({ clusterId }) => clusterId)), new Set([logs.meta.clusterId]));
  assertEquals(new Set(metas.map(({ directoryId }) => directoryId)).size, 3);
  await more.close();
});

Deno.test("a new first directory joins the cluster that the others belong to", async () => {
  const files = memory();
  const { logs } = await openDirectories(files, {
    directories: [TWO],
    metadataDirectory: TWO,
    clusterId: null,
  });
  await logs.close();
  const { logs: more } = await openDirectories(files, { directories: [ONE, TWO], clusterId: null });
  assertEquals(more.meta.clusterId, logs.meta.clusterId);
  await more.close();
});

Deno.test("LogDirectories.open() refuses a directory of another cluster and one that another broker uses", async () => {
  const files = memory();
  const other = await openDirectories(files, {
    directories: [TWO],
    metadataDirectory: TWO,
    clusterId: "other",
  });
  const refusal = () =>
    assertRejects(() => openDirectories(files, { clusterId: "mine" }), DataDirectoryError);
  assertEquals((await refusal()).kind, "locked");
  await other.logs.close();
  assertEquals((await refusal()).kind, "foreign-cluster");
  // What was refused is let go of.
  await (await openDirectories(files, { directories: [ONE], clusterId: "mine" })).logs.close();
});

Deno.test("a directory that is broken at start takes only its own partitions with it", async () => {
  const files = memory();
  const { logs } = await openDirectories(files);
  for (let i = 0; i < 3; i++) mustAppend(logs.create("t", i, TOPIC_ID), batch(3));
  await logs.close();
  const { logs: left, warnings } = await openDirectories(broken(files, TWO));
  assertEquals(placesOf(left), { "t-0": ONE, "t-2": THREE });
  assertEquals([left.isPartlyOffline, left.directories[1].manager], [true, null]);
  assertIncludes(warnings.join("\n"), `Cannot use data directory ${TWO}`);
  mustAppend(left.get("t", 0)!, batch(1));
  left.create("u", 0, TOPIC_ID);
  await left.close();
  const { logs: healed } = await openDirectories(files);
  assertEquals(placesOf(healed), { "t-0": ONE, "u-0": ONE, "t-1": TWO, "t-2": THREE });
  assertEquals(readAll(healed.get("t", 1)!).length, 3);
  await healed.close();
});

Deno.test("LogDirectories.open() refuses to start without the directory that has the metadata", async () => {
  const files = memory();
  await (await openDirectories(files)).logs.close();
  await assertRejects(() => openDirectories(broken(files, ONE)), DataDirectoryError);
});

Deno.test("a directory that was in use and is empty is not taken for new, until its line is taken out", async () => {
  const files = memory();
  const { logs } = await openDirectories(files);
  await logs.close();
  await files.removeTree(TWO);
  files.makeDirectory(TWO);
  const { logs: left, warnings } = await openDirectories(files);
  assertEquals(left.directories[1].manager, null);
  assertIncludes(warnings.join("\n"), "Mount its disk");
  await left.close();
  assertEquals(files.list(TWO), []);
  writeKnownDirectories(files, ONE, new Map([[THREE, "x"]]));
  const { logs: whole } = await openDirectories(files);
  assertEquals(whole.isPartlyOffline, false);
  await whole.close();
});

Deno.test("a directory with partitions that is not configured any more is offline, one without is forgotten", async () => {
  const files = memory();
  const { logs } = await openDirectories(files);
  logs.create("t", 0, TOPIC_ID);
  logs.create("t", 1, TOPIC_ID);
  await logs.close();
  const { logs: two, warnings } = await openDirectories(files, { directories: [ONE, TWO] });
  assertEquals([two.isPartlyOffline, warnings], [false, []]);
  await two.close();
  const { logs: one, warnings: told } = await openDirectories(files, { directories: [ONE] });
  assertEquals([one.isPartlyOffline, one.directories.map(({ path }) => path)], [true, [ONE, TWO]]);
  assertIncludes(told.join("\n"), `log.dirs does not name ${TWO} any more`);
  await one.close();
});

Deno.test("a single directory leaves no file about directories", async () => {
  const files = memory();
  await (await openDirectories(files, { directories: [ONE] })).logs.close();
  assertEquals(files.stat(`${ONE}/${KNOWN_DIRECTORIES_FILE}`), null);
});

for (
  const [what, marked, endsOfBoth, kept, other] of [
    ["the copy that was to take the other's place", TWO, [3, 3], TWO, "deleted"],
    ["what was written to after its copy went away", TWO, [4, 3], ONE, "kept"],
    ["the longer one, when nobody knows why there are two", null, [2, 3], TWO, "kept"],
    ["the one in the first directory, when both are alike", null, [3, 3], ONE, "kept"],
  ] as const
) {
  Deno.test(`of a partition in two directories goes on ${what}`, async () => {
    const files = memory();
    for (const [i, directory] of [ONE, TWO].entries()) {
      const { logs } = await openDirectories(files, {
        directories: [directory],
        metadataDirectory: directory,
      });
      const log = logs.create("t", 0, TOPIC_ID);
      for (let n = 0; n < endsOfBoth[i]; n++) mustAppend(log, batch(1));
      await logs.close();
    }
    if (marked !== null) replaceFile(files, `${marked}/t-0/${MOVED_FROM_FILE}`, ONE, true);
    const { logs, warnings } = await openDirectories(files, { directories: [ONE, TWO] });
    assertEquals(placesOf(logs), { "t-0": kept });
    const left = files.list(kept === ONE ? TWO : ONE).map(({ name }) => name).filter((name) =>
      name.startsWith("t-")
    );
    assertEquals(left.length, 1);
    assertIncludes(left[0], other === "deleted" ? "-delete" : "-stray");
    assertEquals(warnings.length, other === "deleted" ? 0 : 1);
    await logs.close();
  });
}

Deno.test("LogDirectories.commitStarts() says so when one of the directories fails", async () => {
  const files = memory();
  let isBroken = false;
  const { logs } = await openDirectories(
    new FaultyFiles(files, ({ path }) => isBroken && path.startsWith(`${TWO}/`) ? { code: "EIO" } : null),
  );
  for (let i = 0; i < 3; i++) {
    const log = logs.create("t", i, TOPIC_ID);
    mustAppend(log, batch(5));
    logs.deleteRecordsBefore(log, 2);
  }
  isBroken = true;
  assertEquals(logs.commitStarts(), false);
  isBroken = false;
  assertEquals(logs.commitStarts(), true);
  const { logs: killed } = await openDirectories(files.crashed("killed"));
  assertEquals([...killed.all()].map((log) => log.logStartOffset), [2, 2, 2]);
});
