/**
 * Compaction against a model, from seeds: random keys, tombstones, producers, lags, policies, memory and time. The model
 * knows all records that were ever written, and of the log no more than what a reader sees.
 */

import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { Prng } from "../../../src/base/prng.ts";
import { buildBatch, Compression } from "../../../src/codec/batch.ts";
import { checkDirectory } from "../../../src/storage/check/check.ts";
import { readOnly } from "../../../src/storage/files/read_only.ts";
import { append, DIRECTORY, mustAppend, text } from "../helpers.ts";
import { batchesOf, type Compacting, openCompacting, recordsOf, START, type Told } from "./helpers.ts";

const STEPS = 120;

interface Producer {
  id: number;
  epoch: number;
  nextSequence: number;
  lastBatch: Uint8Array | null;
}

class Model {
  readonly random: Prng;
  readonly written: Told[] = [];
  readonly timestamps = new Map<number, number>();
  readonly producers: Producer[] = [];
  /** When each tombstone was first seen with its horizon. */
  readonly horizons = new Map<number, number>();

  constructor(readonly seed: number, public setup: Compacting) {
    this.random = new Prng(seed);
  }

  put(): void {
    const { random, setup: { log, clock } } = this;
    const records = Array.from({ length: random.between(1, 8) }, () => ({
      timestamp: clock.now() - random.int(1000),
      key: text(`key ${random.int(random.pick([4, 30, 300]))}`),
      value: random.chance(0.2) ? null : text("v".repeat(random.int(60))),
    }));
    let producer = random.chance(0.5) ? random.pick([...this.producers, null]) : null;
    if (random.chance(0.05)) {
      producer = { id: this.producers.length + 100, epoch: 0, nextSequence: 0, lastBatch: null };
      this.producers.push(producer);
    }
    const bytes = buildBatch(records, {
      compression: random.chance(0.5) ? Compression.NONE : random.pick(Object.values(Compression)),
      producerId: producer?.id,
      producerEpoch: producer?.epoch,
      baseSequence: producer?.nextSequence,
    });
    if (producer !== null) {
      producer.nextSequence += records.length;
      producer.lastBatch = bytes.slice();
    }
    const first = mustAppend(log, bytes, { now: clock.now() });
    const decoder = new TextDecoder();
    for (const [i, { key, value, timestamp }] of records.entries()) {
      this.written.push([first + i, decoder.decode(key), value === null ? null : decoder.decode(value)]);
      this.timestamps.set(first + i, timestamp);
    }
    // Replication may be behind.
    log.highWatermark = random.chance(0.8) ? log.nextOffset : Math.max(log.highWatermark, first);
  }

  async step(): Promise<void> {
    const { random, setup } = this;
    const kind = random.int(10);
    if (kind < 6) { for (let n = random.between(1, 6); n > 0; n--) this.put(); }
    else if (kind < 8) {
      await setup.compact();
      this.check();
    } else if (kind === 8) setup.clock.advance(random.pick([1000, 60_000, 400_000]));
    else await this.restart();
  }

  private async restart(): Promise<void> {
    const { log, clock, manager, files } = this.setup;
    const { config, highWatermark } = log;
    const isKilled = this.random.chance();
    if (!isKilled) {
      await manager.close();
      this.checkFiles();
    }
    const manager2 = { bootId: "b" };
    this.setup = await openCompacting(config, { files: files.crashed("killed"), clock, manager: manager2 });
    this.setup.log.highWatermark = Math.max(highWatermark, this.setup.log.highWatermark);
    this.check();
  }

  /** `trackway check` finds nothing wrong. */
  private checkFiles(): void {
    const found: string[] = [];
    checkDirectory({
      files: readOnly(this.setup.files.crashed("killed")),
      directory: DIRECTORY,
      known: null,
      hasMetadata: true,
      metadataFile: "metadata",
      deep: true,
      report: ({ severity, file, problem }) => severity === "damage" && found.push(`${file}: ${problem}`),
    });
    assertEquals(found, []);
  }

  check(): void {
    const { log, warnings, clock } = this.setup;
    const { written, timestamps } = this;
    assertEquals(warnings, []);
    assertEquals([log.logStartOffset, log.nextOffset], [0, written.length]);
    const records = recordsOf(log);
    // What is there is what was written there, in order.
    for (const [i, record] of records.entries()) {
      assertEquals(record, written[record[0]]);
      assert(i === 0 || record[0] > records[i - 1][0]);
    }
    const last = new Map(written.map((record) => [record[1], record]));
    const there = new Map(records.map((record) => [record[1], record]));
    for (const [key, record] of last) {
      if (record[2] === null && !there.has(key)) this.mayBeGone(record);
      else assertEquals(there.get(key), record);
    }
    this.noteHorizons();
    const from = this.random.int(written.length + 1);
    assertEquals(recordsOf(log, from), records.filter(([offset]) => offset >= from));
    const time = clock.now() - this.random.int(clock.now() - START + 1);
    const found = log.offsetForTime(time, Infinity)?.offset ?? null;
    assertEquals(found, records.find(([offset]) => timestamps.get(offset)! >= time)?.[0] ?? null);
  }

  /** A tombstone may go only after its horizon, which it had for some time. */
  private mayBeGone([offset, key]: Told): void {
    const horizon = this.horizons.get(offset);
    const { clock, log } = this.setup;
    assert(
      horizon !== undefined && horizon <= clock.now() || log.config.deleteRetentionMs === 0,
      `the tombstone of ${key} at ${offset} is gone too early`,
    );
  }

  private noteHorizons(): void {
    for (const batch of batchesOf(this.setup.log)) {
      const { deleteHorizonMs } = batch;
      if (deleteHorizonMs === null) continue;
      for (const { offset, value } of batch.records()) {
        if (value === null && !this.horizons.has(offset)) this.horizons.set(offset, deleteHorizonMs);
      }
    }
  }

  /** Every producer's last batch is known again, and the next one is taken. */
  checkProducers(): void {
    const { log, clock } = this.setup;
    const o = { now: clock.now() };
    for (const { id, epoch, nextSequence, lastBatch } of this.producers) {
      if (lastBatch === null) continue;
      const again = append(log, lastBatch.slice(), o);
      assert(again.duplicate, `producer ${id} is not known: ${again.errorText}`);
      const record = { timestamp: START, key: text("end"), value: null };
      const next = buildBatch([record], { producerId: id, producerEpoch: epoch, baseSequence: nextSequence });
      mustAppend(log, next, o);
    }
  }

  /** When all is cleaned and all horizons have passed, of each key there is one record at most, tombstones none. */
  async checkEnd(): Promise<void> {
    const { log, clock, compact } = this.setup;
    log.config = { ...log.config, minCleanableDirtyRatio: 0, minCompactionLagMs: 0 };
    for (let round = 0; round < 4; round++) {
      const segments = log.segmentBaseOffsets.length;
      while (log.segmentBaseOffsets.length < segments + 1) this.put();
      log.highWatermark = log.nextOffset;
      await compact();
      clock.advance(1 + log.config.deleteRetentionMs);
      this.check();
    }
    const active = log.segmentBaseOffsets.at(-1)!;
    const cleaned = recordsOf(log).filter(([offset]) => offset < active);
    const firstNew = cleaned.length - new Set(cleaned.map(([, key]) => key)).size;
    assertEquals(firstNew, 0, "keys that are there twice");
  }
}

for (let seed = 1; seed <= 12; seed++) {
  Deno.test(`whatever is written and cleaned, a reader finds what the model says, seed ${seed}`, async () => {
    const random = new Prng(seed * 7919);
    const setup = await openCompacting({
      segmentBytes: random.pick([800, 1500, 4000]),
      minCleanableDirtyRatio: random.pick([0, 0, 0.3, 0.6]),
      minCompactionLagMs: random.pick([0, 0, 5000]),
      maxCompactionLagMs: random.pick([Number.MAX_SAFE_INTEGER, 100_000]),
      deleteRetentionMs: random.pick([0, 1000, 300_000]),
    }, { settings: { dedupeBufferBytes: random.pick([0, 1 << 20]) }, manager: { bootId: "b" } });
    const model = new Model(seed, setup);
    for (let i = 0; i < STEPS; i++) await model.step();
    await model.checkEnd();
    model.checkProducers();
  });
}
