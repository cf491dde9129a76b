/** Scenarios that go as fast as they can: produce, consume what was produced, and read back what has left the cache. */
import { Compression } from "../../src/codec/batch_format.ts";
import { batchOf, VALUE_BYTES } from "./frames.ts";
import { consumeLoad, type Moved, openConnections, produceLoad, type Target } from "./load.ts";
import { metrics } from "./metrics.ts";
import { forgetTopic } from "./page_cache.ts";
import { CpuMeter } from "./process_stats.ts";
import { GIGABYTE, MEGABYTE, running, type Scenario, type Subject } from "./scenario.ts";
import { withTopic } from "./topics.ts";

/** One of each dimension; a scenario changes one or two. */
export interface Shape {
  readonly valueBytes: number;
  /** As sent: twice as many records go into a compressed batch, which is about what they compress to. */
  readonly batchBytes: number;
  readonly compression: number;
  readonly acks: number;
  readonly partitions: number;
  readonly connections: number;
  /** Connections beside those that work; they have asked once and are silent. */
  readonly idleConnections: number;
  /** Bytes of values that a turn produces. */
  readonly producedBytes: number;
}

const BASE: Shape = {
  valueBytes: VALUE_BYTES,
  batchBytes: 16 * 1024,
  compression: Compression.NONE,
  acks: 1,
  partitions: 3,
  connections: 3,
  idleConnections: 0,
  producedBytes: 300 * MEGABYTE,
};

/** How often a turn consumes what it produced: reading is so much faster. */
const CONSUME_PASSES = 3;
/** Bytes of a batch before its first record, and of a record beside its value at the most here. */
const BATCH_OVERHEAD = 61, RECORD_OVERHEAD = 12;

/** Produces, then consumes from the page cache. */
export function throughput(name: string, about: string, changes: Partial<Shape> = {}): Scenario {
  const shape = { ...BASE, ...changes };
  return {
    name,
    about,
    maxRounds: 5,
    warmUps: 1,
    metrics: [metrics.produceCpu, metrics.produced, metrics.consumeCpu, metrics.consumed],
    measure: (subject) =>
      withTarget(subject, name, shape, async (target) => {
        const { pid, port } = running(subject);
        const silent = await openConnections(port, shape.idleConnections, { readBytes: 512 });
        const batches = batchesOf(target, shape.producedBytes);
        const produced = await metered(pid, () => produceLoad(target, batches));
        const consumed = await metered(pid, () => consumeLoad(target, batches * CONSUME_PASSES));
        for (const connection of silent) connection.close();
        return [...produced, ...consumed];
      }),
  };
}

/** Requests of one record each, where what a request costs is all there is. */
export function oneRecordRequests(name: string, about: string, changes: Partial<Shape> = {}): Scenario {
  const shape = { ...BASE, batchBytes: 0, ...changes };
  const count = 24_000;
  return {
    name,
    about,
    maxRounds: 5,
    warmUps: 1,
    metrics: [metrics.requestCpu, metrics.requests],
    measure: (subject) =>
      withTarget(subject, name, shape, async (target) => {
        const cpu = new CpuMeter(running(subject).pid);
        const { seconds } = await produceLoad(target, count);
        return [cpu.seconds() / (count / 1e6), count / seconds];
      }),
  };
}

/** Reads once what was produced before and is on the disk alone. */
export function coldRead(name: string, about: string, changes: Partial<Shape> = {}): Scenario {
  const shape = { ...BASE, ...changes };
  return {
    name,
    about,
    maxRounds: 5,
    warmUps: 1,
    metrics: [metrics.consumeCpu, metrics.consumed],
    measure: (subject) =>
      withTarget(subject, name, shape, async (target) => {
        const { pid, directory } = running(subject);
        const batches = batchesOf(target, shape.producedBytes);
        await produceLoad(target, batches);
        await forgetTopic(directory, target.topic);
        return await metered(pid, () => consumeLoad(target, batches));
      }),
  };
}

/** Loads a broker without measuring, until the compilers in it have had their time. */
export async function warmUp(subject: Subject, forMs: number): Promise<void> {
  for (const until = performance.now() + forMs; performance.now() < until;) {
    for (const batchBytes of [16 * 1024, 0]) {
      await withTarget(subject, "warm-up", { ...BASE, batchBytes }, async (target) => {
        const batches = batchBytes === 0 ? 10_000 : batchesOf(target, BASE.producedBytes / 3);
        await produceLoad(target, batches);
        await consumeLoad(target, batches);
      });
    }
  }
}

/** Makes a topic for `shape`, lends it to `use`, and deletes it. */
export function withTarget<T>(
  subject: Subject,
  name: string,
  changes: Partial<Shape>,
  use: (target: Target) => Promise<T>,
): Promise<T> {
  const shape = { ...BASE, ...changes };
  const { port } = running(subject);
  const topic = `${name}-${subject.serial()}`;
  const recordsPerBatch = recordsOf(shape);
  const batch = batchFor(shape, recordsPerBatch);
  const { partitions, connections, valueBytes, acks } = shape;
  const target = { port, topic, partitions, connections, batch, recordsPerBatch, valueBytes, acks };
  return withTopic(port, topic, partitions, () => use(target));
}

/** How many records fit: 1 MB is the most that a broker takes. */
export function recordsOf(
  { batchBytes, valueBytes, compression }: Pick<Shape, "batchBytes" | "valueBytes" | "compression">,
): number {
  const inflated = batchBytes * (compression === Compression.NONE ? 1 : 2);
  return Math.max(1, Math.floor((inflated - BATCH_OVERHEAD) / (valueBytes + RECORD_OVERHEAD)));
}

/** Batches take longer to make than to send: each is made once. */
const batches = new Map<string, Uint8Array>();
function batchFor({ valueBytes, compression }: Shape, records: number): Uint8Array {
  const key = [valueBytes, compression, records].join();
  const batch = batches.get(key) ?? batchOf(records, compression, valueBytes);
  batches.set(key, batch);
  return batch;
}

function batchesOf(target: Target, bytes: number): number {
  return Math.ceil(bytes / (target.recordsPerBatch * target.valueBytes));
}

/** CPU seconds of the process per gigabyte moved, and megabytes a second. */
async function metered(pid: number, load: () => Promise<Moved>): Promise<[number, number]> {
  const cpu = new CpuMeter(pid);
  const { bytes, seconds } = await load();
  return [cpu.seconds() / (bytes / GIGABYTE), bytes / MEGABYTE / seconds];
}
