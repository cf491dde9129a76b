import { assertEquals } from "@std/assert/equals";
import { buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { replaceFile } from "../../src/storage/files/files.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogConfig } from "../../src/storage/log/config.ts";
import {
  append,
  assertIncludes,
  batch,
  contentOf,
  damage,
  mustAppend,
  openLog,
  openManager,
  readAll,
  sizeOf,
  START,
  text,
} from "./helpers.ts";

const SMALL = { segmentBytes: 1000, indexIntervalBytes: 200 };
const LIMITS = { maxBytes: 1 << 20, maxOffset: Infinity, minOneMessage: true };

/** A log of `count` one-record batches from three producers, and the files as a kill leaves them. */
async function crashedLog(count: number, config: Partial<LogConfig> = SMALL, flushAfter = -1) {
  const files = new MemoryFiles(() => START);
  const { log, manager, clock } = await openLog(config, files);
  for (let i = 0; i < count; i++) {
    const o = {
      producerId: i % 3,
      producerEpoch: 0,
      baseSequence: Math.floor(i / 3),
      timestamp: START + i,
      first: i,
    };
    mustAppend(log, batch(1, o), { leaderEpoch: i < count / 2 ? 1 : 2 });
    if (i === flushAfter) {
      await log.flush();
      clock.advance(100_000);
      await manager.tick();
    }
  }
  return { files: files.crashed("killed"), bases: log.segmentBaseOffsets };
}

async function reopened(files: MemoryFiles, config: Partial<LogConfig> = SMALL) {
  const setup = await openManager(config, files);
  return { ...setup, log: setup.manager.get("t", 0)! };
}

const logPath = (base: number) => `/data/t-0/${String(base).padStart(20, "0")}.log`;
const indexPath = (base: number) => logPath(base).replace(".log", ".index");

Deno.test("after a kill everything is there again: records, producers, epochs, indexes", async () => {
  const { files, bases } = await crashedLog(50);
  const { log, warnings } = await reopened(files);
  assertEquals(
    readAll(log).map((record) => record.value),
    Array.from({ length: 50 }, (_, i) => `value ${i}`),
  );
  assertEquals([log.nextOffset, log.segmentBaseOffsets, warnings], [50, bases, []]);
  const retry = batch(1, {
    producerId: 1,
    producerEpoch: 0,
    baseSequence: 16,
    timestamp: START + 49,
    first: 49,
  });
  assertEquals([append(log, retry).duplicate, append(log, retry).baseOffset], [true, 49]);
  assertEquals([log.leaderEpochAt(24), log.leaderEpochAt(25)], [1, 2]);
  assertEquals(log.offsetForTime(START + 33, 50)?.offset, 33);
  mustAppend(log, batch(1, { producerId: 2, producerEpoch: 0, baseSequence: 16 }), { leaderEpoch: 2 });
});

Deno.test("recovery cuts a torn end off, whatever is left of the last batch", async () => {
  const { files, bases } = await crashedLog(20);
  const path = logPath(bases.at(-1)!);
  const size = sizeOf(files, path);
  const last = batch(1, { first: 19 }).length;
  for (let left = 1; left < last; left += 7) {
    const copy = files.crashed("killed");
    const handle = copy.open(path, false);
    handle.truncate(size - last + left);
    handle.close();
    const { log, warnings } = await reopened(copy);
    assertEquals([log.nextOffset, readAll(log).length, log.offline], [19, 19, null]);
    assertEquals([warnings.length, warnings[0].includes(`position ${size - last} (offset 19)`)], [1, true]);
    assertEquals(sizeOf(copy, path), size - last);
    assertEquals(mustAppend(log, batch(1)), 19);
  }
});

for (
  const [what, tail] of [
    ["zeros", new Uint8Array(5000)],
    ["text", text("x".repeat(300))],
    ["the same batch twice", batch(1)],
    ["a batch with a wrong CRC", batch(1, { baseOffset: 20 }).map((byte, i) => i === 70 ? byte ^ 1 : byte)],
    [
      "an endless length",
      new Uint8Array([...batch(1, { baseOffset: 20 }).subarray(0, 8), 0x7f, 255, 255, 255, 0, 0, 0, 0, 2, 0]),
    ],
  ] as [string, Uint8Array][]
) {
  Deno.test(`recovery cuts ${what} off the end`, async () => {
    const { files, bases } = await crashedLog(20);
    const path = logPath(bases.at(-1)!);
    const size = sizeOf(files, path);
    damage(files, path, size, tail);
    const { log, warnings } = await reopened(files);
    // Zeros are what preallocation leaves, and are nobody's loss.
    assertEquals([log.nextOffset, log.offline, warnings.length], [20, null, what === "zeros" ? 0 : 1]);
    assertEquals([sizeOf(files, path), mustAppend(log, batch(1))], [size, 20]);
  });
}

Deno.test("recovery removes segments after a torn one that hold nothing whole", async () => {
  const { files, bases } = await crashedLog(30);
  const last = bases.at(-1)!;
  const before = bases.at(-2)!;
  damage(files, logPath(last), 0, new Uint8Array(sizeOf(files, logPath(last))));
  const handle = files.open(logPath(before), false);
  handle.truncate(handle.size() - 10);
  handle.close();
  const { log } = await reopened(files);
  assertEquals([log.segmentBaseOffsets, log.nextOffset], [bases.slice(0, -1), last - 1]);
  assertEquals([files.stat(logPath(last)), files.stat(indexPath(last))], [null, null]);
});

Deno.test("damage in the middle takes the partition offline, and changes no record", async () => {
  const { files, bases } = await crashedLog(30);
  // A record, a length, an offset, which no checksum covers, and a magic byte.
  for (const [segment, position] of [[0, 70], [0, 8], [1, 5], [bases.length - 1, 16]]) {
    const copy = files.crashed("killed");
    const path = logPath(bases[segment]);
    damage(copy, path, position, new Uint8Array([0x55, 0xaa, 0x55]));
    const before = contentOf(copy, path);
    const { log, warnings, manager } = await reopened(copy);
    assertEquals(log.offline, warnings[0]);
    assertEquals([
      warnings.length,
      warnings[0].includes(path),
      warnings[0].includes("position 0 "),
    ], [
      1,
      true,
      true,
    ]);
    assertEquals(append(log, batch(1)).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
    assertEquals(log.read(0, LIMITS).errorCode, ErrorCode.KAFKA_STORAGE_ERROR);
    assertEquals(contentOf(copy, path), before);
    const other = manager.create("other", 0, "Ijc7BQyqR_STSj4ph1otqA");
    assertEquals(mustAppend(other, batch(1)), 0);
    await manager.close();
    // Not closed cleanly: the next start looks again.
    assertEquals((await reopened(copy)).log.offline === null, false);
  }
});

Deno.test("recovery reads only from the recovery point on", async () => {
  const { files, bases } = await crashedLog(60, SMALL, 45);
  // Below the recovery point no one looks, so that damage there is not even seen.
  damage(files, logPath(bases[0]), 70, new Uint8Array([1, 2, 3]));
  const { log } = await reopened(files);
  assertEquals([log.nextOffset, log.offline, log.recoveryPoint], [60, null, 46]);
  assertEquals(readAll(log, 20).length, 40);
});

Deno.test("recovery makes missing, cut, and preallocated indexes good", async () => {
  const { files, bases } = await crashedLog(60);
  const { files: whole } = await reopened(files.crashed("killed")).then(async (setup) => {
    await setup.manager.close();
    return setup;
  });
  const expected = bases.map((base) => contentOf(whole, indexPath(base)));
  for (
    const spoil of [
      (path: string, copy: MemoryFiles) => copy.remove(path),
      (path: string, copy: MemoryFiles) => copy.open(path, false).truncate(4096),
      (path: string, copy: MemoryFiles) => copy.open(path, false).truncate(0),
      (path: string, copy: MemoryFiles) => copy.open(path, false).writeAt(new Uint8Array(64).fill(0x7f), 0),
    ]
  ) {
    const copy = files.crashed("killed");
    for (const base of bases) {
      spoil(indexPath(base), copy);
      spoil(indexPath(base).replace(".index", ".timeindex"), copy);
    }
    const { log, manager } = await reopened(copy);
    assertEquals([readAll(log).length, log.offsetForTime(START + 41, 60)?.offset], [60, 41]);
    await manager.close();
    assertEquals(bases.map((base) => contentOf(copy, indexPath(base))), expected);
  }
});

Deno.test("a missing index of an old segment is built anew when it is needed, after a clean stop too", async () => {
  const { log, manager, files } = await openLog(SMALL);
  for (let i = 0; i < 40; i++) mustAppend(log, batch(1, { timestamp: START + i }));
  const old = indexPath(log.segmentBaseOffsets[1]);
  await manager.close();
  const expected = contentOf(files, old);
  files.remove(old);
  const again = await reopened(files as MemoryFiles);
  assertEquals(readAll(again.log, log.segmentBaseOffsets[1] + 3)[0].offset, log.segmentBaseOffsets[1] + 3);
  assertEquals([again.warnings.length, again.warnings[0].includes("anew")], [1, true]);
  assertEquals(contentOf(files, old), expected);
});

Deno.test("recovery does without a damaged producer snapshot", async () => {
  const { files, bases } = await crashedLog(40, SMALL, 35);
  for (const base of bases.slice(1)) damage(files, logPath(base).replace(".log", ".snapshot"), 3, text("x"));
  const { log } = await reopened(files);
  assertEquals(log.activeProducers().map((producer) => producer.batches.at(-1)!.lastSequence), [13, 12, 12]);
});

Deno.test("recovery reads leader epochs from the batches when their file is damaged or gone", async () => {
  for (const content of [null, "0\n7\n1 0\n", ""]) {
    const { files } = await crashedLog(40);
    files.remove("/data/t-0/leader-epoch-checkpoint");
    if (content !== null) files.open("/data/t-0/leader-epoch-checkpoint", true).writeAt(text(content), 0);
    const { log } = await reopened(files);
    assertEquals([log.leaderEpochAt(19), log.leaderEpochAt(20)], [1, 2]);
  }
});

Deno.test("a log that lost synced data tells so", async () => {
  const { files, bases } = await crashedLog(40, SMALL, 39);
  files.open(logPath(bases.at(-1)!), false).truncate(0);
  const { log, warnings } = await reopened(files);
  assertEquals([log.nextOffset, warnings.length], [bases.at(-1)!, 1]);
  assertIncludes(warnings[0], "t-0: the checkpoints say that the log reached offset 40");
});

for (const origin of ["killed", "closed"] as const) {
  Deno.test(`a log that was ${origin} and whose files are gone tells what it had`, async () => {
    const files = new MemoryFiles(() => START);
    const { log, manager, clock } = await openLog({}, files);
    for (let i = 0; i < 20; i++) mustAppend(log, batch(1));
    log.highWatermark = 20;
    clock.advance(5000);
    await manager.tick();
    if (origin === "closed") await manager.close();
    const left = files.crashed("killed");
    left.remove(logPath(0));
    const { log: again, warnings } = await reopened(left, {});
    assertEquals([again.nextOffset, again.highWatermark], [0, 0]);
    assertIncludes(warnings[0], "but not the log file beside it");
    const told = warnings.filter((text) =>
      text.includes("reached offset 20, but what is in /data/t-0 ends at 0")
    );
    assertEquals(told.length, 1, warnings.join("\n"));
    // Told once: what the next start finds is what this one left.
    mustAppend(again, batch(1));
  });

  Deno.test(`a log start past the end of a log that was ${origin} is taken back to the end, which is told`, async () => {
    const files = new MemoryFiles(() => START);
    const { log, manager } = await openLog({}, files);
    for (let i = 0; i < 20; i++) mustAppend(log, batch(1), { leaderEpoch: 3 });
    if (origin === "closed") await manager.close();
    const left = files.crashed("killed");
    replaceFile(left, "/data/log-start-offset-checkpoint", "0\n1\nt 0 100000\n", false);
    const { log: again, warnings, manager: second } = await reopened(left, {});
    assertEquals([again.logStartOffset, again.nextOffset], [20, 20]);
    assertIncludes(warnings.at(-1)!, "the log start 100000 of log-start-offset-checkpoint lies past");
    assertEquals(mustAppend(again, batch(1), { leaderEpoch: 3 }), 20);
    assertEquals(again.leaderEpochAt(20), 3);
    await second.close();
    assertEquals((await reopened(left, {})).warnings, []);
  });

  Deno.test(`a foreign segment in a log that was ${origin} is set aside, and no offset is given out again`, async () => {
    for (const size of [0, 3000]) {
      const files = new MemoryFiles(() => START);
      const { log, manager } = await openLog({}, files);
      for (let i = 0; i < 20; i++) mustAppend(log, batch(1, { first: i }));
      await log.flush();
      if (origin === "closed") await manager.close();
      const left = files.crashed("killed");
      const bytes = new Uint8Array(size).fill(0x5a);
      left.open(logPath(10), true).writeAt(bytes, 0);
      const { log: again, warnings } = await reopened(left, {});
      assertEquals(again.read(0, LIMITS).errorCode, ErrorCode.NONE);
      assertEquals(again.segmentBaseOffsets, [0]);
      assertEquals(mustAppend(again, batch(1, { first: 20 })), 20);
      assertEquals(readAll(again).map((record) => record.offset), Array.from({ length: 21 }, (_, i) => i));
      assertEquals(contentOf(left, `${logPath(10)}.stray`), bytes);
      assertIncludes(warnings.at(-1)!, "it is no part of this log");
    }
  });
}

Deno.test("two segments that both hold intact batches of the same offsets take the partition offline", async () => {
  const files = new MemoryFiles(() => START);
  const { log } = await openLog({}, files);
  for (let i = 0; i < 20; i++) mustAppend(log, batch(1));
  const left = files.crashed("killed");
  const other = batch(1, { baseOffset: 10 });
  left.open(logPath(10), true).writeAt(other, 0);
  const { log: again } = await reopened(left, {});
  assertIncludes(again.offline, "there are intact batches from");
  assertEquals(contentOf(left, logPath(10)), other);
});

Deno.test("a torn batch full of what looks like batches is cut off, and not read over and over", async () => {
  const value = new Uint8Array(1 << 20);
  const view = new DataView(value.buffer);
  for (let at = 0; at + 61 < value.length; at += 61) {
    view.setUint32(at + 8, value.length - at - 200);
    value[at + 16] = 2;
    view.setInt32(at + 57, 1);
  }
  const files = new MemoryFiles(() => START);
  const { log } = await openLog({ maxMessageBytes: 2 << 20 }, files);
  mustAppend(log, buildBatch([{ timestamp: START, key: null, value }]));
  const left = files.crashed("killed");
  left.open(logPath(0), false).truncate(sizeOf(left, logPath(0)) - 1);
  let bytesRead = 0;
  const open = left.open.bind(left);
  left.open = (path, create) => {
    const handle = open(path, create);
    const readAt = handle.readAt.bind(handle);
    handle.readAt = (into, position) => {
      bytesRead += into.length;
      return readAt(into, position);
    };
    return handle;
  };
  const { log: again } = await reopened(left, {});
  assertEquals([again.offline, again.nextOffset, sizeOf(left, logPath(0))], [null, 0, 0]);
  assertEquals(bytesRead < 8 << 20, true, `${bytesRead} bytes were read`);
});

Deno.test("left-overs of deletions and compactions are cleared away", async () => {
  const config = { ...SMALL, cleanupPolicy: { delete: false, compact: true } };
  const { files, bases } = await crashedLog(40, config);
  const stray = (name: string) => files.open(`/data/t-0/${name}`, true).close();
  for (const name of ["00000000000000000000.log.deleted", "00000000000000000007.log.cleaned", "x.tmp"]) {
    stray(name);
  }
  stray("00000000000000000999.index");
  // A complete compaction of the first two segments that was not put into its place.
  const third = bases[2];
  const compacted = batch(1, { baseOffset: 1, lastOffsetDelta: third - 2 });
  files.remove("/data/t-0/00000000000000000007.log.cleaned");
  files.open("/data/t-0/00000000000000000000.log.swap", true).writeAt(compacted, 0);
  const { log, manager } = await reopened(files, config);
  await manager.tick();
  assertEquals(log.segmentBaseOffsets, [0, ...bases.slice(2)]);
  assertEquals(readAll(log).slice(0, 2).map((record) => record.offset), [1, third]);
  const names = files.list("/data/t-0").map((entry) => entry.name);
  assertEquals(names.filter((name) => !/\.(log|index|timeindex|snapshot)$/.test(name)).sort(), [
    "leader-epoch-checkpoint",
    "partition.metadata",
  ]);
  assertEquals(names.includes("00000000000000000999.index"), false);
});

for (const offset of [0, 5, 19, 21, 100_000]) {
  Deno.test(`a recovery point of ${offset} that the last clean stop did not write is never answered as the log's end`, async () => {
    const { log, manager, files } = await openLog(SMALL);
    for (let i = 0; i < 20; i++) mustAppend(log, batch(1, { first: i }));
    log.highWatermark = 20;
    await manager.close();
    replaceFile(files, "/data/recovery-point-offset-checkpoint", `0\n1\nt 0 ${offset}\n`, false);
    const { log: again, warnings } = await reopened(files as MemoryFiles);
    assertEquals([again.nextOffset, again.highWatermark], [20, 20]);
    assertIncludes(warnings[0], "are not what the last stop has left; looking into every log for its end");
    assertEquals([warnings.length, readAll(again).length], [1, 20]);
  });
}

Deno.test("after a clean stop no log is looked into, unless the marker does not vouch for the checkpoints", async () => {
  const { log, manager, files } = await openLog(SMALL);
  for (let i = 0; i < 20; i++) mustAppend(log, batch(1));
  await manager.close();
  const marker = "/data/.kafka_cleanshutdown";
  for (const [content, looked] of [[null, false], ['{"version":0,"brokerEpoch":-1}', true]] as const) {
    const left = (files as MemoryFiles).crashed("killed");
    if (content !== null) replaceFile(left, marker, content, false);
    let opened = false;
    const faulty = new FaultyFiles(left, ({ path }) => {
      if (path.endsWith(".log") && !path.endsWith("/.lock")) opened ||= path.includes("t-0");
      return null;
    });
    faulty.stat = (path) => left.stat(path);
    const { manager: again, warnings } = await openManager(SMALL, faulty);
    assertEquals([again.get("t", 0)!.nextOffset, opened, warnings], [20, looked, []]);
  }
});

Deno.test("a producer snapshot that is older than the first batch is not believed: what came between is gone", async () => {
  const { log, manager, files } = await openLog({ segmentBytes: 300 });
  for (let i = 0; i < 8; i++) {
    mustAppend(log, batch(1, { producerId: 1, producerEpoch: 0, baseSequence: i, bytes: 100 }));
  }
  const bases = log.segmentBaseOffsets;
  await manager.close();
  const left = (files as MemoryFiles).crashed("killed");
  // The others never reached the device, nor did it that this one was removed.
  const names = left.list("/data/t-0").map(({ name }) => name);
  for (const name of names.filter((name) => name.endsWith(".snapshot"))) left.remove(`/data/t-0/${name}`);
  const old = contentOf(files, `/data/t-0/${String(bases[1]).padStart(20, "0")}.snapshot`);
  left.open(`/data/t-0/${String(bases[1]).padStart(20, "0")}.snapshot`, true).writeAt(old, 0);
  for (const base of bases.slice(0, -1)) left.remove(logPath(base));
  left.remove(logPath(bases.at(-1)!));
  left.open(logPath(bases.at(-1)!), true).close();
  left.remove("/data/.kafka_cleanshutdown");
  const { log: again } = await reopened(left, { segmentBytes: 300 });
  assertEquals(again.activeProducers(), []);
});

Deno.test("a log that the disk kept from being opened is opened by the next tick, and what was committed is again", async () => {
  const { files } = await crashedLog(20, {});
  let broken = true;
  const faulty = new FaultyFiles(files, ({ kind, path }) => {
    return broken && kind === "read" && path.endsWith("0.log") ? { code: "EIO" } : null;
  });
  const { manager, clock } = await openManager({}, faulty);
  const log = manager.get("t", 0)!;
  // What the leader of a partition does when it takes its log over.
  log.highWatermark = log.nextOffset;
  assertEquals([log.offline, log.nextOffset], [null, 0]);
  broken = false;
  clock.advance(1000);
  await manager.tick();
  assertEquals([log.nextOffset, log.highWatermark], [20, 20]);
});

Deno.test("records that were deleted up to the log's end do not come back with the epochs of their batches", async () => {
  const { log, manager, files, clock } = await openLog();
  for (let i = 0; i < 3; i++) mustAppend(log, batch(1));
  manager.deleteRecordsBefore(log, 3);
  clock.advance(1000);
  await manager.tick();
  let left = files as MemoryFiles;
  for (let kills = 0; kills < 3; kills++) {
    left = left.crashed("killed");
    const { log: again } = await reopened(left, {});
    assertEquals([again.logStartOffset, again.nextOffset], [3, 3]);
  }
});

Deno.test("a log without files begins where it ends, whatever its leader epochs begin with", async () => {
  for (const origin of ["closed", "killed"]) {
    const { log, manager, files, clock } = await openLog();
    mustAppend(log, batch(3));
    manager.deleteRecordsBefore(log, 3);
    clock.advance(1000);
    await manager.tick();
    if (origin === "closed") await manager.close();
    const left = (files as MemoryFiles).crashed("killed");
    left.remove(logPath(0));
    replaceFile(left, "/data/t-0/leader-epoch-checkpoint", "0\n1\n0 0\n", false);
    const { log: again } = await reopened(left, {});
    assertEquals(again.logStartOffset, again.nextOffset);
    assertEquals(again.read(again.logStartOffset, LIMITS).errorCode, ErrorCode.NONE);
  }
});

Deno.test("a log that was closed in order does not begin with an empty segment that a failing disk has left before it", async () => {
  const { files, log, manager } = await openLog({ segmentBytes: 200 });
  for (let i = 0; i < 4; i++) mustAppend(log, batch(1, { bytes: 100 }));
  log.highWatermark = log.nextOffset;
  const [, second] = log.segmentBaseOffsets;
  assertEquals(log.deleteRecordsBefore(second), ErrorCode.NONE);
  log.applyRetention(START);
  await manager.close();
  files.open("/data/t-0/00000000000000000000.log", true).close();
  const again = await openLog({ segmentBytes: 200 }, files);
  again.log.activeProducers(); // the first use opens it
  assertEquals(readAll(again.log).map(({ offset }) => offset), [1, 2, 3]);
  assertEquals([again.log.logStartOffset, again.log.segmentBaseOffsets], [second, [1, 2, 3]]);
});
