/** What a power failure leaves of the metadata's write-ahead log, and what it cannot have left. */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { METADATA_FILE, SqliteStore } from "../../src/cluster/sqlite.ts";
import { findWalFault } from "../../src/cluster/sqlite_wal.ts";

const HEADER_BYTES = 32, FRAME_BYTES = 24 + 4096;

/** The write-ahead log after each of some commits of several pages, `before` small ones having been made. */
async function walAfterEach(before: number, commits: number): Promise<Uint8Array[]> {
  const directory = await Deno.makeTempDir();
  try {
    const store = SqliteStore.open(directory);
    const put = (key: string, length: number) =>
      store.commit({ compare: [], put: [{ key, value: "x".repeat(length) }], delete: [] });
    for (let i = 0; i < before; i++) await put(`small/${i}`, 300);
    const logs = [];
    for (let i = 0; i <= commits; i++) {
      if (i > 0) await put(`large/${i}`, 9_000);
      logs.push(Deno.readFileSync(join(directory, `${METADATA_FILE}-wal`)));
    }
    await store.close();
    return logs;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function frameAt(log: Uint8Array, index: number): Uint8Array {
  return log.subarray(HEADER_BYTES + index * FRAME_BYTES, HEADER_BYTES + (index + 1) * FRAME_BYTES);
}

/** The frames in which the two differ. */
function written(before: Uint8Array, after: Uint8Array): number[] {
  const frames = [];
  for (let i = 0; frameAt(after, i).length > 0; i++) {
    const old = frameAt(before, i);
    if (old.length === 0 || frameAt(after, i).some((byte, at) => byte !== old[at])) frames.push(i);
  }
  return frames;
}

/** `after` with some frames as they were before, or zeros where there was nothing. */
function without(before: Uint8Array, after: Uint8Array, frames: readonly number[]): Uint8Array {
  const log = after.slice();
  for (const index of frames) {
    frameAt(log, index).fill(0);
    frameAt(log, index).set(frameAt(before, index));
  }
  return log;
}

// After 480 commits SQLite writes over the frames of an earlier round.
for (const [place, before] of [["at the end of the file", 5], ["over an earlier round", 480]] as const) {
  Deno.test(`findWalFault() takes a last commit ${place} of which any frames are missing for one that was cut short`, async () => {
    const [old, whole] = await walAfterEach(before, 1);
    const frames = written(old, whole);
    assertEquals([frames.length > 3, findWalFault(whole)], [true, null]);
    for (let set = 1; set < 1 << frames.length; set++) {
      const torn = without(old, whole, frames.filter((_, i) => (set >> i & 1) === 1));
      assertEquals(findWalFault(torn)?.isDamage ?? false, false, `frames ${set.toString(2)} are missing`);
    }
  });

  Deno.test(`findWalFault() takes a frame ${place} that is missing before the last two commits for damage`, async () => {
    const [old, middle, , whole] = await walAfterEach(before, 3);
    for (const frame of written(old, middle)) {
      assertEquals(findWalFault(without(old, whole, [frame]))?.isDamage, true, `frame ${frame} is missing`);
    }
  });
}
