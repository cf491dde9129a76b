import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import type { FileSlice } from "../../src/base/file_slice.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { FaultyFiles, type OperationKind } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import {
  append,
  batch,
  damage,
  DIRECTORY,
  mustAppend,
  offsetsIn,
  openLog,
  openManager,
  START,
} from "./helpers.ts";

const SIZE = batch(1, { bytes: 1000 }).length;
const LIMITS = { minBytes: 2 * SIZE, maxBytes: 5 * SIZE + 100, maxOffset: Infinity };

/** Batches of one record of a thousand bytes. */
function fill(log: Log, count: number) {
  for (let i = 0; i < count; i++) mustAppend(log, batch(1, { bytes: 1000 }));
}

function bytesOf(slice: FileSlice, from = 0): Uint8Array {
  const bytes = new Uint8Array(slice.length - from);
  slice.read(bytes, from);
  return bytes;
}

/** Reads `count` batches from `offset` on, as who has come so far. */
function readUpTo(log: Log, offset: number, count: number) {
  const read = log.read(offset, { maxBytes: count * SIZE, maxOffset: Infinity, minOneMessage: true });
  assertEquals(read.nextOffset, offset + count);
}

Deno.test("Log.slice() gives the bytes that a read would, in whole batches, and goes on from slice to slice", async () => {
  const { log, manager } = await openLog({ indexIntervalBytes: 1 });
  fill(log, 30);
  readUpTo(log, 0, 1);
  let offset = 1;
  for (let slice = log.slice(offset, LIMITS); slice !== null; slice = log.slice(offset, LIMITS)) {
    const { bytes } = log.read(offset, { maxBytes: LIMITS.maxBytes, maxOffset: 30, minOneMessage: true });
    assertEquals(bytesOf(slice.bytes), bytes);
    assertEquals(bytesOf(slice.bytes, 77), bytes.subarray(77));
    assertEquals(slice.nextOffset, offset + offsetsIn(bytes).length);
    offset = slice.nextOffset;
  }
  assert(offset > 28, `ended at ${offset}: less than two batches are left`);
  await manager.close();
});

Deno.test("Log.slice() gives the rest of the log where it fits, to its very end", async () => {
  const { log, manager } = await openLog({ indexIntervalBytes: 100_000 });
  fill(log, 10);
  readUpTo(log, 0, 6);
  const slice = log.slice(6, LIMITS)!;
  assertEquals([slice.bytes.length, slice.nextOffset], [4 * SIZE, 10]);
  assertEquals(offsetsIn(bytesOf(slice.bytes)), [6, 7, 8, 9]);
  await manager.close();
});

Deno.test("Log.slice() leaves to a read what it cannot be sure of, and what is not worth it", async () => {
  const { log, manager } = await openLog({ indexIntervalBytes: 1 });
  fill(log, 30);
  assertEquals(log.slice(3, LIMITS), null, "nobody has read so far");
  readUpTo(log, 0, 3);
  assert(log.slice(3, LIMITS) !== null);
  assertEquals(log.slice(3, { ...LIMITS, maxBytes: SIZE }), null, "less than the least");
  assertEquals(log.slice(3, { ...LIMITS, maxOffset: 4 }), null, "not committed");
  assertEquals([log.slice(-1, LIMITS), log.slice(30, LIMITS), log.slice(31, LIMITS)], [null, null, null]);
  await manager.close();
});

Deno.test("Log.slice() never ends beyond what is committed", async () => {
  const { log, manager } = await openLog({ indexIntervalBytes: 1 });
  fill(log, 8);
  readUpTo(log, 0, 2);
  for (let maxOffset = 0; maxOffset <= 8; maxOffset++) {
    const slice = log.slice(2, { ...LIMITS, maxBytes: 100 * SIZE, maxOffset });
    assert(slice === null || slice.nextOffset <= maxOffset, `${slice?.nextOffset} with ${maxOffset}`);
  }
  await manager.close();
});

Deno.test("Log.slice() gives nothing that this process has not looked at: a damaged offset is found by a read", async () => {
  const first = await openLog({ indexIntervalBytes: 1 });
  fill(first.log, 30);
  await first.manager.close();
  const second = await openManager({ indexIntervalBytes: 1 }, first.files);
  const log = second.manager.get("t", 0)!;
  readUpTo(log, 0, 3);
  assertEquals(log.slice(3, LIMITS), null);
  for (let offset = 3; offset < 30; offset += 3) readUpTo(log, offset, 3);
  readUpTo(log, 0, 3);
  assertEquals(log.slice(3, LIMITS)?.nextOffset, 8);
  await second.manager.close();
});

Deno.test("Log.slice() does not believe an index that leads into the middle of a batch", async () => {
  const { log, manager, files } = await openLog({ indexIntervalBytes: 1 });
  fill(log, 30);
  await log.flush();
  readUpTo(log, 0, 3);
  // The entries of offsets 7 and 8, which are the last ones before the limit.
  const path = `${DIRECTORY}/t-0/00000000000000000000.index`;
  for (const entry of [6, 7]) damage(files, path, entry * 8 + 4, new Uint8Array([0, 0, 0x20, 0x10 + entry]));
  const slice = log.slice(3, LIMITS);
  if (slice !== null) assertEquals(offsetsIn(bytesOf(slice.bytes)).at(-1), slice.nextOffset - 1);
  await manager.close();
});

Deno.test("A slice of records that are cut off cannot be read any more, one of removed records until their file is gone", async () => {
  const { log, manager, clock } = await openLog({
    indexIntervalBytes: 1,
    segmentBytes: 10 * SIZE,
    retentionMs: 1000,
    fileDeleteDelayMs: 0,
  });
  fill(log, 25);
  readUpTo(log, 0, 2);
  const removed = log.slice(2, LIMITS)!.bytes;
  readUpTo(log, 20, 1);
  const cut = log.slice(21, LIMITS)!.bytes;
  log.truncateTo(22);
  assertThrows(() => bytesOf(cut), IoError, "no record batch");
  assert(bytesOf(removed).length > 0);
  clock.advance(3_600_000);
  log.applyRetention(START + 3_600_000, 22);
  assert(bytesOf(removed).length > 0);
  await manager.tick();
  manager.pool.closeAll();
  assertThrows(() => bytesOf(removed), IoError, "no such file");
  assertThrows(() => removed.through(0, () => 1), IoError, "no such file");
  await manager.close();
});

Deno.test("What a slice could not give is not given by the next: a read tells what is wrong", async () => {
  let badPosition = -1;
  const faulty = new FaultyFiles(
    new MemoryFiles(() => START),
    ({ kind, position }) => kind === "read" && position === badPosition ? { code: "EIO" } : null,
  );
  const { log, manager } = await openLog({ indexIntervalBytes: 1 }, faulty);
  fill(log, 30);
  readUpTo(log, 0, 3);
  const { bytes } = log.slice(3, LIMITS)!;
  badPosition = 3 * SIZE;
  assertThrows(() => bytesOf(bytes), IoError, "the device failed");
  assert(log.slice(3, LIMITS) === null);
  assertEquals(log.read(3, { ...LIMITS, minOneMessage: true }).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
  badPosition = -1;
  readUpTo(log, 3, 27);
  readUpTo(log, 0, 3);
  assert(log.slice(3, LIMITS) !== null, "as before, once the disk works");
  await manager.close();
});

Deno.test("A slice of a log that had to be read again cannot be read any more: its file may have become another", async () => {
  let failing: OperationKind | null = null;
  const faulty = new FaultyFiles(
    new MemoryFiles(() => START),
    ({ kind }) => failing === kind ? { code: "EIO" } : null,
  );
  const { log, manager } = await openLog({ indexIntervalBytes: 1, segmentBytes: 10 * SIZE }, faulty);
  fill(log, 15);
  readUpTo(log, 10, 1);
  const { bytes } = log.slice(11, LIMITS)!;
  failing = "sync";
  assertEquals(log.truncateTo(12), ErrorCode.KAFKA_STORAGE_ERROR);
  failing = null;
  fill(log, 5);
  assertThrows(() => bytesOf(bytes), IoError, "removed");
  await manager.close();
});

Deno.test("What was appended behind a cut may be in a slice, and is what is in the file now", async () => {
  const { log, manager } = await openLog({ indexIntervalBytes: 1 });
  fill(log, 10);
  readUpTo(log, 0, 4);
  log.truncateTo(5);
  fill(log, 5);
  readUpTo(log, 0, 4);
  const slice = log.slice(4, { ...LIMITS, maxBytes: 100 * SIZE })!;
  assertEquals(offsetsIn(bytesOf(slice.bytes)), [4, 5, 6, 7, 8, 9]);
  assertEquals(append(log, batch(1)).baseOffset, 10);
  await manager.close();
});
