/** What compactors leave in a directory: Kafka's empty segments, and what a process that ended half way has not cleared away. */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { buildBatch } from "../../../src/codec/batch.ts";
import type { MemoryFiles } from "../../../src/storage/files/memory.ts";
import { offsetName } from "../../../src/storage/directory/names.ts";
import { DIRECTORY, mustAppend, text } from "../helpers.ts";
import { type Compacting, openCompacting, recordsOf, START } from "./helpers.ts";

/** A log of five segments, closed: in each of them one record. */
async function closedLog(): Promise<MemoryFiles> {
  const { log, files, manager } = await openCompacting({ segmentBytes: 200 });
  for (let i = 0; i < 5; i++) {
    mustAppend(log, buildBatch([{ timestamp: START, key: text(`${i}`), value: text("x".repeat(100)) }]));
  }
  log.highWatermark = log.nextOffset;
  await manager.close();
  return files;
}

const pathOf = (base: number, suffix: string) => `${DIRECTORY}/t-0/${offsetName(base, suffix)}`;

function empty(files: MemoryFiles, ...bases: number[]): void {
  for (const base of bases) {
    for (const suffix of [".log", ".index", ".timeindex"]) {
      const handle = files.open(pathOf(base, suffix), false);
      handle.truncate(0);
      handle.close();
    }
  }
}

function check({ log, warnings }: Compacting, offsets: number[]): void {
  assertEquals([log.logStartOffset, log.nextOffset, log.offline], [0, 5, null]);
  assertEquals(recordsOf(log).map(([offset]) => offset), offsets);
  assertEquals(warnings, []);
}

for (const end of ["closed", "killed", "machine stopped"] as const) {
  Deno.test(`empty segments that Kafka's compactor leaves are no loss, and the log begins where it did, ${end}`, async () => {
    const files = await closedLog();
    empty(files, 0, 1, 3);
    if (end !== "closed") files.remove(`${DIRECTORY}/.kafka_cleanshutdown`);
    const manager = end === "machine stopped" ? { bootId: "another" } : { bootId: "b" };
    const again = await openCompacting({ segmentBytes: 200 }, { files, manager });
    check(again, [2, 4]);
    await again.manager.close();
    check(await openCompacting({ segmentBytes: 200 }, { files }), [2, 4]);
  });
}

Deno.test("an empty first segment does not hold up retention", async () => {
  const files = await closedLog();
  empty(files, 0, 1);
  const config = { segmentBytes: 200, cleanupPolicy: { compact: true, delete: true }, retentionMs: 1000 };
  const again = await openCompacting(config, { files });
  assertEquals(recordsOf(again.log).length, 3);
  assertEquals(again.log.segmentBaseOffsets, [0, 2, 3, 4]);
  again.clock.advance(2000);
  assert(again.log.applyRetention(again.clock.now()) >= 3);
  assertEquals(again.log.logStartOffset, 5);
});

/** The steps in which segments 1 and 2 are replaced by one that has the record of 2, as they are done. */
const steps: ((files: MemoryFiles) => void)[] = [
  ...[".timeindex", ".index", ".log"].map((suffix) => (files: MemoryFiles) => {
    files.rename(`${pathOf(1, suffix)}.cleaned`, `${pathOf(1, suffix)}.swap`);
  }),
  ...[1, 2].flatMap((base) =>
    [".timeindex", ".index", ".log"].map((suffix) => (files: MemoryFiles) => {
      files.rename(pathOf(base, suffix), `${pathOf(base, suffix)}.deleted`);
    })
  ),
  ...[".log", ".index", ".timeindex"].map((suffix) => (files: MemoryFiles) => {
    files.rename(`${pathOf(1, suffix)}.swap`, pathOf(1, suffix));
  }),
];

for (let done = 0; done <= steps.length; done++) {
  Deno.test(`an exchange of segments that ended after step ${done} of ${steps.length} is undone or finished`, async () => {
    const files = await closedLog();
    for (const suffix of [".log", ".index", ".timeindex"]) {
      const from = files.open(pathOf(2, suffix), false);
      const bytes = new Uint8Array(from.size());
      from.readAt(bytes, 0);
      from.close();
      // Its offset is relative to the base.
      if (suffix === ".timeindex") bytes[11] += 1;
      const to = files.open(`${pathOf(1, suffix)}.cleaned`, true);
      to.writeAt(bytes, 0);
      to.close();
    }
    for (const step of steps.slice(0, done)) step(files);
    const isNew = done >= 3;
    const again = await openCompacting({ segmentBytes: 200 }, { files });
    check(again, isNew ? [0, 2, 3, 4] : [0, 1, 2, 3, 4]);
    assertEquals(again.log.segmentBaseOffsets, isNew ? [0, 1, 3, 4] : [0, 1, 2, 3, 4]);
    const left = files.list(`${DIRECTORY}/t-0`).filter(({ name }) => /\.(cleaned|swap)$/.test(name));
    assertEquals(left, []);
  });
}

Deno.test("a stop of the machine takes a compacted log's last records, and none between: gaps below the recovery point stay", async () => {
  const setup = await openCompacting({ segmentBytes: 300 }, { manager: { bootId: "before" } });
  const put = (key: string) => {
    mustAppend(setup.log, buildBatch([{ timestamp: START, key: text(key), value: text("x".repeat(100)) }]));
    setup.log.highWatermark = setup.log.nextOffset;
  };
  for (const key of ["a", "b", "a", "b", "a", "b", "c"]) put(key);
  await setup.compact();
  const cleaned = recordsOf(setup.log).map(([offset]) => offset);
  assertEquals(cleaned, [4, 5, 6]);
  for (const key of ["d", "e", "f", "g", "h"]) put(key);
  const bases = setup.log.segmentBaseOffsets;
  const torn = bases.at(-2)!;
  const files = setup.files.crashed("killed");
  empty(files, torn);

  const again = await openCompacting({ segmentBytes: 300 }, { files, manager: { bootId: "after" } });
  assertEquals([again.log.logStartOffset, again.log.nextOffset], [0, torn]);
  const left = recordsOf(again.log).map(([offset]) => offset);
  assertEquals(left, [...cleaned, ...Array.from({ length: torn - 7 }, (_, i) => 7 + i)]);
});
