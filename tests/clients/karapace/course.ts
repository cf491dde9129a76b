/**
 * Karapace, the schema registry that keeps its schemas in a topic and elects its master by a consumer group, and Avro
 * producers and consumers of confluent-kafka that use it. No package registry has Karapace: the course runs where
 * KARAPACE is a shell command that starts one, with its settings taken from the environment.
 */

import { topicSetting } from "../../durability/requests.ts";
import type { Line, Running } from "../adapter.ts";
import { installEnvironment } from "../install.ts";
import { type OwnCourse, runOwnCourse } from "../own_course.ts";
import type { Report } from "../report.ts";

/** The name by which these steps are selected and reported. */
export const karapace = "karapace";

const topic = "orders";
const subject = `${topic}-value`;
const batch = 50;

/** Runs the course. Never throws: failures go to the report. */
export async function runKarapace(logDir: string, report: Report): Promise<void> {
  const command = Deno.env.get("KARAPACE");
  if (command === undefined) {
    report.lacks(
      karapace,
      "course",
      "KARAPACE does not say how to start it, and no registry of packages has it",
    );
    return;
  }
  try {
    await installEnvironment("python-avro", "avro-requirements.txt");
  } catch (error) {
    report.failed(karapace, "install", (error as Error).message);
    return;
  }
  await runOwnCourse(karapace, logDir, report, {}, (course) => new KarapaceCourse(course, command).run());
}

class KarapaceCourse {
  private readonly port = freePort();
  private readonly url = `http://127.0.0.1:${this.port}`;
  private registry!: Running;

  constructor(private readonly course: OwnCourse, private readonly command: string) {}

  async run(): Promise<void> {
    const { course } = this;
    let schemas: unknown[] = [];
    await course.step("start", () => this.start());
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
    await course.step("the schemas' topic is to be compacted", () =>
      course.withClient(async (client) => {
        expect("compact", await topicSetting(client, "_schemas", "cleanup.policy"));
      }));
    await course.step("killed, reads its topic again", async () => {
      schemas = await this.schemas();
      await course.kill(this.registry);
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
      await course.kill(this.registry);
      await this.start();
      expect([2], await this.get(`/subjects/${subject}/versions?deleted=true`));
    });
  }

  /** Starts Karapace and waits until it is the master, and so takes schemas. */
  private async start(): Promise<void> {
    const settings = {
      BOOTSTRAP_URI: this.course.broker.bootstrap,
      HOST: "127.0.0.1",
      PORT: String(this.port),
      ADVERTISED_HOSTNAME: "127.0.0.1",
      KARAPACE_REGISTRY: "true",
      LOG_LEVEL: "INFO",
      SESSION_TIMEOUT_MS: "6000",
      WAITING_TIME_BEFORE_ACTING_AS_MASTER_MS: "500",
    };
    const environment = Object.entries(settings).map(([name, value]) => `KARAPACE_${name}=${value}`);
    this.registry = this.course.start(["env", ...environment, "sh", "-c", `exec >&2; ${this.command}`]);
    let said = "nothing";
    await this.course.look(
      () => `Karapace to be master; it said ${said}\n${this.registry.stderr}`,
      async () => {
        if (this.registry.exitCode !== null) throw this.registry.failure("ended before it was master");
        said = await answered(`${this.url}/master_available`) ?? "nothing";
        return said.includes("true") ? true : null;
      },
    );
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
      ...[".cache/clients/python-avro/bin/python", "tests/clients/karapace/avro.py", verb],
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

  private async ask(method: string, path: string): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, { method });
    const body = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${body}`);
    return JSON.parse(body);
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
