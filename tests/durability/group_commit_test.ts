/** `flush.messages=1`: an append is acknowledged after a sync, one sync serves all who wait, and one that fails serves none. */

import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { Partition } from "../../src/replication/partition.ts";
import type { FileHandle } from "../../src/storage/files/files.ts";
import { IoError } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { assertIncludes, batch, openManager, readAll, START, TOPIC_ID } from "../storage/helpers.ts";

const CONFIG = { flushMessages: 1 };
const PATH = "/data/t-0/00000000000000000000.log";

/** A disk whose syncs of the log wait to be told how they end. */
class SlowDisk extends MemoryFiles {
  /** Syncs of the log that are under way. */
  readonly waiting: { succeed(): void; fail(evicted?: boolean): void }[] = [];
  /** Syncs of the log that were begun. */
  begun = 0;
  private wake: () => void = () => {};

  constructor(private readonly chance = () => 0) {
    super(() => START);
  }

  override open(path: string, create: boolean): FileHandle {
    const handle = super.open(path, create);
    if (path !== PATH) return handle;
    const sync = handle.sync;
    handle.sync = async () => {
      this.begun++;
      const outcome = Promise.withResolvers<void>();
      this.waiting.push({
        succeed: () => outcome.resolve(),
        fail: (evicted = false) => {
          this.failSync(path, this.chance, evicted);
          outcome.reject(new IoError("sync", path, "EIO"));
        },
      });
      this.wake();
      await outcome.promise;
      await sync();
    };
    return handle;
  }

  /** Resolves when a sync is under way. */
  async next(): Promise<{ succeed(): void; fail(evicted?: boolean): void }> {
    while (this.waiting.length === 0) await new Promise<void>((resolve) => this.wake = resolve);
    return this.waiting.shift()!;
  }
}

async function openPartition(disk: MemoryFiles) {
  const { manager, warnings } = await openManager(CONFIG, disk);
  const log = manager.get("t", 0) ?? manager.create("t", 0, TOPIC_ID);
  return { manager, log, warnings, partition: new Partition(log, TOPIC_ID, 1, 0, [1]) };
}

/** Appends record `number`; gives what its producer is told, when it is. */
function send(partition: Partition, number: number): Promise<number> {
  const bytes = batch(1, { first: number, producerId: 9, producerEpoch: 0, baseSequence: number });
  const { committed, errorCode } = partition.append(bytes, "client", START);
  return committed ?? Promise.resolve(errorCode);
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const sendAll = (partition: Partition, from: number, to: number) =>
  Promise.all(numbers(from, to).map((number) => send(partition, number)));
const values = (to: number) => numbers(0, to).map((number) => `value ${number}`);

/** What is there after the power failed. */
async function afterPowerFailure(disk: MemoryFiles): Promise<string[]> {
  const { manager } = await openManager(CONFIG, disk.crashed("power"), new ManualClock());
  return readAll(manager.get("t", 0)!).map(({ value }) => value);
}

Deno.test("one sync serves all appends that wait when it begins, and another all that come meanwhile", async () => {
  const disk = new SlowDisk();
  const { partition, log } = await openPartition(disk);
  const first = sendAll(partition, 0, 10);
  const syncOfFirst = await disk.next();
  assertEquals([disk.begun, partition.highWatermark], [1, 0]);
  const second = sendAll(partition, 10, 30);
  syncOfFirst.succeed();
  assertEquals(await first, new Array(10).fill(ErrorCode.NONE));
  assertEquals([partition.highWatermark, log.nextOffset], [10, 30]);
  (await disk.next()).succeed();
  assertEquals(await second, new Array(20).fill(ErrorCode.NONE));
  assertEquals([disk.begun, partition.highWatermark], [2, 30]);
  assertEquals(await afterPowerFailure(disk), values(30));
});

Deno.test("a sync that fails fails all that waited for it, and none of them is committed", async () => {
  const disk = new SlowDisk();
  const { partition, log } = await openPartition(disk);
  const failing = sendAll(partition, 0, 10);
  (await disk.next()).fail();
  assertEquals((await failing).map(errorName), new Array(10).fill("KAFKA_STORAGE_ERROR"));
  assertEquals([partition.highWatermark, log.flushedOffset], [0, 0]);
});

Deno.test("a sync after one that failed brings to the device what that one dropped, before it counts", async () => {
  for (const reached of [0, 0.3, 0.7]) {
    const disk = new SlowDisk(() => reached);
    const { partition } = await openPartition(disk);
    const good = sendAll(partition, 0, 3);
    (await disk.next()).succeed();
    await good;
    const failing = sendAll(partition, 3, 6);
    const meanwhile = disk.next().then((sync) => {
      const later = sendAll(partition, 6, 8);
      sync.fail();
      return later;
    });
    assertEquals((await failing).map(errorName), new Array(3).fill("KAFKA_STORAGE_ERROR"));
    (await disk.next()).succeed();
    assertEquals(await meanwhile, [ErrorCode.NONE, ErrorCode.NONE]);
    // Who was refused sends again, and is told only now that it was there.
    assertEquals(await send(partition, 5), ErrorCode.NONE);
    assertEquals([disk.begun, partition.highWatermark], [3, 8]);
    assertEquals(await afterPowerFailure(disk), values(8));
  }
});

Deno.test("the process after one whose sync failed brings to the device what that had dropped", async () => {
  const disk = new SlowDisk();
  const { partition } = await openPartition(disk);
  const failing = sendAll(partition, 0, 4);
  (await disk.next()).fail();
  await failing;
  // Its page cache outlives the process, and looks as if it was on the device.
  const left = disk.crashed("killed");
  const { partition: again, log } = await openPartition(left);
  assertEquals(await send(again, 4), ErrorCode.NONE);
  assertEquals([log.nextOffset, log.flushedOffset], [5, 5]);
  assertEquals(await afterPowerFailure(left), values(5));
});

Deno.test("what a failed sync dropped and the cache has lost is cut off and told, and was acknowledged to nobody", async () => {
  const disk = new SlowDisk();
  const { partition, log, warnings } = await openPartition(disk);
  const good = sendAll(partition, 0, 3);
  (await disk.next()).succeed();
  await good;
  const failing = sendAll(partition, 3, 6);
  (await disk.next()).fail(true);
  assertEquals((await failing).map(errorName), new Array(3).fill("KAFKA_STORAGE_ERROR"));
  assertEquals(errorName(await send(partition, 6)), "KAFKA_STORAGE_ERROR");
  // The producer begins again with what it was refused.
  const retried = sendAll(partition, 3, 7);
  (await disk.next()).succeed();
  assertEquals(await retried, new Array(4).fill(ErrorCode.NONE));
  assertEquals([log.offline, log.nextOffset, partition.highWatermark], [null, 7, 7]);
  assertEquals(readAll(log).map(({ value }) => value), values(7));
  assertEquals(await afterPowerFailure(disk), values(7));
  assertIncludes(warnings.join("\n"), "the records between are lost");
});
