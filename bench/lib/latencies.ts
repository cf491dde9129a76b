/** Scenarios that measure how long a record takes: alone, at a rate, beside a reader that catches up. */
import { Worker } from "node:worker_threads";
import { acknowledgedAtRate, atRate, oneInFlight } from "./latency_load.ts";
import { produceLoad, type Target } from "./load.ts";
import { metrics } from "./metrics.ts";
import { forgetTopic } from "./page_cache.ts";
import { CpuMeter } from "./process_stats.ts";
import { GIGABYTE, MEGABYTE, running, type Scenario, sleep } from "./scenario.ts";
import { percentile } from "./statistics.ts";
import { withTarget } from "./throughput.ts";

const ALONE = { batchBytes: 0, partitions: 1, connections: 1 };
const PER_SECOND = 1000, AT_RATE = 4000;

/** Each record when the one before has come. */
export const latency: Scenario = {
  name: "latency",
  about: "From sending a 1 KB record to having it through a waiting fetch, one record at a time",
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    metrics.told.lower("broker CPU per million records", "s"),
    metrics.p50("one in flight"),
    metrics.p99("one in flight"),
  ],
  measure: (subject) =>
    withTarget(subject, "latency", ALONE, async (target) => {
      const count = 3000;
      const cpu = new CpuMeter(running(subject).pid);
      const times = await oneInFlight(target, count);
      return [cpu.seconds() / (count / 1e6), percentile(times, 0.5), percentile(times, 0.99)];
    }),
};

const tails = [
  metrics.p50(`at ${PER_SECOND}/s`),
  metrics.p99(`at ${PER_SECOND}/s`),
  metrics.p999(`at ${PER_SECOND}/s`),
];
const tailsOf = (times: Float64Array) => [0.5, 0.99, 0.999].map((share) => percentile(times, share));

/** At a moderate rate, whatever has come of those before: a stall counts for each record that it holds up. */
export const rate: Scenario = {
  name: "rate",
  about: `The same at ${PER_SECOND} records a second, whatever has come of those before`,
  maxRounds: 5,
  warmUps: 1,
  metrics: [metrics.told.lower("broker CPU per million records", "s"), ...tails],
  measure: (subject) =>
    withTarget(subject, "rate", ALONE, async (target) => {
      const cpu = new CpuMeter(running(subject).pid);
      const times = await atRate(target, AT_RATE, 1000 / PER_SECOND);
      return [cpu.seconds() / (AT_RATE / 1e6), ...tailsOf(times)];
    }),
};

const OLD = { batchBytes: 256 * 1024 };
const OLD_BYTES = 600 * MEGABYTE;

/** The same beside a consumer in a thread of its own that reads old data from the disk as fast as it gets it. */
export const rateBesideReader: Scenario = {
  name: "rate-catch-up",
  about: "The same beside a consumer that reads old data, not in the page cache, as fast as it comes",
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    metrics.told.lower("broker CPU per GB read beside it", "s"),
    ...tails,
    metrics.told.higher("read beside it", "MB/s"),
  ],
  measure: (subject) =>
    withTarget(subject, "rate-old", OLD, async (old) => {
      const { pid, directory } = running(subject);
      await produceLoad(old, Math.ceil(OLD_BYTES / (old.recordsPerBatch * old.valueBytes)));
      await forgetTopic(directory, old.topic);
      return await withTarget(subject, "rate-new", ALONE, async (target) => {
        const reader = await CatchUp.start(old, directory);
        const cpu = new CpuMeter(pid);
        const started = performance.now();
        const times = await atRate(target, AT_RATE, 1000 / PER_SECOND);
        const seconds = (performance.now() - started) / 1000;
        const cpuSeconds = cpu.seconds();
        const bytes = await reader.bytesRead();
        await reader.stop();
        return [cpuSeconds / (bytes / GIGABYTE), ...tailsOf(times), bytes / MEGABYTE / seconds];
      });
    }),
};

/** The reader, in a thread of its own: what it reads must not hold up the clock of the records. */
class CatchUp {
  private constructor(private readonly worker: Worker, private readonly failed: Promise<never>) {}

  /** Resolves when it reads. */
  static async start(target: Target, directory: string): Promise<CatchUp> {
    const worker = new Worker(new URL("./catch_up.ts", import.meta.url), {
      workerData: { target, directory },
    });
    const failed = new Promise<never>((_, reject) => worker.once("error", reject));
    const reader = new CatchUp(worker, failed);
    await reader.answer();
    return reader;
  }

  /** Bytes of values that it has read so far. */
  async bytesRead(): Promise<number> {
    this.worker.postMessage("how much?");
    return Number(await this.answer());
  }

  async stop(): Promise<void> {
    await this.worker.terminate();
  }

  private answer(): Promise<unknown> {
    return Promise.race([new Promise((resolve) => this.worker.once("message", resolve)), this.failed]);
  }
}

const SENDERS = 1000;

/** Many connections of which each sends now and then. */
export const manySenders: Scenario = {
  name: "c1000-slow",
  about: `${SENDERS} connections that each send a 1 KB record a second; to its acknowledgement`,
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    metrics.requestCpu,
    metrics.p50("to acknowledgement"),
    metrics.p99("to acknowledgement"),
    metrics.p999("to acknowledgement"),
  ],
  measure: (subject) =>
    withTarget(subject, "c1000-slow", { batchBytes: 0, connections: SENDERS }, async (target) => {
      await sleep(100);
      const cpu = new CpuMeter(running(subject).pid);
      const times = await acknowledgedAtRate(target, AT_RATE, 1000 / SENDERS);
      return [cpu.seconds() / (AT_RATE / 1e6), ...tailsOf(times)];
    }),
};
