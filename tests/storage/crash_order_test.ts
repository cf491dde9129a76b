/** What a second crash, or a call that failed once, would have brought out: each was found by tests/durability/io_*. */

import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { type Fault, FaultyFiles, type Operation } from "../../src/storage/files/faulty.ts";
import { replaceFile } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogConfig } from "../../src/storage/log/config.ts";
import { append, batch, mustAppend, openLog, openManager, readAll, START } from "./helpers.ts";

async function reopened(files: MemoryFiles, config: Partial<LogConfig> = {}) {
  const setup = await openManager(config, files);
  return { ...setup, log: setup.manager.get("t", 0)! };
}

/** A disk on which the first call that `matches` fails. */
function failingOnce(files: MemoryFiles, matches: (operation: Operation) => boolean): FaultyFiles {
  let failed = false;
  return new FaultyFiles(files, (operation): Fault | null => {
    if (failed || !matches(operation)) return null;
    failed = true;
    return { code: "EIO" };
  });
}

Deno.test("a flush brings to the device the names that a killed process had made", async () => {
  const files = new MemoryFiles(() => START);
  const { log } = await openLog({}, files);
  mustAppend(log, batch(3));
  const left = files.crashed("killed");
  const { log: again } = await reopened(left);
  await again.flush();
  assertEquals(readAll((await reopened(left.crashed("power"))).log).length, 3);
});

Deno.test("a segment that could not be made hides no record of the one before, after a stop either", async () => {
  const memory = new MemoryFiles(() => START);
  const files = failingOnce(memory, ({ kind, path }) => {
    return kind === "create" && path.endsWith("00000000000000000002.timeindex");
  });
  const { log, manager } = await openLog({ segmentBytes: 500 }, files);
  for (let i = 0; i < 2; i++) mustAppend(log, batch(1, { bytes: 100 }));
  assertEquals(append(log, batch(1, { bytes: 300 })).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
  // It fits where the other did not.
  assertEquals(mustAppend(log, batch(1)), 2);
  assertEquals(mustAppend(log, batch(1, { bytes: 300 })), 3);
  await manager.close();
  const { log: again } = await reopened(memory, { segmentBytes: 500 });
  assertEquals([readAll(again).length, again.segmentBaseOffsets], [4, [0, 3]]);
});

Deno.test("an index whose entries could not be read once is not taken for one without any", async () => {
  const memory = new MemoryFiles(() => START);
  const { log, manager } = await openLog({ segmentBytes: 500 }, memory);
  for (let i = 0; i < 8; i++) mustAppend(log, batch(1, { bytes: 100, timestamp: START + i }));
  await manager.close();
  const first = log.segmentBaseOffsets[0];
  assertEquals(first, 0);
  const files = failingOnce(memory, ({ kind, path }) => kind === "read" && path.endsWith("0000.timeindex"));
  const { manager: again } = await openManager({ segmentBytes: 500 }, files);
  const found = () => again.get("t", 0)!.offsetForTime(START + 1, 8)?.offset;
  let failures = 0;
  try {
    found();
  } catch {
    failures++;
  }
  assertEquals([failures, found()], [1, 1]);
});

Deno.test("a log that was taken back behind its checkpoints keeps what is written then through the next kill", async () => {
  const files = new MemoryFiles(() => START);
  const { log } = await openLog({}, files);
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1));
  await log.flush();
  const left = files.crashed("killed");
  replaceFile(left, "/data/log-start-offset-checkpoint", "0\n1\nt 0 9\n", false);
  replaceFile(left, "/data/recovery-point-offset-checkpoint", "0\n1\nt 0 9\n", false);
  const { log: again } = await reopened(left);
  for (let i = 0; i < 3; i++) mustAppend(again, batch(1, { first: 5 + i }));
  const { log: last, warnings } = await reopened(left.crashed("killed"));
  assertEquals(readAll(last).map(({ value }) => value), ["value 5", "value 6", "value 7"]);
  assertEquals(warnings.filter((text) => text.includes("lies past") || text.includes("are lost")), []);
});

Deno.test("records that a truncation left room for are checked after a crash, although more had been flushed", async () => {
  const files = new MemoryFiles(() => START);
  const { log, manager, clock } = await openLog({}, files);
  for (let i = 0; i < 6; i++) mustAppend(log, batch(1));
  await log.flush();
  clock.advance(60_000);
  await manager.tick();
  assertEquals(log.recoveryPoint, 6);
  assertEquals(manager.truncate(log, 2), ErrorCode.NONE);
  for (let i = 0; i < 6; i++) mustAppend(log, batch(1, { first: 10 + i }));
  // Nothing of it was synced, and the recovery point does not say so.
  assertEquals(readAll((await reopened(files.crashed("power"))).log).length, 2);
});
