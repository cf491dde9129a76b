/**
 * What is measured. A scenario measures one broker once and gives a number for each of its metrics; the runner takes
 * turns between the brokers. Sizes are chosen so that the whole list takes a few minutes on two cores.
 */
import { Compression } from "../../src/codec/batch_format.ts";
import type { BrokerKind, RunningBroker } from "./brokers.ts";
import { batchOf } from "./frames.ts";
import { atRate, consumeLoad, oneInFlight, produceLoad, type Target, valueBytes } from "./load.ts";
import { CpuMeter, residentBytes } from "./process_stats.ts";
import { javaClients, librdkafka } from "./real_clients.ts";
import { percentile } from "./statistics.ts";
import { withTopic } from "./topics.ts";

export interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly better: "lower" | "higher";
  /** What Trackway's value divided by Kafka's should be at most (lower is better) or at least. */
  readonly aim?: number;
}

/** A broker under test. */
export interface Subject {
  readonly kind: BrokerKind;
  /** Running, but for scenarios that start it themselves. */
  readonly broker: RunningBroker | null;
  /** For topic names that were not used before. */
  readonly serial: () => number;
  /** Starts a second broker of this kind, on data that it has started on before where `again` says so. */
  readonly launch: () => Promise<RunningBroker>;
}

export interface Scenario {
  readonly name: string;
  /** One sentence for people. */
  readonly about: string;
  /** Each measured once per turn; fewer turns than asked for where they are long. */
  readonly maxRounds: number;
  /** Runs before the first turn count nothing: just-in-time compilers are at work. */
  readonly warmUps: number;
  /** Starts its own brokers, and needs the machine without others. */
  readonly alone?: boolean;
  readonly metrics: readonly Metric[];
  /** A number for each metric, or why there is none. */
  readonly measure: (subject: Subject) => Promise<number[] | string>;
}

const GIGABYTE = 1e9, MEGABYTE = 1e6;
const IDLE_MS = 10_000, SETTLE_MS = 5_000;
const PARTITIONS = 3;

const cpuPerGigabyte = (aim?: number): Metric => (
  { name: "broker CPU per GB", unit: "s", better: "lower", aim }
);
const throughput = (aim?: number): Metric => ({ name: "throughput", unit: "MB/s", better: "higher", aim });

const startUp: Scenario = {
  name: "start",
  about: "From the start of the process to the first ApiVersions answer, on data that is there already",
  maxRounds: 5,
  warmUps: 1,
  alone: true,
  metrics: [{ name: "start to first answer", unit: "ms", better: "lower", aim: 1 / 20 }],
  async measure({ launch }) {
    const broker = await launch();
    await broker.stop();
    return [broker.startMs];
  },
};

const idle: Scenario = {
  name: "idle",
  about: "A broker that nobody uses: resident memory after 5 s, CPU over 10 s",
  maxRounds: 1,
  warmUps: 0,
  metrics: [
    { name: "memory, idle", unit: "MB", better: "lower", aim: 1 / 5 },
    { name: "CPU, idle", unit: "ms/s", better: "lower" },
  ],
  async measure(subject) {
    const { pid } = running(subject);
    await sleep(SETTLE_MS);
    const memory = residentBytes(pid);
    const cpu = new CpuMeter(pid);
    await sleep(IDLE_MS);
    return [memory / MEGABYTE, cpu.seconds() * 1000 / (IDLE_MS / 1000)];
  },
};

const loaded: Scenario = {
  name: "loaded",
  about: "Resident memory after all the scenarios before it",
  maxRounds: 1,
  warmUps: 0,
  metrics: [{ name: "memory, after load", unit: "MB", better: "lower", aim: 1 / 5 }],
  async measure(subject) {
    const { pid } = running(subject);
    await sleep(SETTLE_MS);
    return [residentBytes(pid) / MEGABYTE];
  },
};

/** 1 KB records in batches, produced through one connection per partition, then consumed the same way. */
function batches(name: string, recordsPerBatch: number, compression: number, batchesEach: number): Scenario {
  const batch = batchOf(recordsPerBatch, compression);
  const size = `${recordsPerBatch} records of 1 KB a batch (${Math.round(batch.length / 1024)} KB)`;
  return {
    name,
    about: `${size}, acks=1, ${PARTITIONS} partitions and connections; then fetched, 1 MB a partition`,
    maxRounds: 5,
    warmUps: 1,
    metrics: [
      { ...cpuPerGigabyte(0.4), name: "broker CPU per GB produced" },
      { ...throughput(1.2), name: "produced" },
      { ...cpuPerGigabyte(0.6), name: "broker CPU per GB consumed" },
      { ...throughput(1.2), name: "consumed" },
    ],
    measure: (subject) =>
      withTarget(subject, name, PARTITIONS, batch, recordsPerBatch, async (target, { pid }) => {
        const bytes = valueBytes(target, PARTITIONS * batchesEach);
        const producing = new CpuMeter(pid);
        const produceSeconds = await produceLoad(target, batchesEach);
        const produceCpu = producing.seconds();
        const consuming = new CpuMeter(pid);
        const consumeSeconds = await consumeLoad(target, batchesEach, CONSUME_PASSES);
        const consumed = bytes * CONSUME_PASSES;
        return [
          produceCpu / (bytes / GIGABYTE),
          bytes / MEGABYTE / produceSeconds,
          consuming.seconds() / (consumed / GIGABYTE),
          consumed / MEGABYTE / consumeSeconds,
        ];
      }),
  };
}
const CONSUME_PASSES = 2;

const REQUESTS_EACH = 8000;
const requests: Scenario = {
  name: "requests",
  about: `Produce requests of one 1 KB record, ${PARTITIONS} connections with 5 in flight`,
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    { name: "broker CPU per million requests", unit: "s", better: "lower", aim: 0.4 },
    { name: "requests", unit: "/s", better: "higher", aim: 1.2 },
  ],
  measure: (subject) =>
    withTarget(subject, "requests", PARTITIONS, oneRecord, 1, async (target, { pid }) => {
      const cpu = new CpuMeter(pid);
      const seconds = await produceLoad(target, REQUESTS_EACH);
      const count = REQUESTS_EACH * PARTITIONS;
      return [cpu.seconds() / (count / 1e6), count / seconds];
    }),
};

const oneRecord = batchOf(1, Compression.NONE);
const latencyMetrics = (suffix: string): Metric[] => [
  { name: `p50 ${suffix}`, unit: "ms", better: "lower", aim: 0.25 },
  { name: `p99 ${suffix}`, unit: "ms", better: "lower", aim: 0.5 },
  { name: `broker CPU per million records ${suffix}`, unit: "s", better: "lower" },
];

const latency: Scenario = {
  name: "latency",
  about: "From sending a 1 KB record to having it through a waiting fetch, one record at a time",
  maxRounds: 5,
  warmUps: 1,
  metrics: latencyMetrics("one in flight"),
  measure: (subject) =>
    withTarget(subject, "latency", 1, oneRecord, 1, async (target, { pid }) => {
      const count = 2000;
      const cpu = new CpuMeter(pid);
      const times = await oneInFlight(target, count);
      return [percentile(times, 0.5), percentile(times, 0.99), cpu.seconds() / (count / 1e6)];
    }),
};

const rate: Scenario = {
  name: "rate",
  about: "The same at 500 records a second, whatever has come of those before",
  maxRounds: 5,
  warmUps: 1,
  metrics: latencyMetrics("at 500/s"),
  measure: (subject) =>
    withTarget(subject, "rate", 1, oneRecord, 1, async (target, { pid }) => {
      const count = 1500, everyMs = 2;
      const cpu = new CpuMeter(pid);
      const times = await atRate(target, count, everyMs);
      return [percentile(times, 0.5), percentile(times, 0.99), cpu.seconds() / (count / 1e6)];
    }),
};

/** A client that people use, through its own perf loop; gives MB/s as that client sees it. */
function realClient(
  name: string,
  about: string,
  run: (port: number, topic: string) => Promise<{ produced: Turn; consumed: Turn } | string>,
): Scenario {
  return {
    name,
    about,
    maxRounds: 3,
    warmUps: 0,
    metrics: [
      { ...cpuPerGigabyte(0.4), name: "broker CPU per GB produced" },
      { ...throughput(), name: "produced" },
      { ...cpuPerGigabyte(0.6), name: "broker CPU per GB consumed" },
      { ...throughput(), name: "consumed" },
    ],
    measure(subject) {
      const { port, pid } = running(subject);
      const topic = `${name}-${subject.serial()}`;
      return withTopic(port, topic, PARTITIONS, async () => {
        const turns = await run(port, topic);
        if (typeof turns === "string") return turns;
        const numbers: number[] = [];
        for (const turn of [turns.produced, turns.consumed]) {
          const cpu = new CpuMeter(pid);
          const { bytes, seconds } = await turn();
          numbers.push(cpu.seconds() / (bytes / GIGABYTE), bytes / MEGABYTE / seconds);
        }
        return numbers;
      });
    },
  };
}
type Turn = () => Promise<{ bytes: number; seconds: number }>;

/** All scenarios, in the order in which they run. */
export function allScenarios(checkout: string): Scenario[] {
  return [
    startUp,
    idle,
    batches("16k", 15, Compression.NONE, 6_000),
    batches("16k-lz4", 30, Compression.LZ4, 6_000),
    batches("256k", 250, Compression.NONE, 400),
    batches("256k-lz4", 500, Compression.LZ4, 400),
    requests,
    latency,
    rate,
    realClient(
      "librdkafka",
      "1 KB records through librdkafka (confluent-kafka for Python)",
      (port, topic) => librdkafka(checkout, port, topic),
    ),
    realClient(
      "java",
      "1 KB records through Kafka's own producer and consumer performance tools",
      (port, topic) => javaClients(checkout, port, topic),
    ),
    loaded,
  ];
}

function running({ broker, kind }: Subject): RunningBroker {
  if (broker === null) throw new Error(`${kind.name} is not running`);
  return broker;
}

function withTarget<T>(
  subject: Subject,
  name: string,
  partitions: number,
  batch: Uint8Array,
  recordsPerBatch: number,
  use: (target: Target, broker: RunningBroker) => Promise<T>,
): Promise<T> {
  const broker = running(subject);
  const topic = `${name}-${subject.serial()}`;
  const target = { port: broker.port, topic, partitions, batch, recordsPerBatch };
  return withTopic(broker.port, topic, partitions, () => use(target, broker));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
