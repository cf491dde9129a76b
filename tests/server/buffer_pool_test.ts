import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { BufferPool, joinLent, Loans } from "../../src/server/buffer_pool.ts";
import { concatChunks } from "../../src/codec/writer.ts";

Deno.test("BufferPool.take() gives at least what was asked for, of every size", () => {
  const pool = new BufferPool();
  for (
    const bytes of [
      0,
      1,
      1000,
      32_767,
      32_768,
      100_000,
      1 << 20,
      (1 << 20) + 8192,
      4 << 20,
      5 << 20,
      50 << 20,
    ]
  ) {
    assert(pool.take(bytes).length >= bytes, `${bytes} bytes`);
  }
});

Deno.test("BufferPool gives a buffer again that came back, and never to two at a time", () => {
  const pool = new BufferPool();
  const first = pool.take(1 << 20);
  const second = pool.take(1 << 20);
  assert(first.buffer !== second.buffer);
  pool.give(first);
  assert(pool.take(1 << 20).buffer === first.buffer);
  assert(pool.take(1 << 20).buffer !== first.buffer);
});

Deno.test("BufferPool.give() takes a part of a buffer for the whole", () => {
  const pool = new BufferPool();
  const taken = pool.take(100_000);
  pool.give(taken.subarray(10, 20));
  const again = pool.take(100_000);
  assert(again.buffer === taken.buffer);
  assertEquals(again.length, taken.length);
});

Deno.test("BufferPool keeps no more than its bound", () => {
  const pool = new BufferPool(3 << 20);
  const taken = Array.from({ length: 8 }, () => pool.take(1 << 20));
  for (const buffer of taken) pool.give(buffer);
  const buffers = new Set(taken.map((buffer) => buffer.buffer));
  const reused = Array.from({ length: 8 }, () => pool.take(1 << 20)).filter((b) => buffers.has(b.buffer));
  assertEquals(reused.length, 2);
});

Deno.test("BufferPool.give() does not keep what it did not give", () => {
  const pool = new BufferPool();
  const strange = new Uint8Array(1 << 20);
  pool.give(strange);
  assert(pool.take((1 << 20) - 20_000).buffer !== strange.buffer);
});

const bytes = (length: number, value: number) => new Uint8Array(length).fill(value);

Deno.test("joinLent() makes one chunk of header, lent bytes and tail, and changes no byte", () => {
  const pool = new BufferPool();
  const lent = pool.take(100_000);
  const records = lent.subarray(0, 90_000).fill(7);
  const chunks = [bytes(100, 1), records, bytes(20, 2)];
  const expected = concatChunks(chunks).slice();
  const joined = joinLent(chunks, [lent]);
  assertEquals(joined.length, 1);
  assertEquals(concatChunks(joined), expected);
});

Deno.test("joinLent() keeps every byte of an answer with several lent buffers", () => {
  const pool = new BufferPool();
  const lent = [pool.take(50_000), pool.take(60_000), pool.take(70_000)];
  const records = lent.map((buffer, i) => buffer.subarray(0, 40_000 + i).fill(10 + i));
  const chunks = [bytes(90, 1), records[0], bytes(30, 2), records[1], bytes(31, 3), records[2], bytes(5, 4)];
  const expected = concatChunks(chunks).slice();
  assertEquals(concatChunks(joinLent(chunks, lent)), expected);
});

Deno.test("joinLent() leaves headers that do not fit the headroom alone", () => {
  const pool = new BufferPool();
  const lent = pool.take(100_000);
  const chunks = [bytes(5000, 1), lent.subarray(0, 90_000).fill(7), bytes(20_000, 2)];
  const expected = concatChunks(chunks).slice();
  assertEquals(concatChunks(joinLent(chunks, [lent])), expected);
});

Deno.test("joinLent() leaves an answer without lent buffers as it is", () => {
  const chunks = [bytes(10, 1), bytes(4000, 2)];
  assert(joinLent(chunks, []) === chunks);
});

Deno.test("Loans.keepOnly() gives back what an answer does not need, and nothing that it needs", () => {
  const pool = new BufferPool();
  const loans = new Loans(pool);
  const first = loans.lend(100_000);
  loans.keepOnly(first.subarray(0, 10));
  const tooSmall = loans.lend(100_000), second = loans.lend(200_000);
  loans.keepOnly(second.subarray(5, 50_000));
  const empty = loans.lend(300_000);
  loans.keepOnly(new Uint8Array(0));
  assertEquals(loans.buffers.map((b) => b.buffer), [first.buffer, second.buffer]);
  assert(pool.take(100_000).buffer === tooSmall.buffer);
  assert(pool.take(300_000).buffer === empty.buffer);
});

Deno.test("Loans.giveAll() gives everything back, once", () => {
  const pool = new BufferPool();
  const loans = new Loans(pool);
  const lent = loans.lend(100_000);
  loans.keepOnly(lent);
  loans.giveAll();
  loans.giveAll();
  assert(pool.take(100_000).buffer === lent.buffer);
  assert(pool.take(100_000).buffer !== lent.buffer);
});
