/**
 * What a log costs: microseconds per append and per read, and what ten thousand partitions take to open and to hold.
 * Processor time stands beside the clock's, for machines that have other things to do.
 *
 *     deno run -A bench/storage_log.ts [directory]
 */

import process from "node:process";
import { systemClock } from "../src/base/clock.ts";
import { buildBatch } from "../src/codec/batch.ts";
import { realFiles } from "../src/storage/files/real.ts";
import { defaultLogConfig } from "../src/storage/log/config.ts";
import { LogManager } from "../src/storage/manager/log_manager.ts";

const PARTITIONS = 10_000;
const TOPIC_ID = "Ijc7BQyqR_STSj4ph1otqA";

function open(directory: string): Promise<LogManager> {
  return LogManager.open({
    files: realFiles,
    directory,
    clusterId: null,
    nodeId: 1,
    clock: systemClock,
    configOf: () => defaultLogConfig,
    onWarning: (text) => console.error(text),
  });
}

/** Begins to measure; what it gives prints the result. */
function measure(): (what: string, count: number, bytes?: number) => void {
  const cpu = process.cpuUsage();
  const started = performance.now();
  return (what, count, bytes = 0) => {
    const ms = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    const rate = bytes === 0 ? "" : `, ${(bytes / ms / 1000).toFixed(0)} MB/s`;
    const each = (us: number) => (us / count).toFixed(2).padStart(9);
    console.log(
      `${what.padEnd(48)} ${each(ms * 1000)} µs each, ${each(user + system)} µs of processor${rate}`,
    );
  };
}

function benchAppend(
  manager: LogManager,
  what: string,
  bytes: number,
  count: number,
  idempotent: boolean,
): void {
  const log = manager.create(what.replace(/\W+/g, "-"), 0, TOPIC_ID);
  const value = new Uint8Array(bytes - 75);
  crypto.getRandomValues(value.subarray(0, Math.min(value.length, 65_536)));
  // As from the socket: each batch anew, at base offset 0.
  const batches = Array.from({ length: 256 }, (_, sequence) =>
    buildBatch(
      [{ timestamp: Date.now(), key: null, value }],
      idempotent ? { producerId: 1, producerEpoch: 0, baseSequence: sequence } : {},
    ));
  for (let round = 0; round < 3; round++) {
    const done = measure();
    let sent = 0;
    for (let i = 0; i < count; i++) {
      const batch = batches[i % batches.length];
      batch.fill(0, 0, 8);
      if (idempotent && i >= batches.length) break;
      const { errorCode, errorText } = log.append(batch, {
        leaderEpoch: 0,
        origin: "client",
        now: Date.now(),
      });
      if (errorCode !== 0 && !(idempotent && round > 0)) throw new Error(errorText);
      sent++;
    }
    if (round === 2 || (idempotent && round === 0)) {
      done(what, sent, sent * bytes);
    }
  }
}

function benchRead(
  manager: LogManager,
  topic: string,
  what: string,
  maxBytes: number,
  buffer?: Uint8Array,
): void {
  const log = manager.get(topic, 0)!;
  for (let round = 0; round < 2; round++) {
    const done = measure();
    let reads = 0;
    let bytes = 0;
    for (let offset = 0; offset < log.nextOffset;) {
      const read = log.read(offset, {
        maxBytes,
        maxOffset: log.nextOffset,
        minOneMessage: true,
        allocate: buffer && (() => buffer),
      });
      if (read.errorCode !== 0) throw new Error(`read failed with ${read.errorCode}`);
      offset = read.nextOffset;
      bytes += read.bytes.length;
      reads++;
    }
    if (round === 1) done(what, reads, bytes);
  }
}

function benchSeek(manager: LogManager, topic: string): void {
  const log = manager.get(topic, 0)!;
  const count = 5000;
  const done = measure();
  for (let i = 0; i < count; i++) {
    const offset = (i * 7919 * 31) % log.nextOffset;
    log.read(offset, { maxBytes: 1, maxOffset: log.nextOffset, minOneMessage: true });
  }
  done("read one batch at a random offset", count);
}

async function benchPartitions(directory: string): Promise<void> {
  let manager = await open(directory);
  let done = measure();
  for (let partition = 0; partition < PARTITIONS; partition++) manager.create("many", partition, TOPIC_ID);
  done("create a partition", PARTITIONS);
  const batch = buildBatch([{ timestamp: Date.now(), key: null, value: new Uint8Array(100) }]);
  done = measure();
  for (const log of manager.all()) {
    batch.fill(0, 0, 8);
    log.append(batch, { leaderEpoch: 0, origin: "client", now: Date.now() });
  }
  done("first append to a partition", PARTITIONS);
  done = measure();
  await manager.close();
  done("close a partition", PARTITIONS);
  const before = Deno.memoryUsage();
  done = measure();
  manager = await open(directory);
  done("open a partition after a clean stop", PARTITIONS);
  const after = Deno.memoryUsage();
  console.log(
    `memory of an unused partition ${
      ((after.heapUsed - before.heapUsed) / PARTITIONS).toFixed(0)
    } bytes of heap`,
  );
  done = measure();
  for (const log of manager.all()) log.read(0, { maxBytes: 1000, maxOffset: 1, minOneMessage: true });
  done("first read of a partition", PARTITIONS);
}

const root = Deno.args[0] ?? await Deno.makeTempDir();
try {
  const manager = await open(`${root}/logs`);
  benchAppend(manager, "append 16 KiB", 16_384, 20_000, false);
  benchAppend(manager, "append 16 KiB idempotent", 16_384, 256, true);
  benchAppend(manager, "append 200 bytes", 200, 200_000, false);
  benchAppend(manager, "append 1 MB", 1_000_000, 200, false);
  benchRead(manager, "append-16-KiB", "read up to 1 MiB of 16 KiB batches", 1 << 20);
  benchRead(
    manager,
    "append-16-KiB",
    "the same into the caller's buffer",
    1 << 20,
    new Uint8Array((1 << 20) + 16_384),
  );
  benchRead(manager, "append-16-KiB", "read up to 16 KiB of 16 KiB batches", 16_400);
  benchRead(manager, "append-200-bytes", "read up to 1 MiB of 200 byte batches", 1 << 20);
  benchSeek(manager, "append-16-KiB");
  benchSeek(manager, "append-200-bytes");
  await manager.close();
  await benchPartitions(`${root}/many`);
} finally {
  if (Deno.args[0] === undefined) await Deno.remove(root, { recursive: true });
}
