/**
 * A course: real clients at work while something is done to the broker, and after it the checker's word on the history
 * of all that they saw. What is done is the caller's; here are the load, its beginning and its orderly end.
 */
import { join } from "node:path";
import { Prng } from "../../src/base/prng.ts";
import type { Client as RawClient } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { Checker, type Counts, type Violation } from "../durability/checker.ts";
import { HistoryFile, readHistory } from "../durability/history.ts";
import {
  accepted,
  committedBy,
  connect,
  createTopic,
  EARLIEST,
  LATEST,
  offsetFor,
} from "../durability/requests.ts";
import type { Adapters, Client } from "./adapter.ts";
import type { Broker } from "./broker.ts";
import { Load, type Worker } from "./real_load.ts";

const PARTITIONS = [0, 1, 2];
/**
 * In this time after a start every client has to get on. librdkafka waits up to 10 s between attempts to connect
 * (`reconnect.backoff.max.ms`), and longer the shorter ago the last connection was made: a client that is late by that
 * much after a kill is so with Kafka, too.
 */
const RESUME_MS = 45_000;
const FLUSH_MS = 60_000;

export interface CourseOptions {
  readonly adapters: Adapters;
  readonly broker: Broker;
  readonly librdkafka: Client;
  /** Kafka's own client; left out where there is none. */
  readonly java: Client | null;
  readonly seed: number;
  /** Where the history goes. */
  readonly logDir: string;
  readonly say: (line: string) => void;
  /** Records per second of each producer. */
  readonly rate?: number;
  /** Settings of the topic. */
  readonly configs?: Record<string, string>;
  /**
   * Whether batches are refused that the client may send again. librdkafka without idempotence loses the order then, even
   * with one request on the way: the next one was made up before.
   */
  readonly refusesBatches?: boolean;
}

export interface CourseResult {
  readonly violations: Violation[];
  readonly counts: Counts;
  /** For each client, how long it took to get on after each interruption, the longest first, in ms. */
  readonly resumedMs: Map<string, number[]>;
  readonly history: string;
}

/**
 * Sets the load going, lets `interrupt` do what it likes with the broker, and ends in order. Throws when a client or the
 * broker ends by itself, or a client does not get on.
 */
export async function runCourse(
  options: CourseOptions,
  interrupt: (course: Course) => Promise<void>,
): Promise<CourseResult> {
  const path = join(options.logDir, "history.jsonl");
  let resumedMs: Map<string, number[]>;
  {
    using file = new HistoryFile(path);
    const course = new Course(options, file);
    await course.begin();
    await interrupt(course);
    await course.finish();
    resumedMs = course.resumedMs;
  }
  const checker = new Checker();
  for await (const event of readHistory(path)) checker.take(event);
  return { resumedMs, history: path, violations: checker.finish(), counts: checker.counts };
}

export class Course {
  readonly topic = "course";
  readonly random: Prng;
  readonly load: Load;
  readonly resumedMs = new Map<string, number[]>();
  private readonly groups: string[] = [];

  constructor(private readonly o: CourseOptions, private readonly history: HistoryFile) {
    this.random = new Prng(o.seed);
    this.load = new Load(o.adapters, this.topic, PARTITIONS.length, (event) => history.add(event));
  }

  /** Makes the topic, starts all clients and waits until each has got on. */
  async begin(): Promise<void> {
    await this.withClient((client) => createTopic(client, this.topic, PARTITIONS.length, this.o.configs));
    const { load, o: { librdkafka, java, rate = 700, refusesBatches = false } } = this;
    const common = { rate, acks: "all" as const };
    const seed = () => this.random.nextU32() >>> 1;
    load.pump(librdkafka, { ...common, producer: "once", idempotent: true, codec: "lz4", seed: seed() });
    load.pump(librdkafka, { ...common, producer: "all", idempotent: false, codec: "zstd", seed: seed() });
    load.pump(librdkafka, {
      ...{ ...common, acks: "1", producer: "one", idempotent: false, codec: "none", seed: seed() },
      ...(refusesBatches ? {} : { inFlight: 1 }),
    });
    this.join(librdkafka, "readers", 2);
    if (java !== null) {
      load.pump(java, { ...common, producer: "java-once", idempotent: true, codec: "snappy", seed: seed() });
      this.join(java, "java-readers", 1);
    }
    await this.resumed();
  }

  private join(client: Client, group: string, members: number): void {
    this.groups.push(group);
    for (let i = 0; i < members; i++) this.load.member(client, group, `${group}-${i}`);
  }

  /** Puts down in the history what was done to the broker. */
  note(did: string): void {
    this.history.add({ type: "broker", did });
  }

  /** Every client gets on, and how long each took is noted. */
  async resumed(): Promise<void> {
    const { load } = this;
    const from = performance.now();
    const waiting = new Map<Worker, number>(
      [...load.pumps, ...load.members].map((worker) => [worker, worker.steps]),
    );
    const what = () => `${[...waiting.keys()].map(({ name }) => name).join(", ")} to get on`;
    await load.until(what, RESUME_MS, () => {
      for (const [worker, steps] of waiting) {
        if (worker.steps === steps) continue;
        waiting.delete(worker);
        if (!this.resumedMs.has(worker.name)) this.resumedMs.set(worker.name, []);
        this.resumedMs.get(worker.name)!.push(Math.round(performance.now() - from));
      }
      return waiting.size === 0;
    });
  }

  /** Lets the load come to its end and notes down all that is there. */
  async finish(): Promise<void> {
    const { load, history, o: { adapters, librdkafka } } = this;
    await load.end(load.pumps, FLUSH_MS);
    const ends = await this.bounds();
    await this.caughtUp(ends);
    await load.end(load.members, FLUSH_MS);
    await this.askCommitted();
    const count = [...ends.values()].reduce((sum, { start, end }) => sum + end - start, 0);
    const lines = await adapters.run(librdkafka, "consume", { topic: this.topic, count, from: "beginning" });
    for (const [partition, { start, end }] of ends) {
      const records = lines.filter((line) => line.partition === partition);
      history.add({
        ...{ type: "log", partition, start, end },
        offsets: records.map(({ offset }) => offset),
        records: records.map(({ value }) => value.slice(0, value.lastIndexOf(" "))),
      });
    }
    for (const times of this.resumedMs.values()) times.sort((a, b) => b - a);
  }

  /** Where each partition starts and ends. */
  bounds(): Promise<Map<number, { start: number; end: number }>> {
    return this.withClient(async (client) => {
      const all = new Map<number, { start: number; end: number }>();
      for (const partition of PARTITIONS) {
        const start = await offsetFor(client, this.topic, partition, EARLIEST);
        all.set(partition, { start, end: await offsetFor(client, this.topic, partition, LATEST) });
      }
      return all;
    });
  }

  /** Waits until every group has committed the end of every partition: nothing was kept from it. */
  private async caughtUp(ends: ReadonlyMap<number, { end: number }>): Promise<void> {
    for (const deadline = performance.now() + RESUME_MS;;) {
      const found = await this.askCommitted();
      const behind = [...found].filter(([, offsets]) =>
        PARTITIONS.some((partition) => offsets.get(partition)! < ends.get(partition)!.end)
      );
      if (behind.length === 0) return;
      if (performance.now() > deadline) {
        const told = behind.map(([group, offsets]) => `${group} at ${[...offsets.values()]}`).join(" and ");
        throw new Error(
          `${told} did not come to the end, ${[...ends.values()].map(({ end }) => end)}, in ${RESUME_MS} ms`,
        );
      }
      await pause(100);
    }
  }

  /** The committed offsets of all groups, which also go into the history. */
  askCommitted(): Promise<Map<string, Map<number, number>>> {
    return this.withClient(async (client) => {
      const all = new Map<string, Map<number, number>>();
      for (const group of this.groups) {
        this.history.add({ type: "asking", group });
        let found = new Map<number, number>();
        await accepted(`OffsetFetch of ${group}`, async () => {
          try {
            found = await committedBy(client, group, this.topic, PARTITIONS);
            return ErrorCode.NONE;
          } catch (error) {
            const { errorCode } = error as { errorCode?: number };
            if (errorCode === undefined) throw error;
            return errorCode;
          }
        });
        for (const [partition, offset] of found) {
          // A group that has committed nothing yet has nothing that could go back.
          this.history.add({ type: "committed", group, partition, offset: Math.max(0, offset) });
        }
        all.set(group, found);
      }
      return all;
    });
  }

  /** Gives `use` a connection of its own. */
  async withClient<T>(use: (client: RawClient) => Promise<T>): Promise<T> {
    const client = await connect(Number(this.o.broker.bootstrap.split(":")[1]), "course");
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }
}

/** Lets time pass in which something is done to the broker; nothing is to be inferred from its length. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
