/**
 * What a second core would bring, and at what price: the figures behind "More cores" in ARCHITECTURE.md.
 *
 *     deno run -A bench/shards.ts [--rounds N]
 *
 * The same load, one-record produce requests to four partitions, goes to one broker that has them all, and to two that
 * have two each and know nothing of each other: as shards would be, but for the routing, which clients do. Each
 * partition has a load generator of its own, a process, so that the generators are not what is measured. Beside that,
 * what it would cost to hand a request to a worker thread of the same process and to get the answer back.
 */
import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";
import { Compression } from "../src/codec/batch_format.ts";
import { type RunningBroker, trackway } from "./lib/brokers.ts";
import { batchOf } from "./lib/frames.ts";
import { produceLoad } from "./lib/load.ts";
import { CpuMeter } from "./lib/process_stats.ts";
import { median } from "./lib/statistics.ts";
import { withTopic } from "./lib/topics.ts";

const CHECKOUT = join(import.meta.dirname!, "..");
const FIRST_PORT = 29_300;
const GENERATORS = 4;
const REQUESTS_EACH = 25_000;
const TOPIC = "shards";
const ROUND_TRIPS = 20_000, ROUND_TRIPS_AT_ONCE = 15;
const HANDED_BYTES = [1024, 16 * 1024];

interface Turn {
  readonly requestsPerSecond: number;
  readonly brokerMicroseconds: number;
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, { string: ["rounds", "load"] });
  if (flags.load) await generate(Number(flags.load));
  else await compare(Number(flags.rounds ?? 3));
}

async function compare(rounds: number): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-shards-" });
  const brokers: RunningBroker[] = [];
  try {
    for (const i of [0, 1]) {
      const data = join(directory, String(i), "data");
      await Deno.mkdir(data, { recursive: true });
      brokers.push(await trackway(CHECKOUT).start(FIRST_PORT + i, data));
    }
    const turns: Turn[][] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      for (const count of [1, 2]) {
        const turn = await measure(brokers.slice(0, count));
        if (round > 0) turns[count - 1].push(turn); // the first warms up
      }
    }
    for (const [i, of] of turns.entries()) {
      console.log(
        `${i + 1} process${i === 0 ? "  " : "es"}  ` +
          `${Math.round(median(of.map((turn) => turn.requestsPerSecond)))} requests/s  ` +
          `${median(of.map((turn) => turn.brokerMicroseconds)).toFixed(1)} µs of broker CPU each`,
      );
    }
    console.log(`${navigator.hardwareConcurrency} cores, ${GENERATORS} load generators on the same ones`);
    for (const bytes of HANDED_BYTES) {
      const microseconds = await handOver(bytes);
      console.log(`a hand-over of ${bytes} bytes to a worker and back: ${microseconds.toFixed(1)} µs of CPU`);
    }
  } finally {
    for (const broker of brokers) await broker.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

/** One turn: every generator has the same share; the brokers share the generators. */
async function measure(brokers: readonly RunningBroker[]): Promise<Turn> {
  const perBroker = GENERATORS / brokers.length;
  const lent = (index: number, use: () => Promise<Turn>): Promise<Turn> =>
    index === brokers.length
      ? use()
      : withTopic(brokers[index].port, TOPIC, perBroker, () => lent(index + 1, use));
  return await lent(0, async () => {
    const cpu = brokers.map(({ pid }) => new CpuMeter(pid));
    const perSecond = await Promise.all(
      Array.from({ length: GENERATORS }, (_, i) => generator(brokers[i % brokers.length].port)),
    );
    const seconds = cpu.reduce((sum, meter) => sum + meter.seconds(), 0);
    return {
      requestsPerSecond: perSecond.reduce((sum, rate) => sum + rate, 0),
      brokerMicroseconds: seconds * 1e6 / (GENERATORS * REQUESTS_EACH),
    };
  });
}

/** Runs {@link generate} in a process of its own; gives its requests per second. */
async function generator(port: number): Promise<number> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename!, "--load", String(port)],
  }).output();
  if (code !== 0) throw new Error(`a load generator failed: ${new TextDecoder().decode(stderr)}`);
  return Number(new TextDecoder().decode(stdout));
}

/** Sends its share of requests to the first partition and prints how many that were in a second. */
async function generate(port: number): Promise<void> {
  const batch = batchOf(1, Compression.NONE);
  const target = { port, topic: TOPIC, batch, partitions: 1, connections: 1 };
  const { seconds } = await produceLoad(
    { ...target, recordsPerBatch: 1, valueBytes: batch.length, acks: 1 },
    REQUESTS_EACH,
  );
  console.log(REQUESTS_EACH / seconds);
}

/** What it costs, of both threads together, to give a worker a buffer and get it back, some on their way at once. */
async function handOver(bytes: number): Promise<number> {
  const program = "self.onmessage = ({ data }) => self.postMessage(data, [data.buffer]);";
  const url = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const worker = new Worker(url, { type: "module" });
  try {
    const run = () =>
      new Promise<void>((resolve) => {
        let sent = 0, back = 0;
        const send = (buffer: Uint8Array<ArrayBuffer>) => {
          sent++;
          worker.postMessage(buffer, [buffer.buffer]);
        };
        worker.onmessage = ({ data }) => {
          if (++back === ROUND_TRIPS) resolve();
          else if (sent < ROUND_TRIPS) send(data);
        };
        while (sent < ROUND_TRIPS_AT_ONCE) send(new Uint8Array(bytes));
      });
    await run(); // warms up
    const cpu = new CpuMeter(Deno.pid);
    await run();
    return cpu.seconds() * 1e6 / ROUND_TRIPS;
  } finally {
    worker.terminate();
    URL.revokeObjectURL(url);
  }
}
