import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { assertThrows } from "@std/assert/throws";
import { ManualClock } from "../../src/base/clock.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { DataDirectoryError } from "../../src/storage/directory/data_directory.ts";
import {
  type FileHandle,
  type Files,
  IoError,
  readText,
  replaceFile,
} from "../../src/storage/files/files.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { realFiles } from "../../src/storage/files/real.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import { PARTITION_METADATA_FILE } from "../../src/storage/directory/names.ts";
import {
  append,
  assertIncludes,
  batch,
  damage,
  DIRECTORY,
  mustAppend,
  openLog,
  openManager,
  readAll,
  sizeOf,
  START,
  TOPIC_ID,
} from "./helpers.ts";

const OTHER_TOPIC_ID = "Jk8d1BzrS_STSj4ph1otqA";

function open(files: MemoryFiles, o: Partial<Parameters<typeof LogManager.open>[0]> = {}) {
  return LogManager.open({
    files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock: new ManualClock(),
    configOf: () => defaultLogConfig,
    onWarning() {},
    ...o,
  });
}

Deno.test("LogManager.open() makes an empty directory its own, and adopts a cluster id that it finds", async () => {
  const files = new MemoryFiles();
  const first = await open(files, { clusterId: null });
  assertEquals([first.meta.clusterId.length, first.meta.nodeId], [22, 1]);
  await first.close();
  const second = await open(files, { clusterId: null });
  assertEquals(second.meta, first.meta);
  await second.close();
});

for (
  const [what, kind, o] of [
    ["a directory that another broker runs on", "locked", {}],
    ["another cluster's directory", "foreign-cluster", { clusterId: "other" }],
    ["another node's directory", "foreign-node", { nodeId: 2 }],
  ] as const
) {
  Deno.test(`LogManager.open() refuses ${what}`, async () => {
    const files = new MemoryFiles();
    const manager = await open(files);
    if (kind !== "locked") await manager.close();
    const error = await assertRejects(() => open(files, o), DataDirectoryError);
    assertEquals(error.kind, kind);
    // What was refused is not locked by the attempt.
    await manager.close();
    await (await open(files)).close();
  });
}

Deno.test("LogManager.open() refuses a directory that it cannot write to", async () => {
  const files = new FaultyFiles(new MemoryFiles());
  for (let nth = 1; nth <= 2; nth++) {
    files.fail(nth, Infinity);
    const error = await assertRejects(() => openManager({}, files), DataDirectoryError);
    assertEquals(error.kind, "unusable");
  }
});

Deno.test("after a clean stop no log is read at start, and the first use finds everything", async () => {
  const memory = new MemoryFiles(() => START);
  const { manager, log } = await openLog({}, memory);
  for (let partition = 1; partition < 20; partition++) {
    mustAppend(manager.create("t", partition, TOPIC_ID), batch(5));
  }
  mustAppend(log, batch(3));
  log.highWatermark = 2;
  manager.deleteRecordsBefore(log, 1);
  await manager.close();
  const { checkpointsSum, ...kafkas } = JSON.parse(readText(memory, "/data/.kafka_cleanshutdown")!);
  assertEquals([kafkas, typeof checkpointsSum], [{ version: 0, brokerEpoch: -1 }, "number"]);

  const opened: string[] = [];
  const watching = new Proxy(memory, {
    get: (target, key) =>
      key === "open"
        ? (path: string, create: boolean) => {
          opened.push(path);
          return target.open(path, create);
        }
        : Reflect.get(target, key).bind?.(target) ?? Reflect.get(target, key),
  });
  const again = await openManager({}, watching);
  assertEquals(opened.filter((path) => /\.(log|index|timeindex|snapshot)$/.test(path)), []);
  const back = again.manager.get("t", 0)!;
  assertEquals([back.nextOffset, back.logStartOffset, back.highWatermark, back.topicId], [3, 1, 2, TOPIC_ID]);
  assertEquals([readAll(back).length, mustAppend(back, batch(1))], [2, 3]);
  assertEquals([...again.manager.all()].length, 20);
  // The marker is gone while the broker runs.
  assertEquals(readText(memory, "/data/.kafka_cleanshutdown"), null);
});

Deno.test("after a clean stop a log whose end is not what was noted is checked after all", async () => {
  const { manager, log, files } = await openLog();
  for (let i = 0; i < 5; i++) mustAppend(log, batch(1));
  await manager.close();
  const handle = files.open("/data/t-0/00000000000000000000.log", false);
  handle.truncate(handle.size() - 5);
  handle.close();
  const again = await openManager({}, files);
  const back = again.manager.get("t", 0)!;
  assertEquals([back.nextOffset, readAll(back).length, back.nextOffset], [5, 4, 4]);
  assertEquals(again.warnings.length > 0, true);
});

Deno.test("LogManager opens logs that no checkpoint names, or whose checkpoints are damaged", async () => {
  for (const content of ["", "0\n5\n"]) {
    const { manager, log, files } = await openLog();
    for (let i = 0; i < 5; i++) mustAppend(log, batch(2));
    await manager.close();
    replaceFile(files, "/data/recovery-point-offset-checkpoint", content, false);
    const { manager: again } = await openManager({}, files);
    assertEquals(again.get("t", 0)!.nextOffset, 10);
  }
});

Deno.test("LogManager.remove() takes a partition away at once and its files after the delay", async () => {
  const { manager, log, files, clock } = await openLog({ fileDeleteDelayMs: 1000 });
  mustAppend(log, batch(1));
  const flushing = log.flush();
  manager.remove("t", 0);
  await flushing;
  assertEquals([manager.get("t", 0), append(log, batch(1)).errorCode], [
    undefined,
    ErrorCode.KAFKA_STORAGE_ERROR,
  ]);
  const directories = () =>
    files.list(DIRECTORY).filter((entry) => entry.isDirectory).map((entry) => entry.name);
  assertEquals(/^t-0\.[0-9A-Za-z]+-delete$/.test(directories()[0]), true);
  const fresh = manager.create("t", 0, TOPIC_ID);
  assertEquals(mustAppend(fresh, batch(1)), 0);
  clock.advance(999);
  await manager.tick();
  assertEquals(directories().length, 2);
  clock.advance(1);
  await manager.tick();
  assertEquals(directories(), ["t-0"]);
});

Deno.test("a deletion that was not finished is finished after a restart", async () => {
  const { manager, log, files } = await openLog();
  mustAppend(log, batch(1));
  manager.remove("t", 0);
  await manager.close();
  const again = await openManager({}, files);
  await again.manager.tick();
  assertEquals(files.list(DIRECTORY).some((entry) => entry.isDirectory), false);
});

Deno.test("LogManager.tick() checkpoints offsets, so that a crash reads no more than it must", async () => {
  const { manager, log, files, clock } = await openLog();
  mustAppend(log, batch(4));
  await log.flush();
  log.highWatermark = 3;
  manager.deleteRecordsBefore(log, 2);
  clock.advance(60_000);
  await manager.tick();
  assertEquals(readText(files, "/data/recovery-point-offset-checkpoint"), "0\n1\nt 0 4\n");
  assertEquals(readText(files, "/data/replication-offset-checkpoint"), "0\n1\nt 0 3\n");
  assertEquals(readText(files, "/data/log-start-offset-checkpoint"), "0\n1\nt 0 2\n");
  const after = await openManager({}, (files as MemoryFiles).crashed("killed"));
  const back = after.manager.get("t", 0)!;
  assertEquals([back.logStartOffset, back.nextOffset, back.highWatermark, back.recoveryPoint], [2, 4, 3, 4]);
});

Deno.test("LogManager.create() leaves no directory behind that it could not finish, and takes none that was there", async () => {
  const memory = new MemoryFiles(() => START);
  const files = new FaultyFiles(
    memory,
    ({ kind, path }) =>
      kind === "write" && path.includes(PARTITION_METADATA_FILE) && isFull ? { code: "ENOSPC" } : null,
  );
  let isFull = false;
  const { manager } = await openManager({}, files);
  isFull = true;
  assertThrows(() => manager.create("refused", 0, TOPIC_ID), IoError);
  memory.makeDirectory("/data/there-0");
  assertThrows(() => manager.create("there", 0, TOPIC_ID), IoError);
  assertEquals([memory.stat("/data/refused-0"), memory.stat("/data/there-0")?.isDirectory], [null, true]);
  isFull = false;
  mustAppend(manager.create("refused", 0, TOPIC_ID), batch(1));
});

Deno.test("LogManager.tick() flushes by flush.ms, and applies retention below the high watermark", async () => {
  const { manager, log, clock } = await openLog({ flushMs: 500, retentionMs: 10, segmentBytes: 100 });
  for (let i = 0; i < 4; i++) mustAppend(log, batch(1));
  clock.advance(499);
  await manager.tick();
  assertEquals(log.flushedOffset < 4, true);
  clock.advance(1);
  await manager.tick();
  assertEquals(log.flushedOffset, 4);
  log.highWatermark = 2;
  clock.advance(300_000);
  await manager.tick();
  assertEquals(log.logStartOffset, 2);
});

Deno.test("retention does not believe a wall clock that is a year ahead for a moment, and does when it stays there", async () => {
  const { manager, log, clock } = await openLog({ retentionMs: 86_400_000, segmentBytes: 100 });
  for (let i = 0; i < 4; i++) mustAppend(log, batch(1, { timestamp: clock.now() }));
  log.highWatermark = 4;
  clock.advance(299_999);
  await manager.tick();
  clock.jump(365 * 86_400_000);
  clock.advance(1);
  await manager.tick();
  assertEquals(log.logStartOffset, 0);
  clock.jump(-365 * 86_400_000);
  clock.advance(300_000);
  await manager.tick();
  assertEquals(log.logStartOffset, 0);
  clock.jump(365 * 86_400_000);
  for (let passed = 0; passed < 600_000; passed += 1000) {
    clock.advance(1000);
    await manager.tick();
  }
  assertEquals(log.logStartOffset, 4);
});

Deno.test("LogManager flushes a log that a crash would take long to read again", async () => {
  const { manager, log, clock } = await openLog({ maxMessageBytes: 40 << 20 });
  mustAppend(log, batch(1, { bytes: 33 << 20, producerId: 1, producerEpoch: 0, baseSequence: 0 }));
  clock.advance(60_000);
  await manager.tick();
  assertEquals(log.flushedOffset, 0);
  mustAppend(log, batch(1, { bytes: 33 << 20 }));
  clock.advance(60_000);
  await manager.tick();
  assertEquals(log.flushedOffset, 2);
});

Deno.test("LogManager bounds what a start after a crash reads, in one log and in all, without waiting for a checkpoint", async () => {
  const { manager, clock, files } = await openManager({}, undefined, undefined, {
    recoveryBytesMax: 16 * 2000,
  });
  const logs = [0, 1, 2, 3].map((partition) => manager.create("t", partition, TOPIC_ID));
  const toRecover = () => logs.map((log) => log.nextOffset - log.recoveryPoint);
  mustAppend(logs[0], batch(1, { bytes: 1500 }));
  mustAppend(logs[1], batch(1, { bytes: 2500 }));
  clock.advance(1000);
  await manager.tick();
  assertEquals(toRecover(), [1, 0, 0, 0]);
  assertEquals(
    readText(files, "/data/recovery-point-offset-checkpoint"),
    "0\n4\nt 0 0\nt 1 1\nt 2 0\nt 3 0\n",
  );
});

Deno.test("LogManager flushes the logs with most to read first, down to half of what is allowed", async () => {
  const { manager, clock } = await openManager({}, undefined, undefined, { recoveryBytesMax: 16 * 2000 });
  const logs = Array.from({ length: 24 }, (_, partition) => manager.create("t", partition, TOPIC_ID));
  for (const [i, log] of logs.entries()) mustAppend(log, batch(1, { bytes: 1000 + 20 * i }));
  clock.advance(1000);
  await manager.tick();
  assertEquals(logs.every(({ recoveryPoint }) => recoveryPoint === 0), true);
  for (const [i, log] of logs.entries()) if (i < 8) mustAppend(log, batch(1, { bytes: 500 }));
  clock.advance(1000);
  await manager.tick();
  const flushed = logs.flatMap(({ recoveryPoint }, i) => recoveryPoint > 0 ? [i] : []);
  const left = logs.reduce((sum, { bytesToRecover }) => sum + bytesToRecover, 0);
  assertEquals([flushed.includes(7), flushed.includes(8), left <= 16_000, left > 13_000], [
    true,
    false,
    true,
    true,
  ]);
});

Deno.test("a topic id that is missing or unreadable is all zeros, until someone who knows sets it", async () => {
  const { manager, log, files } = await openLog();
  mustAppend(log, batch(1));
  await manager.close();
  replaceFile(files, "/data/t-0/partition.metadata", "", false);
  const again = await openManager({}, files);
  const back = again.manager.get("t", 0)!;
  assertEquals([back.topicId, readAll(back).length], ["AAAAAAAAAAAAAAAAAAAAAA", 1]);
  again.manager.setTopicId(back, TOPIC_ID);
  await again.manager.close();
  assertEquals((await openManager({}, files)).manager.get("t", 0)!.topicId, TOPIC_ID);
});

Deno.test("LogManager.close() closes many logs in order where few files may be open", async () => {
  const files = new MemoryFiles();
  let open = 0;
  const scarce: Files = Object.assign(Object.create(files) as Files, {
    open(path: string, create: boolean): FileHandle {
      if (open === 30) throw new IoError("open", path, "EMFILE");
      const handle = files.open(path, create);
      open++;
      return Object.assign(Object.create(handle) as FileHandle, {
        close() {
          open--;
          handle.close();
        },
        // As on a disk: others have begun before one is done.
        sync: () => new Promise<void>((resolve) => setTimeout(resolve, 0)).then(() => handle.sync()),
      });
    },
  });
  const { manager, warnings } = await openManager({}, scarce, undefined, { maxOpenFiles: 18 });
  for (let partition = 0; partition < 100; partition++) {
    mustAppend(manager.create("t", partition, TOPIC_ID), batch(2));
  }
  await manager.close();
  assertEquals([warnings, open], [[], 0]);
});

Deno.test("LogManager keeps to its bound of open files over many logs on a real disk", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const manager = await LogManager.open({
      files: realFiles,
      directory,
      clusterId: null,
      nodeId: 1,
      clock: new ManualClock(),
      configOf: () => defaultLogConfig,
      onWarning: (text) => {
        throw new Error(text);
      },
      maxOpenFiles: 20,
    });
    for (let partition = 0; partition < 60; partition++) manager.create("t", partition, TOPIC_ID);
    for (let round = 0; round < 3; round++) {
      for (const log of manager.all()) mustAppend(log, batch(2));
    }
    assertEquals(manager.pool.openCount <= 20, true);
    for (const log of manager.all()) assertEquals(readAll(log).length, 6);
    await manager.close();
    assertEquals(manager.pool.openCount, 0);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a log that is made anew under a deleted one's name inherits none of its offsets, not even after a kill", async () => {
  const memory = new MemoryFiles(() => START);
  const first = await openLog({}, memory);
  for (let i = 0; i < 6; i++) mustAppend(first.log, batch(1));
  first.manager.deleteRecordsBefore(first.log, 4);
  await first.manager.close();

  // Checkpoints of an earlier life name it, too.
  const second = await openManager({}, memory);
  second.manager.remove("t", 0);
  let log = second.manager.create("t", 0, OTHER_TOPIC_ID);
  for (let i = 0; i < 8; i++) mustAppend(log, batch(1));
  const killed = await openManager({}, memory.crashed("killed"));
  log = killed.manager.get("t", 0)!;
  assertEquals([log.topicId, log.logStartOffset, log.nextOffset], [OTHER_TOPIC_ID, 0, 8]);
  assertEquals(readAll(log).length, 8);
  assertEquals(killed.warnings, []);

  // All of it was checked: what is damaged before the former recovery point is found.
  const damaged = memory.crashed("killed");
  damage(damaged, "/data/t-0/00000000000000000000.log", 100, new Uint8Array([1, 2, 3]));
  const { manager } = await openManager({}, damaged);
  assertEquals(manager.get("t", 0)!.offline !== null, true);
});

Deno.test("what is due is done although the wall clock is set back by a month", async () => {
  const { manager, log, clock, files } = await openLog({
    flushMs: 500,
    fileDeleteDelayMs: 1000,
    producerIdExpirationMs: 1000,
  });
  mustAppend(log, batch(1, { producerId: 7, producerEpoch: 0, baseSequence: 0 }));
  manager.create("gone", 0, OTHER_TOPIC_ID);
  manager.remove("gone", 0);
  log.highWatermark = 1;
  clock.jump(-30 * 86_400_000);
  clock.advance(500);
  await manager.tick();
  assertEquals(log.flushedOffset, 1);
  clock.advance(300_000);
  await manager.tick();
  assertEquals(log.activeProducers(), []);
  assertEquals(readText(files, "/data/recovery-point-offset-checkpoint"), "0\n1\nt 0 1\n");
  assertEquals(readText(files, "/data/replication-offset-checkpoint"), "0\n1\nt 0 1\n");
  assertEquals(files.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).map(({ name }) => name), [
    "t-0",
  ]);
});

Deno.test("a wall clock that is set forward by a month expires no producer and deletes no file early", async () => {
  const { manager, log, clock, files } = await openLog({ fileDeleteDelayMs: 1000 });
  mustAppend(log, batch(1, { producerId: 7, producerEpoch: 0, baseSequence: 0 }));
  manager.create("gone", 0, OTHER_TOPIC_ID);
  manager.remove("gone", 0);
  clock.jump(30 * 86_400_000);
  clock.advance(999);
  await manager.tick();
  assertEquals(log.activeProducers().length, 1);
  assertEquals(files.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).length, 2);
});

Deno.test("LogManager.open() takes the cluster of the metadata store where meta.properties is gone", async () => {
  const files = new MemoryFiles();
  const manager = await open(files, { clusterId: null, storedClusterId: () => Promise.resolve("stored") });
  assertEquals(manager.meta.clusterId, "stored");
  await manager.close();
  assertEquals((await open(files, { clusterId: null })).meta.clusterId, "stored");
});

Deno.test("LogManager.open() refuses a metadata store of another cluster, and has written nothing then", async () => {
  const files = new MemoryFiles();
  await (await open(files)).close();
  const names = () => files.list(DIRECTORY).map(({ name }) => name).sort();
  const before = names();
  const other = { storedClusterId: () => Promise.resolve("other") };
  const error = await assertRejects(() => open(files, other), DataDirectoryError);
  assertEquals(error.kind, "foreign-cluster");
  // The marker of the orderly stop is still there, too.
  assertEquals(names(), before);

  const fresh = new MemoryFiles();
  const failing = { clusterId: null, storedClusterId: () => Promise.reject(new Error("unreadable")) };
  await assertRejects(() => open(fresh, failing), Error, "unreadable");
  assertEquals(fresh.stat(`${DIRECTORY}/meta.properties`), null);
});

for (
  const file of ["recovery-point", "log-start", "replication"].map((name) => `${name}-offset-checkpoint`)
) {
  Deno.test(`LogManager.open() refuses a directory whose ${file} cannot be read, and names it and the way out`, async () => {
    const files = new MemoryFiles();
    const manager = await open(files);
    await manager.close();
    const unreadable: MemoryFiles = Object.create(files, {
      open: {
        value(path: string, create: boolean) {
          if (path.endsWith(file)) throw new IoError("open", path, "EISDIR");
          return files.open(path, create);
        },
      },
    });
    const error = await assertRejects(() => open(unreadable), DataDirectoryError);
    assertIncludes(error.message, `Cannot open ${DIRECTORY}/${file}: EISDIR. Make ${file} a file`);
    await (await open(files)).close();
  });
}

Deno.test("LogManager.open() goes on without checkpointed offsets that cannot be, and tells", async () => {
  for (const origin of ["closed", "killed"]) {
    const { manager, log, files } = await openLog();
    mustAppend(log, batch(5));
    if (origin === "closed") await manager.close();
    const left = (files as MemoryFiles).crashed("killed");
    replaceFile(left, "/data/recovery-point-offset-checkpoint", "0\n2\nt 0 -5\nu 0 -1\n", false);
    const again = await openManager({}, left);
    assertEquals(again.warnings.length, origin === "closed" ? 3 : 2);
    assertIncludes(again.warnings[0], "t-0 has offset -5, which cannot be");
    const back = again.manager.get("t", 0)!;
    assertEquals([back.nextOffset, back.recoveryPoint >= 0, readAll(back).length], [5, true, 5]);
  }
});

Deno.test("LogManager.setAside() keeps a directory under another name, whatever happens to its own", async () => {
  const { manager, log, files, clock } = await openLog({ fileDeleteDelayMs: 0 });
  mustAppend(log, batch(3));
  const kept = manager.setAside(log);
  assertEquals(/^t-0\.[0-9A-Za-z]{22}-stray$/.test(kept), true, kept);
  assertEquals([manager.get("t", 0), append(log, batch(1)).errorCode], [
    undefined,
    ErrorCode.KAFKA_STORAGE_ERROR,
  ]);
  assertEquals(mustAppend(manager.create("t", 0, OTHER_TOPIC_ID), batch(1)), 0);
  clock.advance(86_400_000);
  await manager.tick();
  await manager.close();
  const again = await openManager({}, files);
  await again.manager.tick();
  assertEquals([...again.manager.all()].map(({ name }) => name), ["t-0"]);
  assertEquals(files.stat(`${DIRECTORY}/${kept}/00000000000000000000.log`)!.size > 0, true);
});

Deno.test("LogManager.tick() deletes what is due though a deletion before it is not", async () => {
  const { manager, files, clock } = await openLog();
  for (const [topic, fileDeleteDelayMs] of [["late", 9e9], ["early", 1000]] as const) {
    const log = manager.create(topic, 0, OTHER_TOPIC_ID);
    log.config = { ...log.config, fileDeleteDelayMs };
    manager.remove(topic, 0);
  }
  clock.advance(1000);
  await manager.tick();
  const left = files.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  assertEquals(left.map((name) => name.split(/[-.]/)[0]).sort(), ["late", "t"]);
});

Deno.test("LogManager.tick() holds up nobody for a round of retention, and a round comes to its end although the next is due", async () => {
  /** Each look at it takes a millisecond. */
  class BusyClock extends ManualClock {
    busy = false;
    override monotonic(): number {
      if (this.busy) this.advance(1);
      return super.monotonic();
    }
  }
  const clock = new BusyClock();
  const files = new MemoryFiles();
  const manager = await open(files, { clock, retentionCheckIntervalMs: 1 });
  const logs = Array.from({ length: 20 }, (_, partition) => manager.create("t", partition, TOPIC_ID));
  for (const log of logs) {
    mustAppend(log, batch(1));
    log.config = { ...log.config, retentionBytes: 0 };
    log.highWatermark = log.nextOffset;
  }
  const removed = () => logs.filter(({ logStartOffset }) => logStartOffset === 1).length;
  clock.busy = true;
  let before = 0;
  for (let ticks = 0; before < logs.length; ticks++) {
    await manager.tick();
    const step = removed() - before;
    assertEquals(step > 0 && step < 5, true, `tick ${ticks} visited ${step} logs`);
    before += step;
  }
});

Deno.test("LogManager.remove() is content with a renaming that was done although the disk says that it failed", async () => {
  const memory = new MemoryFiles();
  let fails = false;
  const files = new FaultyFiles(
    memory,
    ({ kind }) => fails && kind === "rename" ? { code: "EIO", done: 1 } : null,
  );
  const { manager, clock } = await openManager({ fileDeleteDelayMs: 1000 }, files);
  manager.create("t", 0, TOPIC_ID);
  fails = true;
  manager.remove("t", 0);
  fails = false;
  const directories = () => memory.list(DIRECTORY).filter(({ isDirectory }) => isDirectory).length;
  assertEquals([manager.get("t", 0), directories()], [undefined, 1]);
  clock.advance(1000);
  await manager.tick();
  assertEquals(directories(), 0);
});

Deno.test("LogManager.tick() has a log that is left alone write the index entries that it keeps in memory, and opens no file again then", async () => {
  const { manager, log, files, clock } = await openLog({ indexIntervalBytes: 1 });
  const entries = () => sizeOf(files, `${DIRECTORY}/t-0/00000000000000000000.index`) / 8;
  const minute = async () => {
    clock.advance(60_000);
    await manager.tick();
    return entries();
  };
  for (let i = 0; i < 10; i++) mustAppend(log, batch(1));
  assertEquals(await minute(), 0);
  mustAppend(log, batch(1));
  assertEquals([await minute(), await minute()], [0, 10]);
  await minute();
  assertEquals([await minute(), manager.pool.openCount], [10, 0]);
  mustAppend(log, batch(1));
  assertEquals([log.read(10, { maxBytes: 1, maxOffset: 12, minOneMessage: true }).nextOffset], [11]);
});

Deno.test("LogManager.tick() tells once that a checkpoint cannot be written, and once that it can again", async () => {
  let isFull = false;
  const files = new FaultyFiles(
    new MemoryFiles(() => START),
    ({ kind, path }) =>
      isFull && kind === "write" && path.startsWith("/data/repl") ? { code: "ENOSPC" } : null,
  );
  const { log, manager, clock, warnings } = await openLog({}, files);
  mustAppend(log, batch(1));
  log.highWatermark = 1;
  isFull = true;
  const tick = () => {
    clock.advance(5000);
    return manager.tick();
  };
  for (let i = 0; i < 3; i++) await tick();
  assertEquals(warnings.map((line) => line.replace(/ \/\S+/, "")), [
    "Cannot write high watermarks: Cannot write no space left on the device (ENOSPC)",
  ]);
  isFull = false;
  for (let i = 0; i < 2; i++) await tick();
  assertEquals(warnings.slice(1), ["Can write high watermarks again"]);
});
