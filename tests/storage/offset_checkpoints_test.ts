/** The offsets of all partitions in three files: they are written when something has moved, and only then. */

import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { batch, DIRECTORY, mustAppend, openManager, TOPIC_ID } from "./helpers.ts";
import { readText } from "../../src/storage/files/files.ts";
import { assertEquals } from "@std/assert/equals";

Deno.test("LogManager.tick() writes a checkpoint only when an offset in it has moved, or a partition came or went", async () => {
  const memory = new MemoryFiles();
  const written: string[] = [];
  const files = new FaultyFiles(memory, ({ kind, to }) => {
    if (kind === "rename" && to?.endsWith("-checkpoint")) written.push(to.slice(DIRECTORY.length + 1));
    return null;
  });
  const { manager, clock } = await openManager({}, files);
  const log = manager.create("t", 0, TOPIC_ID);
  const tick = async () => {
    written.length = 0;
    clock.advance(5000);
    await manager.tick();
    return written.filter((name) => name === "replication-offset-checkpoint").length;
  };
  assertEquals(await tick(), 1);
  assertEquals(await tick(), 0);
  mustAppend(log, batch(3));
  log.highWatermark = 3;
  assertEquals([await tick(), await tick()], [1, 0]);
  assertEquals(readText(memory, `${DIRECTORY}/replication-offset-checkpoint`), "0\n1\nt 0 3\n");
  manager.create("u", 0, TOPIC_ID);
  assertEquals([await tick(), await tick()], [1, 0]);
  manager.remove("t", 0);
  assertEquals([await tick(), await tick()], [1, 0]);
});
