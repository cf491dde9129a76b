/** Transactions back to back and at a rate: what each costs, and when a reader of committed records has it. */
import type { Client } from "../../src/client/client.ts";
import { batchesIn } from "../../src/codec/batch.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { connect, connectMany, must } from "./admin.ts";
import { CONSUMER_LIMITS } from "./frames.ts";
import { metrics } from "./metrics.ts";
import { CpuMeter } from "./process_stats.ts";
import { running, type Scenario, sleep, type Subject } from "./scenario.ts";
import { percentile } from "./statistics.ts";
import { withTopic } from "./topics.ts";
import { TransactionalProducer } from "./transactional_producer.ts";

const FETCH_VERSION = 12, READ_COMMITTED = 1;
/** Not counted: the first transactions of a producer wait for its topic's leader and the coordinator's caches. */
const UNCOUNTED = 20;
const BACK_TO_BACK_MS = 1500;

const cpuPerThousand = metrics.told.lower("broker CPU per 1,000 transactions", "ms");

/** Transactions of so many 1 KB records, each producer beginning one when the one before was answered. */
export function transactions(name: string, recordsEach: number, producers = 1): Scenario {
  const records = recordsEach === 1 ? "1 record" : `${recordsEach} records`;
  const by = producers === 1 ? "back to back" : `by ${producers} producers at a time`;
  return {
    name,
    about: `Transactions of ${records} of 1 KB, ${by}`,
    maxRounds: 5,
    warmUps: 1,
    metrics: [
      cpuPerThousand,
      metrics.told.higher("transactions", "/s"),
      metrics.told.lower("p50 produce to answered end", "ms"),
      metrics.told.lower("p99 produce to answered end", "ms"),
    ],
    measure: (subject) =>
      withProducers(subject, name, recordsEach, producers, async (all) => {
        const times: number[] = [];
        const cpu = new CpuMeter(running(subject).pid);
        const started = performance.now(), end = started + BACK_TO_BACK_MS;
        await Promise.all(all.map(async (producer) => {
          for (let began = performance.now(); began < end;) {
            await producer.transact();
            const now = performance.now();
            times.push(now - began);
            began = now;
          }
        }));
        const seconds = (performance.now() - started) / 1000;
        return [
          cpu.seconds() * 1000 / (times.length / 1000),
          times.length / seconds,
          percentile(times, 0.5),
          percentile(times, 0.99),
        ];
      }),
  };
}

const RATE = 100, RATE_RECORDS = 10, RATE_COUNT = 200;

/** Counts from the moment of the Produce: a transaction that begins late since the one before was slow is not charged. */
export const committedLatency: Scenario = {
  name: "txn-latency",
  about: `From producing ${RATE_RECORDS} records to having them through a waiting fetch of committed ones, ` +
    `${RATE} transactions a second`,
  maxRounds: 5,
  warmUps: 1,
  metrics: [
    cpuPerThousand,
    metrics.told.lower("p50 produced to read", "ms"),
    metrics.told.lower("p99 produced to read", "ms"),
  ],
  measure: (subject) =>
    withProducers(subject, "txn-latency", RATE_RECORDS, 1, async ([producer], topic) => {
      const { pid, port } = running(subject);
      const client = await connect(port);
      try {
        const cpu = new CpuMeter(pid);
        const times = await untilRead(client, topic, producer, UNCOUNTED, RATE_COUNT, 1000 / RATE);
        return [
          cpu.seconds() * 1000 / (RATE_COUNT / 1000),
          percentile(times, 0.5),
          percentile(times, 0.99),
        ];
      } finally {
        await client.close();
      }
    }),
};

/**
 * Of each of `count` transactions, one every `everyMs`: from its Produce to its records at a waiting consumer, in ms.
 * `before` is how many transactions the topic has had; they are read first.
 */
export async function untilRead(
  client: Client,
  topic: string,
  producer: TransactionalProducer,
  before: number,
  count: number,
  everyMs: number,
): Promise<number[]> {
  const produced: number[] = [], times: number[] = [];
  const batches = new CommittedReader(client, topic);
  for (let seen = 0; seen < before; seen += await batches.next());
  const send = async () => {
    const started = performance.now();
    for (let i = 0; i < count; i++) {
      const early = started + i * everyMs - performance.now();
      if (early > 0) await sleep(early);
      produced.push(performance.now());
      await producer.transact();
    }
  };
  const read = async () => {
    while (times.length < count) {
      const came = await batches.next(), now = performance.now();
      for (let i = 0; i < came; i++) times.push(now - produced[times.length]);
    }
  };
  await Promise.all([send(), read()]);
  return times;
}

/** A consumer with isolation level read_committed of partition 0, from its beginning. */
class CommittedReader {
  private offset = 0;

  constructor(private readonly client: Client, private readonly topic: string) {}

  /** How many batches of records one fetch brought; none when it has waited in vain or brought markers alone. */
  async next(): Promise<number> {
    const { errorCode, responses } = await this.client.send(fetch, FETCH_VERSION, {
      maxWaitMs: CONSUMER_LIMITS.maxWaitMs,
      minBytes: CONSUMER_LIMITS.minBytes,
      isolationLevel: READ_COMMITTED,
      topics: [{
        topic: this.topic,
        topicId: ZERO_UUID,
        partitions: [{
          partition: 0,
          fetchOffset: BigInt(this.offset),
          partitionMaxBytes: CONSUMER_LIMITS.partitionMaxBytes,
        }],
      }],
      forgottenTopicsData: [],
    });
    must("Fetch", errorCode);
    let count = 0;
    for (const { partitions: [partition] } of responses) {
      must(`Fetch of ${this.topic}`, partition.errorCode);
      for (const batch of batchesIn(partition.records ?? new Uint8Array())) {
        if (!batch.isControl) count++;
        this.offset = batch.nextOffset;
      }
    }
    return count;
  }
}

/** Lends a new topic and producers that have each made {@link UNCOUNTED} transactions. */
function withProducers<T>(
  subject: Subject,
  name: string,
  recordsEach: number,
  count: number,
  use: (producers: readonly TransactionalProducer[], topic: string) => Promise<T>,
): Promise<T> {
  const { port } = running(subject);
  const topic = `${name}-${subject.serial()}`;
  return withTopic(port, topic, 1, async () => {
    const clients = await connectMany(port, count);
    try {
      const producers = await Promise.all(clients.map(async (client, i) => {
        const producer = await TransactionalProducer.start(client, `${topic}-${i}`, topic, recordsEach);
        for (let n = 0; n < UNCOUNTED; n++) await producer.transact();
        return producer;
      }));
      return await use(producers, topic);
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  });
}
