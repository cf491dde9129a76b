import { assertEquals } from "@std/assert/equals";
import { ManualClock, systemClock } from "../../src/base/clock.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { LogMover, type LogMoverOptions } from "../../src/replication/log_mover.ts";
import { Partition } from "../../src/replication/partition.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import type { Files } from "../../src/storage/files/files.ts";
import { describe, type Fault, FaultyFiles, type Operation } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogDirectories } from "../../src/storage/manager/log_directories.ts";
import { defaultLogConfig, type LogConfig } from "../../src/storage/log/config.ts";
import {
  assertIncludes,
  batch,
  DIRECTORIES,
  openDirectories,
  random,
  readAll,
  START,
  TOPIC_ID,
} from "../storage/helpers.ts";

const [ONE, TWO, THREE] = DIRECTORIES;

/** Three directories, a partition in the first, and who moves it. */
class Stage {
  readonly replicas = new Replicas();
  readonly mover: LogMover;
  readonly moved: string[] = [];
  private waiter: (() => void) | null = null;

  private constructor(
    readonly files: Files,
    readonly logs: LogDirectories,
    readonly partition: Partition,
    readonly warnings: string[],
    o: Partial<LogMoverOptions>,
  ) {
    this.replicas.add(partition);
    this.mover = new LogMover({
      logs,
      replicas: this.replicas,
      clock: new ManualClock(),
      ...o,
      report: (text) => this.told(warnings, text),
      onMoved: (text) => this.told(this.moved, text),
    });
  }

  static async open(
    files: Files = memory(),
    config: Partial<LogConfig> = {},
    o: Partial<LogMoverOptions> = {},
  ): Promise<Stage> {
    const whole = { ...defaultLogConfig, fileDeleteDelayMs: 0, ...config };
    const { logs, warnings } = await openDirectories(files, { configOf: () => whole });
    const log = logs.get("t", 0) ?? logs.create("t", 0, TOPIC_ID);
    return new Stage(files, logs, new Partition(log, TOPIC_ID, 1, 0, [1]), warnings, o);
  }

  private told(into: string[], text: string): void {
    into.push(text);
    this.waiter?.();
  }

  append(values = 1, o: Parameters<typeof batch>[1] = {}): number {
    return this.partition.append(batch(values, { first: this.end, ...o }), "client", START).errorCode;
  }

  get end(): number {
    return this.partition.log.nextOffset;
  }
  get place(): string {
    return this.logs.managerOf(this.partition.log)!.directory;
  }
  move(path: string): number {
    return this.mover.move(
      this.partition,
      this.logs.directories.find((each) => each.path === path)!.manager!,
    );
  }
  /** Resolves when a move is done or has failed. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.waiter = resolve);
  }
  async moveTo(path: string): Promise<void> {
    const settled = this.settled();
    assertEquals(this.move(path), ErrorCode.NONE);
    await settled;
  }
  async close(): Promise<void> {
    await this.mover.close();
    await this.logs.close();
  }
}

function memory(): MemoryFiles {
  return new MemoryFiles(() => START);
}

/** The directories of partitions, under which directory. */
function partitionsIn(files: Files, directory: string): string[] {
  return files.list(directory).filter(({ isDirectory }) => isDirectory).map(({ name }) =>
    name.replace(/\.[^.]+-/, ".*-")
  );
}

function valuesOf(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({ offset: from + i, value: `value ${from + i}` }));
}

Deno.test("a partition moves with all its records, and goes on in the new directory", async () => {
  const stage = await Stage.open();
  for (let i = 0; i < 20; i++) stage.append(3);
  await stage.moveTo(TWO);
  assertEquals([stage.place, stage.moved], [TWO, [`Moved t-0 to ${TWO}`]]);
  stage.append(2);
  assertEquals(stage.partition.highWatermark, 62);
  assertEquals(readAll(stage.partition.log), valuesOf(62));
  assertEquals(partitionsIn(stage.files, TWO), ["t-0"]);
  assertEquals(partitionsIn(stage.files, ONE), ["t-0.*-delete"]);
  await stage.logs.tick();
  assertEquals(partitionsIn(stage.files, ONE), []);
  await stage.close();
  const again = await Stage.open(stage.files);
  assertEquals([again.place, again.end, again.warnings], [TWO, 62, []]);
  await again.close();
});

Deno.test("a partition moves back and forth, also when it has no records at all", async () => {
  const stage = await Stage.open();
  for (const path of [TWO, ONE, TWO, THREE, ONE]) {
    await stage.moveTo(path);
    assertEquals(stage.place, path);
    await stage.logs.tick();
  }
  stage.append();
  for (const path of [TWO, ONE, TWO, THREE, ONE]) {
    await stage.moveTo(path);
    stage.append();
    await stage.logs.tick();
  }
  assertEquals(readAll(stage.partition.log), valuesOf(6));
  await stage.close();
});

Deno.test("a partition without records moves although nobody has used it since a clean start", async () => {
  const stage = await Stage.open();
  await stage.close();
  const again = await Stage.open(stage.files);
  await again.moveTo(TWO);
  assertEquals(again.place, TWO);
  again.append();
  assertEquals(readAll(again.partition.log).length, 1);
  await again.close();
});

Deno.test("records that come while a partition moves are in the new directory", async () => {
  const stage = await Stage.open(memory(), { segmentBytes: 20_000 });
  for (let i = 0; i < 200; i++) stage.append(1, { bytes: 900 });
  const settled = stage.settled();
  stage.move(TWO);
  let during = 0;
  while (stage.place === ONE) {
    if (during++ < 400) stage.append(1, { bytes: 900 });
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await settled;
  assertEquals([stage.place, stage.end], [TWO, 200 + Math.min(during, 400)]);
  assertEquals(readAll(stage.partition.log).map(({ offset }) => offset), [...Array(stage.end).keys()]);
  await stage.close();
});

Deno.test("a move keeps the start inside a batch, the epochs, the producers and the high watermark", async () => {
  const stage = await Stage.open();
  const producer = { producerId: 7, producerEpoch: 0 };
  stage.append(5, { ...producer, baseSequence: 0 });
  stage.partition.log.assignLeaderEpoch(4);
  stage.append(5, { ...producer, baseSequence: 5 });
  stage.logs.deleteRecordsBefore(stage.partition.log, 8);
  const before = stage.partition.log;
  const epochs = () => [0, 4].map((epoch) => stage.partition.log.endOffsetForEpoch(epoch, 4));
  const epochsBefore = epochs();
  await stage.moveTo(TWO);
  const { log } = stage.partition;
  assertEquals([log === before, epochs()], [false, epochsBefore]);
  assertEquals([log.logStartOffset, log.nextOffset, log.highWatermark], [8, 10, 10]);
  await stage.close();
  const { logs } = await openDirectories(stage.files);
  assertEquals(logs.get("t", 0)!.logStartOffset, 8);
  await logs.close();
});

Deno.test("a log whose records are all deleted goes on at its end in the new directory, after a kill too", async () => {
  const files = memory();
  const stage = await Stage.open(files);
  stage.append(5);
  stage.logs.deleteRecordsBefore(stage.partition.log, 5);
  await stage.moveTo(TWO);
  assertEquals([stage.partition.log.logStartOffset, stage.end], [5, 5]);
  const killed = await Stage.open(files.crashed("killed"));
  assertEquals([killed.place, killed.partition.log.logStartOffset, killed.end], [TWO, 5, 5]);
  await killed.close();
  await stage.close();
});

Deno.test("a move to where the partition is does nothing, and gives one elsewhere up", async () => {
  const stage = await Stage.open();
  stage.append(3);
  assertEquals(stage.move(ONE), ErrorCode.NONE);
  assertEquals(stage.move(TWO), ErrorCode.NONE);
  assertEquals([...stage.logs.directories[1].manager!.futures.all()].length, 1);
  assertEquals(stage.move(TWO), ErrorCode.NONE);
  assertEquals(stage.move(ONE), ErrorCode.NONE);
  assertEquals([...stage.logs.directories[1].manager!.futures.all()].length, 0);
  await stage.logs.tick();
  assertEquals(partitionsIn(stage.files, TWO), []);
  await stage.moveTo(THREE);
  assertEquals([stage.place, stage.warnings], [THREE, []]);
  await stage.close();
});

Deno.test("the copy of a topic that is deleted while it moves goes with it", async () => {
  const stage = await Stage.open();
  stage.append(3);
  stage.move(TWO);
  stage.replicas.removeTopic("t");
  stage.logs.remove("t", 0);
  await stage.mover.idle();
  await stage.logs.tick();
  assertEquals([partitionsIn(stage.files, ONE), partitionsIn(stage.files, TWO)], [[], []]);
  assertEquals(stage.warnings, []);
  await stage.close();
});

Deno.test("retention that overtakes the copy has it begun anew", async () => {
  const stage = await Stage.open(memory(), { segmentBytes: 300, retentionBytes: 300 });
  for (let i = 0; i < 10; i++) stage.append(1, { bytes: 100 });
  stage.move(TWO);
  const settled = stage.settled();
  stage.partition.log.applyRetention(START);
  await settled;
  const { log } = stage.partition;
  assertEquals([stage.place, log.logStartOffset > 0, log.nextOffset], [TWO, true, 10]);
  assertEquals(readAll(log).map(({ offset }) => offset)[0], log.logStartOffset);
  await stage.close();
});

Deno.test("a move that the target cannot take is given up and told, and the partition stays", async () => {
  const files = memory();
  let room = Infinity;
  const full = new FaultyFiles(files, ({ kind, path, bytes }): Fault | null => {
    if (kind !== "write" || !path.startsWith(`${TWO}/`)) return null;
    room -= bytes!.length;
    return room < 0 ? { code: "ENOSPC" } : null;
  });
  const stage = await Stage.open(full);
  for (let i = 0; i < 50; i++) stage.append(1, { bytes: 1000 });
  room = 5000;
  await stage.moveTo(TWO);
  assertEquals(stage.place, ONE);
  assertIncludes(stage.warnings.at(-1)!, "Cannot move t-0 to /two");
  assertEquals(stage.append(), ErrorCode.NONE);
  room = Infinity;
  await stage.logs.tick();
  assertEquals(partitionsIn(files, TWO), []);
  await stage.moveTo(TWO);
  assertEquals([stage.place, stage.end], [TWO, 51]);
  await stage.close();
});

Deno.test("a move that was cut short by a stop is begun again by the next start", async () => {
  const stage = await Stage.open();
  stage.append(5);
  stage.move(TWO);
  await stage.close();
  const again = await Stage.open(stage.files);
  assertEquals(again.place, ONE);
  const settled = again.settled();
  again.mover.resume((topicId, index) => topicId === TOPIC_ID && index === 0 ? again.partition : undefined);
  await settled;
  assertEquals([again.place, again.end], [TWO, 5]);
  await again.close();
});

Deno.test("moves take no more bytes a second than they may, until more is allowed", async () => {
  let allowed = 200_000;
  const stage = await Stage.open(memory(), {}, { clock: systemClock, bytesPerSecond: () => allowed });
  for (let i = 0; i < 3; i++) stage.append(1, { bytes: 10_000 });
  const startedMs = performance.now();
  await stage.moveTo(TWO);
  const tookMs = performance.now() - startedMs;
  assertEquals(tookMs > 140, true, `${tookMs} ms for 30,000 bytes at ${allowed} bytes a second`);
  allowed = 1;
  const settled = stage.settled();
  stage.move(THREE);
  allowed = Infinity;
  await settled;
  assertEquals([stage.place, stage.end], [THREE, 3]);
  await stage.close();
});

// ------------------------------------------------------------------------------------------ the disk at every operation

/** What came of a course: how far it was acknowledged. */
interface Course {
  acknowledged: number;
  stage: Stage | null;
}

/** Appends, a move there and one back, and appends during both. */
async function run(course: Course, files: Files, config: Partial<LogConfig>): Promise<void> {
  const stage = course.stage = await Stage.open(files, config);
  const append = async () => {
    const records = batch(1, { first: stage.end, bytes: 200 });
    const { errorCode, lastOffset, committed } = stage.partition.append(records, "client", START);
    if (errorCode === ErrorCode.NONE && (committed === null || await committed === ErrorCode.NONE)) {
      course.acknowledged = Math.max(course.acknowledged, lastOffset + 1);
    }
  };
  for (let i = 0; i < 4; i++) await append();
  for (const path of [TWO, ONE]) {
    stage.move(path);
    for (let i = 0; i < 3; i++) {
      await append();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await stage.mover.idle();
    await append();
    await stage.logs.tick();
  }
}

/** Holds that the partition is in one directory, with every record that was acknowledged, and goes on. */
async function check(
  files: Files,
  acknowledged: number,
  config: Partial<LogConfig>,
  what: string,
): Promise<void> {
  const whole = { ...defaultLogConfig, ...config };
  const { logs } = await openDirectories(files, { configOf: () => whole });
  const found = [...logs.all()];
  assertEquals(found.length <= 1, true, `${what}: the partition is in ${found.length} directories`);
  assertEquals((found[0]?.nextOffset ?? 0) >= acknowledged, true, `${what}: ends at ${found[0]?.nextOffset}`);
  if (found.length === 1) {
    const [log] = found;
    assertEquals(log.offline, null, what);
    assertEquals(readAll(log).map(({ offset }) => offset), [...Array(log.nextOffset).keys()], what);
    assertEquals(
      log.append(batch(1), { leaderEpoch: 0, origin: "client", now: START }).errorCode,
      ErrorCode.NONE,
    );
  }
  await logs.close();
}

const SEGMENTED = { segmentBytes: 700, fileDeleteDelayMs: 0 };

for (
  const [how, config] of [
    ["killed", SEGMENTED],
    // Only what was synced is promised to survive a loss of power.
    ["power", { ...SEGMENTED, flushMessages: 1 }],
    ["any part of what was not synced", { ...SEGMENTED, flushMessages: 1 }],
  ] as const
) {
  Deno.test(`a crash at any operation of a move leaves one log with all that was acknowledged: ${how}`, async () => {
    const seed = 1;
    const chance = random(seed);
    const course: Course = { acknowledged: 0, stage: null };
    const crashes: { what: string; files: MemoryFiles; acknowledged: number }[] = [];
    const files = memory();
    await run(
      course,
      new FaultyFiles(files, (operation: Operation) => {
        if (operation.kind === "stat" || operation.kind === "read" || operation.kind === "size") return null;
        const crash = how === "killed" || how === "power" ? how : chance;
        const what = `seed ${seed}, before ${describe(operation)}`;
        crashes.push({ what, files: files.crashed(crash), acknowledged: course.acknowledged });
        return null;
      }),
      config,
    );
    assertEquals([course.stage!.place, course.acknowledged], [ONE, 12]);
    assertEquals(crashes.length > 200, true);
    for (const { what, files, acknowledged } of crashes) await check(files, acknowledged, config, what);
    await course.stage!.close();
  });
}

Deno.test("a failure of any operation of a move leaves one log with all that was acknowledged", async () => {
  for (let nth = 1, operations = Infinity; nth <= operations; nth += 3) {
    const disk = memory();
    let number = 0;
    let what = "";
    const files = new FaultyFiles(disk, (operation): Fault | null => {
      if (course.stage === null || ++number !== nth) return null;
      what = `failing ${nth}: ${describe(operation)}`;
      return { code: "EIO" };
    });
    const course: Course = { acknowledged: 0, stage: null };
    await run(course, files, SEGMENTED);
    operations = number;
    const { log } = course.stage!.partition;
    assertEquals(log.offline, null, what);
    assertEquals(readAll(log).map(({ offset }) => offset), [...Array(log.nextOffset).keys()], what);
    assertEquals(log.nextOffset >= course.acknowledged, true, what);
    await check(disk.crashed("killed"), course.acknowledged, SEGMENTED, `${what}, killed`);
    await course.stage!.close();
    await check(disk.crashed("killed"), course.acknowledged, SEGMENTED, what);
  }
});

Deno.test("nothing is told of a copy that is given up while it is flushed", async () => {
  let giveUp: (() => void) | null = null;
  const files = new FaultyFiles(memory(), ({ path }): Fault | null => {
    if (!path.endsWith("-future") || giveUp === null) return null;
    const work = giveUp;
    giveUp = null;
    work();
    return { code: "ENOENT" };
  });
  const stage = await Stage.open(files);
  const { manager } = stage.logs.directories[1];
  const copy = manager!.futures.create(stage.partition.log, 0);
  assertEquals(copy.appendAsFollower(batch(1), START).errorCode, ErrorCode.NONE);
  giveUp = () => manager!.futures.drop(copy);
  await copy.flushNow();
  assertEquals([giveUp, stage.warnings], [null, []]);
  await stage.close();
});

Deno.test("a copy that was given up is not taken for a move by the next start", async () => {
  const files = memory();
  const stage = await Stage.open(files);
  stage.append(3);
  stage.move(TWO);
  stage.move(THREE);
  const { logs } = await openDirectories(files.crashed("killed"));
  assertEquals(logs.takeUnfinished().map(({ manager }) => manager.directory), [THREE]);
  await logs.close();
  await stage.close();
});
