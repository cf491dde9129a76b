import { assertEquals } from "@std/assert/equals";
import { HandlePool, PooledFile } from "../../src/storage/files/handles.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { OffsetIndex } from "../../src/storage/segment/offset_index.ts";
import { TimeIndex } from "../../src/storage/segment/time_index.ts";
import { contentOf, offsetEntries, random } from "./helpers.ts";

const BASE = 1000;

function offsetIndex(files = new MemoryFiles(), create = true) {
  const index = new OffsetIndex(new PooledFile(new HandlePool(files, 10), { path: "" }, "i"), BASE);
  if (create) index.reset();
  return { files, index };
}

function timeIndex(files = new MemoryFiles(), create = true) {
  const index = new TimeIndex(new PooledFile(new HandlePool(files, 10), { path: "" }, "t"), BASE);
  if (create) index.reset();
  return { files, index };
}

Deno.test("OffsetIndex.lookup() gives the position of the entry at or below the offset, in file and memory alike", () => {
  const next = random(1);
  for (const written of [0, 1, 40, 700, 1500]) {
    const { index } = offsetIndex();
    const entries: [number, number][] = [];
    let offset = BASE;
    let position = 0;
    for (let i = 0; i < 1500; i++) {
      offset += 1 + Math.floor(next() * 5);
      position += 1 + Math.floor(next() * 100);
      index.append(offset, position);
      entries.push([offset, position]);
      if (i + 1 === written) index.write();
    }
    for (let i = 0; i < 300; i++) {
      const wanted = BASE + Math.floor(next() * (offset - BASE + 20)) - 5;
      const expected = entries.filter(([entry]) => entry <= wanted).at(-1)?.[1] ?? 0;
      assertEquals(index.lookup(wanted), expected);
    }
  }
});

Deno.test("OffsetIndex.open() finds the entries again, and ignores the zeros that Kafka preallocates", () => {
  const { files, index } = offsetIndex();
  for (let i = 1; i <= 10; i++) index.append(BASE + i, i * 100);
  index.write();
  files.open("/i", false).truncate(4096);
  const again = offsetIndex(files, false).index;
  assertEquals([again.open(2000), again.count, again.lastOffset], [true, 10, BASE + 10]);
  again.trim();
  assertEquals(contentOf(files, "/i").length, 80);
});

Deno.test("OffsetIndex.open() refuses an index that points past the log's end", () => {
  const { files, index } = offsetIndex();
  index.append(BASE + 1, 500);
  index.write();
  assertEquals(offsetIndex(files, false).index.open(500), false);
  assertEquals(offsetIndex(files, false).index.open(501), true);
});

Deno.test("OffsetIndex.truncateToPosition() forgets entries at and after the position, wherever they are", () => {
  for (const written of [0, 3, 10]) {
    for (let keep = 0; keep <= 10; keep++) {
      const { files, index } = offsetIndex();
      for (let i = 1; i <= 10; i++) {
        index.append(BASE + i, i * 100);
        if (i === written) index.write();
      }
      index.truncateToPosition((keep + 1) * 100);
      assertEquals([index.count, index.lastOffset], [keep, BASE + keep]);
      index.append(BASE + 50, 5000);
      index.write();
      const entries = offsetEntries(contentOf(files, "/i"));
      assertEquals(entries.length, keep + 1);
      assertEquals(entries.at(-1), [50, 5000]);
    }
  }
});

Deno.test("TimeIndex.append() keeps only rising timestamps; floor() gives an offset before which all is older", () => {
  const { files, index } = timeIndex();
  index.append(100, BASE + 5);
  index.append(100, BASE + 9);
  index.append(90, BASE + 10);
  index.append(200, BASE + 20);
  assertEquals([index.count, index.lastTimestamp, index.lastOffset], [2, 200, BASE + 20]);
  for (const [timestamp, offset] of [[99, 0], [100, 5], [199, 5], [200, 20], [999, 20]]) {
    assertEquals(index.floor(timestamp)?.offset ?? BASE, BASE + offset);
  }
  index.write();
  const again = timeIndex(files, false).index;
  assertEquals([again.open(), again.count, again.lastTimestamp], [true, 2, 200]);
  again.truncateTo(BASE + 20);
  assertEquals([again.count, again.lastTimestamp, again.lastOffset], [1, 100, BASE + 5]);
});

Deno.test("HandlePool keeps to its bound, and files come back when they are used", async () => {
  const files = new MemoryFiles();
  const pool = new HandlePool(files, 3);
  const pooled = Array.from({ length: 10 }, (_, i) => new PooledFile(pool, { path: "" }, String(i)));
  pooled.forEach((file, i) => file.create().writeAt(new Uint8Array([i]), 0));
  assertEquals(pool.openCount, 3);
  for (const [i, file] of pooled.entries()) {
    const into = new Uint8Array(1);
    file.get().readAt(into, 0);
    assertEquals(into[0], i);
  }
  const syncing = pooled[0].sync();
  pooled[0].close();
  pooled.slice(1).forEach((file) => file.get());
  await syncing;
  assertEquals(pool.openCount, 3);
  pool.closeIdle();
  pool.closeIdle();
  assertEquals(pool.openCount, 0);
});
