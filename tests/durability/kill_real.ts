/**
 * Unmodified Kafka clients at work while the broker is ended again and again, with `kill -9` for the most part: idempotent
 * producers and plain ones, and groups that read and commit. All that they saw goes into a history file, and the
 * checker's word on it is the result. `deno task durability:kill` runs it for as long as one likes.
 */
import { join } from "node:path";
import { Prng } from "../../src/base/prng.ts";
import type { Client as RawClient } from "../../src/client/client.ts";
import type { Adapters, Client } from "../clients/adapter.ts";
import type { Broker } from "../clients/broker.ts";
import { Load, type Worker } from "../clients/real_load.ts";
import { Checker, type Counts, type Violation } from "./checker.ts";
import { HistoryFile, readHistory } from "./history.ts";
import { accepted, committedBy, connect, createTopic, EARLIEST, LATEST, offsetFor } from "./requests.ts";
import { ErrorCode } from "../../src/codec/errors.ts";

const TOPIC = "kills";
const PARTITIONS = [0, 1, 2];
/** Small segments and dense indexes, so that there is much to roll and to rebuild. */
const CONFIGS = { "internal.segment.bytes": "200000", "index.interval.bytes": "500" };
/** In this time after a start every client has to get on. */
const RESUME_MS = 45_000;
const FLUSH_MS = 60_000;

export interface KillOptions {
  readonly adapters: Adapters;
  readonly broker: Broker;
  readonly librdkafka: Client;
  /** Kafka's own client; left out where there is none. */
  readonly java: Client | null;
  readonly seed: number;
  /** How long the broker is ended again and again. */
  readonly seconds: number;
  /** Where the history goes. */
  readonly logDir: string;
  readonly say: (line: string) => void;
}

export interface KillResult {
  readonly violations: Violation[];
  readonly counts: Counts;
  readonly kills: number;
  readonly stops: number;
  /** For each client, how long it took to get on after each start, the longest first, in ms. */
  readonly resumedMs: Map<string, number[]>;
  readonly history: string;
}

/** Runs one course. Throws when a client or the broker ends by itself, or a client does not get on after a start. */
export async function runKills(options: KillOptions): Promise<KillResult> {
  const history = join(options.logDir, "kill-history.jsonl");
  let done: Omit<KillResult, "violations" | "counts" | "history">;
  {
    using file = new HistoryFile(history);
    done = await new KillCourse(options, file).run();
  }
  const checker = new Checker();
  for await (const event of readHistory(history)) checker.take(event);
  return { ...done, history, violations: checker.finish(), counts: checker.counts };
}

class KillCourse {
  private readonly random: Prng;
  private readonly load: Load;
  private readonly groups: string[] = [];
  private readonly resumedMs = new Map<string, number[]>();
  private readonly ended = { SIGKILL: 0, SIGTERM: 0 };

  constructor(private readonly o: KillOptions, private readonly history: HistoryFile) {
    this.random = new Prng(o.seed);
    this.load = new Load(o.adapters, TOPIC, PARTITIONS.length, (event) => history.add(event));
  }

  async run(): Promise<Omit<KillResult, "violations" | "counts" | "history">> {
    await this.withClient((client) => createTopic(client, TOPIC, PARTITIONS.length, CONFIGS));
    this.begin();
    await this.resumed();
    const endsAt = performance.now() + this.o.seconds * 1000;
    while (performance.now() < endsAt) {
      // Where the end falls is up to the seed and the machine; nothing is inferred from this time.
      await pause(this.random.between(200, 4000));
      await this.restart(this.random.chance(0.75) ? "SIGKILL" : "SIGTERM");
      await this.resumed();
    }
    await this.finish();
    return { kills: this.ended.SIGKILL, stops: this.ended.SIGTERM, resumedMs: this.resumedMs };
  }

  private begin(): void {
    const { load, o: { librdkafka, java } } = this;
    const common = { rate: 700, acks: "all" as const };
    const seed = () => this.random.nextU32() >>> 1;
    load.pump(librdkafka, { ...common, producer: "once", idempotent: true, codec: "lz4", seed: seed() });
    load.pump(librdkafka, { ...common, producer: "all", idempotent: false, codec: "zstd", seed: seed() });
    load.pump(librdkafka, {
      ...{ ...common, acks: "1", producer: "one", idempotent: false, codec: "none", seed: seed() },
      inFlight: 1,
    });
    this.join(librdkafka, "readers", 2);
    if (java === null) return;
    load.pump(java, { ...common, producer: "java-once", idempotent: true, codec: "snappy", seed: seed() });
    this.join(java, "java-readers", 1);
  }

  private join(client: Client, group: string, members: number): void {
    this.groups.push(group);
    for (let i = 0; i < members; i++) this.load.member(client, group, `${group}-${i}`);
  }

  private async restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { broker, say } = this.o;
    this.history.add({ type: "broker", did: signal });
    await broker.stop(signal);
    this.ended[signal]++;
    if (this.random.chance(0.5)) await pause(this.random.between(0, 1500));
    const startedAt = performance.now();
    await broker.start();
    say(`${signal}, started again in ${Math.round(performance.now() - startedAt)} ms`);
    this.history.add({ type: "broker", did: "start" });
    await this.askCommitted();
  }

  /** Every client gets on, and how long each took is noted. */
  private async resumed(): Promise<void> {
    const { load } = this;
    const from = performance.now();
    const waiting = new Map<Worker, number>(
      [...load.pumps, ...load.members].map((worker) => [worker, worker.steps]),
    );
    const what = () => `${[...waiting.keys()].map(({ name }) => name).join(", ")} to get on after a start`;
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
  private async finish(): Promise<void> {
    const { load, history, o: { adapters, librdkafka } } = this;
    await load.end(load.pumps, FLUSH_MS);
    const ends = await this.withClient((client) => bounds(client));
    await this.caughtUp(ends);
    await load.end(load.members, FLUSH_MS);
    await this.askCommitted();
    const count = [...ends.values()].reduce((sum, { start, end }) => sum + end - start, 0);
    const lines = await adapters.run(librdkafka, "consume", { topic: TOPIC, count, from: "beginning" });
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
  private askCommitted(): Promise<Map<string, Map<number, number>>> {
    return this.withClient(async (client) => {
      const all = new Map<string, Map<number, number>>();
      for (const group of this.groups) {
        this.history.add({ type: "asking", group });
        let found = new Map<number, number>();
        await accepted(`OffsetFetch of ${group}`, async () => {
          try {
            found = await committedBy(client, group, TOPIC, PARTITIONS);
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

  private async withClient<T>(use: (client: RawClient) => Promise<T>): Promise<T> {
    const client = await connect(Number(this.o.broker.bootstrap.split(":")[1]), "kill-course");
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  }
}

/** Where each partition starts and ends. */
async function bounds(client: RawClient): Promise<Map<number, { start: number; end: number }>> {
  const all = new Map<number, { start: number; end: number }>();
  for (const partition of PARTITIONS) {
    const start = await offsetFor(client, TOPIC, partition, EARLIEST);
    all.set(partition, { start, end: await offsetFor(client, TOPIC, partition, LATEST) });
  }
  return all;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
