/** Directories that a real Kafka wrote (fixtures/README.md): Trackway takes them over, and goes on in the same format. */

import { assertEquals } from "@std/assert/equals";
import { systemClock } from "../../src/base/clock.ts";
import { batchesIn, checkBatch } from "../../src/codec/batch.ts";
import { realFiles } from "../../src/storage/files/real.ts";
import { defaultLogConfig } from "../../src/storage/log/config.ts";
import { LogManager } from "../../src/storage/manager/log_manager.ts";
import { append, batch, mustAppend, readAll, sizeOf } from "./helpers.ts";

const CODECS = ["none", "gzip", "snappy", "lz4", "zstd"];
const LIMITS = { maxBytes: 1 << 20, maxOffset: Infinity, minOneMessage: true };

async function withCopy(name: string, body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const copy = (from: string, to: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(from)) {
        if (!isDirectory) Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
        else {
          Deno.mkdirSync(`${to}/${name}`);
          copy(`${from}/${name}`, `${to}/${name}`);
        }
      }
    };
    copy(new URL(`fixtures/${name}`, import.meta.url).pathname, directory);
    await body(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function open(directory: string) {
  const warnings: string[] = [];
  const manager = await LogManager.open({
    files: realFiles,
    directory,
    clusterId: null,
    nodeId: 1,
    clock: systemClock,
    configOf: () => ({ ...defaultLogConfig, segmentBytes: 6000, indexIntervalBytes: 500 }),
    onWarning: (text) => warnings.push(text),
  });
  return { manager, warnings };
}

function expectedRecords() {
  return CODECS.flatMap((codec, block) =>
    Array.from({ length: 60 }, (_, i) => ({
      offset: block * 60 + i,
      value: `value-${codec}-${i + 1}-${"x".repeat((i + 1) % 40 || 1)}`,
    }))
  );
}

for (const name of ["kafka-4.4-closed", "kafka-4.4-crashed"]) {
  Deno.test(`${name}: every record, codec and producer is there`, async () => {
    await withCopy(name, async (directory) => {
      const { manager, warnings } = await open(directory);
      assertEquals(manager.meta, {
        clusterId: "gl9XOgETQuKw1Mp1kL5K1Q",
        nodeId: 1,
        directoryId: "yzSNRROnSG2pVxcrCZS0Ww",
      });
      const log = manager.get("golden", 0)!;
      assertEquals(log.topicId, "Ijc7BQyqR_STSj4ph1otqA");
      assertEquals([log.logStartOffset, log.nextOffset, log.highWatermark], [0, 300, 300]);
      assertEquals(log.segmentBaseOffsets, [0, 153]);
      assertEquals(readAll(log), expectedRecords());
      const bytes = log.read(0, LIMITS).bytes;
      for (const each of batchesIn(bytes)) assertEquals(checkBatch(bytes, each.start, bytes.length), null);
      const producers = log.activeProducers().map((
        { producerId, batches },
      ) => [producerId, batches.at(-1)!.lastOffset]);
      assertEquals(producers, [[0, 59], [1, 119], [2, 179], [3, 239], [4, 299]]);
      assertEquals([log.leaderEpochAt(299), log.endOffsetForEpoch(0, 0).endOffset], [0, 300]);
      assertEquals(warnings, []);
      await manager.close();
    });
  });

  Deno.test(`${name}: a retry of a Kafka producer's last batch is known, and its next batch is taken`, async () => {
    await withCopy(name, async (directory) => {
      const { manager } = await open(directory);
      const log = manager.get("golden", 0)!;
      const { lastOffset, offsetDelta, lastSequence } = log.activeProducers()[4].batches.at(-1)!;
      const retry = { producerId: 4, producerEpoch: 0, baseSequence: lastSequence - offsetDelta };
      assertEquals(append(log, batch(offsetDelta + 1, retry), { now: Date.now() }).lastOffset, lastOffset);
      const next = { producerId: 4, producerEpoch: 0, baseSequence: lastSequence + 1 };
      assertEquals(mustAppend(log, batch(1, next), { now: Date.now() }), 300);
      await manager.close();
      const { manager: again } = await open(directory);
      assertEquals(readAll(again.get("golden", 0)!).length, 301);
      await again.close();
    });
  });

  Deno.test(`${name}: index entries made anew are those that Kafka made`, async () => {
    await withCopy("kafka-4.4-closed", async (directory) => {
      const files = ["00000000000000000000", "00000000000000000153"].flatMap((base) =>
        ["index", "timeindex"].map((suffix) => `golden-0/${base}.${suffix}`)
      );
      const expected = files.map((file) => Deno.readFileSync(`${directory}/${file}`));
      await withCopy(name, async (copy) => {
        for (const file of files) Deno.removeSync(`${copy}/${file}`);
        const { manager } = await open(copy);
        assertEquals(readAll(manager.get("golden", 0)!).length, 300);
        await manager.close();
        assertEquals(files.map((file) => Deno.readFileSync(`${copy}/${file}`)), expected);
      });
    });
  });
}

Deno.test("kafka-4.4-closed: times are found inside compressed batches", async () => {
  await withCopy("kafka-4.4-closed", async (directory) => {
    const { manager } = await open(directory);
    const log = manager.get("golden", 0)!;
    const bytes = log.read(0, LIMITS).bytes;
    const records = [...batchesIn(bytes)].flatMap((each) => [...each.records()]);
    for (const { timestamp } of records) {
      const first = records.find((record) => record.timestamp >= timestamp)!;
      assertEquals(log.offsetForTime(timestamp, 300), { offset: first.offset, timestamp, leaderEpoch: 0 });
    }
    await manager.close();
  });
});

Deno.test("kafka-4.4-closed: a log append time topic keeps its time, and Kafka's 10 MB indexes are cut to size", async () => {
  await withCopy("kafka-4.4-closed", async (directory) => {
    const { manager } = await open(directory);
    const log = manager.get("lat", 0)!;
    const [each] = batchesIn(log.read(0, LIMITS).bytes);
    assertEquals([each.timestampType, each.maxTimestamp], [1, log.offsetOfMaxTimestamp(9)!.timestamp]);
    await manager.close();
    assertEquals(sizeOf(realFiles, `${directory}/lat-0/00000000000000000000.index`), 0);
  });
});
