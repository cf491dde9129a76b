import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { IoError } from "../../src/storage/files/files.ts";
import { HandlePool, PooledFile } from "../../src/storage/files/handles.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { ReadAhead } from "../../src/storage/segment/read_ahead.ts";
import { realFiles } from "../../src/storage/files/real.ts";

/** A clock that stands still but for what is added to it. */
function stoppedClock() {
  const clock = { ms: 0, now: () => 0, monotonic: () => clock.ms };
  return clock;
}

const untold = () => null;

function file(files = new FaultyFiles(new MemoryFiles())) {
  files.makeDirectory("d");
  const pooled = new PooledFile(new HandlePool(files, 10), { path: "d" }, "f");
  pooled.create().writeAt(new Uint8Array(100), 0);
  return pooled;
}

Deno.test("ReadAhead makes no detour while reads are fast", () => {
  const clock = stoppedClock();
  const ahead = new ReadAhead(clock, untold);
  assertEquals(ahead.timed(() => "read"), "read");
  assert(!ahead.isDue);
});

Deno.test("ReadAhead makes a detour after a slow read, until sixteen in a row were fast", async () => {
  const clock = stoppedClock();
  const ahead = new ReadAhead(clock, untold);
  ahead.timed(() => clock.ms += 3);
  const pooled = file();
  for (let i = 0; i < 10; i++) await ahead.bring(pooled, 0, 100);
  assert(ahead.isDue);
  const slow = ahead.bring(pooled, 0, 100);
  clock.ms += 3;
  await slow;
  for (let i = 0; i < 16; i++) {
    assert(ahead.isDue);
    await ahead.bring(pooled, 0, 100);
  }
  assert(!ahead.isDue);
});

Deno.test("ReadAhead takes reads that were slow for fast where nothing came from a device meanwhile", async () => {
  const clock = stoppedClock();
  let bytes = 5000;
  const ahead = new ReadAhead(clock, () => bytes);
  const slow = () => ahead.timed(() => clock.ms += 3);
  slow(); // what it has read so far is anybody's
  const pooled = file();
  for (let i = 0; i < 16; i++) {
    assert(ahead.isDue);
    const bringing = ahead.bring(pooled, 0, 100);
    clock.ms += 3;
    await bringing;
  }
  assert(!ahead.isDue);
  slow();
  assert(!ahead.isDue);
  bytes += 4096;
  slow();
  assert(ahead.isDue);
});

Deno.test("ReadAhead believes no count of what a read that took very long has waited for", () => {
  const clock = stoppedClock();
  const ahead = new ReadAhead(clock, () => 0);
  ahead.timed(() => clock.ms += 21);
  assert(ahead.isDue);
});

Deno.test("ReadAhead leaves a failing disk to the read that follows", async () => {
  const files = new FaultyFiles(new MemoryFiles());
  const pooled = file(files);
  files.fail(1);
  await new ReadAhead(stoppedClock(), untold).bring(pooled, 0, 100);
  assertEquals(pooled.get().readAt(new Uint8Array(100), 0), 100);
});

Deno.test("a file that is let go while it is read ahead is closed when that has ended", async () => {
  const pooled = file();
  const reading = pooled.readAhead(0, 100);
  pooled.close();
  await reading; // the file in memory would tell if it had been closed before
});

Deno.test("readAhead() of a real file reads to its end at most, many at a time, and tells what fails", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const handle = realFiles.open(`${directory}/f`, true);
    handle.writeAt(new Uint8Array(600_000), 0);
    await Promise.all(Array.from({ length: 20 }, (_, i) => handle.readAhead(i * 50_000, 400_000)));
    handle.close();
    let failure: unknown = null;
    await handle.readAhead(0, 1).catch((error) => failure = error);
    assert(failure instanceof IoError && failure.operation === "read");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
