import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { type Files, IoError, readFile, readText, replaceFile } from "../../src/storage/files.ts";
import { FaultyFiles } from "../../src/storage/files_faulty.ts";
import { MemoryFiles } from "../../src/storage/files_memory.ts";
import { realFiles } from "../../src/storage/files_real.ts";
import { random, text } from "./helpers.ts";

const implementations: [string, () => { files: Files; root: string; end(): void }][] = [
  ["realFiles", () => {
    const root = Deno.makeTempDirSync();
    return { files: realFiles, root, end: () => Deno.removeSync(root, { recursive: true }) };
  }],
  ["MemoryFiles", () => {
    const files = new MemoryFiles();
    files.makeDirectory("/root");
    return { files, root: "/root", end() {} };
  }],
];

for (const [name, make] of implementations) {
  const test = (claim: string, body: (files: Files, root: string) => void | Promise<void>) =>
    Deno.test(`${name} ${claim}`, async () => {
      const { files, root, end } = make();
      try {
        await body(files, root);
      } finally {
        end();
      }
    });

  test("reads what was written at a position, and zeros before it", (files, root) => {
    const handle = files.open(`${root}/f`, true);
    handle.writeAt(text("abc"), 2);
    const into = new Uint8Array(8);
    assertEquals(handle.readAt(into, 0), 5);
    assertEquals([...into], [0, 0, 97, 98, 99, 0, 0, 0]);
    assertEquals(handle.readAt(into, 4), 1);
    assertEquals(handle.readAt(into, 9), 0);
    handle.close();
  });

  test("truncates, and grows again with zeros", async (files, root) => {
    const handle = files.open(`${root}/f`, true);
    handle.writeAt(text("abcdef"), 0);
    handle.truncate(2);
    handle.truncate(4);
    const into = new Uint8Array(9);
    assertEquals(handle.readAt(into, 0), 4);
    assertEquals([...into.subarray(0, 4)], [97, 98, 0, 0]);
    await handle.sync();
    handle.syncNow();
    assertEquals(handle.size(), 4);
    handle.close();
  });

  test("tells a missing file from a failing one", (files, root) => {
    const error = assertThrows(() => files.open(`${root}/none`, false), IoError);
    assertEquals([error.notFound, error.path], [true, `${root}/none`]);
    assertEquals(files.stat(`${root}/none`), null);
    assertEquals(readFile(files, `${root}/none`), null);
    assertThrows(() => files.rename(`${root}/none`, `${root}/x`), IoError);
    assertThrows(() => files.list(`${root}/none`), IoError);
    files.remove(`${root}/none`);
    files.removeDirectory(`${root}/none`);
  });

  test("replaces a file by renaming another over it", (files, root) => {
    replaceFile(files, `${root}/f`, "old and long", false);
    replaceFile(files, `${root}/f`, "new", true);
    assertEquals(readText(files, `${root}/f`), "new");
    assertEquals(files.list(root), [{ name: "f", isDirectory: false }]);
  });

  test("removes a directory with all that is in it", (files, root) => {
    files.makeDirectory(`${root}/a/b`);
    files.makeDirectory(`${root}/a/b`);
    replaceFile(files, `${root}/a/b/f`, "x", false);
    assertEquals(files.stat(`${root}/a`)?.isDirectory, true);
    files.removeDirectory(`${root}/a`);
    assertEquals(files.stat(`${root}/a`), null);
  });

  test("gives a lock to one holder at a time", (files, root) => {
    const unlock = files.lock(`${root}/.lock`);
    assertEquals(files.lock(`${root}/.lock`), null);
    unlock!();
    files.lock(`${root}/.lock`)!();
  });
}

Deno.test("MemoryFiles.crashed('power') loses what was not synced, names too", async () => {
  const files = new MemoryFiles();
  files.makeDirectory("/d");
  files.syncDirectoryNow("/");
  const kept = files.open("/d/kept", true);
  kept.writeAt(text("ab"), 0);
  await kept.sync();
  files.syncDirectoryNow("/d");
  kept.writeAt(text("cd"), 2);
  const lost = files.open("/d/lost", true);
  lost.writeAt(text("x"), 0);
  await lost.sync();
  const after = files.crashed("power");
  assertEquals(readText(after, "/d/kept"), "ab");
  assertEquals(after.list("/d").map((entry) => entry.name), ["kept"]);
});

Deno.test("MemoryFiles.crashed('killed') loses nothing, and a lock is free again", () => {
  const files = new MemoryFiles();
  replaceFile(files, "/f", "content", false);
  files.lock("/.lock");
  const after = files.crashed("killed");
  assertEquals(readText(after, "/f"), "content");
  assertEquals(after.lock("/.lock") === null, false);
});

Deno.test("MemoryFiles.crashed() by chance keeps a prefix of the writes, the last of them torn", () => {
  for (let seed = 0; seed < 50; seed++) {
    const files = new MemoryFiles();
    const handle = files.open("/f", true);
    for (const part of ["aa", "bb", "cc"]) handle.writeAt(text(part), handle.size());
    const content = readText(files.crashed(random(seed)), "/f")!;
    assertEquals("aabbcc".startsWith(content), true);
  }
});

Deno.test("FaultyFiles.fail() fails the nth operation and tears a write", async () => {
  const files = new FaultyFiles(new MemoryFiles());
  const handle = files.open("/f", true);
  files.fail(2, 1, 0.5);
  handle.writeAt(text("abcd"), 0);
  assertThrows(() => handle.writeAt(text("efgh"), 4), IoError);
  assertEquals(handle.size(), 6);
  files.fail(1, Infinity);
  await assertRejects(() => handle.sync(), IoError);
  assertThrows(() => handle.size(), IoError);
  files.heal();
  assertEquals(handle.size(), 6);
});
