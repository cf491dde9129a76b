import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import * as checkpoints from "../../src/storage/directory/checkpoints.ts";
import { readText, replaceFile } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import {
  deletedDirectory,
  offsetName,
  offsetOfName,
  parsePartitionDirectory,
} from "../../src/storage/directory/names.ts";

const { CorruptCheckpoint } = checkpoints;

Deno.test("writeOffsets() writes what Kafka writes", () => {
  const files = new MemoryFiles();
  checkpoints.writeOffsets(files, "/c", [
    { topic: "lat", partition: 0, offset: 1 },
    { topic: "golden", partition: 0, offset: 300 },
  ], false);
  assertEquals(readText(files, "/c"), "0\n2\nlat 0 1\ngolden 0 300\n");
  assertEquals([...checkpoints.readOffsets(files, "/c")], [["lat-0", 1], ["golden-0", 300]]);
});

Deno.test("readOffsets() takes a missing and an empty file for no offsets", () => {
  const files = new MemoryFiles();
  assertEquals(checkpoints.readOffsets(files, "/c").size, 0);
  replaceFile(files, "/c", "", false);
  assertEquals(checkpoints.readOffsets(files, "/c").size, 0);
});

for (
  const [what, content] of [
    ["another version", "1\n0\n"],
    ["fewer entries than it counts", "0\n2\nt 0 1\n"],
    ["more entries than it counts", "0\n0\nt 0 1\n"],
    ["a line cut short", "0\n1\nt 0\n"],
    ["no number", "0\n1\nt 0 x\n"],
    ["no count", "0\n"],
    ["a digit that became a space", "0\n1\nt 0 1 0\n"],
    ["a name that became another's", "0\n2\nt 0 1\nt 0 7\n"],
  ]
) {
  Deno.test(`readOffsets() refuses ${what}`, () => {
    const files = new MemoryFiles();
    replaceFile(files, "/c", content, false);
    assertThrows(() => checkpoints.readOffsets(files, "/c"), CorruptCheckpoint);
  });
}

Deno.test("writeEpochs() writes what Kafka writes", () => {
  const files = new MemoryFiles();
  const epochs = [{ epoch: 0, startOffset: 0 }, { epoch: 3, startOffset: 17 }];
  checkpoints.writeEpochs(files, "/e", epochs);
  assertEquals(readText(files, "/e"), "0\n2\n0 0\n3 17\n");
  assertEquals(checkpoints.readEpochs(files, "/e"), epochs);
});

Deno.test("writeTopicId() writes what Kafka writes; a damaged file is refused, a missing one is null", () => {
  const files = new MemoryFiles();
  assertEquals(checkpoints.readTopicId(files, "/m"), null);
  checkpoints.writeTopicId(files, "/m", "Ijc7BQyqR_STSj4ph1otqA");
  assertEquals(readText(files, "/m"), "version: 0\ntopic_id: Ijc7BQyqR_STSj4ph1otqA");
  assertEquals(checkpoints.readTopicId(files, "/m"), "Ijc7BQyqR_STSj4ph1otqA");
  replaceFile(files, "/m", "", false);
  assertThrows(() => checkpoints.readTopicId(files, "/m"), CorruptCheckpoint);
});

Deno.test("readMetaProperties() reads Kafka's file, comments and any order", () => {
  const files = new MemoryFiles();
  const content =
    "#\n#Sun Nov 29 19:23:27 UTC 2026\nnode.id=1\ndirectory.id=yzSNRROnSG2pVxcrCZS0Ww\nversion=1\n" +
    "cluster.id=gl9XOgETQuKw1Mp1kL5K1Q\n";
  replaceFile(files, "/m", content, false);
  const meta = { clusterId: "gl9XOgETQuKw1Mp1kL5K1Q", nodeId: 1, directoryId: "yzSNRROnSG2pVxcrCZS0Ww" };
  assertEquals(checkpoints.readMetaProperties(files, "/m"), meta);
  checkpoints.writeMetaProperties(files, "/n", meta);
  assertEquals(checkpoints.readMetaProperties(files, "/n"), meta);
  replaceFile(files, "/m", "version=1\n", false);
  assertThrows(() => checkpoints.readMetaProperties(files, "/m"), CorruptCheckpoint);
});

Deno.test("offsetOfName() knows segment files by 20 digits and the suffix, and nothing else", () => {
  assertEquals(offsetName(153, ".log"), "00000000000000000153.log");
  assertEquals(offsetOfName("00000000000000000153.log", ".log"), 153);
  for (
    const name of [
      "153.log",
      "00000000000000000153.index",
      "0000000000000000015x.log",
      "99999999999999999999.log",
    ]
  ) {
    assertEquals(offsetOfName(name, ".log"), null);
  }
});

Deno.test("parsePartitionDirectory() splits at the last dash", () => {
  assertEquals(parsePartitionDirectory("a-b.c_d-12"), { topic: "a-b.c_d", partition: 12 });
  for (const name of ["t", "t-", "-1", "t-01", "t-1.abc-delete", "t-99999999999", "t-1-future", "t x-1"]) {
    assertEquals(parsePartitionDirectory(name), null);
  }
});

Deno.test("deletedDirectory() stays within what a file system takes", () => {
  assertEquals(deletedDirectory("t", 3, "u"), "t-3.u-delete");
  const long = deletedDirectory("t".repeat(249), 12, "0123456789abcdef0123456789abcdef");
  assertEquals([long.length, long.endsWith("-12.0123456789abcdef0123456789abcdef-delete")], [255, true]);
});
