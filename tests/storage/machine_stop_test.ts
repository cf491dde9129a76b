/** When the machine stopped, what was not synced may be there in any part; when only the process did, all of it is. */

import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { readText } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import { assertIncludes, batch, damage, DIRECTORY, mustAppend, readAll, START, TOPIC_ID } from "./helpers.ts";

const PATH = `${DIRECTORY}/t-0/00000000000000000000.log`;
const LENGTH = batch(1, { bytes: 100 }).length;

async function open(files: MemoryFiles, bootId: string | null, segmentBytes = 100_000) {
  const warnings: string[] = [];
  const manager = await LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock: new ManualClock(),
    bootId,
    configOf: () => ({ ...defaultLogConfig, segmentBytes }),
    onWarning: (warning) => warnings.push(warning),
  });
  return { manager, log: manager.get("t", 0) ?? manager.create("t", 0, TOPIC_ID), warnings };
}

/** A log of ten batches, of which the third is not there, as a process under "first" left it. */
async function withHole(): Promise<MemoryFiles> {
  const files = new MemoryFiles(() => START);
  const { log } = await open(files, "first");
  for (let i = 0; i < 10; i++) mustAppend(log, batch(1, { bytes: 100 }));
  damage(files, PATH, 2 * LENGTH, new Uint8Array(LENGTH));
  return files.crashed("killed");
}

Deno.test("a log is cut at the hole that the machine's stop left in it, and goes on from there", async () => {
  const files = await withHole();
  const { log, warnings } = await open(files, "second");
  assertEquals([log.offline, log.nextOffset, readAll(log).length], [null, 2, 2]);
  assertIncludes(
    warnings[0],
    `cut ${8 * LENGTH} bytes off the end of ${PATH} at position ${2 * LENGTH} (offset 2)`,
  );
  assertEquals(mustAppend(log, batch(1)), 2);
});

for (const bootId of ["first", null]) {
  Deno.test(`the same hole takes the partition offline when the machine went on (${bootId})`, async () => {
    const { log } = await open(await withHole(), bootId);
    assertIncludes(log.offline, `does not go on at position ${2 * LENGTH} (offset 2)`);
  });
}

Deno.test("the machine's start is noted once all logs are checked, and counts for stops after that", async () => {
  const files = await withHole();
  await open(files, "second");
  assertEquals(readText(files, `${DIRECTORY}/trackway-boot-id`), "second");
  damage(files, PATH, 0, new Uint8Array(LENGTH));
  const { log } = await open(files.crashed("killed"), "second");
  assertIncludes(log.offline, "does not go on at position 0");
});

Deno.test("segments after a hole, or after one whose end is lost, go with it: no offset is missing between others", async () => {
  const files = new MemoryFiles(() => START);
  const { log } = await open(files, "first", 4 * LENGTH);
  for (let i = 0; i < 10; i++) mustAppend(log, batch(1, { bytes: 100 }));
  for (
    const lose of [
      (left: MemoryFiles) => damage(left, PATH, 2 * LENGTH, new Uint8Array(LENGTH)),
      (left: MemoryFiles) => left.open(PATH, false).truncate(2 * LENGTH),
    ]
  ) {
    const left = files.crashed("killed");
    lose(left);
    const { log: again, warnings } = await open(left, "second", 4 * LENGTH);
    assertEquals(readAll(again).map(({ offset }) => offset), [0, 1]);
    assertEquals(again.segmentBaseOffsets, [0]);
    assertIncludes(
      warnings.at(-1)!,
      `cut ${2 * LENGTH} bytes off the end of ${DIRECTORY}/t-0/00000000000000000008.log`,
    );
    assertEquals(mustAppend(again, batch(1)), 2);
  }
});
