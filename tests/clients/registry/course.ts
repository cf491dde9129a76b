/**
 * Schema registries that keep their schemas in a topic, and Avro producers and consumers of confluent-kafka that use
 * them: schemas are registered, evolve, are refused and deleted, and are there again after the registry or the broker was
 * killed. `registries.ts` says which registries, and how they are started.
 */

import { topicSetting } from "../../durability/requests.ts";
import type { Line, Running } from "../adapter.ts";
import { installEnvironment } from "../install.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";
import type { Registry } from "./registries.ts";

const topic = "orders";
const subject = `${topic}-value`;
const batch = 50;

/** Runs the course with a registry. Never throws: failures go to the report, under the registry's name. */
export async function runRegistry(registry: Registry, logDir: string, report: Report): Promise<void> {
  const missing = registry.missing();
  if (missing !== null) {
    report.lacks(registry.name, "course", missing);
    return;
  }
  try {
    await registry.install();
    await installEnvironment("python-avro", "avro-requirements.txt");
  } catch (error) {
    report.failed(registry.name, "install", (error as Error).message);
    return;
  }
  await runOwnCourse(
    registry.name,
    logDir,
    report,
    {},
    (course) => new RegistryCourse(course, registry).run(),
  );
}

class RegistryCourse {
  private readonly port = freePort();
  private readonly url: string;
  private running!: Running;

  constructor(private readonly course: OwnCourse, private readonly registry: Registry) {
    this.url = `http://127.0.0.1:${this.port}${registry.path}`;
  }

  async run(): Promise<void> {
    const { course } = this;
    let schemas: unknown[] = [];
    await course.step("start", async () => {
      await this.start();
      await this.ask("PUT", "/config", { compatibility: "BACKWARD" });
    });
    await course.step("a producer registers its schema", async () => {
      await this.produce(1, 0);
      expect([1], await this.get(`/subjects/${subject}/versions`));
    });
    await course.step("a schema evolves", async () => {
      await this.produce(2, batch);
      expect([1, 2], await this.get(`/subjects/${subject}/versions`));
      expect([...orders(0, false), ...orders(batch, true)], await this.consume(2 * batch));
    });
    await course.step("an incompatible schema is refused", async () => {
      const running = this.avro("produce", { schema: 3, start: 0, count: 1 });
      await running.finished;
      if (running.exitCode === 0) throw running.failure("the producer got through with it");
      if (!/incompatible/i.test(running.stderr)) throw running.failure("failed for another reason");
      expect([1, 2], await this.get(`/subjects/${subject}/versions`));
    });
    if (this.registry.compactedTopic !== null) {
      await course.step("its topic is to be compacted", () =>
        course.withClient(async (client) => {
          expect("compact", await topicSetting(client, this.registry.compactedTopic!, "cleanup.policy"));
        }));
    }
    await course.step("killed, reads its topic again", async () => {
      schemas = await this.schemas();
      await course.kill(this.running);
      await this.start();
      expect(schemas, await this.schemas());
    });
    await course.step("broker killed", async () => {
      await course.broker.stop("SIGKILL");
      await course.broker.start();
      await this.produce(2, 2 * batch);
      expect(orders(2 * batch, true), await this.consume(batch));
      expect(schemas, await this.schemas());
    });
    await course.step("a schema is deleted for good", async () => {
      await this.ask("DELETE", `/subjects/${subject}/versions/1`);
      await this.ask("DELETE", `/subjects/${subject}/versions/1?permanent=true`);
      await course.kill(this.running);
      await this.start();
      expect([2], await this.get(`/subjects/${subject}/versions?deleted=true`));
    });
  }

  /** Starts the registry and waits until it takes schemas. */
  private async start(): Promise<void> {
    const { command, env } = this.registry.start(this.course.broker.bootstrap, this.port);
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    this.running = this.course.start(["env", ...settings, "sh", "-c", `exec >&2; ${command}`]);
    let said = "nothing";
    await this.course.look(() => `the registry; it said ${said}\n${this.running.stderr}`, async () => {
      if (this.running.exitCode !== null) throw this.running.failure("ended before it was ready");
      said = await answered(`http://127.0.0.1:${this.port}${this.registry.readyPath}`) ?? "nothing";
      return this.registry.isReady(said) ? true : null;
    });
  }

  private async produce(schema: number, start: number): Promise<void> {
    const running = this.avro("produce", { schema, start, count: batch });
    await this.course.end(running, "stdin", 0);
    expect([{ acked: batch }], running.lines);
  }

  private async consume(count: number): Promise<Line[]> {
    const running = this.avro("consume", { group: "readers", count });
    await this.course.end(running, "stdin", 0);
    return running.lines;
  }

  private avro(verb: string, flags: Record<string, string | number>): Running {
    const all = { bootstrap: this.course.broker.bootstrap, registry: this.url, topic, ...flags };
    return this.course.start([
      ...[".cache/clients/python-avro/bin/python", "tests/clients/registry/avro.py", verb],
      ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ]);
  }

  /** Both versions with their ids and texts. */
  private schemas(): Promise<unknown[]> {
    return Promise.all([1, 2].map((version) => this.get(`/subjects/${subject}/versions/${version}`)));
  }

  private get(path: string): Promise<unknown> {
    return this.ask("GET", path);
  }

  private async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const init = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }
}

/** What readers make of a batch: schema 1 had no note, so they are given the default. */
function orders(start: number, noted: boolean): Line[] {
  return Array.from({ length: batch }, (_, i) => ({ id: start + i, note: noted ? `n${start + i}` : "none" }));
}

/** What is answered there, or null while nothing listens. */
async function answered(url: string): Promise<string | null> {
  try {
    return await (await fetch(url)).text();
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

function expect(wanted: unknown, found: unknown): void {
  const [a, b] = [JSON.stringify(wanted), JSON.stringify(found)];
  if (a !== b) throw new Error(`expected ${a}, got ${b}`);
}
