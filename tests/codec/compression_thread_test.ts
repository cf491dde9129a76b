import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import { Compression } from "../../src/codec/batch.ts";
import { compress, decompress } from "../../src/codec/compression/index.ts";
import { CompressionThread } from "../../src/codec/compression/thread.ts";

const input = (bytes: number) => new Prng(bytes).bytes(bytes).map((byte) => byte % 7);

Deno.test("CompressionThread.compress() gives what compress() gives, of many at once each its own", async () => {
  const thread = new CompressionThread();
  const jobs = [1000, 200_000, 0, 70_000, 131_072].flatMap((bytes) =>
    ([[Compression.GZIP, -1], [Compression.GZIP, 9], [Compression.ZSTD, 3], [Compression.ZSTD, 19]] as const)
      .map(([type, level]) => ({ type, level, bytes: input(bytes) }))
  );
  const outs = await Promise.all(jobs.map(({ type, level, bytes }) => thread.compress(type, bytes, level)));
  for (const [i, { type, level, bytes }] of jobs.entries()) {
    assertEquals(
      outs[i],
      compress(type, bytes, level),
      `type ${type}, level ${level}, ${bytes.length} bytes`,
    );
    assertEquals(decompress(type, outs[i], bytes.length), bytes);
  }
  thread.end();
});

Deno.test("CompressionThread.end() does what is left, and a thread is made anew when more comes", async () => {
  const thread = new CompressionThread();
  const bytes = input(300_000);
  const jobs = [1, 2, 3].map(() => thread.compress(Compression.ZSTD, bytes, 3));
  thread.end();
  for (const out of await Promise.all(jobs)) {
    assertEquals(decompress(Compression.ZSTD, out, bytes.length), bytes);
  }
  assertEquals(await thread.compress(Compression.GZIP, bytes, 1), compress(Compression.GZIP, bytes, 1));
  thread.end();
});
