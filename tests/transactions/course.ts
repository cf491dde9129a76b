/**
 * A course: real clients append, read and transform in transactions while the broker and they themselves are killed and
 * stopped, and after it the checker's word on the history of all that they did and saw.
 */
import { join } from "node:path";

import { Prng } from "../../src/base/prng.ts";
import type { Running } from "../clients/adapter.ts";
import type { OwnCourse } from "../clients/own_course.ts";
import { createTopic } from "../durability/requests.ts";
import { HistoryFile, readHistory } from "../durability/history.ts";
import { check, takenForCommitted, type Verdict } from "./checker.ts";
import type { LogEvent, TransactionEvent } from "./history.ts";
import { boundsOf, lastCommitted, readLog } from "./log_reader.ts";
import { act, type Deed, deeds, deedsOf } from "./nemesis.ts";
import {
  APPENDED,
  GROUP_OF_READERS,
  type Library,
  outputOf,
  slotsOf,
  TRANSACTION_TIMEOUT_MS,
  watcher,
} from "./slots.ts";
import { Workers } from "./workers.ts";

/** Of the broker: transactions that are over are looked for twice a second, and there are few internal partitions. */
export const SETTINGS = {
  "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
  "transaction.state.log.num.partitions": "5",
  "offsets.topic.num.partitions": "5",
};
/** Small segments, so that transactions reach from one into the next. */
const TOPIC_SETTINGS = { "internal.segment.bytes": "100000" };

/** In this time everybody gets on: a restart, a transaction's timeout, a session and librdkafka's patience. */
const RESUME_MS = 90_000;
/** After all clients are gone, what they left open is over in this time. */
const STABLE_MS = TRANSACTION_TIMEOUT_MS + 20_000;
const END_MS = 60_000;

export interface CourseOptions {
  readonly libraries: readonly Library[];
  readonly seconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export interface CourseResult extends Verdict {
  /** What the checker says where the reader of uncommitted records is taken for one of committed records. */
  readonly dirty: Verdict;
  readonly did: ReadonlyMap<Deed, number>;
  readonly history: string;
}

/**
 * Throws when a client or the broker ends by itself, or a client does not get on: with what the checker finds up to there,
 * as that may be why.
 */
export async function runCourse(course: OwnCourse, options: CourseOptions): Promise<CourseResult> {
  const path = join(course.logDir, "history.jsonl");
  const did = new Map<Deed, number>();
  let fault: Error | null = null;
  {
    using file = new HistoryFile<TransactionEvent>(path);
    const running = new Course(course, options, (event) => file.add(event));
    try {
      await running.begin();
      await running.disturb(did);
      await running.finish();
    } catch (error) {
      fault = error as Error;
      await running.giveUp().catch((failure) => {
        throw new Error(`${fault!.message}\nthe logs cannot be read either: ${failure.message}`);
      });
    }
  }
  const verdict = await checkHistory(path);
  if (fault === null) return { ...verdict, did, history: path };
  // What clients left open when they were killed here, and offsets that were not looked at again, are nobody's fault.
  const found = verdict.violations.filter(({ rule }) => rule !== "stuck" && rule !== "offsets");
  throw new Error([fault.message, ...found.map(({ rule, text }) => `${rule}: ${text}`)].join("\n"));
}

/** The checker's word on a history file, and what it says where uncommitted records are taken for committed ones. */
export async function checkHistory(path: string): Promise<{ dirty: Verdict } & Verdict> {
  const events: TransactionEvent[] = [];
  for await (const event of readHistory<TransactionEvent>(path)) events.push(event);
  return { ...check(events), dirty: check(takenForCommitted(events)) };
}

class Course {
  private readonly random: Prng;
  private readonly workers: Workers;
  private readonly groups: string[];
  private watching: Running | null = null;

  constructor(
    private readonly course: OwnCourse,
    private readonly options: CourseOptions,
    private readonly record: (event: TransactionEvent) => void,
  ) {
    this.random = new Prng(options.seed);
    this.workers = new Workers(course, options.seed, record);
    this.groups = [GROUP_OF_READERS, ...options.libraries.map((library) => outputOf(library).group)];
  }

  /** Makes the topics, starts all clients and waits until each has got on. */
  async begin(): Promise<void> {
    await this.course.withClient(async (client) => {
      for (const { topic, partitions } of this.topics()) {
        await createTopic(client, topic, partitions, TOPIC_SETTINGS);
      }
    });
    for (const slot of slotsOf(this.options.libraries)) this.workers.start(slot);
    this.watching = this.workers.watch(watcher(this.course.broker.bootstrap, this.groups));
    await this.resumed();
  }

  /** Does to the broker and the clients what the seed says, for as long as it was asked for. */
  async disturb(did: Map<Deed, number>): Promise<void> {
    const { random, workers, course: { broker }, options: { say, seconds } } = this;
    const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
    const note = (text: string) => {
      say(text);
      this.record({ f: "nemesis", did: text });
    };
    const endsAt = performance.now() + seconds * 1000;
    for (const deed of deedsOf(random)) {
      await pause(random.between(200, 3000));
      await act(deed, { broker, workers, random, note, pause });
      did.set(deed, (did.get(deed) ?? 0) + 1);
      // What comes next may come while they still have to do with this.
      if (random.chance(0.4)) await this.resumed();
      const fault = broker.fault();
      if (fault !== null) throw new Error(fault);
      // A short course has to do everything once all the same.
      if (performance.now() > endsAt && did.size === deeds.length) break;
    }
    await this.resumed();
  }

  /** Everybody gets on: a transaction is committed, or something is read, in each slot. */
  private async resumed(): Promise<void> {
    const { workers } = this;
    const from = performance.now();
    const before = new Map(workers.working().map(({ slot }) => [slot, workers.steps.get(slot) ?? 0]));
    const waiting = () => [...before].filter(([slot, steps]) => (workers.steps.get(slot) ?? 0) === steps);
    const what = () => `${waiting().map(([{ name }]) => name).join(", ")} to get on`;
    await workers.until(what, RESUME_MS, () => waiting().length === 0);
    this.options.say(`everybody got on in ${Math.round(performance.now() - from)} ms`);
  }

  /** Lets all come to its end, each after those on which it depends, and notes down what is in the logs. */
  async finish(): Promise<void> {
    const { workers } = this;
    await workers.end(workers.working("writer"), END_MS);
    await this.stable([APPENDED]);
    const input = await this.logs([APPENDED]);
    const ends = new Map(input.map((log) => [log.place, lastCommitted(log) + 1]));
    await this.reached(ends);
    await workers.end(workers.working("transformer"), END_MS);
    const outputs = this.topics().filter(({ topic }) => topic !== APPENDED.topic);
    await this.stable(outputs);
    const logs = [...input, ...await this.logs(outputs)];
    await this.read(logs);
    await this.lookedAgain();
    this.watching!.closeStdin();
    const readers = workers.working("reader");
    await workers.end(readers, END_MS);
    for (const { process, slot } of readers) {
      if (slot.group === undefined) this.record({ f: "ended", process });
    }
    for (const log of logs) this.record(log);
  }

  /** Ends all clients as they are, and notes down what is in the logs. */
  async giveUp(): Promise<void> {
    await this.course.killAll();
    for (const log of await this.logs(this.topics())) this.record(log);
  }

  private topics() {
    return [APPENDED, ...this.options.libraries.map(outputOf)];
  }

  /** Waits until nothing is open any more. What stays so is for the checker to tell. */
  private async stable(topics: readonly { topic: string; partitions: number }[]): Promise<void> {
    await this.course.withClient(async (client) => {
      const deadline = performance.now() + STABLE_MS;
      for (const { topic, partitions } of topics) {
        for (let partition = 0; partition < partitions;) {
          const { stable, end } = await boundsOf(client, topic, partition);
          if (stable === end || performance.now() > deadline) partition++;
          else await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    });
  }

  private logs(topics: readonly { topic: string; partitions: number }[]): Promise<LogEvent[]> {
    return this.course.withClient(async (client) => {
      const logs: LogEvent[] = [];
      for (const { topic, partitions } of topics) {
        for (let partition = 0; partition < partitions; partition++) {
          logs.push(await readLog(client, topic, partition));
        }
      }
      return logs;
    });
  }

  /** All groups have committed what is to be read. */
  private async reached(ends: ReadonlyMap<string, number>): Promise<void> {
    const behind = () =>
      this.groups.flatMap((group) =>
        [...ends].flatMap(([place, end]) => {
          const offset = this.workers.offsets.get(group)?.of.get(place) ?? 0;
          return offset < end ? [`${group} at ${offset} of ${end} in ${place}`] : [];
        })
      );
    await this.workers.until(() => `all to be read; ${behind()}`, RESUME_MS, () => behind().length === 0);
  }

  /** Those that read everything were given what is there; the checker tells what they were not given in this time. */
  private async read(logs: readonly LogEvent[]): Promise<void> {
    const { workers } = this;
    const readers = workers.working("reader").filter(({ slot }) => slot.group === undefined);
    const isDone = () =>
      readers.every(({ process }) =>
        logs.every((log) => (workers.given.get(process)?.get(log.place) ?? 0) > lastCommitted(log))
      );
    const deadline = performance.now() + STABLE_MS;
    await workers.until(() => "readers", 2 * STABLE_MS, () => isDone() || performance.now() > deadline);
  }

  /** The offsets of all groups are asked for once more, after all else. */
  private async lookedAgain(): Promise<void> {
    const { offsets } = this.workers;
    const last = Math.max(...[...offsets.values()].map(({ at }) => at));
    const isSeen = () => this.groups.every((group) => (offsets.get(group)?.began ?? 0) > last);
    await this.workers.until(() => "another look at the groups' offsets", RESUME_MS, isSeen);
  }
}

/** What a course comes to, in words. */
export function describe({ violations, counts, dirty, history }: Omit<CourseResult, "did">): string[] {
  const { committed, aborted, unknown, records, polls, read, readFrom, observed } = counts;
  return [
    ...violations.map(({ rule, text }) => `${rule}: ${text}`),
    `a reader of uncommitted records, taken for another: ${
      [...new Set(dirty.violations.map(({ rule }) => rule))].join(", ") || "nothing"
    }`,
    `history in ${history}`,
    `${committed} transactions committed, ${aborted} aborted, ${unknown} of them unknown to their clients; ` +
    `${records} records, ${read} times read in ${polls} polls, ${readFrom} in transactions; ` +
    `offsets looked at ${observed} times; ${counts.fenced} clients fenced; ` +
    `${counts.inWriteCycles} transactions in circles of writes; ${violations.length} violations`,
  ];
}
