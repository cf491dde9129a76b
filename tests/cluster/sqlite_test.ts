import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { StartupError } from "../../src/base/startup_error.ts";
import { METADATA_FILE, SqliteStore } from "../../src/cluster/sqlite.ts";
import { inOneLine } from "../../src/cluster/sqlite_file.ts";
import { StoreFailure } from "../../src/cluster/store.ts";
import { inTempDir } from "./support.ts";

function put(key: string, value: string) {
  return { compare: [], put: [{ key, value }], delete: [] };
}

function refusesToOpen(directory: string, ...texts: string[]): void {
  for (const text of [METADATA_FILE, ...texts]) {
    assertThrows(() => SqliteStore.open(directory), StartupError, text);
  }
}

Deno.test("SqliteStore keeps entries and revisions over a restart", () =>
  inTempDir(async (directory) => {
    const first = SqliteStore.open(directory);
    await first.commit(put("a", "ä€😀"));
    await first.commit({ compare: [], put: [{ key: "b", value: "2" }], delete: ["a"] });
    await first.commit(put("c", ""));
    await first.close();
    const second = SqliteStore.open(directory);
    assertEquals(await second.list(""), {
      revision: 3,
      entries: [{ key: "b", value: "2", revision: 2 }, { key: "c", value: "", revision: 3 }],
    });
    assertEquals(await second.commit(put("d", "4")), { ok: true, revision: 4 });
    await second.close();
  }));

Deno.test("SqliteStore has a commit on the disk when it resolves: a process that is killed right then loses none", () =>
  inTempDir(async (directory) => {
    const script = `
      import { SqliteStore } from ${JSON.stringify(import.meta.resolve("../../src/cluster/sqlite.ts"))};
      const store = SqliteStore.open(${JSON.stringify(directory)});
      for (let i = 0; i < 5; i++) {
        await store.commit({ compare: [], put: [{ key: "k" + i, value: "v" }], delete: [] });
      }
      Deno.kill(Deno.pid, "SIGKILL");`;
    const file = join(directory, "writer.ts");
    await Deno.writeTextFile(file, script);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { signal } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--no-lock", "--config", config, file],
    }).output();
    assertEquals(signal, "SIGKILL");
    const store = SqliteStore.open(directory);
    assertEquals((await store.list("k")).entries.length, 5);
    assertEquals((await store.list("")).revision, 5);
    await store.close();
  }));

Deno.test("SqliteStore.open() refuses a file that is no database, and says what to do", () =>
  inTempDir(async (directory) => {
    await Deno.writeTextFile(join(directory, METADATA_FILE), "no database at all\n".repeat(500));
    refusesToOpen(directory, "damaged", "Put back a copy");
  }));

Deno.test("SqliteStore.open() refuses a database whose pages are overwritten", () =>
  inTempDir(async (directory) => {
    const store = SqliteStore.open(directory);
    for (let i = 0; i < 200; i++) await store.commit(put(`key ${i}`, "v".repeat(500)));
    await store.close();
    const path = join(directory, METADATA_FILE);
    const bytes = await Deno.readFile(path);
    // The header page stays as it is, so that opening works and reading has to find out.
    bytes.fill(0xa5, 4096);
    await Deno.writeFile(path, bytes);
    refusesToOpen(directory, "damaged");
  }));

Deno.test("SqliteStore.open() refuses the database of another program and leaves it as it is", () =>
  inTempDir(async (directory) => {
    const path = join(directory, METADATA_FILE);
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')");
    other.close();
    const before = await Deno.readFile(path);
    refusesToOpen(directory, "not one that Trackway made", "Move it away");
    assertEquals(await Deno.readFile(path), before);
  }));

Deno.test("SqliteStore.open() refuses a format that is newer than it knows", () =>
  inTempDir(async (directory) => {
    await SqliteStore.open(directory).close();
    const newer = new DatabaseSync(join(directory, METADATA_FILE));
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    refusesToOpen(directory, "its format is 99", "a newer one");
  }));

Deno.test("SqliteStore.open() brings a file of format 1, whose rows have no sums, along", () =>
  inTempDir(async (directory) => {
    const older = new DatabaseSync(join(directory, METADATA_FILE));
    older.exec(`
      CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
      CREATE TABLE store (only INTEGER PRIMARY KEY CHECK (only = 1), revision INTEGER NOT NULL) STRICT;
      INSERT INTO store VALUES (1, 7);
      INSERT INTO entries VALUES ('a', '1', 3), ('b', 'ä€😀', 7);
      PRAGMA application_id = ${0x54525759};
      PRAGMA user_version = 1;
    `);
    older.close();
    for (let start = 0; start < 2; start++) {
      const store = SqliteStore.open(directory);
      assertEquals(await store.list(""), {
        revision: 7 + start,
        entries: [{ key: "a", value: "1", revision: 3 }, { key: "b", value: "ä€😀", revision: 7 }],
      });
      await store.commit({ compare: [], put: [], delete: ["c"] });
      await store.close();
    }
  }));

Deno.test("SqliteStore.open() refuses a row that SQLite reads well, but that nobody wrote", () =>
  inTempDir(async (directory) => {
    const store = SqliteStore.open(directory);
    await store.commit(put("topic/orders", "epoch 1"));
    await store.close();
    const tampered = new DatabaseSync(join(directory, METADATA_FILE));
    tampered.exec("UPDATE entries SET value = 'epoch 3'");
    tampered.close();
    refusesToOpen(directory, 'the entry "topic/orders" is not what was written', "Put back a copy");
  }));

Deno.test("SqliteStore.open() refuses a file that another broker holds, and works once it is let go", () =>
  inTempDir(async (directory) => {
    const holder = SqliteStore.open(directory);
    await holder.commit(put("a", "1"));
    refusesToOpen(directory, "another process holds it");
    await holder.commit(put("a", "2"));
    await holder.close();
    await SqliteStore.open(directory).close();
  }));

Deno.test("SqliteStore.open() refuses a directory that is not there", () => {
  assertThrows(() => SqliteStore.open("/nonexistent/data"), StartupError, "must exist");
});

Deno.test("SqliteStore.commit() rejects with StoreFailure on a full disk, and works when there is space again", () =>
  inTempDir(async (directory) => {
    const store = SqliteStore.open(directory);
    await store.commit(put("a", "1"));
    // SQLite's own bound on the file stands in for the disk's.
    store.limitPages(8);
    await assertRejects(() => store.commit(put("big", "v".repeat(100_000))), StoreFailure, "full");
    assertEquals(await store.list(""), { revision: 1, entries: [{ key: "a", value: "1", revision: 1 }] });
    store.limitPages(1_000_000);
    assertEquals(await store.commit(put("big", "v".repeat(100_000))), { ok: true, revision: 2 });
    await store.close();
  }));

Deno.test("inOneLine() makes a line of SQLite's verdict on a damaged file", () => {
  assertEquals(
    inOneLine("*** in database main ***\nTree 2 page 2: btreeInitPage() returns error code 11"),
    [
      "Tree 2 page 2: btreeInitPage() returns error code 11",
    ].join(),
  );
  assertEquals(
    inOneLine("*** in database main ***\nPage 3: never used\nPage 4: never used\n"),
    [
      "Page 3: never used",
      "Page 4: never used",
    ].join("; "),
  );
});
