import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { type Files, IoError, readFile, readText, replaceFile } from "../../src/storage/files/files.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { realFiles } from "../../src/storage/files/real.ts";
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

  test("tells a missing file from a failing one", async (files, root) => {
    const error = assertThrows(() => files.open(`${root}/none`, false), IoError);
    assertEquals([error.notFound, error.path], [true, `${root}/none`]);
    assertEquals(files.stat(`${root}/none`), null);
    assertEquals(readFile(files, `${root}/none`), null);
    assertThrows(() => files.rename(`${root}/none`, `${root}/x`), IoError);
    assertThrows(() => files.list(`${root}/none`), IoError);
    files.remove(`${root}/none`);
    files.removeDirectory(`${root}/none`);
    await files.removeTree(`${root}/none`);
  });

  test("replaces a file by renaming another over it", (files, root) => {
    replaceFile(files, `${root}/f`, "old and long", false);
    replaceFile(files, `${root}/f`, "new", true);
    assertEquals(readText(files, `${root}/f`), "new");
    assertEquals(files.list(root), [{ name: "f", isDirectory: false }]);
  });

  test("removes a directory with all that is in it", async (files, root) => {
    for (const remove of [files.removeDirectory, files.removeTree]) {
      files.makeDirectory(`${root}/a/b`);
      files.makeDirectory(`${root}/a/b`);
      replaceFile(files, `${root}/a/b/f`, "x", false);
      assertEquals(files.stat(`${root}/a`)?.isDirectory, true);
      await remove.call(files, `${root}/a`);
      assertEquals(files.stat(`${root}/a`), null);
    }
  });

  test("removes a file as it removes a tree", async (files, root) => {
    for (const name of ["f", "g"]) replaceFile(files, `${root}/${name}`, "x", false);
    await files.removeTree(`${root}/f`);
    assertEquals(files.list(root).map(({ name }) => name), ["g"]);
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

Deno.test("MemoryFiles.crashed() by chance keeps of each sector what it once had, and of names the first changes", () => {
  const outcomes = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const files = new MemoryFiles();
    const handle = files.open("/f", true);
    for (const part of ["a", "b", "c"]) handle.writeAt(text(part.repeat(100)), handle.size());
    files.open("/g", true).close();
    const after = files.crashed(random(seed));
    const content = readText(after, "/f");
    if (content === null) {
      assertEquals(after.stat("/g"), null);
      continue;
    }
    for (let i = 0; i < content.length; i++) {
      assertEquals(["\0", "abc"[Math.floor(i / 100)]].includes(content[i]), true, content);
    }
    if (content === "") outcomes.add("nothing");
    else if (/^a{100}b{100}c{100}$/.test(content)) outcomes.add("all");
    else outcomes.add(content.includes("\0") ? "holes" : "a prefix");
  }
  assertEquals([...outcomes].sort(), ["a prefix", "all", "holes", "nothing"]);
});

Deno.test("MemoryFiles.failSync() leaves writes that no later sync brings to the device", async () => {
  for (const evicted of [false, true]) {
    const files = new MemoryFiles();
    const handle = files.open("/f", true);
    files.syncDirectoryNow("/");
    handle.writeAt(text("old"), 0);
    await handle.sync();
    handle.writeAt(text("new"), 3);
    files.failSync("/f", () => 0, evicted);
    assertEquals(readText(files, "/f"), evicted ? "old" : "oldnew");
    await handle.sync();
    assertEquals(readText(files.crashed("power"), "/f"), "old");
    handle.writeAt(text("new"), 3);
    await handle.sync();
    assertEquals(readText(files.crashed("power"), "/f"), "oldnew");
  }
});

Deno.test("MemoryFiles.crashed('killed') leaves unsynced what was unsynced", () => {
  const files = new MemoryFiles();
  replaceFile(files, "/f", "content", false);
  const after = files.crashed("killed");
  assertEquals(readText(after, "/f"), "content");
  assertEquals(after.crashed("power").list("/"), []);
  after.open("/f", false).syncNow();
  after.syncDirectoryNow("/");
  assertEquals(readText(after.crashed("power"), "/f"), "content");
  assertEquals(files.crashed("power").list("/"), []);
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

Deno.test("FaultyFiles shows each operation to its judge, and does of it what the fault says", () => {
  const seen: string[] = [];
  const files = new FaultyFiles(new MemoryFiles(), ({ number, kind, path }) => {
    seen.push(`${number} ${kind} ${path}`);
    return number === 2 ? { code: "ENOSPC", done: 0.5 } : number === 3 ? { code: "EIO", done: 1 } : null;
  });
  const handle = files.open("/f", true);
  const error = assertThrows(() => handle.writeAt(text("abcd"), 0), IoError);
  assertEquals([error.code, error.operation], ["ENOSPC", "write"]);
  assertThrows(() => files.rename("/f", "/g"), IoError);
  assertEquals(files.list("/").map(({ name }) => name), ["g"]);
  assertEquals(handle.size(), 2);
  assertEquals(seen, ["1 create /f", "2 write /f", "3 rename /f", "4 list /", "5 size /f"]);
});

Deno.test("IoError says what a code of the system means, and leaves other texts as they are", () => {
  const said = (code: string) => new IoError("write", "/x", code).message;
  assertEquals(said("ENOSPC"), "Cannot write /x: no space left on the device (ENOSPC)");
  assertEquals(said("EROFS"), "Cannot write /x: the file system is read-only (EROFS)");
  assertEquals(said("constructor"), "Cannot write /x: constructor");
  assertEquals(["ENOSPC", "EDQUOT", "EIO"].map((code) => new IoError("write", "/x", code).isFull), [
    true,
    true,
    false,
  ]);
});
