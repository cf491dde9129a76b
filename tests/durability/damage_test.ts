/**
 * A data directory that is not as it was left: damaged files, lost files, somebody else's lock, a directory that cannot
 * be written to. What is damaged is refused loudly and alone; everything else serves.
 */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import { batchesIn, type BatchView, buildBatch } from "../../src/codec/batch.ts";
import { errorName } from "../../src/codec/errors.ts";
import { METADATA_FILE } from "../../src/cluster/sqlite.ts";
import { CLEAN_SHUTDOWN_FILE } from "../../src/storage/directory/checkpoints.ts";
import { BrokerProcess, PATIENCE_MS, withDataDir, within } from "./broker_process.ts";
import { readWhole } from "./ledger.ts";
import { labelled } from "./producers.ts";
import {
  accepted,
  commit,
  committed,
  connect,
  createTopic,
  fetchFrom,
  LATEST,
  newProducerId,
  offsetFor,
  produceTo,
  topicIds,
} from "./requests.ts";

const TOPIC = "orders";
/** Ten records of ~1 KiB each make a batch, three of them a segment. */
const CONFIGS = { "internal.segment.bytes": "32000", "index.interval.bytes": "500" };
const BATCHES = 12;
const RECORDS = 10;

function batch(from: number, producerId = -1): Uint8Array {
  const records = Array.from({ length: RECORDS }, (_, i) => ({
    timestamp: Date.now(),
    key: null,
    value: labelled("writer", from + i, 1000),
  }));
  const identity = producerId < 0 ? {} : { producerId, producerEpoch: 0, baseSequence: from };
  return buildBatch(records, identity);
}

/** Makes the topic with two partitions of some segments each, and gives its id. */
async function fill(port: number): Promise<string> {
  const client = await connect(port);
  const topicId = await createTopic(client, TOPIC, 2, CONFIGS);
  for (let i = 0; i < BATCHES; i++) {
    for (const partition of [0, 1]) {
      const [{ errorCode }] = await produceTo(client, TOPIC, [{ partition, batch: batch(i * RECORDS) }]);
      assertEquals(errorName(errorCode), "NONE");
    }
  }
  await client.close();
  return topicId;
}

/** Runs `use` with a broker and kills it afterwards, whatever happened; what it said is added to a failure. */
async function withBroker(
  broker: BrokerProcess,
  use: (broker: BrokerProcess) => Promise<void>,
  end: Deno.Signal = "SIGKILL",
): Promise<void> {
  try {
    await use(broker);
    await broker.end(end);
  } catch (error) {
    throw new Error(broker.described(error instanceof Error ? error.stack! : String(error)), {
      cause: error,
    });
  } finally {
    broker.signal("SIGKILL");
    await broker.exit();
  }
}

/** Fills a directory with a broker that ends by `signal`. Gives the topic's id. */
async function filled(dataDir: string, signal: Deno.Signal): Promise<string> {
  let topicId = "";
  await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
    topicId = await fill(port);
  }, signal);
  return topicId;
}

/** The partition's log files in order. */
function segments(dataDir: string, partition: number): string[] {
  const directory = join(dataDir, `${TOPIC}-${partition}`);
  return [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) => name.endsWith(".log"))
    .sort()
    .map((name) => join(directory, name));
}

function flipByte(path: string, position: number): void {
  const bytes = Deno.readFileSync(path);
  bytes[position] ^= 0x40;
  Deno.writeFileSync(path, bytes);
}

/** Error names of everything that clients may ask of a partition. */
async function asked(port: number, partition: number) {
  const client = await connect(port);
  const [{ errorCode }] = await produceTo(client, TOPIC, [{ partition, batch: batch(0) }]);
  const fetched = await fetchFrom(client, TOPIC, partition, 0);
  let listed = "NONE";
  try {
    await offsetFor(client, TOPIC, partition, LATEST);
  } catch (error) {
    listed = errorName((error as { errorCode: number }).errorCode);
  }
  await client.close();
  return { produce: errorName(errorCode), fetch: errorName(fetched.errorCode), listOffsets: listed };
}

async function labels(port: number, partition: number): Promise<string[]> {
  const client = await connect(port);
  const { labels } = await readWhole(client, TOPIC, partition);
  await client.close();
  return labels;
}

const ALL = Array.from({ length: BATCHES * RECORDS }, (_, i) => `writer ${i}`);
const REFUSED = {
  produce: "KAFKA_STORAGE_ERROR",
  fetch: "KAFKA_STORAGE_ERROR",
  listOffsets: "KAFKA_STORAGE_ERROR",
};
const SERVED = { produce: "NONE", fetch: "NONE", listOffsets: "NONE" };

for (const where of ["an old segment", "the last segment, before its last batch"] as const) {
  Deno.test(`after a kill, a damaged byte in ${where} takes its partition offline, and no other`, async () => {
    await withDataDir(async (dataDir) => {
      await filled(dataDir, "SIGKILL");
      const files = segments(dataDir, 0);
      assert(files.length >= 4, `only ${files.length} segments were written`);
      const path = where === "an old segment" ? files[1] : files.at(-1)!;
      // Inside the first record of the segment's first or second batch.
      const [first, second]: BatchView[] = [...batchesIn(Deno.readFileSync(path))];
      const damaged = where === "an old segment" ? second : first;
      flipByte(path, damaged.start + 200);
      const before = Deno.readFileSync(path);
      await withBroker(await BrokerProcess.start(dataDir), async (broker) => {
        assertEquals(await asked(broker.port, 0), REFUSED);
        assertEquals(await asked(broker.port, 1), SERVED);
        const [line, ...others] = broker.warnings.filter((line) => line.includes("damaged"));
        assertEquals(others, []);
        assert(
          line.includes(`${path} does not go on at position ${damaged.start}`) && line.includes("offline"),
          `the warning does not say where: ${line}`,
        );
      }, "SIGTERM");
      // Nothing was changed, so that the operator can mend it; a stop in order must not make it look mended.
      assertEquals(Deno.readFileSync(path), before);
      await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
        assertEquals(await asked(port, 0), REFUSED);
        assertEquals(await asked(port, 1), SERVED);
      });
      // The byte as it was: the partition is back with everything.
      flipByte(path, damaged.start + 200);
      await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
        assertEquals(await labels(port, 0), ALL);
      });
    });
  });
}

Deno.test("after a kill, a torn end is cut off with a warning, and the producers go on", async () => {
  await withDataDir(async (dataDir) => {
    let producerId = -1;
    await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
      await fill(port);
      const client = await connect(port);
      producerId = await newProducerId(client);
      for (let i = 0; i < 3; i++) {
        await produceTo(client, TOPIC, [{ partition: 0, batch: batch(i * RECORDS, producerId) }]);
      }
      await client.close();
    });
    // As a machine leaves it that died while the last batch was written.
    const path = segments(dataDir, 0).at(-1)!;
    const last = [...batchesIn(Deno.readFileSync(path))].at(-1)!;
    const kept = last.start + 700;
    await Deno.truncate(path, kept);
    await withBroker(await BrokerProcess.start(dataDir), async (broker) => {
      assertEquals(broker.warnings.map((line) => line.slice(line.indexOf("orders"))), [
        `orders-0: cut 700 bytes off the end of ${path} at position ${last.start} (offset ${last.baseOffset}): ` +
        "an append that was not finished",
      ]);
      const client = await connect(broker.port);
      assertEquals(await offsetFor(client, TOPIC, 0, LATEST), last.baseOffset);
      // The producer was never told that its last batch is there: it sends it again.
      const [again] = await produceTo(client, TOPIC, [{
        partition: 0,
        batch: batch(2 * RECORDS, producerId),
      }]);
      assertEquals([errorName(again.errorCode), again.baseOffset], ["NONE", last.baseOffset]);
      await client.close();
      const twice = Array.from({ length: 3 * RECORDS }, (_, i) => `writer ${i}`);
      assertEquals(await labels(broker.port, 0), [...ALL, ...twice]);
    });
  });
});

Deno.test("after an orderly stop, an end that is lost all the same is noticed, and what comes next is delivered", async () => {
  await withDataDir(async (dataDir) => {
    await filled(dataDir, "SIGTERM");
    const path = segments(dataDir, 0).at(-1)!;
    const last = [...batchesIn(Deno.readFileSync(path))].at(-1)!;
    await Deno.truncate(path, last.start + 700);
    await withBroker(await BrokerProcess.start(dataDir), async (broker) => {
      const client = await connect(broker.port);
      // Opens the log: until then the broker knows no better than its checkpoints.
      const { batches } = await fetchFrom(client, TOPIC, 0, 0);
      assert(batches.length > 0, "nothing is left");
      assertEquals(
        broker.warnings.length,
        4,
        broker.described(
          "indexes made anew, the end that is missing, what was cut off, which offsets are lost",
        ),
      );
      assertEquals(await offsetFor(client, TOPIC, 0, LATEST), last.baseOffset);
      assertEquals((await fetchFrom(client, TOPIC, 0, last.baseOffset)).highWatermark, last.baseOffset);
      const waiting = fetchFrom(client, TOPIC, 0, last.baseOffset, { maxWaitMs: PATIENCE_MS });
      const other = await connect(broker.port);
      const [{ baseOffset }] = await produceTo(other, TOPIC, [{ partition: 0, batch: batch(7) }]);
      assertEquals(baseOffset, last.baseOffset);
      const came = await within(waiting, "a fetch of what was just appended", PATIENCE_MS / 2);
      assertEquals(came.batches.map((batch) => batch.baseOffset), [last.baseOffset]);
      await client.close();
      await other.close();
    });
  });
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test(`after ${signal}, topics whose metadata file is gone are adopted from their directories`, async () => {
    await withDataDir(async (dataDir) => {
      let topicId = "";
      let producerId = -1;
      await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
        topicId = await fill(port);
        const client = await connect(port);
        producerId = await newProducerId(client);
        await produceTo(client, TOPIC, [{ partition: 1, batch: batch(0, producerId) }]);
        await accepted("OffsetCommit", () => commit(client, "readers", TOPIC, new Map([[0, 33], [1, 44]])));
        await client.close();
      }, signal);
      for (const { name } of Deno.readDirSync(dataDir)) {
        if (name.startsWith(METADATA_FILE)) await Deno.remove(join(dataDir, name));
      }
      await withBroker(await BrokerProcess.start(dataDir), async ({ port }) => {
        const client = await connect(port);
        const ids = await topicIds(client);
        assertEquals([...ids.keys()].sort(), ["__consumer_offsets", TOPIC]);
        assertEquals(ids.get(TOPIC), topicId);
        let offsets = new Map<number, number>();
        await accepted("OffsetFetch", async () => {
          offsets = await committed(client, "readers", TOPIC, [0, 1]);
          return 0;
        });
        assertEquals(offsets, new Map([[0, 33], [1, 44]]));
        // An id that an old producer still uses would mix two producers up.
        assert(await newProducerId(client) > producerId, "a producer id was given again");
        await client.close();
        assertEquals(await labels(port, 0), ALL);
        assertEquals(await asked(port, 0), SERVED);
      });
    });
  });
}

Deno.test("a second broker on a data directory ends with 1 and one line, and the first goes on", async () => {
  await withDataDir(async (dataDir) => {
    await withBroker(await BrokerProcess.start(dataDir), async (first) => {
      const second = BrokerProcess.spawn(dataDir);
      assertEquals(await second.exit(), { code: 1, signal: null });
      assertEquals(second.said, [
        `trackway: Cannot use data directory ${dataDir}: another broker is running on it. Stop that one, or choose ` +
        `another directory with --data`,
      ]);
      await fill(first.port);
      assertEquals(await labels(first.port, 0), ALL);
    });
  });
});

Deno.test("a broker that cannot write to its data directory ends with 1 and one line", async () => {
  await withDataDir(async (dataDir) => {
    await filled(dataDir, "SIGTERM");
    await usingReadOnly(dataDir, async () => {
      const broker = BrokerProcess.spawn(dataDir);
      const { code } = await broker.exit();
      assertEquals([code, broker.said.length], [1, 1], broker.described("How it ended"));
      assert(
        broker.said[0].startsWith(`trackway: Cannot use data directory ${dataDir}: `) &&
          /EACCES|EROFS|denied|read-only/i.test(broker.said[0]),
        `the line does not say why: ${broker.said[0]}`,
      );
    });
    // And it has lost nothing by the attempt.
    await Deno.stat(join(dataDir, CLEAN_SHUTDOWN_FILE));
    await withBroker(await BrokerProcess.start(dataDir), async (broker) => {
      assertEquals(broker.warnings, []);
      assertEquals(await labels(broker.port, 0), ALL);
    });
  });
});

/** Runs `use` while `directory` cannot be written to: by its mode, or, for root whom no mode binds, by a mount. */
async function usingReadOnly(directory: string, use: () => Promise<void>): Promise<void> {
  if (Deno.uid() !== 0) {
    await Deno.chmod(directory, 0o500);
    const paths = [...Deno.readDirSync(directory)].filter(({ isFile }) => isFile).map(({ name }) => name);
    for (const name of paths) await Deno.chmod(join(directory, name), 0o400);
    try {
      return await use();
    } finally {
      await Deno.chmod(directory, 0o700);
      for (const name of paths) await Deno.chmod(join(directory, name), 0o600);
    }
  }
  await sh("mount", "--bind", directory, directory);
  try {
    await sh("mount", "-o", "remount,ro,bind", directory);
    await use();
  } finally {
    await sh("umount", directory);
  }
}

async function sh(program: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(program, { args }).output();
  assert(code === 0, `${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
