/**
 * Kafka Streams under at_least_once and under exactly_once_v2: an application with state is killed, the broker under it is
 * killed and stopped, its state is thrown away and comes back from the changelogs, all while it is fed. What it made in
 * the end is compared with what it was fed (judge.ts). Its changelogs have been compacted by then, and what it was through
 * with in its repartition topics was deleted: both by the broker, as it asked.
 */

import { join } from "node:path";

import { Prng } from "../../../src/base/prng.ts";
import type { Client as RawClient } from "../../../src/client/client.ts";
import {
  accepted,
  committedBy,
  EARLIEST,
  fetchFrom,
  LATEST,
  offsetFor,
  partitionCounts,
  topicSetting,
} from "../../durability/requests.ts";
import type { Line, Running } from "../adapter.ts";
import { installProgram, programCommand } from "../java/install.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";
import { unsettled } from "../transactions/read.ts";
import { Changes } from "../waiting.ts";
import {
  countsFault,
  joinedForeign,
  joinedTables,
  lastValues,
  lessFault,
  onceFault,
  type Record as Read,
  setFault,
  tableFault,
  windowedCounts,
  windowedPairs,
  wordCounts,
} from "./judge.ts";

/** What an application asks of its results, and the name by which its steps are selected and reported. */
export interface Guarantee {
  readonly course: string;
  readonly name: "at_least_once" | "exactly_once_v2";
}

export const guarantees: readonly Guarantee[] = [
  { course: "streams", name: "at_least_once" },
  { course: "streams-exactly-once", name: "exactly_once_v2" },
];

/** The folder of the application, and where it is installed. */
const program = "streams";
const application = "streams-course";
const joinWindowMs = 1000;
const countWindowMs = 10_000;
const seed = Number(Deno.env.get("STREAMS_SEED") ?? 5);
/** How often one of two instances is killed at random. */
const kills = 3;
/** The application gets on when it has taken this many more lines. */
const progressLines = 300;
const partitions = [0, 1, 2];
const inputs = ["lines", "left", "right", "orders", "prices", "customers"];
const results = [
  "counts-once",
  "counts-windowed",
  "counts-plain",
  "joined-streams",
  "joined-tables",
  "joined-foreign",
];
const sources = ["StreamsApp.java", "Feed.java", "Read.java", "Lines.java"];
/** Looks twice a second, and not every 15 or 10 s, for segments to compact and for transactions past their time. */
const settings = {
  "log.cleaner.backoff.ms": "500",
  "log.retention.check.interval.ms": "1000",
  "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
};

/** Runs the course. Never throws: failures go to the report. */
export async function runStreams(guarantee: Guarantee, logDir: string, report: Report): Promise<void> {
  const { course: name } = guarantee;
  try {
    await installProgram(program, sources);
  } catch (error) {
    report.failed(name, "install", (error as Error).message);
    return;
  }
  await runOwnCourse(name, logDir, report, settings, (course) => new StreamsCourse(course, guarantee).run());
}

/** One instance of the application, and what it says of itself. */
class Instance {
  readonly running: Running;
  /** Lines that it has taken. */
  taken = 0;
  /** Records of changelogs that its stores were made from when it started. */
  restored = 0;
  state = "none";

  constructor(
    course: OwnCourse,
    guarantee: Guarantee,
    readonly stateDir: string,
    private readonly changes: Changes,
  ) {
    const command = [
      ...programCommand(program, "StreamsApp"),
      ...["--bootstrap", course.broker.bootstrap, "--application", application, "--state-dir", stateDir],
      ...["--guarantee", guarantee.name],
      ...["--join-window-ms", String(joinWindowMs), "--count-window-ms", String(countWindowMs)],
    ];
    this.running = course.start(command, (line) => this.take(line));
  }

  private take(line: Line): void {
    if (line.event === "progress") this.taken = Number(line.lines);
    if (line.event === "restored") this.restored += Number(line.records);
    if (line.event === "state") this.state = line.to;
    this.changes.notify();
  }
}

class StreamsCourse {
  readonly changes = new Changes();
  app!: Instance;
  feed!: Running;

  constructor(private readonly course: OwnCourse, private readonly guarantee: Guarantee) {}

  async run(): Promise<void> {
    const { course } = this;
    const stateDir = join(course.dir, "state");
    await course.step("start", async () => {
      this.startFeed();
      await course.until(
        this.changes,
        () => this.feed.lines.length > 0,
        [this.feed],
        () => "the topics to be made",
      );
      this.app = this.instance(stateDir);
      await this.getsOn();
    });
    await course.step("killed, goes on from its state", async () => {
      await course.kill(this.app.running);
      this.app = this.instance(stateDir);
      await this.getsOn();
    });
    await course.step("broker killed", async () => {
      await course.broker.stop("SIGKILL");
      await course.broker.start();
      await this.getsOn();
    });
    await course.step("changelogs are compacted", () => this.changelogsCompacted());
    await course.step("killed, state comes from the changelogs", async () => {
      await course.kill(this.app.running);
      await Deno.remove(stateDir, { recursive: true });
      this.app = this.instance(stateDir);
      await this.getsOn();
      if (this.app.restored === 0) throw new Error("nothing was restored, though the state was gone");
    });
    await course.step("broker restarted", async () => {
      await course.broker.stop("SIGTERM");
      await course.broker.start();
      await this.getsOn();
    });
    await course.step("killed, another instance takes over", async () => {
      const other = this.instance(join(course.dir, "other-state"));
      await course.until(
        this.changes,
        () => other.state === "RUNNING",
        [other.running],
        () => `the other instance to run; it is ${other.state}`,
      );
      await course.kill(this.app.running);
      this.app = other;
      await this.getsOn();
    });
    if (this.exactly) await course.step("two instances, killed at random", () => this.killAtRandom());
    let read: Map<string, Read[]>;
    await course.step("ends in order", async () => {
      await course.end(this.feed, "stdin", 0);
      await this.drained();
      await course.end(this.app.running, "stdin", 0);
      await this.settled();
      read = await this.readAll();
    });
    const of = (topic: string) => read.get(topic) ?? [];
    const table = (topic: string) => lastValues(of(topic));
    await course.step(
      "word count is exact",
      () => holds(tableFault(wordCounts(of("lines")), table("counts-once"))),
    );
    await course.step(
      "windowed word count is exact",
      () => holds(tableFault(windowedCounts(of("lines"), countWindowMs), table("counts-windowed"))),
    );
    if (this.exactly) {
      await course.step(
        "plain count is exact, each number of it there once",
        () => holds(countsFault(wordCounts(of("lines")), of("counts-plain"))),
      );
    } else {
      await course.step(
        "plain count lost nothing",
        () => holds(lessFault(wordCounts(of("lines")), table("counts-plain"))),
      );
    }
    await course.step("windowed join is exact", () => {
      const found = of("joined-streams").map(({ value }) => value!);
      const wanted = windowedPairs(of("left"), of("right"), joinWindowMs);
      return holds(setFault(wanted, new Set(found)) ?? (this.exactly ? onceFault(found) : null));
    });
    await course.step(
      "table join is exact",
      () => holds(tableFault(joinedTables(table("orders"), table("prices")), table("joined-tables"))),
    );
    await course.step(
      "foreign-key join is exact",
      () => holds(tableFault(joinedForeign(table("orders"), table("customers")), table("joined-foreign"))),
    );
    await course.step("repartition topics are purged", () => this.repartitionsPurged());
  }

  private startFeed(): void {
    const { bootstrap } = this.course.broker;
    const flags = ["--bootstrap", bootstrap, "--seed", String(seed)];
    this.feed = this.course.start(
      [...programCommand(program, "Feed"), ...flags],
      () => this.changes.notify(),
    );
  }

  private instance(stateDir: string): Instance {
    return new Instance(this.course, this.guarantee, stateDir, this.changes);
  }

  private get exactly(): boolean {
    return this.guarantee.name === "exactly_once_v2";
  }

  /** Two instances share the work; whichever chance takes is killed and comes again. */
  private async killAtRandom(): Promise<void> {
    const random = new Prng(seed);
    const both = [this.app, this.instance(join(this.course.dir, "third-state"))];
    const run = () => {
      const alive = both.map(({ running }) => running);
      const what = () => `both instances to run; they are ${both.map(({ state }) => state)}`;
      return this.course.until(
        this.changes,
        () => both.every(({ state }) => state === "RUNNING"),
        [...alive, this.feed],
        what,
      );
    };
    await run();
    for (let kill = 0; kill < kills; kill++) {
      const victim = random.int(both.length);
      await this.course.kill(both[victim].running);
      both[victim] = this.instance(both[victim].stateDir);
      // Some are killed while they come to themselves: nothing says that they run.
      if (random.int(2) === 0) await run();
    }
    await run();
    const [first, second] = both;
    await this.course.end(second.running, "stdin", 0);
    this.app = first;
    await this.getsOn();
  }

  /** Waits until the application runs and has taken so many lines more. */
  private async getsOn(): Promise<void> {
    const { app } = this;
    const from = app.taken;
    const what = () =>
      `the application to get on from ${from} lines; it is ${app.state} and took ${app.taken}`;
    const isOn = () => app.state === "RUNNING" && app.taken >= from + progressLines;
    await this.course.until(this.changes, isOn, [app.running, this.feed], what);
  }

  /** Waits until the application has committed the end of all that it reads, from the inputs on. */
  private async drained(): Promise<void> {
    await this.course.look(
      () => "the application to commit the end of its topics",
      () =>
        this.course.withClient(async (client) => {
          const own = [...(await partitionCounts(client)).keys()].filter(isRepartition);
          let moved = false;
          // Offsets are committed after all that was made of them is in the log: who is at the end of everything, in one
          // look and again in the next, has nothing left to do.
          for (let look = 0; look < 2; look++) {
            for (const topic of [...inputs, ...own]) moved ||= await lag(client, topic) > 0;
          }
          return moved ? null : true;
        }),
    );
  }

  /** Waits until each transaction's end is in all the topics: it is told before. */
  private async settled(): Promise<void> {
    let open = 0;
    await this.course.look(
      () => `${open} records to be committed or aborted`,
      () =>
        this.course.withClient(async (client) => {
          open = 0;
          for (const topic of results) open += await unsettled(client, topic, partitions);
          return open === 0 ? true : null;
        }),
    );
  }

  /** All committed records of inputs and results by topic, of each partition in order. */
  private async readAll(): Promise<Map<string, Read[]>> {
    const topics = [...inputs, ...results].join(",");
    const flags = ["--bootstrap", this.course.broker.bootstrap, "--topics", topics];
    const isolation = ["--isolation", "read_committed"];
    const lines = await this.course.run([...programCommand(program, "Read"), ...flags, ...isolation]);
    const records = lines.map(({ topic, partition, offset, timestamp, key, value }): Read => ({
      ...{ topic, key, value, partition: Number(partition) },
      ...{ offset: Number(offset), timestamp: Number(timestamp) },
    }));
    const read = Map.groupBy(records, ({ topic }) => topic);
    for (const { event, topic, records } of this.feed.lines) {
      if (event !== "fed") continue;
      const found = read.get(topic)?.length ?? 0;
      if (found !== Number(records)) throw new Error(`${topic} has ${found} of ${records} that were sent`);
    }
    return read;
  }

  /** Waits until in each changelog that asks for compaction records are gone from between others. */
  private async changelogsCompacted(): Promise<void> {
    let left: string[] = [];
    await this.course.look(
      () => `${left.join(", ")} to be compacted`,
      () =>
        this.course.withClient(async (client) => {
          const changelogs = [...(await partitionCounts(client)).keys()].filter((topic) =>
            topic.startsWith(`${application}-`) && topic.endsWith("-changelog")
          );
          if (changelogs.length < 8) throw new Error(`there are only ${changelogs}`);
          left = [];
          for (const topic of changelogs) {
            const policy = await topicSetting(client, topic, "cleanup.policy");
            const wanted = policyOf(topic);
            if (policy !== wanted) throw new Error(`${topic} is to ${policy}, not to ${wanted}`);
            if (policy !== "delete" && !await isCompacted(client, topic)) left.push(topic);
          }
          return left.length === 0 ? true : null;
        }),
    );
  }

  /** The application has the broker delete what it is through with: no partition starts where it once did. */
  private async repartitionsPurged(): Promise<void> {
    await this.course.withClient(async (client) => {
      const topics = [...(await partitionCounts(client)).keys()].filter((topic) =>
        isRepartition(topic) && topic.endsWith("-repartition")
      );
      if (topics.length === 0) throw new Error("there is no repartition topic");
      for (const topic of topics) {
        for (const partition of partitions) {
          const start = await offsetFor(client, topic, partition, EARLIEST);
          const end = await offsetFor(client, topic, partition, LATEST);
          if (start < end / 2) throw new Error(`${topic}-${partition} still has ${start} to ${end}`);
        }
      }
    });
  }
}

/** What Streams asks for, by what it keeps there. */
function policyOf(changelog: string): string {
  // A key of the windowed join comes but once.
  if (/-join-(this|other)-/.test(changelog)) return "delete";
  return changelog.includes("windowed") ? "compact,delete" : "compact";
}

function isRepartition(topic: string): boolean {
  return topic.startsWith(`${application}-`) && /-(repartition|topic)$/.test(topic);
}

/** How many records the application has not committed yet. */
async function lag(client: RawClient, topic: string): Promise<number> {
  let found = new Map<number, number>();
  await accepted(`OffsetFetch of ${application}`, async () => {
    found = await committedBy(client, application, topic, partitions);
    return 0;
  });
  let behind = 0;
  for (const partition of partitions) {
    const end = await offsetFor(client, topic, partition, LATEST);
    behind += end - Math.max(0, found.get(partition)!);
  }
  return behind;
}

/** Whether offsets are missing between the first record of a partition and the last. */
async function isCompacted(client: RawClient, topic: string): Promise<boolean> {
  for (const partition of partitions) {
    const end = await offsetFor(client, topic, partition, LATEST);
    let records = 0;
    for (let next = 0; next < end;) {
      const { batches } = await fetchFrom(client, topic, partition, next);
      if (batches.length === 0) throw new Error(`${topic}-${partition} gives nothing from ${next} on`);
      for (const batch of batches) records += batch.recordCount;
      next = batches.at(-1)!.lastOffset + 1;
    }
    if (records < end) return true;
  }
  return false;
}

/** Throws the fault that was found. */
function holds(fault: string | null): Promise<void> {
  return fault === null ? Promise.resolve() : Promise.reject(new Error(fault));
}
