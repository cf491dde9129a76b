import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { MemoryStore } from "../../src/cluster/memory.ts";
import { PRODUCER_ID_BLOCK_SIZE, ProducerIds } from "../../src/cluster/producer_ids.ts";
import { type CommitResult, StoreFailure, type Transaction } from "../../src/cluster/store.ts";

class CountingStore extends MemoryStore {
  commits = 0;
  fail = false;
  override commit(transaction: Transaction): Promise<CommitResult> {
    if (this.fail) return Promise.reject(new StoreFailure("disk is full"));
    this.commits++;
    return super.commit(transaction);
  }
}

async function take(ids: ProducerIds, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i++) taken.push(await ids.next());
  return taken;
}

const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

Deno.test("ProducerIds.next() counts up from 0, one commit a block, synchronous in between", async () => {
  const store = new CountingStore();
  const ids = new ProducerIds(store);
  assertEquals(await ids.next(), 0);
  assertEquals(ids.next(), 1);
  assertEquals(await take(ids, 2 * PRODUCER_ID_BLOCK_SIZE), from(2, 2 * PRODUCER_ID_BLOCK_SIZE));
  assertEquals(store.commits, 3);
});

Deno.test("ProducerIds.next() gives out no id again after a restart", async () => {
  const store = new MemoryStore();
  assertEquals(await take(new ProducerIds(store), 3), [0, 1, 2]);
  assertEquals(await take(new ProducerIds(store), 2), [1000, 1001]);
  assertEquals(await take(new ProducerIds(store), 1), [2000]);
});

Deno.test("ProducerIds.next() gives callers of the same moment different ids from one block", async () => {
  const store = new CountingStore();
  const ids = new ProducerIds(store);
  const taken = await Promise.all(Array.from({ length: 2500 }, () => ids.next()));
  assertEquals(taken.toSorted((a, b) => a - b), from(0, 2500));
  assertEquals(store.commits, 3);
});

Deno.test("ProducerIds of several brokers on one store never give the same id", async () => {
  const store = new MemoryStore();
  const brokers = [new ProducerIds(store), new ProducerIds(store), new ProducerIds(store)];
  const taken = await Promise.all(brokers.flatMap((ids) => Array.from({ length: 1500 }, () => ids.next())));
  assertEquals(new Set(taken).size, 4500);
});

Deno.test("ProducerIds.next() rejects while the store fails, and goes on without a gap in its claims afterwards", async () => {
  const store = new CountingStore();
  const ids = new ProducerIds(store);
  store.fail = true;
  await assertRejects(async () => await ids.next(), StoreFailure);
  store.fail = false;
  assertEquals(await ids.next(), 0);
});

Deno.test("ProducerIds.skipPast() keeps ids of earlier data from being given out, over restarts too", async () => {
  const store = new MemoryStore();
  const ids = new ProducerIds(store);
  await ids.skipPast(41_234);
  assertEquals(await ids.next(), 41_235);
  await ids.skipPast(500);
  assertEquals(await ids.next(), 41_236);
  await ids.skipPast(41_236);
  assertEquals(await ids.next(), 41_237);
  assertEquals(await new ProducerIds(store).next(), 42_235);
});

Deno.test("ProducerIds.skipPast() holds also when a block is being claimed at that moment", async () => {
  const ids = new ProducerIds(new MemoryStore());
  const early = ids.next();
  await ids.skipPast(5000);
  assertEquals(await early, 0);
  assertEquals(await ids.next(), 5001);
});
