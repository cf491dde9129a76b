/** What Kafka's metadata log tells: up to where it has given out producer ids, and whether it was there again. */
import { assertEquals } from "@std/assert/equals";
import { assertThrows } from "@std/assert/throws";
import { StartupError } from "../../src/base/startup_error.ts";
import { decodeHex } from "../../src/base/hex.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import { FaultyFiles } from "../../src/storage/files/faulty.ts";
import { replaceFile } from "../../src/storage/files/files.ts";
import { MemoryFiles } from "../../src/storage/files/memory.ts";
import { KafkaMetadata } from "../../src/storage/directory/kafka_metadata.ts";

const SEGMENT = "00000000000000000000.log", CHECKPOINT = "00000000000000000000-0000000000.checkpoint";
/** What Kafka 4.4 wrote when its broker 1 got the ids 0 to 999. */
const TO_1000 = "010f0000000001000000000000000e00000000000003e800";
/** What it wrote of a topic, `t`, before. */
const TOPIC = "0102000274a1b2c3d4e5f60718293a4b5c6d7e8f9000";

const upTo = (next: number) => TO_1000.replace("03e800", next.toString(16).padStart(4, "0") + "00");

function batchOf(values: readonly string[]): Uint8Array {
  return buildBatch(values.map((value) => ({ timestamp: 1, key: null, value: decodeHex(value) })));
}

/** Directories `a` and `b`, of which `b` has Kafka's metadata in these files. */
function withMetadata(contents: Readonly<Record<string, Uint8Array>>) {
  const files = new FaultyFiles(new MemoryFiles());
  files.makeDirectory("a");
  files.makeDirectory("b/__cluster_metadata-0");
  for (const [name, bytes] of Object.entries(contents)) {
    replaceFile(files, `b/__cluster_metadata-0/${name}`, bytes, false);
  }
  const told: string[] = [];
  return { files, told, metadata: new KafkaMetadata(files, ["a", "b"], (problem) => told.push(problem)) };
}

Deno.test("KafkaMetadata.nextProducerId() is the end of the last block, in the log or in what was compacted of it", () => {
  const log = concatChunks([batchOf([TOPIC, TO_1000]), batchOf([upTo(3000)]), batchOf([TOPIC])]);
  assertEquals(withMetadata({ [SEGMENT]: log }).metadata.nextProducerId(), 3000);
  assertEquals(
    withMetadata({ [SEGMENT]: batchOf([TOPIC]), [CHECKPOINT]: batchOf([upTo(2000)]) }).metadata
      .nextProducerId(),
    2000,
  );
  assertEquals(
    withMetadata({ [SEGMENT]: batchOf([TO_1000]), [CHECKPOINT]: batchOf([TOPIC]) }).metadata.nextProducerId(),
    1000,
  );
});

Deno.test("KafkaMetadata.nextProducerId() is 0 where no Kafka was, or where none was given out", () => {
  assertEquals(withMetadata({}).metadata.nextProducerId(), 0);
  assertEquals(
    withMetadata({ [SEGMENT]: batchOf([TOPIC]), "quorum-state": decodeHex("00") }).metadata.nextProducerId(),
    0,
  );
});

Deno.test("KafkaMetadata.nextProducerId() takes what is intact before a torn end, and passes over what it does not know", () => {
  const torn = batchOf([upTo(4000)]);
  torn[torn.length - 2] ^= 1;
  const unknown = ["02", "010f", TO_1000.slice(0, 20), ""];
  const { metadata, told } = withMetadata({
    [SEGMENT]: concatChunks([batchOf([...unknown, TO_1000]), torn]),
  });
  assertEquals([metadata.nextProducerId(), told], [1000, []]);
});

Deno.test("KafkaMetadata.nextProducerId() tells once of what it cannot read, and reads the rest", () => {
  const { files, metadata, told } = withMetadata({ [SEGMENT]: batchOf([TO_1000]) });
  files.fail(1);
  assertEquals([metadata.nextProducerId(), metadata.nextProducerId()], [1000, 1000]);
  assertEquals(told, [
    "Cannot stat a/__cluster_metadata-0: the device failed (EIO); producer ids that Kafka has given out there may be given " +
    "out again",
  ]);
});

Deno.test("KafkaMetadata.checkUnchanged() refuses a directory that Kafka has had since, and says what to do", () => {
  const { files, metadata } = withMetadata({ [SEGMENT]: batchOf([TO_1000]) });
  metadata.checkUnchanged("a", "own.sqlite");
  metadata.note("a");
  metadata.checkUnchanged("a", "own.sqlite");
  replaceFile(files, `b/__cluster_metadata-0/${SEGMENT}`, batchOf([TO_1000, TOPIC]), false);
  assertThrows(() => metadata.checkUnchanged("a", "own.sqlite"), StartupError, "Remove own.sqlite");
  metadata.note("a");
  metadata.checkUnchanged("a", "own.sqlite");
});

Deno.test("KafkaMetadata.note() writes nothing where no Kafka was", () => {
  const { files, metadata } = withMetadata({});
  metadata.note("a");
  assertEquals(files.list("a"), []);
  metadata.checkUnchanged("a", "own.sqlite");
});

Deno.test("KafkaMetadata.checkUnchanged() lets start what cannot be looked at", async () => {
  const { files, metadata, told } = withMetadata({ [SEGMENT]: batchOf([TO_1000]) });
  metadata.note("a");
  files.fail(1, 100);
  metadata.checkUnchanged("a", "own.sqlite");
  assertEquals(told.length, 1);
  files.heal();
  // As when its disk is not mounted.
  await files.removeTree("b");
  metadata.checkUnchanged("a", "own.sqlite");
  assertEquals([told.length, told[1].includes("metadata.log.dir")], [2, true]);
});
