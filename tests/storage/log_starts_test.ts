import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { LOG_START_OFFSET_FILE, readOffsets } from "../../src/storage/directory/checkpoints.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { batch, DIRECTORY, mustAppend, openLog, START } from "./helpers.ts";

const path = `${DIRECTORY}/${LOG_START_OFFSET_FILE}`;

Deno.test("LogManager.commitStarts() writes starts that have moved, and nothing when none has", async () => {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { manager, log } = await openLog({}, files);
  mustAppend(log, batch(10));
  manager.deleteRecordsBefore(log, 4);
  assertEquals(manager.commitStarts(), true);
  assertEquals([...readOffsets(files, path)], [["t-0", 4]]);
  const { operations } = files;
  assertEquals(manager.deleteRecordsBefore(log, 3), ErrorCode.NONE);
  assertEquals(manager.commitStarts(), true);
  assertEquals(files.operations, operations);
  await manager.close();
});

Deno.test("LogManager.commitStarts() says that the disk failed, until it works", async () => {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { manager, log, warnings } = await openLog({}, files);
  mustAppend(log, batch(10));
  manager.deleteRecordsBefore(log, 4);
  files.fail(1, Infinity);
  assertEquals([manager.commitStarts(), manager.commitStarts()], [false, false]);
  files.heal();
  assertEquals(manager.commitStarts(), true);
  assertEquals([...readOffsets(files, path)], [["t-0", 4]]);
  assertEquals(warnings.length, 2);
  await manager.close();
});
