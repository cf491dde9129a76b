/** What a read costs: which bytes of the file it asks for. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { Log } from "../../src/storage/log/log.ts";
import { damaged, misplaced } from "../../src/storage/segment/read.ts";
import type { Segment } from "../../src/storage/segment/segment.ts";
import { batch, DIRECTORY, mustAppend, openLog, START } from "./helpers.ts";

const MEGABYTE = 1 << 20;

/** A log whose reads of the segment file are noted, by their sizes. */
async function watchedLog(): Promise<{ log: Log; reads: number[]; files: MemoryFiles }> {
  const files = new MemoryFiles(() => START);
  const reads: number[] = [];
  const open = files.open.bind(files);
  files.open = (path, create) => {
    const handle = open(path, create);
    const readAt = handle.readAt.bind(handle);
    handle.readAt = (into, position) => {
      if (path.endsWith(".log")) reads.push(into.length);
      return readAt(into, position);
    };
    return handle;
  };
  const { log } = await openLog({ maxMessageBytes: 4 * MEGABYTE }, files);
  return { log, reads, files };
}

/** Reads from the start; where the limits yield to the first batch if `minOneMessage`. */
function readBytes(log: Log, maxBytes: number, minOneMessage: boolean): number {
  const { errorCode, bytes } = log.read(0, { maxBytes, minOneMessage, maxOffset: Infinity });
  assertEquals(errorCode, ErrorCode.NONE);
  return bytes.length;
}

Deno.test("Log.read() does not read a batch that does not fit only to find that out", async () => {
  const { log, reads } = await watchedLog();
  const bytes = batch(1, { bytes: 2 * MEGABYTE });
  const size = bytes.length;
  for (let i = 0; i < 2; i++) mustAppend(log, bytes);
  readBytes(log, size, true);
  reads.length = 0;
  assertEquals(readBytes(log, MEGABYTE, false), 0);
  assertEquals(reads.reduce((sum, each) => sum + each, 0) < 100, true, `read ${reads}`);
  reads.length = 0;
  assertEquals(readBytes(log, size, false), size);
  assertEquals(readBytes(log, MEGABYTE, true), size);
  assertEquals(reads.length <= 4, true, `read ${reads}`);
});

Deno.test("Log.read() of little reads once", async () => {
  const { log, reads } = await watchedLog();
  mustAppend(log, batch(1));
  const size = log.sizeInBytes;
  reads.length = 0;
  assertEquals(readBytes(log, MEGABYTE, false), size);
  assertEquals(reads, [size]);
});

Deno.test("Log.read() tells of damage also where a batch of the damaged size would not fit", async () => {
  const { log, files } = await watchedLog();
  mustAppend(log, batch(1, { bytes: MEGABYTE }));
  const path = `${DIRECTORY}/t-0/00000000000000000000.log`;
  files.open(path, false).writeAt(new Uint8Array([0x7f]), 8);
  const { errorCode } = log.read(0, { maxBytes: 100_000, minOneMessage: false, maxOffset: Infinity });
  assertEquals(errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
});

Deno.test("what is told of a batch in the wrong place has the ways out in it", () => {
  const segment = { log: { path: "/x.log" } } as unknown as Segment;
  for (const { message } of [damaged(segment, 7), misplaced(segment, 7, 100, 1)]) {
    for (
      const part of ["at position 7", "restored from a copy", "the partition is deleted", "trackway check"]
    ) {
      assertEquals(message.includes(part), true, message);
    }
  }
});
