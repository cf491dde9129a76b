/** Deletion that waits: what is due goes, what cannot go does not hold up the rest, and nobody is held up for long. */

import { ManualClock } from "../../src/base/clock.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { Trash } from "../../src/storage/directory/trash.ts";
import { assertEquals } from "@std/assert/equals";

function trashOf(names: string[], files: MemoryFiles, faulty = new FaultyFiles(files)) {
  files.makeDirectory("/d");
  for (const name of names) files.open(`/d/${name}`, true).close();
  const clock = new ManualClock();
  const warnings: string[] = [];
  const trash = new Trash(faulty, clock, (text) => warnings.push(text));
  const left = () => files.list("/d").map(({ name }) => name).sort();
  return { trash, clock, warnings, left };
}

Deno.test("Trash.empty() deletes what is due, whatever is before it", async () => {
  const { trash, clock, left } = trashOf(["early", "late", "none"], new MemoryFiles());
  trash.add("/d/late", 1000);
  trash.add("/d/early", 100);
  trash.add("/d/gone already", 0);
  clock.advance(100);
  await trash.empty();
  assertEquals(left(), ["late", "none"]);
  clock.advance(900);
  await trash.empty();
  assertEquals(left(), ["none"]);
});

Deno.test("Trash.empty() tells once of what it cannot delete, goes on with the rest, and tries again", async () => {
  const files = new MemoryFiles();
  const faulty = new FaultyFiles(files);
  const { trash, warnings, left } = trashOf(["a", "b"], files, faulty);
  for (const name of ["a", "b"]) trash.add(`/d/${name}`, 0);
  faulty.fail(1);
  await trash.empty();
  assertEquals(left(), ["a"]);
  faulty.fail(1);
  await trash.empty();
  assertEquals([left(), warnings], [["a"], [
    "Cannot delete /d/a yet: Cannot remove /d/a: the device failed (EIO)",
  ]]);
  await trash.empty();
  assertEquals([left(), warnings.length], [[], 1]);
});

Deno.test("Trash.empty() leaves the rest for the next time after half a second", async () => {
  const files = new MemoryFiles();
  const { trash, clock, left } = trashOf(["a", "b", "c", "d"], files);
  const { removeTree } = files;
  files.removeTree = (path) => {
    clock.advance(300);
    return removeTree.call(files, path);
  };
  for (const name of ["a", "b", "c", "d"]) trash.add(`/d/${name}`, 0);
  await trash.empty();
  assertEquals(left(), ["c", "d"]);
  await trash.empty();
  assertEquals(left(), []);
});
