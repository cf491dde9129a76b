/** What a crash leaves of the last append is cut off, whatever its producer put into it; what is damaged is not. */

import { assertEquals } from "@std/assert/equals";
import { BatchView, buildBatch } from "../../src/codec/batch.ts";
import { BATCH_LENGTH_AT, CRC_AT } from "../../src/codec/batch_format.ts";
import type { MemoryFiles } from "../../src/storage/files/memory.ts";
import { assertIncludes, batch, contentOf, mustAppend, openLog, openManager, START } from "./helpers.ts";

const PATH = "/data/t-0/00000000000000000000.log";

/** The log as it is found when its file has this content. */
async function found(bytes: Uint8Array) {
  const { manager, files } = await openLog();
  mustAppend(manager.get("t", 0)!, batch(1));
  const left = (files as MemoryFiles).crashed("killed");
  const handle = left.open(PATH, false);
  handle.truncate(0);
  handle.writeAt(bytes, 0);
  handle.close();
  const { manager: again, warnings } = await openManager({}, left);
  return { log: again.get("t", 0)!, warnings, content: () => contentOf(left, PATH) };
}

/** One batch after the other, at rising offsets from `baseOffset` on. */
function row(baseOffset: number, batches: Uint8Array[]): Uint8Array {
  let next = baseOffset;
  for (const bytes of batches) {
    const view = new BatchView(bytes);
    view.baseOffset = next;
    view.partitionLeaderEpoch = 0;
    next = view.nextOffset;
  }
  return joined(batches);
}

function joined(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const few = (count: number, bytes = 100) => Array.from({ length: count }, () => batch(1, { bytes }));

/** A batch whose value is a stretch of a log that goes on exactly where the batch ends. */
function hostile(baseOffset: number, count: number): Uint8Array {
  const value = row(baseOffset + 1, few(count));
  return row(baseOffset, [buildBatch([{ timestamp: START, key: null, value }])]);
}

Deno.test("a torn batch is cut off although its record holds batches that go on with the log's offsets", async () => {
  const before = row(0, few(3));
  const last = hostile(3, 5);
  for (let left = 61; left < last.length; left += 7) {
    const { log, content } = await found(joined([before, last.subarray(0, left)]));
    assertEquals([log.offline, log.nextOffset, content().length], [null, 3, before.length], `${left} bytes`);
  }
});

Deno.test("a torn batch is cut off however much in it looks like batches, at the cost of reading it a few times", async () => {
  const before = row(0, few(3));
  const last = hostile(3, 20_000);
  const { log, content } = await found(joined([before, last.subarray(0, last.length - 1)]));
  assertEquals([log.offline, log.nextOffset, content().length], [null, 3, before.length]);
});

Deno.test("a batch whose length is damaged in any bit takes the partition offline, be it the last or not", async () => {
  const good = row(0, few(4));
  const length = good.length / 4;
  for (const damaged of [0, 1, 3]) {
    for (let bit = 0; bit < 31; bit++) {
      const bytes = good.slice();
      bytes[damaged * length + BATCH_LENGTH_AT + 3 - (bit >> 3)] ^= 1 << (bit & 7);
      const { log, content } = await found(bytes);
      assertIncludes(log.offline, `does not go on at position ${damaged * length} `);
      assertEquals(content(), bytes, `bit ${bit} of batch ${damaged}`);
    }
  }
});

Deno.test("a batch whose length is damaged is told from a torn one although its record holds batches", async () => {
  const bytes = joined([row(0, few(2)), hostile(2, 5), row(3, few(2))]);
  const position = 2 * few(1)[0].length;
  for (const wrong of [0x7fff_ffff, 100_000, 700, 100]) {
    const damaged = bytes.slice();
    new DataView(damaged.buffer).setInt32(position + BATCH_LENGTH_AT, wrong);
    const { log, content } = await found(damaged);
    assertIncludes(log.offline, `does not go on at position ${position} `);
    assertEquals(content(), damaged);
  }
});

Deno.test("a damaged batch before intact ones takes the partition offline, wherever the damage is", async () => {
  const good = row(0, few(5));
  const length = good.length / 5;
  for (let at = 0; at < length; at++) {
    // Nothing covers the leader epoch, and an epoch that is later than it was is not seen to be wrong.
    if (at >= 12 && at < 16) continue;
    const bytes = good.slice();
    bytes[2 * length + at] ^= 0x80;
    const { log, content } = await found(bytes);
    assertIncludes(log.offline, "is damaged");
    assertEquals(content(), bytes, `byte ${at}`);
  }
});

Deno.test("a header of garbage before intact batches takes the partition offline", async () => {
  const good = row(0, few(5));
  const length = good.length / 5;
  for (const [from, to] of [[0, 61], [8, 21], [0, length], [5, 20]]) {
    const bytes = good.slice();
    bytes.fill(0x5a, 2 * length + from, 2 * length + to);
    const { log, content } = await found(bytes);
    assertIncludes(log.offline, "there are intact batches from");
    assertEquals(content(), bytes);
  }
});

Deno.test("a last batch that is damaged elsewhere than in its length is cut off, and told", async () => {
  const good = row(0, few(4));
  const length = good.length / 4;
  for (const at of [CRC_AT, 30, 61, length - 1]) {
    const bytes = good.slice();
    bytes[3 * length + at] ^= 1;
    const { log, warnings } = await found(bytes);
    assertEquals([log.offline, log.nextOffset], [null, 3]);
    assertIncludes(
      warnings[0],
      `cut ${length} bytes off the end of ${PATH} at position ${3 * length} (offset 3)`,
    );
  }
});
