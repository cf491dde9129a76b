/**
 * `kill -9` while a log is compacted, again and again: of each key the last record that was acknowledged is there, at its
 * offset, and nothing is told of a loss. DURABILITY_SEED runs another course.
 */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../src/base/prng.ts";
import type { Client } from "../../src/client/client.ts";
import { buildBatch, Compression } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { BrokerProcess, PATIENCE_MS, until, withDataDir, within } from "./broker_process.ts";
import { connect, createTopic, EARLIEST, fetchFrom, LATEST, offsetFor, produceTo } from "./requests.ts";

const KILLS = 4;
const TOPIC = "keyed";
const KEYS = 300;
const RECORDS = 40;
/** Some segments. */
const BATCHES = 80;
// So slow that a kill finds it at work.
const OPTIONS = {
  args: ["log.cleaner.backoff.ms=0", "log.cleaner.io.max.bytes.per.second=2000000"].flatMap((
    set,
  ) => ["--set", set]),
};
const seed = Number(Deno.env.get("DURABILITY_SEED") ?? 61);

interface Held {
  offset: number;
  /** Null is a tombstone. */
  value: string | null;
}

/** Produces, waits until a compaction is at work, and produces a little more. */
async function produceAndCompact(
  client: Client,
  random: Prng,
  directory: string,
  acknowledged: Map<string, Held>,
): Promise<void> {
  const text = (content: string) => new TextEncoder().encode(content);
  const isAtWork = () => [...Deno.readDirSync(directory)].some(({ name }) => name.endsWith(".log.cleaned"));
  for (let left = BATCHES + random.between(0, 5); left > 0; left--) {
    if (left === 5) await until(isAtWork);
    const records = Array.from({ length: RECORDS }, () => ({
      key: `key ${random.int(KEYS)}`,
      value: random.chance(0.1) ? null : `${random.nextU32()}`.padEnd(random.between(10, 400), "x"),
    }));
    const batch = buildBatch(
      records.map(({ key, value }) => {
        return { timestamp: Date.now(), key: text(key), value: value === null ? null : text(value) };
      }),
      { compression: random.pick([Compression.NONE, Compression.NONE, Compression.ZSTD]) },
    );
    const [{ errorCode, baseOffset }] = await produceTo(client, TOPIC, [{ partition: 0, batch }]);
    assertEquals(errorCode, ErrorCode.NONE);
    records.forEach(({ key, value }, i) => acknowledged.set(key, { offset: baseOffset + i, value }));
  }
}

async function lastOfKeys(client: Client): Promise<Map<string, Held>> {
  const decoder = new TextDecoder();
  const last = new Map<string, Held>();
  const end = await offsetFor(client, TOPIC, 0, LATEST);
  assertEquals(await offsetFor(client, TOPIC, 0, EARLIEST), 0);
  for (let offset = 0; offset < end;) {
    const { batches } = await fetchFrom(client, TOPIC, 0, offset);
    assert(batches.length > 0, `nothing at offset ${offset} of ${end}`);
    for (const batch of batches) {
      for (const { offset, key, value } of batch.records()) {
        last.set(decoder.decode(key!), { offset, value: value === null ? null : decoder.decode(value) });
      }
    }
    offset = batches.at(-1)!.nextOffset;
  }
  return last;
}

Deno.test("a broker that is killed while it compacts has of each key the last record that it acknowledged", async () => {
  await withDataDir(async (dataDir) => {
    const random = new Prng(seed);
    const acknowledged = new Map<string, Held>();
    let broker = await BrokerProcess.start(dataDir, 0, OPTIONS);
    try {
      let client = await connect(broker.port);
      await createTopic(client, TOPIC, 1, {
        "cleanup.policy": "compact",
        "internal.segment.bytes": "100000",
        "min.cleanable.dirty.ratio": "0",
        "delete.retention.ms": "100",
      });
      for (let kill = 0; kill < KILLS; kill++) {
        const produced = produceAndCompact(client, random, `${dataDir}/${TOPIC}-0`, acknowledged);
        await within(produced, "a compaction", PATIENCE_MS);
        await broker.end("SIGKILL");
        await client.closed;
        broker = await BrokerProcess.start(dataDir, 0, OPTIONS);
        client = await connect(broker.port);
        const found = await lastOfKeys(client);
        for (const [key, held] of acknowledged) {
          // A tombstone goes when there is nothing left that it hides.
          if (held.value === null && !found.has(key)) continue;
          assertEquals(found.get(key), held, `key "${key}"`);
        }
        assertEquals(broker.warnings, []);
      }
      await client.close();
    } catch (error) {
      const text = `With seed ${seed}: ${error instanceof Error ? error.stack : error}`;
      throw new Error(broker.described(text), { cause: error });
    } finally {
      await broker.end("SIGKILL");
    }
  });
});
