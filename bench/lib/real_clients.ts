/**
 * Clients that people use, as a check on the raw load: librdkafka through confluent-kafka, from the environment that
 * `deno task test:clients` makes, and the performance tools that come with Kafka. Each answers with what it moved and in
 * how long, or with a text that says why it cannot be run here.
 */
import { join } from "node:path";
import { VALUE_BYTES } from "./frames.ts";
import type { Moved } from "./load.ts";
import { metrics } from "./metrics.ts";
import { exists } from "./paths.ts";
import { CpuMeter } from "./process_stats.ts";
import { GIGABYTE, MEGABYTE, running, type Scenario } from "./scenario.ts";
import { withTopic } from "./topics.ts";

interface ClientTurns {
  readonly produced: () => Promise<Moved>;
  readonly consumed: () => Promise<Moved>;
}

const LIBRDKAFKA_RECORDS = 200_000;
const JAVA_RECORDS = 400_000;

const PARTITIONS = 3;

export const librdkafkaScenario = (checkout: string): Scenario =>
  realClient(
    "librdkafka",
    "1 KB records through librdkafka (confluent-kafka for Python)",
    (port, topic) => librdkafka(checkout, port, topic),
  );

export const javaScenario = (checkout: string): Scenario =>
  realClient(
    "java",
    "1 KB records through Kafka's own producer and consumer performance tools",
    (port, topic) => javaClients(checkout, port, topic),
  );

/** A client with a perf loop of its own; MB/s is what that client sees, and mostly its own. */
function realClient(
  name: string,
  about: string,
  turnsAt: (port: number, topic: string) => Promise<ClientTurns | string>,
): Scenario {
  return {
    name,
    about,
    maxRounds: 3,
    warmUps: 0,
    metrics: [
      metrics.produceCpu,
      metrics.told.higher("produced", "MB/s"),
      metrics.consumeCpu,
      metrics.told.higher("consumed", "MB/s"),
    ],
    measure(subject) {
      const { port, pid } = running(subject);
      const topic = `${name}-${subject.serial()}`;
      return withTopic(port, topic, PARTITIONS, async () => {
        const turns = await turnsAt(port, topic);
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

/** The script beside this file, run by the Python that has confluent-kafka. */
async function librdkafka(checkout: string, port: number, topic: string): Promise<ClientTurns | string> {
  const python = Deno.env.get("BENCH_PYTHON") ?? join(checkout, ".cache/clients/python/bin/python");
  if (!await exists(python)) return `no ${python}: run deno task test:clients once, or set BENCH_PYTHON`;
  const script = join(import.meta.dirname!, "librdkafka.py");
  const turn = (verb: string) => async () => {
    const said = await output(python, [
      ...[script, verb, `127.0.0.1:${port}`, topic],
      ...[String(LIBRDKAFKA_RECORDS), String(VALUE_BYTES)],
    ]);
    return { bytes: LIBRDKAFKA_RECORDS * VALUE_BYTES, seconds: Number(said) };
  };
  return { produced: turn("produce"), consumed: turn("consume") };
}

/** Kafka's ProducerPerformance and ConsumerPerformance, from KAFKA_HOME or through the baseline script. */
async function javaClients(
  checkout: string,
  port: number,
  topic: string,
): Promise<ClientTurns | string> {
  const home = Deno.env.get("KAFKA_HOME");
  const script = Deno.env.get("KAFKA_BASELINE") ?? join(checkout, "../shared/tools/kafka-baseline.sh");
  if (!home && !await exists(script)) return "neither KAFKA_HOME nor KAFKA_BASELINE is there";
  const tool = (name: string, className: string, args: string[]) =>
    home ? output(join(home, "bin", name), args) : output(script, ["tool", className, ...args]);
  const bootstrap = `127.0.0.1:${port}`;
  return {
    async produced() {
      const said = await tool("kafka-producer-perf-test.sh", "ProducerPerformance", [
        ...["--topic", topic, "--num-records", String(JAVA_RECORDS), "--record-size", String(VALUE_BYTES)],
        ...["--throughput", "-1", "--bootstrap-server", bootstrap, "--command-property", "acks=1"],
      ]);
      return { bytes: JAVA_RECORDS * VALUE_BYTES, seconds: JAVA_RECORDS / producerRecordsPerSecond(said) };
    },
    async consumed() {
      const said = await tool("kafka-consumer-perf-test.sh", "ConsumerPerformance", [
        ...["--topic", topic, "--num-records", String(JAVA_RECORDS), "--bootstrap-server", bootstrap],
        ...["--timeout", "30000"],
      ]);
      return consumerMoved(said);
    },
  };
}

/** The last line of ProducerPerformance sums up: "400000 records sent, 51234.5 records/sec (50.03 MB/sec), …". */
export function producerRecordsPerSecond(said: string): number {
  const rates = [...said.matchAll(/ ([\d.]+) records\/sec/g)];
  if (rates.length === 0) throw new Error(`ProducerPerformance gave no rate:\n${said}`);
  return Number(rates[rates.length - 1][1]);
}

/** ConsumerPerformance prints a line of names and a line of values, separated by commas. */
export function consumerMoved(said: string): Moved {
  const lines = said.trim().split("\n").map((line) => line.split(",").map((cell) => cell.trim()));
  const header = lines.findIndex((cells) => cells.includes("data.consumed.in.MB"));
  const row = lines[header + 1];
  if (header < 0 || row === undefined) throw new Error(`ConsumerPerformance gave no table:\n${said}`);
  const value = (name: string) => Number(row[lines[header].indexOf(name)]);
  return { bytes: value("data.consumed.in.MB") * 1024 * 1024, seconds: value("fetch.time.ms") / 1000 };
}

async function output(program: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) {
    throw new Error(`${program} ${args.join(" ")} ended with ${code}:\n${text(stdout)}${text(stderr)}`);
  }
  return text(stdout);
}
