/** `preallocate`: a segment's file has its full size at once, and zeros behind the batches are no loss. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { Files } from "../../src/storage/files/files.ts";
import { describe, type Fault, FaultyFiles, type Operation } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import {
  append,
  batch,
  DIRECTORY,
  mustAppend,
  openLog,
  openManager,
  random,
  readAll,
  sizeOf,
  START,
  TOPIC_ID,
} from "./helpers.ts";

const CONFIG = { preallocate: true, segmentBytes: 4000 };

const memory = () => new MemoryFiles(() => START);

function sizes(files: Files): Record<string, number> {
  const directory = `${DIRECTORY}/t-0`;
  const logs = files.list(directory).filter(({ name }) => name.endsWith(".log"));
  return Object.fromEntries(
    logs.map(({ name }) => [Number(name.slice(0, 20)), sizeOf(files, `${directory}/${name}`)]),
  );
}

function offsets(log: Log): number[] {
  return readAll(log).map(({ offset }) => offset);
}

Deno.test("a segment is preallocated when it is begun, and cut to size when the next is and at a stop", async () => {
  const files = memory();
  const { log, manager } = await openLog(CONFIG, files);
  mustAppend(log, batch(1, { bytes: 1000 }));
  assertEquals(sizes(files), { 0: 4000 });
  const { sizeInBytes } = log;
  for (let i = 1; i < 5; i++) mustAppend(log, batch(1, { bytes: 1000 }));
  assertEquals(sizes(files), { 0: 3 * sizeInBytes, 3: 4000 });
  assertEquals(log.sizeInBytes, 5 * sizeInBytes);
  await manager.close();
  assertEquals(sizes(files), { 0: 3 * sizeInBytes, 3: 2 * sizeInBytes });
  const again = await openLog(CONFIG, files);
  mustAppend(again.log, batch(1));
  assertEquals([offsets(again.log), again.warnings], [[0, 1, 2, 3, 4, 5], []]);
  await again.manager.close();
});

Deno.test("after a kill the zeros behind the last batch go without a word, and no record with them", async () => {
  const files = memory();
  const { log } = await openLog(CONFIG, files);
  const told: string[] = [];
  for (let killed = files, count = 0; count < 6;) {
    const setup = killed === files ? { log, warnings: [] } : await openLog(CONFIG, killed);
    assertEquals([offsets(setup.log), setup.warnings], [[...Array(count).keys()], []]);
    mustAppend(setup.log, batch(1, { bytes: 1000, first: count++ }));
    told.push(...setup.warnings);
    killed = killed.crashed("killed");
  }
  assertEquals(told, []);
});

Deno.test("a torn append in a preallocated segment is cut off with the zeros behind it, whatever was in it", async () => {
  const files = memory();
  const { log } = await openLog(CONFIG, files);
  mustAppend(log, batch(1));
  const { sizeInBytes } = log;
  // What is left of it holds a whole batch, as a producer may send one in a record.
  const inner = batch(1);
  const torn = batch(1, { bytes: 1000 });
  torn.set(inner, 100);
  torn[7] = 1;
  const left = files.crashed("killed");
  const handle = left.open(`${DIRECTORY}/t-0/00000000000000000000.log`, false);
  handle.writeAt(torn.subarray(0, 900), sizeInBytes);
  handle.close();
  const again = await openLog(CONFIG, left);
  assertEquals([again.log.offline, offsets(again.log), again.warnings.length], [null, [0], 1]);
  await again.manager.close();
});

Deno.test("zeros that a machine's stop leaves are told of: they may be in the place of what was lost", async () => {
  const files = memory();
  const { manager, log } = await openManager(CONFIG, files, undefined, { bootId: "one" }).then((setup) => ({
    ...setup,
    log: setup.manager.create("t", 0, TOPIC_ID),
  }));
  mustAppend(log, batch(1));
  await log.flush();
  const left = files.crashed("power");
  await manager.close();
  const again = await openManager(CONFIG, left, undefined, { bootId: "two" });
  assertEquals([offsets(again.manager.get("t", 0)!), again.warnings.length], [[0], 1]);
  await again.manager.close();
});

for (const how of ["killed", "power", "any part of what was not synced"] as const) {
  Deno.test(`a crash at any operation of a log that preallocates keeps what was acknowledged: ${how}`, async () => {
    const config = { ...CONFIG, segmentBytes: 1000, flushMessages: how === "killed" ? 1e9 : 1 };
    const chance = random(1);
    const files = memory();
    const crashes: { what: string; files: MemoryFiles; acknowledged: number }[] = [];
    let acknowledged = 0;
    const { log, manager } = await openLog(
      config,
      new FaultyFiles(files, (operation: Operation): Fault | null => {
        if (["stat", "read", "size", "open"].includes(operation.kind)) return null;
        const crash = how === "killed" || how === "power" ? how : chance;
        crashes.push({ what: describe(operation), files: files.crashed(crash), acknowledged });
        return null;
      }),
    );
    for (let i = 0; i < 12; i++) {
      assertEquals(append(log, batch(1, { bytes: 300 })).errorCode, ErrorCode.NONE);
      if (how !== "killed") await log.flush();
      acknowledged++;
    }
    await manager.close();
    for (const { what, files, acknowledged } of crashes) {
      const { log, manager } = await openLog(config, files);
      const found = offsets(log);
      assertEquals([log.offline, found], [null, [...Array(found.length).keys()]], `${how}, before ${what}`);
      assertEquals(
        found.length >= acknowledged,
        true,
        `${how}, before ${what}: ${found.length} of ${acknowledged}`,
      );
      mustAppend(log, batch(1));
      await manager.close();
    }
  });
}

Deno.test("segment.jitter.ms above segment.ms does not roll at every batch", async () => {
  const { log, manager } = await openLog({ segmentMs: 1000, segmentJitterMs: 1e12 });
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1, { timestamp: START }));
  assertEquals(log.segmentBaseOffsets, [0]);
  mustAppend(log, batch(1, { timestamp: START + 1001 }), { now: START + 1001 });
  assertEquals(log.segmentBaseOffsets, [0, 5]);
  await manager.close();
});
