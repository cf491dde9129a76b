/**
 * Kafka's own command-line tools of 4.4 against a broker. What they print is compared with what was written, not
 * only their exit code. Two topics are worked on side by side, since each tool is a JVM that takes a second to start.
 */

import { installTools, toolCommand } from "./java/install.ts";
import { root } from "./install.ts";

/** Called once for every step, with null when it passed. */
export type StepReport = (step: string, error: string | null) => void;

const tools = "org.apache.kafka.tools";
const groupTool = `${tools}.consumer.group.ConsumerGroupCommand`;
const consoleConsumer = `${tools}.consumer.ConsoleConsumer`;
const toolTimeoutMs = 60_000;
const partitions = 3;
const messages = Array.from({ length: 10 }, (_, i) => ({ key: `k${i}`, value: `v${i}` }));
const verifiableCount = 200;
const perfCount = 1000;

/** Settings of a topic that no one changed, as Kafka has them. */
const defaultConfigs = {
  "cleanup.policy": "delete",
  "compression.type": "producer",
  "delete.retention.ms": "86400000",
  "file.delete.delay.ms": "60000",
  "flush.messages": "9223372036854775807",
  "index.interval.bytes": "4096",
  "max.compaction.lag.ms": "9223372036854775807",
  "message.timestamp.after.max.ms": "3600000",
  "message.timestamp.type": "CreateTime",
  "min.cleanable.dirty.ratio": "0.5",
  "min.insync.replicas": "1",
  "preallocate": "false",
  "retention.bytes": "-1",
  "segment.bytes": "1073741824",
  "segment.index.bytes": "10485760",
  "segment.ms": "604800000",
  "unclean.leader.election.enable": "false",
};
const changedConfigs = { "retention.ms": "86400000", "max.message.bytes": "500000" };

/** Installs the tools and runs every step. Failures go to `report`; it throws only when nothing can be installed. */
export async function runTools(bootstrap: string, report: StepReport): Promise<void> {
  await installTools();
  const run = new Run(bootstrap, report);
  await Promise.all([consoleAndGroups(run), perfAndConfigs(run)]);
  await run.step("topics gone", async () => {
    const left = (await run.tool(`${tools}.TopicCommand`, ["--list"])).filter((topic) =>
      topic.startsWith("tools-")
    );
    expect([], left);
  });
}

/** A record as the console consumer prints it. */
interface Printed {
  timestamp: number;
  partition: number;
  offset: number;
  key: string;
  value: string;
}

async function consoleAndGroups(run: Run): Promise<void> {
  const topic = "tools-console", group = "tools-group";
  const topics = (...args: string[]) => run.tool(`${tools}.TopicCommand`, args);
  const groups = (...args: string[]) => run.tool(groupTool, args);
  const since = Date.now();
  let printed: Printed[] = [];

  const created = await run.step("topics create", async () => {
    expect([`Created topic ${topic}.`], await topics("--create", "--topic", topic, "--partitions", "2"));
  });
  if (!created) return;
  await run.step("topics list", async () => expectIncludes(await topics("--list"), topic));
  await run.step("topics alter", async () => {
    expect([], await topics("--alter", "--topic", topic, "--partitions", String(partitions)));
  });
  await run.step("topics describe", async () => {
    const [head, ...rows] = (await topics("--describe", "--topic", topic)).map(fields);
    const { Topic, PartitionCount, ReplicationFactor } = head;
    expect({ Topic: topic, PartitionCount: "3", ReplicationFactor: "1" }, {
      Topic,
      PartitionCount,
      ReplicationFactor,
    });
    expect(["0", "1", "2"], rows.map((row) => row.Partition));
    for (const { Leader, Replicas, Isr } of rows) expect([Leader, Leader], [Replicas, Isr]);
  });
  await run.step("console producer", async () => {
    const lines = messages.map(({ key, value }) => `${key}:${value}\n`).join("");
    const keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"];
    await run.tool(
      `${tools}.ConsoleProducer`,
      ["--topic", topic, "--compression-codec", "gzip", ...keyed],
      lines,
    );
  });
  const consumed = await run.step("console consumer", async () => {
    const shown = ["timestamp", "partition", "offset", "key"].flatMap((
      name,
    ) => ["--formatter-property", `print.${name}=true`]);
    const limit = ["--from-beginning", "--max-messages", String(messages.length)];
    printed = (await run.tool(consoleConsumer, ["--topic", topic, ...limit, ...shown])).map(parsePrinted);
    expect(
      messages,
      printed.map(({ key, value }) => ({ key, value })).sort((a, b) => a.key < b.key ? -1 : 1),
    );
    for (const { timestamp } of printed) {
      if (timestamp < since || timestamp > Date.now()) {
        throw new Error(`timestamp ${timestamp} is not of this run`);
      }
    }
  });
  if (!consumed) return;
  const counts = tally(printed, (records) => records.length);
  await offsetSteps(run, topic, printed);

  await run.step("group members", async () => {
    await using member = run.start(consoleConsumer, ["--topic", topic, "--from-beginning", "--group", group]);
    await member.untilPrinted(messages.length);
    expect(messages.map(({ value }) => value), member.lines.toSorted());
    const [, row, ...more] = (await groups("--describe", "--group", group, "--members", "--verbose")).map(
      words,
    );
    expect([], more);
    const [name, , , clientId, count, , assignment] = row;
    expect([group, "console-consumer", String(partitions), `${topic}:0,1,2`], [
      name,
      clientId,
      count,
      assignment,
    ]);
    const [, state] = (await groups("--describe", "--group", group, "--state")).map(words);
    expect([group, "range", "Stable", "1"], [state[0], ...state.slice(-3)]);
  });
  await run.step("groups list", async () => {
    const listed = (await groups("--list", "--state")).map(words).find(([name]) => name === group);
    expect([group, "Empty"], listed);
  });
  const describe = async () =>
    (await groups("--describe", "--group", group)).slice(1).map(words)
      .map(([, , partition, current, end, lag]) => [partition, current, end, lag].map(Number));
  await run.step("group describe", async () => {
    expect([...counts].map(([partition, count]) => [partition, count, count, 0]), await describe());
  });
  await run.step("group reset", async () => {
    const reset = ["--reset-offsets", "--to-earliest", "--execute", "--topic", topic];
    const rows = (await groups("--group", group, ...reset)).slice(1).map(words);
    expect(
      [...counts.keys()].map((p) => [group, topic, String(p), "0"]),
      rows.toSorted((a, b) => +a[2] - +b[2]),
    );
    expect([...counts].map(([partition, count]) => [partition, 0, count, count]), await describe());
  });
  await run.step("group delete", async () => {
    const done = `Deletion of requested consumer groups ('${group}') was successful.`;
    expect([done], await groups("--delete", "--group", group));
  });
  await run.step("topics delete", async () => expect([], await topics("--delete", "--topic", topic)));
}

/** GetOffsetShell with every kind of time; what is right follows from the records that were printed. */
async function offsetSteps(run: Run, topic: string, printed: Printed[]): Promise<void> {
  const newest = Math.max(...printed.map(({ timestamp }) => timestamp));
  const firstAt = (records: Printed[], ms: number) =>
    records.find(({ timestamp }) => timestamp >= ms)?.offset;
  const wanted = {
    earliest: tally(printed, () => 0),
    latest: tally(printed, (records) => records.length),
    "max-timestamp": tally(
      printed,
      (records) => firstAt(records, Math.max(...records.map((r) => r.timestamp))),
    ),
    [newest]: tally(printed, (records) => firstAt(records, newest)),
  };
  for (const [time, offsets] of Object.entries(wanted)) {
    await run.step(`offsets ${time === String(newest) ? "by time" : time}`, async () => {
      // a partition without an answer is not printed
      const lines = [...offsets].filter(([, o]) => o !== undefined).map(([p, o]) => `${topic}:${p}:${o}`);
      expect(lines, await run.tool(`${tools}.GetOffsetShell`, ["--topic", topic, "--time", time]));
    });
  }
}

async function perfAndConfigs(run: Run): Promise<void> {
  const topic = "tools-perf";
  const created = await run.step("topics create (second)", async () => {
    expect(
      [`Created topic ${topic}.`],
      await run.tool(`${tools}.TopicCommand`, ["--create", "--topic", topic]),
    );
  });
  if (!created) return;
  await run.step("verifiable producer", async () => {
    const args = ["--topic", topic, "--max-messages", String(verifiableCount), "--acks", "-1"];
    const events = (await run.tool(`${tools}.VerifiableProducer`, args)).map((line) => JSON.parse(line));
    const offsets = events.filter(({ name }) => name === "producer_send_success").map(({ offset }) => offset);
    expect(Array.from({ length: verifiableCount }, (_, i) => i), offsets);
    const { sent, acked } = events.find(({ name }) => name === "tool_data");
    expect([verifiableCount, verifiableCount], [sent, acked]);
  });
  await run.step("verifiable consumer", async () => {
    const limit = ["--max-messages", String(verifiableCount), "--reset-policy", "earliest"];
    const args = ["--topic", topic, "--group-id", "tools-verifiable", ...limit];
    const events = (await run.tool(`${tools}.VerifiableConsumer`, args)).map((line) => JSON.parse(line));
    const named = (name: string) => events.filter((event) => event.name === name);
    expect([[{ topic, partition: 0 }]], named("partitions_assigned").map((event) => event.partitions));
    expect(verifiableCount, named("records_consumed").reduce((sum, { count }) => sum + count, 0));
    const { offsets, success } = named("offsets_committed").at(-1);
    expect([[{ topic, partition: 0, offset: verifiableCount }], true], [offsets, success]);
  });
  const configs = (...args: string[]) => run.tool(`${tools}.ConfigCommand`, ["--topic", topic, ...args]);
  await run.step("configs alter", async () => {
    const added = Object.entries(changedConfigs).map((pair) => pair.join("=")).join(",");
    expect(
      [`Completed updating config for topic ${topic}.`],
      await configs("--alter", "--add-config", added),
    );
  });
  await run.step("configs describe", async () => {
    const lines = (await configs("--describe", "--all")).slice(1).map((line) => line.trim());
    for (const [name, value] of Object.entries({ ...defaultConfigs, ...changedConfigs })) {
      const line = lines.find((line) => line.startsWith(`${name}=`));
      expectIncludes(
        [line ?? "nothing"].map((line) => line.split(" ", 2).join(" ")),
        `${name}=${value} sensitive=false`,
      );
      expect(name in changedConfigs, line!.includes(`{DYNAMIC_TOPIC_CONFIG:${name}=${value}`));
    }
  });
  await run.step("producer perf", async () => {
    const size = ["--num-records", String(perfCount), "--record-size", "100", "--throughput", "-1"];
    const lines = await run.tool(`${tools}.ProducerPerformance`, ["--topic", topic, ...size]);
    if (!lines.at(-1)?.startsWith(`${perfCount} records sent, `)) {
      throw new Error(`ended with ${lines.at(-1)}`);
    }
  });
  await run.step("consumer perf", async () => {
    const count = String(perfCount + verifiableCount);
    const args = ["--topic", topic, "--num-records", count, "--hide-header"];
    const [line] = await run.tool(`${tools}.ConsumerPerformance`, args);
    expect(count, line.split(", ")[4]);
  });
  await run.step("e2e latency", async () => {
    const size = ["--num-records", String(perfCount), "--producer-acks", "all", "--record-size", "100"];
    const lines = await run.tool(`${tools}.EndToEndLatency`, ["--topic", topic, ...size]);
    if (!lines.some((line) => line.startsWith("Percentiles: 50th = "))) {
      throw new Error(`ended with ${lines.at(-1)}`);
    }
  });
  await run.step("broker api versions", async () => {
    const [head, ...rows] = await run.tool(`${tools}.BrokerApiVersionsCommand`, []);
    if (!head.includes("(id: 1 rack: null")) throw new Error(`begins with ${head}`);
    const apis = rows.slice(0, -1).map((row) => row.trim().replace(/,$/, ""));
    // The newest version that both know is the newest that the tool's client knows: nothing lags behind.
    const behind = apis.filter((api) => !/: UNSUPPORTED$|: (?:\d+ to )?(\d+) \[usable: \1\]$/.test(api));
    expect([], behind);
    expectIncludes(apis, "Produce(0): 0 to 13 [usable: 13]");
  });
  await run.step("topics delete (second)", async () => {
    expect([], await run.tool(`${tools}.TopicCommand`, ["--delete", "--topic", topic]));
  });
}

/** Runs tools against one broker and reports steps. */
class Run {
  constructor(private bootstrap: string, private report: StepReport) {}

  /** Runs and reports one step; gives whether it passed. */
  async step(name: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
    } catch (error) {
      this.report(name, (error as Error).message);
      return false;
    }
    this.report(name, null);
    return true;
  }

  /** Runs a tool to its end; gives the lines that it printed on stdout. */
  async tool(className: string, args: string[], input = ""): Promise<string[]> {
    const running = this.start(className, args, input);
    const timer = setTimeout(() => running.child.kill("SIGKILL"), toolTimeoutMs);
    const code = await running.ended;
    clearTimeout(timer);
    if (code === 0) return running.lines;
    const said = [...running.lines, running.stderr].join("\n").trim().split("\n").slice(-20).join("\n");
    throw new Error(`${className} ${args.join(" ")} ended with ${code}:\n${said}`);
  }

  start(className: string, args: string[], input = ""): Tool {
    return new Tool(className, ["--bootstrap-server", this.bootstrap, ...args], input);
  }
}

/** A tool as a process; disposing of it stops it the way Ctrl-C does, and waits. */
class Tool implements AsyncDisposable {
  readonly child: Deno.ChildProcess;
  readonly lines: string[] = [];
  stderr = "";
  /** The exit code, once all output was read. */
  readonly ended: Promise<number>;
  #running = true;
  #changed = Promise.withResolvers<void>();

  constructor(className: string, args: string[], input: string) {
    const [program, ...rest] = toolCommand(className);
    const stdio = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
    this.child = new Deno.Command(program, { args: [...rest, ...args], cwd: root, ...stdio }).spawn();
    const read = Promise.all([this.readLines(), this.readStderr(), this.write(input)]);
    this.ended = read.then(() => this.child.status).then(({ code }) => {
      this.#running = false;
      this.#changed.resolve();
      return code;
    });
  }

  /** Waits for so many lines of output; throws when the tool ends before, or takes too long. */
  async untilPrinted(count: number): Promise<void> {
    const timer = setTimeout(() => this.child.kill("SIGKILL"), toolTimeoutMs);
    while (this.lines.length < count && this.#running) await this.#changed.promise;
    clearTimeout(timer);
    if (this.lines.length < count) {
      throw new Error(`printed ${this.lines.length} of ${count} lines\n${this.stderr}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#running) this.child.kill("SIGTERM");
    await this.ended;
  }

  private async readLines(): Promise<void> {
    let rest = "";
    for await (const chunk of this.child.stdout.pipeThrough(new TextDecoderStream())) {
      const pieces = (rest + chunk).split("\n");
      rest = pieces.pop()!;
      this.lines.push(...pieces.filter((piece) => piece.trim() !== ""));
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
  }

  private async readStderr(): Promise<void> {
    for await (const chunk of this.child.stderr.pipeThrough(new TextDecoderStream())) {
      this.stderr = (this.stderr + chunk).slice(-16_000);
    }
  }

  private async write(input: string): Promise<void> {
    const writer = this.child.stdin.getWriter();
    try {
      await writer.write(new TextEncoder().encode(input));
      await writer.close();
    } catch (error) {
      // a tool that failed at once has closed its end: its exit code tells
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    }
  }
}

/** "Topic: t\tPartitionCount: 3" as an object. */
function fields(line: string): Record<string, string> {
  return Object.fromEntries(
    line.trim().split("\t").map((field) => field.split(": ").map((text) => text.trim())),
  );
}

function words(line: string): string[] {
  return line.trim().split(/\s+/);
}

function parsePrinted(line: string): Printed {
  const match = line.match(/^CreateTime:(\d+)\tPartition:(\d+)\tOffset:(\d+)\t(\w+)\t(\w+)$/);
  if (!match) throw new Error(`the console consumer printed "${line}"`);
  const [timestamp, partition, offset] = match.slice(1, 4).map(Number);
  return { timestamp, partition, offset, key: match[4], value: match[5] };
}

/** Something of the records of every partition, in order of partitions. */
function tally<T>(printed: Printed[], of: (records: Printed[]) => T): Map<number, T> {
  const byPartition = Map.groupBy(printed, ({ partition }) => partition);
  return new Map(
    [...byPartition].sort(([a], [b]) => a - b).map(([partition, records]) => [partition, of(records)]),
  );
}

function expect(wanted: unknown, found: unknown): void {
  const [a, b] = [JSON.stringify(wanted), JSON.stringify(found)];
  if (a !== b) throw new Error(`expected ${a}, got ${b}`);
}

function expectIncludes(list: string[], item: string): void {
  if (!list.includes(item)) throw new Error(`${item} is not in [${list.join(", ")}]`);
}
