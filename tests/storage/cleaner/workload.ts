/**
 * Records for a compacted topic, the same for the same seed, and what a client finds after the broker has cleaned them.
 * It goes through the protocol only, so that it can be asked of Kafka (`record_kafka.ts`) and of Trackway alike; of the
 * data directory it looks at what both have: the segments' names and `cleaner-offset-checkpoint`.
 *
 * While something is produced the topic is not compacted: so it is known what each cleaning sees.
 */

import { Prng } from "../../../src/base/prng.ts";
import type { Client } from "../../../src/client/client.ts";
import { type BatchView, buildBatch, Compression } from "../../../src/codec/batch.ts";
import { readOffsets } from "../../../src/storage/directory/checkpoints.ts";
import { CLEANER_FILE } from "../../../src/storage/log/compacted.ts";
import { realFiles } from "../../../src/storage/files/real.ts";
import { LOG_SUFFIX, offsetOfName } from "../../../src/storage/directory/names.ts";
import {
  alterTopic,
  createTopic,
  EARLIEST,
  fetchFrom,
  LATEST,
  newProducerId,
  offsetFor,
  produceTo,
} from "../../durability/requests.ts";

const START = 1_700_000_000_000;
const BATCHES_A_ROUND = 150;
const ROUNDS = 3;
/** As long as a test may wait for a cleaning. */
const PATIENCE_MS = 30_000;
/** ListOffsets: the record with the largest timestamp. */
const MAX_TIMESTAMP = -3n;

/** A batch as a client sees it. */
export interface SeenBatch {
  offsets: [number, number];
  compression: number;
  /** By the order in which the producers come. */
  producer: [number, number, number] | null;
  hasHorizon: boolean;
  maxTimestamp: number;
  /** Offset, timestamp, key, value. */
  records: [number, number, string | null, string | null][];
}

/** What is left after a round. */
export interface Seen {
  start: number;
  end: number;
  batches: SeenBatch[];
  /** With which batch a fetch from an offset begins. */
  byOffset: [number, number][];
  /** Which offset is found by a time, by the time's distance from the first. */
  byTime: [number, number][];
  ofMaxTimestamp: number;
}

/** `dataDirectory` is where the broker has its logs. Gives what is left after each round. */
export async function runWorkload(client: Client, seed: number, dataDirectory: string): Promise<Seen[]> {
  const random = new Prng(seed);
  const topic = `compaction-${seed}`;
  await createTopic(client, topic, 1, {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "internal.segment.bytes": "6000",
    "min.cleanable.dirty.ratio": "0",
    "file.delete.delay.ms": "0",
    // Tombstones of one round go in the next.
    "delete.retention.ms": "1",
  });
  const ids = [await newProducerId(client), await newProducerId(client), await newProducerId(client)];
  const producers = ids.map((id) => ({ id, epoch: 0, sequence: 0 }));
  const seen: Seen[] = [];
  let nowMs = START;
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < BATCHES_A_ROUND; i++) {
      nowMs += random.int(2000);
      const producer = random.chance(0.5) ? random.pick(producers) : null;
      if (producer !== null && random.chance(0.03)) {
        producer.epoch++;
        producer.sequence = 0;
      }
      const records = Array.from({ length: random.between(1, 6) }, () => ({
        timestamp: nowMs + random.between(-5000, 5000),
        key: random.chance(0.03) ? null : text(`key ${random.int(random.pick([5, 40, 200]))}`),
        value: random.chance(0.15) ? null : text(random.pick(["a", "b", "c"]).repeat(random.int(80))),
        headers: random.chance(0.1) ? [{ key: "h", value: text("header") }] : [],
      }));
      const batch = buildBatch(records, {
        compression: random.chance(0.5) ? Compression.NONE : random.pick(Object.values(Compression)),
        producerId: producer?.id,
        producerEpoch: producer?.epoch,
        baseSequence: producer?.sequence,
      });
      if (producer !== null) producer.sequence += records.length;
      const [{ errorCode, errorMessage }] = await produceTo(client, topic, [{ partition: 0, batch }]);
      if (errorCode !== 0) throw new Error(`Produce: ${errorCode} ${errorMessage}`);
    }
    await alterTopic(client, topic, { "cleanup.policy": "compact" });
    await cleaned(dataDirectory, topic);
    await alterTopic(client, topic, { "cleanup.policy": "delete" });
    seen.push(await look(client, topic, ids));
  }
  return seen;
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

/** Resolves when all but the active segment is clean. */
async function cleaned(dataDirectory: string, topic: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const bases = realFiles.list(`${dataDirectory}/${topic}-0`).map(({ name }) =>
      offsetOfName(name, LOG_SUFFIX)
    );
    const active = Math.max(...bases.filter((base) => base !== null));
    if (readOffsets(realFiles, `${dataDirectory}/${CLEANER_FILE}`).get(`${topic}-0`) === active) return;
    if (performance.now() > deadline) throw new Error(`${topic} is not cleaned up to ${active}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function look(client: Client, topic: string, ids: readonly number[]): Promise<Seen> {
  const start = await offsetFor(client, topic, 0, EARLIEST);
  const end = await offsetFor(client, topic, 0, LATEST);
  const batches: SeenBatch[] = [];
  for (let offset = start; offset < end;) {
    const fetched = await fetchFrom(client, topic, 0, offset);
    const news = fetched.batches.filter(({ lastOffset }) => lastOffset >= offset);
    if (news.length === 0) throw new Error(`Fetch at ${offset} gives nothing`);
    batches.push(...news.map((batch) => seenBatch(batch, ids)));
    offset = news.at(-1)!.nextOffset;
  }
  const byOffset: [number, number][] = [];
  for (let offset = start; offset < end; offset += 23) {
    const { batches: [first] } = await fetchFrom(client, topic, 0, offset);
    byOffset.push([offset, first.baseOffset]);
  }
  const byTime: [number, number][] = [];
  for (let ms = -10_000; ms < 600_000; ms += 20_011) {
    byTime.push([ms, await offsetFor(client, topic, 0, BigInt(START + ms))]);
  }
  return {
    start,
    end,
    batches,
    byOffset,
    byTime,
    ofMaxTimestamp: await offsetFor(client, topic, 0, MAX_TIMESTAMP),
  };
}

function seenBatch(batch: BatchView, ids: readonly number[]): SeenBatch {
  const { producerId, producerEpoch, baseSequence } = batch;
  const decoder = new TextDecoder();
  const textOf = (bytes: Uint8Array | null) => bytes === null ? null : decoder.decode(bytes);
  return {
    offsets: [batch.baseOffset, batch.lastOffset],
    // An empty batch has nothing to be compressed.
    compression: batch.recordCount === 0 ? 0 : batch.compression,
    producer: batch.hasProducerId ? [ids.indexOf(producerId), producerEpoch, baseSequence] : null,
    hasHorizon: batch.deleteHorizonMs !== null,
    maxTimestamp: batch.maxTimestamp,
    records: [...batch.records()].map(({ offset, timestamp, key, value }) => [
      offset,
      timestamp,
      textOf(key),
      textOf(value),
    ]),
  };
}
