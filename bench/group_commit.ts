/**
 * What `flush.messages=1` costs: an acknowledgement waits for a sync of the device, and one sync serves all who wait for
 * it. With 1, 10 and 100 producers that each have one record out: the log alone, with its syncs counted and the longest
 * that the event loop stood still; then brokers over the network, all producers in one partition and each in its own.
 * What to look for: records for each sync rise with the producers, and the loop never waits for the device.
 *
 *     deno run -A bench/group_commit.ts [--kafka] [--seconds N] [--port N]
 *
 * `--kafka` runs Apache Kafka beside it (bench/lib/brokers.ts says from where).
 */
import { join } from "node:path";
import { parseArgs } from "@std/cli/parse-args";
import { systemClock } from "../src/base/clock.ts";
import { Compression } from "../src/codec/batch_format.ts";
import { ErrorCode } from "../src/codec/errors.ts";
import type { Files } from "../src/storage/files/files.ts";
import { realFiles } from "../src/storage/files/real.ts";
import { defaultLogConfig } from "../src/storage/log/config.ts";
import { LogManager } from "../src/storage/manager/log_manager.ts";
import { connect, makeTopics, untilLed } from "./lib/admin.ts";
import { type BrokerKind, kafka, type RunningBroker, trackway } from "./lib/brokers.ts";
import { batchOf, produceError, produceFrame } from "./lib/frames.ts";
import { openConnections } from "./lib/load.ts";
import { CpuMeter } from "./lib/process_stats.ts";
import { percentile, readable } from "./lib/statistics.ts";

const PRODUCERS = [1, 10, 100];
const ALL_REPLICAS = -1;
const TOPIC_ID = "Ijc7BQyqR_STSj4ph1otqA";

const flags = parseArgs(Deno.args, {
  string: ["seconds", "port"],
  boolean: ["kafka"],
  default: { port: "20790" },
});
const forMs = Number(flags.seconds ?? 3) * 1000;

/** The real file system; `onSync` is told of each sync of a file. */
function countingSyncs(onSync: () => void): Files {
  return {
    ...realFiles,
    open(path, create) {
      const handle = realFiles.open(path, create);
      const sync = handle.sync.bind(handle);
      handle.sync = () => {
        onSync();
        return sync();
      };
      return handle;
    },
  };
}

/** The log alone: producers are loops that append a record and wait for the flush. */
async function ofLog(directory: string, producers: number): Promise<string[]> {
  let syncs = 0, acknowledged = 0, stoodStillMs = 0;
  const manager = await LogManager.open({
    files: countingSyncs(() => syncs++),
    directory,
    clusterId: null,
    nodeId: 1,
    clock: systemClock,
    configOf: () => ({ ...defaultLogConfig, flushMessages: 1 }),
    onWarning: (text) => console.error(text),
  });
  const log = manager.create("group-commit", 0, TOPIC_ID);
  const produce = async (until: number) => {
    const batch = batchOf(1, Compression.NONE);
    while (performance.now() < until) {
      batch.fill(0, 0, 8);
      const { errorCode, errorText } = log.append(batch, {
        leaderEpoch: 0,
        origin: "client",
        now: Date.now(),
      });
      if (errorCode !== 0) throw new Error(errorText);
      await log.flush();
      acknowledged++;
    }
  };
  const load = (ms: number) => {
    const until = performance.now() + ms;
    return Promise.all(Array.from({ length: producers }, () => produce(until)));
  };
  await load(forMs / 3);
  syncs = acknowledged = 0;
  const started = performance.now();
  let seen = started;
  const timer = setInterval(() => {
    const now = performance.now();
    stoodStillMs = Math.max(stoodStillMs, now - seen - 1);
    seen = now;
  }, 1);
  await load(forMs);
  clearInterval(timer);
  const seconds = (performance.now() - started) / 1000;
  await manager.close();
  return [
    readable(acknowledged / seconds),
    readable(syncs / seconds),
    readable(acknowledged / syncs),
    `${readable(stoodStillMs)} ms`,
  ];
}

/** One record out on each connection, all of them in one partition or each in its own. */
async function ofBroker(broker: RunningBroker, name: string, producers: number, partitions: number) {
  const client = await connect(broker.port);
  await makeTopics(client, name, 1, partitions, { "flush.messages": 1 });
  await untilLed(client, name, partitions);
  await client.close();
  const topic = `${name}-0`;
  const batch = batchOf(1, Compression.NONE);
  const connections = await openConnections(broker.port, producers, { readBytes: 4096 });
  const load = async (ms: number) => {
    const times: number[] = [];
    const until = performance.now() + ms;
    await Promise.all(connections.map((connection, number) =>
      new Promise<void>((resolve, reject) => {
        const frame = produceFrame(topic, [number % partitions], batch, ALL_REPLICAS);
        let sentAt = performance.now();
        connection.onFailure = reject;
        connection.onAnswer = (head) => {
          const error = produceError(head, topic);
          // Kafka says so of partitions that have just been made, after it has told that it leads them.
          if (error === ErrorCode.NOT_LEADER_OR_FOLLOWER) return connection.send(frame);
          if (error !== 0) return reject(new Error(`produce to ${topic}: error ${error}`));
          const now = performance.now();
          times.push(now - sentAt);
          if (now >= until) return resolve();
          sentAt = now;
          connection.send(frame);
        };
        connection.send(frame);
      })
    ));
    return times;
  };
  await load(forMs / 3);
  const meter = new CpuMeter(broker.pid);
  const started = performance.now();
  const times = await load(forMs);
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = meter.seconds();
  for (const connection of connections) connection.close();
  return [
    readable(times.length / seconds),
    `${readable(percentile(times, 0.5))} ms`,
    `${readable(percentile(times, 0.99))} ms`,
    `${readable(cpuSeconds * 1e6 / times.length)} µs`,
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function print(cells: readonly string[]): void {
  console.log(cells.map((cell, i) => i === 0 ? cell.padEnd(44) : cell.padStart(16)).join(""));
}

const root = await Deno.makeTempDir();
try {
  print(["the log alone", "records/s", "syncs/s", "records a sync", "loop stood still"]);
  for (const producers of PRODUCERS) {
    print([counted(producers, "producer"), ...await ofLog(`${root}/log-${producers}`, producers)]);
  }
  const checkout = join(import.meta.dirname!, "..");
  const kinds: BrokerKind[] = [trackway(checkout), ...flags.kafka ? [kafka(checkout)] : []];
  console.log();
  print(["over the network", "records/s", "p50", "p99", "CPU a record"]);
  for (const kind of kinds) {
    const broker = await kind.start(Number(flags.port), `${root}/${kind.name}`);
    try {
      for (const producers of PRODUCERS) {
        for (const partitions of producers === 1 ? [1] : [1, producers]) {
          const what = `${kind.name}, ${counted(producers, "producer")}, ${counted(partitions, "partition")}`;
          print([
            what,
            ...await ofBroker(broker, `flushed-${producers}-${partitions}`, producers, partitions),
          ]);
        }
      }
    } finally {
      await broker.stop();
    }
  }
} finally {
  await Deno.remove(root, { recursive: true });
}
