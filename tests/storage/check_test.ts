/**
 * What `trackway check` says of directories that are not damaged by a flipped bit: gaps, left-overs, mixed-up directories.
 * Damage at every structural place is in tests/durability/flips_storage_test.ts.
 */
import { assertEquals } from "@std/assert/equals";
import { BatchView, buildBatch, Compression } from "../../src/codec/batch.ts";
import { buildEndMarker } from "../../src/codec/end_marker.ts";
import { checkDirectory } from "../../src/storage/check/check.ts";
import { replaceFile } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { readOnly } from "../../src/storage/files/read_only.ts";
import { batch, contentOf, damage, DIRECTORY, mustAppend, openLog, START } from "./helpers.ts";

const COMPACTED = { cleanupPolicy: { delete: false, compact: true } };

/** One line a finding, the paths from the data directory on. */
function lines(files: MemoryFiles, deep = false): string[] {
  const found: string[] = [];
  checkDirectory({
    files: readOnly(files),
    directory: DIRECTORY,
    known: null,
    hasMetadata: true,
    metadataFile: "metadata",
    deep,
    report: ({ severity, file, position, problem, outcome }) =>
      found.push(`${severity} ${file.slice(DIRECTORY.length + 1)} ${position}: ${problem}; ${outcome}`),
  });
  return found;
}

/** A log whose batches begin at `bases`, as a follower of a compacted leader has it, left by an orderly stop. */
async function logWithGaps(...bases: number[]): Promise<MemoryFiles> {
  const files = new MemoryFiles(() => START);
  const { log, manager } = await openLog(COMPACTED, files);
  for (const baseOffset of bases) {
    log.appendAsFollower(batch(1, { baseOffset, partitionLeaderEpoch: 0 }), START);
  }
  log.highWatermark = log.nextOffset;
  await manager.close();
  return files.crashed("killed");
}

Deno.test("checkDirectory() takes missing offsets for lost, unless a compactor has been there", async () => {
  const files = await logWithGaps(0, 1, 5);
  const [found, ...others] = lines(files);
  assertEquals(others, []);
  assertEquals(
    found.endsWith(
      "base offset is 5, expected 2: the records between are missing; answers reads that come here with KAFKA_STORAGE_ERROR",
    ),
    true,
    found,
  );
  replaceFile(files, `${DIRECTORY}/cleaner-offset-checkpoint`, "0\n1\nt 0 6\n", false);
  assertEquals(lines(files), []);
});

Deno.test("checkDirectory() has notes of what is left half done, and no damage", async () => {
  const files = await logWithGaps(0, 1);
  const leave = (name: string) => files.open(`${DIRECTORY}/${name}`, true).close();
  for (const name of ["00000000000000000000.log.deleted", "00000000000000000000.index.cleaned", "x.tmp"]) {
    leave(`t-0/${name}`);
  }
  leave("meta.properties.tmp");
  for (const name of ["gone-0.4af-delete", "odd-3.4af-stray"]) files.makeDirectory(`${DIRECTORY}/${name}`);
  assertEquals(lines(files), [
    "note gone-0.4af-delete null: its partition was deleted; removes it",
    "note meta.properties.tmp null: it was not finished; leaves it alone",
    "note odd-3.4af-stray null: it was set aside earlier; leaves it alone",
    "note t-0/00000000000000000000.index.cleaned null: it was not finished; removes it",
    "note t-0/00000000000000000000.log.deleted null: it waits to be deleted; removes it",
    "note t-0/x.tmp null: it was not finished; removes it",
  ]);
});

Deno.test("checkDirectory() finds records that cannot be read behind a right checksum only when it looks deep", async () => {
  const files = new MemoryFiles(() => START);
  const { log, manager } = await openLog({}, files);
  const plain = buildBatch([{ timestamp: START, key: null, value: new Uint8Array(100) }], {});
  // What a producer may send: the header says gzip, the content is none.
  const odd = plain.slice();
  odd[22] |= Compression.GZIP;
  new BatchView(odd).updateCrc();
  mustAppend(log, odd);
  log.highWatermark = log.nextOffset;
  await manager.close();
  const left = files.crashed("killed");
  assertEquals(lines(left), []);
  const [found, ...others] = lines(left, true);
  assertEquals([others, found.startsWith("damage t-0/00000000000000000000.log 0: ")], [[], true], found);
  assertEquals(found.endsWith("; gives the batch as it is, and consumers cannot read it"), true, found);
});

Deno.test("checkDirectory() bounds what it tells of one partition, and takes no memory for a length that is damaged", async () => {
  const files = new MemoryFiles(() => START);
  const { log, manager } = await openLog({}, files);
  for (let i = 0; i < 99; i++) mustAppend(log, batch(1, { first: i }));
  log.highWatermark = log.nextOffset;
  await manager.close();
  const left = files.crashed("killed");
  const path = `${DIRECTORY}/t-0/00000000000000000000.log`;
  const content = contentOf(left, path);
  const size = batch(1, { first: 10 }).length;
  // Every other batch, as far as they are of one size; and the last, which claims gigabytes.
  for (let at = content.length - 60 * size; at < content.length - size; at += 2 * size) content[at + 70] ^= 1;
  content[content.length - size + 8] = 0x70;
  const handle = left.open(path, false);
  handle.writeAt(content, 0);
  handle.close();
  const found = lines(left);
  assertEquals(found.filter((line) => line.includes("CRC is")).length, 20);
  assertEquals(
    found.some((line) => line.includes(" more places in its segments are damaged")),
    true,
    found.at(-1),
  );
});

Deno.test("checkDirectory() takes a last batch that is whole in length for damage when its checksum does not fit", async () => {
  for (const [kept, expected] of [[0, "damage"], [1, "note"]] as const) {
    const files = new MemoryFiles(() => START);
    const { log } = await openLog({}, files);
    for (let i = 0; i < 2; i++) mustAppend(log, batch(1));
    const left = files.crashed("killed");
    const path = `${DIRECTORY}/t-0/00000000000000000000.log`;
    const size = contentOf(left, path).length;
    if (kept === 0) damage(left, path, size - 2, new Uint8Array([0xff]));
    else left.open(path, false).truncate(size - kept);
    const [found] = lines(left).filter((line) => line.includes("cuts the end off"));
    assertEquals(found.split(" ")[0], expected, found);
    const said = kept === 0
      ? "cuts the end off here: an append that was not finished, or damage, since its checksum does not fit. The records " +
        "from offset 1 on are lost then, unless the file is restored from a copy before it starts"
      : "cuts the end off here: an append that was not finished";
    assertEquals(found.split("; ")[1], said);
    const { warnings } = await openLog({}, left);
    assertEquals(warnings.map((line) => line.slice(line.lastIndexOf("(offset"))), [
      kept === 0
        ? "(offset 1): an append that was not finished, or damage: its checksum does not fit"
        : "(offset 1): an append that was not finished",
    ]);
  }
});

Deno.test("checkDirectory() tells the way out of an index that is wrong where no lookup may come", async () => {
  const files = new MemoryFiles(() => START);
  const { log, manager } = await openLog({ indexIntervalBytes: 1 }, files);
  for (let i = 0; i < 4; i++) mustAppend(log, batch(1));
  log.highWatermark = log.nextOffset;
  await manager.close();
  const left = files.crashed("killed");
  const path = `${DIRECTORY}/t-0/00000000000000000000.index`;
  // An offset that is too large leads no reader past records.
  damage(left, path, 2, new Uint8Array([1]));
  const [found] = lines(left);
  assertEquals(found.includes("or after the file is deleted while it is stopped"), true, found);
  left.remove(path);
  const again = await openLog({ indexIntervalBytes: 1 }, left);
  again.log.read(0, { maxBytes: 1000, maxOffset: 4, minOneMessage: true });
  await again.manager.close();
  assertEquals(lines(left.crashed("killed")), []);
});

/** A log with transactions of producers 1 and 2, of which both were aborted, left by an orderly stop. */
async function logWithAborted(): Promise<{ files: MemoryFiles; index: string }> {
  const files = new MemoryFiles(() => START);
  const { log, manager } = await openLog({}, files);
  const verification = { lowestSequence: Infinity, beginsAtZero: false };
  for (const producerId of [1, 2]) {
    const producer = { producerId, producerEpoch: 0 };
    mustAppend(log, batch(2, { ...producer, baseSequence: 0, isTransactional: true }), { verification });
  }
  for (const producerId of [1, 2]) {
    const marker = { producerId, producerEpoch: 0, isCommit: false, coordinatorEpoch: 0 };
    mustAppend(log, buildEndMarker(marker, START), { origin: "coordinator" });
  }
  log.highWatermark = log.nextOffset;
  await manager.close();
  return { files: files.crashed("killed"), index: `${DIRECTORY}/t-0/00000000000000000000.txnindex` };
}

Deno.test("checkDirectory() holds indexes of transactions against the batches", async () => {
  const { files, index } = await logWithAborted();
  assertEquals(lines(files), []);
  const before = contentOf(files, index);
  const told = (change: (bytes: Uint8Array) => Uint8Array) => {
    replaceFile(files, index, change(before.slice()), false);
    return lines(files).map((line) => line.replace(/^damage t-0\/0+\.txnindex /, "").replace(/;.*/, ""));
  };
  const changed = (at: number, value: number) => (bytes: Uint8Array) => {
    bytes[at] = value;
    return bytes;
  };
  assertEquals(told(changed(1, 7)), ["0: version is 7, expected 0"]);
  assertEquals(told((bytes) => bytes.subarray(0, 40)), [
    "34: the file ends inside of an entry: its size is 40",
  ]);
  assertEquals(told((bytes) => bytes.subarray(0, 34)), [
    "null: it does not say that producer 2 aborted from offset 2 to 5",
  ]);
  assertEquals(told(changed(9, 9)), [
    "null: it says that producer 9 aborted from offset 0 to 4",
  ]);
  replaceFile(files, index, new Uint8Array(0), false);
  const isRemade = () =>
    lines(files).filter((line) => line.includes("txnindex")).map((l) => l.includes("anew"));
  assertEquals(isRemade(), [true, true]);
  files.remove(index);
  assertEquals(isRemade(), [false, false]);
  files.remove(index.replace(".txnindex", ".timeindex"));
  assertEquals(isRemade(), [true, true]);
});
