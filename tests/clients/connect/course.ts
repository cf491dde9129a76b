/**
 * Kafka Connect, standalone and distributed: lines of a file become records and lines of another file again, while
 * workers and the broker are stopped and killed. Where all ended in order the files are equal to the byte. Where a
 * worker was killed no line may be missing or out of place; some may be there again, as Connect says.
 */

import { join } from "node:path";

import { topicSetting } from "../../durability/requests.ts";
import type { Running } from "../adapter.ts";
import { installProgram, programCommand } from "../java/install.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";

/** The name by which these steps are selected and reported. */
export const connect = "connect";

/** What a JVM ends with when it was told to by SIGTERM. */
const terminated = 143;
/** Lines of each portion; some of it is written while the worker or the broker is not there. */
const portion = 300;
const distributedTopics = { config: "connect-configs", offset: "connect-offsets", status: "connect-status" };

/** Runs the course. Never throws: failures go to the report. */
export async function runConnect(logDir: string, report: Report): Promise<void> {
  try {
    await installProgram(connect, ["AppInfoParser.java"]);
  } catch (error) {
    report.failed(connect, "install", (error as Error).message);
    return;
  }
  await runOwnCourse(connect, logDir, report, { "log.cleaner.backoff.ms": "500" }, async (course) => {
    await standalone(course);
    await distributed(course);
  });
}

async function standalone(course: OwnCourse): Promise<void> {
  const files = new Files(course, "standalone");
  const worker = await properties(course, "standalone-worker", {
    ...workerSettings(course),
    "listeners": `http://127.0.0.1:${freePort()}`,
    "offset.storage.file.filename": join(course.dir, "standalone-offsets"),
  });
  const connectors = [
    await properties(course, "standalone-source", { name: "source", ...files.source }),
    await properties(course, "standalone-sink", { name: "sink", ...files.sink }),
  ];
  const start = () => startWorker(course, "ConnectStandalone", worker, ...connectors);

  let running!: Running;
  await course.step("standalone copies", async () => {
    files.write(portion);
    running = start();
    await files.equal(running);
  });
  await course.step("standalone: worker restarted", async () => {
    files.write(portion);
    await course.end(running, "SIGTERM", terminated);
    files.write(portion);
    running = start();
    await files.equal(running);
  });
  await course.step("standalone: broker killed", async () => {
    files.write(portion);
    await course.broker.stop("SIGKILL");
    files.write(portion);
    await course.broker.start();
    files.write(portion);
    await files.equal(running);
  });
  await course.step("standalone: worker killed", async () => {
    files.write(portion);
    await course.kill(running);
    files.write(portion);
    running = start();
    await files.nothingLost(running);
    await course.end(running, "SIGTERM", terminated);
  });
}

async function distributed(course: OwnCourse): Promise<void> {
  const files = new Files(course, "distributed");
  const workers = await Promise.all([1, 2].map(async (number) => {
    const url = `http://127.0.0.1:${freePort()}`;
    const file = await properties(course, `distributed-worker-${number}`, {
      ...workerSettings(course),
      ...Object.fromEntries(
        Object.entries(distributedTopics).flatMap(([of, topic]) => [
          [`${of}.storage.topic`, topic],
          [`${of}.storage.replication.factor`, "1"],
        ]),
      ),
      "listeners": url,
      "group.id": "connect-workers",
      "session.timeout.ms": "6000",
      "heartbeat.interval.ms": "1000",
      "scheduled.rebalance.max.delay.ms": "0",
    });
    return { url, start: () => startWorker(course, "ConnectDistributed", file) };
  }));
  const [one, two] = workers;

  let first!: Running;
  let second!: Running;
  await course.step("distributed copies", async () => {
    first = one.start();
    files.write(portion);
    await configured(course, one.url, "source", files.source, first);
    await configured(course, one.url, "sink", files.sink, first);
    await files.equal(first);
  });
  await course.step("distributed: topics are to be compacted", () =>
    course.withClient(async (client) => {
      for (const topic of Object.values(distributedTopics)) {
        const policy = await topicSetting(client, topic, "cleanup.policy");
        if (policy !== "compact") throw new Error(`${topic} is to ${policy}`);
      }
    }));
  await course.step("distributed: worker restarted", async () => {
    files.write(portion);
    await course.end(first, "SIGTERM", terminated);
    files.write(portion);
    first = one.start();
    await files.equal(first);
  });
  await course.step("distributed: broker restarted", async () => {
    files.write(portion);
    await course.broker.stop("SIGTERM");
    files.write(portion);
    await course.broker.start();
    await files.equal(first);
  });
  await course.step("distributed: another worker takes over", async () => {
    second = two.start();
    await course.look(() => "the second worker to answer", () => statusOf(two.url, "sink"));
    files.write(portion);
    await course.kill(first);
    files.write(portion);
    await files.nothingLost(second);
    await course.end(second, "SIGTERM", terminated);
  });
}

/** A file that is copied and its copy, by connectors over a topic of their own. */
class Files {
  readonly source: Record<string, string>;
  readonly sink: Record<string, string>;
  private readonly from: string;
  private readonly to: string;
  private lines = 0;

  constructor(private readonly course: OwnCourse, name: string) {
    this.from = join(course.dir, `${name}-from`);
    this.to = join(course.dir, `${name}-to`);
    const topic = `${name}-lines`;
    this.source = { "connector.class": "FileStreamSource", "tasks.max": "1", file: this.from, topic };
    this.sink = { "connector.class": "FileStreamSink", "tasks.max": "1", file: this.to, topics: topic };
  }

  /** Appends lines that tell their number. */
  write(count: number): void {
    const text = Array.from({ length: count }, (_, i) => `${this.lines + i} ${"x".repeat(40)}\n`).join("");
    Deno.writeTextFileSync(this.from, text, { append: true });
    this.lines += count;
  }

  /** Waits until the copy is as long as the file; then it has to be the same. */
  async equal(worker: Running): Promise<void> {
    const wanted = await Deno.readTextFile(this.from);
    const found = await this.copied(worker, (text) => text.length >= wanted.length);
    if (found === wanted) return;
    const [a, b] = [wanted, found].map((text) => text.split("\n"));
    const at = b.findIndex((line, i) => line !== a[i]);
    throw new Error(
      `line ${at} of ${b.length} is "${b[at]}" in the copy, "${a[at]}" in the file of ${a.length}`,
    );
  }

  /** Waits until every line is in the copy; when those that came again are left out, it has to be the same. */
  async nothingLost(worker: Running): Promise<void> {
    const wanted = (await Deno.readTextFile(this.from)).split("\n");
    const last = wanted.at(-2)!;
    const found = await this.copied(worker, (text) => text.endsWith(`\n${last}\n`));
    const once = [...new Set(found.split("\n"))];
    if (once.join("\n") === wanted.join("\n")) return;
    const at = wanted.findIndex((line, i) => line !== once[i]);
    throw new Error(`line ${at} of ${wanted.length} is "${once[at]}" in the copy, and not "${wanted[at]}"`);
  }

  private copied(worker: Running, isDone: (text: string) => boolean): Promise<string> {
    let length = 0;
    const what = () => `all ${this.lines} lines to be copied; the copy has ${length} bytes\n${worker.stderr}`;
    return this.course.look(what, async () => {
      if (worker.exitCode !== null) throw worker.failure("ended while its copy was waited for");
      const text = await Deno.readTextFile(this.to).catch((error) => {
        if (error instanceof Deno.errors.NotFound) return "";
        throw error;
      });
      length = text.length;
      return isDone(text) ? text : null;
    });
  }
}

/** What all workers have. */
function workerSettings(course: OwnCourse): Record<string, string> {
  const text = "org.apache.kafka.connect.storage.StringConverter";
  return {
    "bootstrap.servers": course.broker.bootstrap,
    "key.converter": text,
    "value.converter": text,
    "plugin.discovery": "service_load",
    "offset.flush.interval.ms": "500",
    // Connect turns it off for the sake of old brokers; with it a broker's death makes no line come twice.
    "producer.enable.idempotence": "true",
    "consumer.session.timeout.ms": "6000",
    "consumer.heartbeat.interval.ms": "1000",
  };
}

function startWorker(course: OwnCourse, className: string, ...files: string[]): Running {
  const command = [...programCommand(connect, `org.apache.kafka.connect.cli.${className}`), ...files];
  // its logs go to stderr, as does what else it prints
  return course.start(["sh", "-c", 'exec "$@" >&2', "sh", ...command]);
}

async function properties(
  course: OwnCourse,
  name: string,
  settings: Record<string, string>,
): Promise<string> {
  const path = join(course.dir, `${name}.properties`);
  await Deno.writeTextFile(path, Object.entries(settings).map((pair) => `${pair.join("=")}\n`).join(""));
  return path;
}

/** Has a worker take a connector, as soon as it answers. */
async function configured(
  course: OwnCourse,
  url: string,
  name: string,
  config: Record<string, string>,
  worker: Running,
): Promise<void> {
  let said = "nothing";
  await course.look(() => `connector ${name} to be taken; the worker said ${said}`, async () => {
    if (worker.exitCode !== null) throw worker.failure("ended before it took a connector");
    const answer = await answered(`${url}/connectors/${name}/config`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(config),
    });
    if (answer === null) return null;
    said = `${answer.status} ${answer.body}`;
    // it may still start (404) or rebalance (409), and wants to be asked again
    return answer.status < 300 ? true : null;
  });
}

/** A connector's state by the word of a worker, or null while it does not answer. */
async function statusOf(url: string, name: string): Promise<string | null> {
  const answer = await answered(`${url}/connectors/${name}/status`);
  return answer?.status === 200 ? answer.body : null;
}

/** What a worker answers, or null while nothing listens there. */
async function answered(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; body: string } | null> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, body: await response.text() };
  } catch (error) {
    // Deno's word for a connection that was refused or closed
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
