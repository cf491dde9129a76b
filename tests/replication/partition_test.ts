import { assertEquals } from "@std/assert/equals";
import { BatchView } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { type AppendWaiter, Partition } from "../../src/replication/partition.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import type { LogConfig } from "../../src/storage/log/config.ts";
import { batch, offsetsIn, openLog, START, TOPIC_ID } from "../storage/helpers.ts";

/** A partition of broker 1, in leader epoch 4, over an empty log. */
async function openPartition(config: Partial<LogConfig> = {}) {
  const files = new FaultyFiles(new MemoryFiles(() => START));
  const { log } = await openLog(config, files);
  return { partition: new Partition(log, TOPIC_ID, 1, 4, [1]), log, files };
}

/** Writes down what it is told. */
function waiter() {
  const told: number[] = [];
  const waiter: AppendWaiter = { appended: (_, bytes) => told.push(bytes) };
  return { waiter, told };
}

Deno.test("Partition reads up to the end of a log that it takes over", async () => {
  const { partition, log } = await openPartition();
  assertEquals(partition.highWatermark, 0);
  partition.append(batch(3), "client", START);
  const again = new Partition(log, TOPIC_ID, 1, 5, [1]);
  assertEquals([again.highWatermark, again.lastStableOffset, again.topic, again.index], [3, 3, "t", 0]);
});

Deno.test("Partition.append() gives a batch its offset and the leader's epoch, and commits it at once", async () => {
  const { partition } = await openPartition();
  partition.append(batch(3), "client", START);
  const bytes = batch(2);
  const { errorCode, baseOffset, lastOffset, committed } = partition.append(bytes, "client", START);
  assertEquals([errorCode, baseOffset, lastOffset, committed], [ErrorCode.NONE, 3, 4, null]);
  const { baseOffset: stored, partitionLeaderEpoch } = new BatchView(bytes);
  assertEquals([stored, partitionLeaderEpoch], [3, 4]);
  assertEquals([partition.highWatermark, partition.log.highWatermark], [5, 5]);
  assertEquals(offsetsIn(partition.read(0, 10_000, false).bytes), [0, 3]);
});

Deno.test("Partition.append() of a batch that is refused moves nothing and wakes nobody", async () => {
  const { partition } = await openPartition();
  const { waiter: one, told } = waiter();
  partition.addWaiter(one);
  const damaged = batch(1);
  damaged[damaged.length - 1] ^= 1;
  const { errorCode, committed } = partition.append(damaged, "client", START);
  assertEquals([errorCode, committed, partition.highWatermark, told], [
    ErrorCode.CORRUPT_MESSAGE,
    null,
    0,
    [],
  ]);
});

Deno.test("Partition.append() tells who waits how many bytes came, after they can be read", async () => {
  const { partition } = await openPartition();
  const readable: number[] = [];
  const { waiter: one, told } = waiter();
  partition.addWaiter(one);
  partition.addWaiter({ appended: (p) => readable.push(p.read(0, 10_000, false).nextOffset) });
  const bytes = batch(2);
  partition.append(bytes, "client", START);
  assertEquals([told, readable], [[bytes.length], [2]]);
});

Deno.test("Partition tells nobody of a batch that was sent again", async () => {
  const { partition } = await openPartition();
  const of = () => batch(2, { producerId: 7, producerEpoch: 0, baseSequence: 0 });
  partition.append(of(), "client", START);
  const { waiter: one, told } = waiter();
  partition.addWaiter(one);
  const again = partition.append(of(), "client", START);
  assertEquals([again.errorCode, again.baseOffset, told, partition.highWatermark], [
    ErrorCode.NONE,
    0,
    [],
    2,
  ]);
});

Deno.test("Partition tells nobody who left, also one that leaves while others are told", async () => {
  const { partition } = await openPartition();
  const told: string[] = [];
  const once = (name: string): AppendWaiter => {
    const self: AppendWaiter = {
      appended: () => {
        told.push(name);
        partition.removeWaiter(self);
      },
    };
    return self;
  };
  for (const name of ["a", "b", "c"]) partition.addWaiter(once(name));
  partition.append(batch(1), "client", START);
  partition.append(batch(1), "client", START);
  assertEquals(told, ["a", "b", "c"]);
});

Deno.test("Partition.wakeAll() wakes everybody once, whatever they wait for", async () => {
  const { partition } = await openPartition();
  let woken = 0;
  const again = (): AppendWaiter => ({
    appended: (_, bytes) => {
      woken++;
      assertEquals(bytes >= 2 ** 31, true, "more than any client waits for");
      // One that comes back while others are woken is not woken again, or this would never end.
      partition.addWaiter(again());
    },
  });
  partition.addWaiter(again());
  partition.addWaiter(again());
  partition.wakeAll();
  assertEquals(woken, 2);
});

Deno.test("Partition with flush.messages commits when the disk has it, and not before", async () => {
  const { partition } = await openPartition({ flushMessages: 1 });
  const { waiter: one, told } = waiter();
  partition.addWaiter(one);
  const { errorCode, committed } = partition.append(batch(2), "client", START);
  assertEquals([errorCode, partition.highWatermark, told], [ErrorCode.NONE, 0, []]);
  assertEquals(offsetsIn(partition.read(0, 10_000, true).bytes), [], "nobody reads what could be lost");
  assertEquals(await committed, ErrorCode.NONE);
  assertEquals([partition.highWatermark, told.length], [2, 1]);
  assertEquals(offsetsIn(partition.read(0, 10_000, true).bytes), [0]);
});

Deno.test("Partition with flush.messages commits many appends of one turn, each of them", async () => {
  const { partition } = await openPartition({ flushMessages: 1 });
  const committed = [1, 2, 3].map((count) => partition.append(batch(count), "client", START).committed);
  assertEquals(await Promise.all(committed), [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE]);
  assertEquals(partition.highWatermark, 6);
});

Deno.test("Partition whose disk fails to flush says so, and lets nobody read what may be lost", async () => {
  const { partition, files } = await openPartition({ flushMessages: 1 });
  const { waiter: one, told } = waiter();
  partition.addWaiter(one);
  const { committed } = partition.append(batch(2), "client", START);
  files.fail(1, Infinity);
  assertEquals(await committed, ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals([partition.highWatermark, told], [0, []]);
});

Deno.test("Partition holds a batch that is sent again until its first copy is on the disk", async () => {
  const { partition } = await openPartition({ flushMessages: 1 });
  const of = () => batch(2, { producerId: 7, producerEpoch: 0, baseSequence: 0 });
  const first = partition.append(of(), "client", START);
  const again = partition.append(of(), "client", START);
  assertEquals([again.errorCode, again.baseOffset, again.committed === null], [ErrorCode.NONE, 0, false]);
  assertEquals([await first.committed, await again.committed], [ErrorCode.NONE, ErrorCode.NONE]);
  assertEquals(partition.highWatermark, 2);
});

Deno.test("Partition.checkLeaderEpoch() holds a reader's epoch against its own", async () => {
  const { partition } = await openPartition();
  const check = (epoch: number) => partition.checkLeaderEpoch(epoch);
  assertEquals([check(-1), check(4)], [ErrorCode.NONE, ErrorCode.NONE]);
  assertEquals([check(0), check(3)], [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH]);
  assertEquals([check(5), check(2 ** 31 - 1)], [
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
  ]);
});
