/**
 * What compaction costs and who notices: a log is filled, compaction is allowed, and until it is done a neighbour produces
 * and fetches one record after the other. What to look for: the neighbour's p99 beside the one before, and the memory, which
 * must not grow with the log but with its keys, up to `log.cleaner.dedupe.buffer.size`.
 *
 *     deno run -A bench/compaction.ts [--kafka] [--megabytes N] [--keys N] [--compression NAME] [--port N]
 *
 * `--kafka` runs Apache Kafka beside it (bench/lib/brokers.ts says from where).
 */
import { join } from "node:path";
import { parseArgs } from "@std/cli/parse-args";
import { encodeHex } from "../src/base/hex.ts";
import { Prng } from "../src/base/prng.ts";
import type { Client } from "../src/client/client.ts";
import { buildBatch, Compression } from "../src/codec/batch.ts";
import { fetch } from "../src/codec/messages/fetch.ts";
import { incrementalAlterConfigs } from "../src/codec/messages/incremental_alter_configs.ts";
import { produce } from "../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../src/codec/uuid.ts";
import { readOffsets } from "../src/storage/directory/checkpoints.ts";
import { CLEANER_FILE } from "../src/storage/log/compacted.ts";
import { realFiles } from "../src/storage/files/real.ts";
import { LOG_SUFFIX, offsetOfName } from "../src/storage/directory/names.ts";
import { connect, makeTopics, must, untilLed } from "./lib/admin.ts";
import { type BrokerKind, kafka, type RunningBroker, trackway } from "./lib/brokers.ts";
import { exists } from "./lib/paths.ts";
import { CpuMeter, residentBytes } from "./lib/process_stats.ts";
import { percentile } from "./lib/statistics.ts";

const VALUE_BYTES = 200;
const RECORDS_IN_BATCH = 60;
const BATCHES_UNDER_WAY = 8;
const NEIGHBOUR_BEFORE_MS = 5000;
const TOPIC = "compaction-0";
const NEIGHBOUR = "neighbour-0";

const flags = parseArgs(Deno.args, {
  string: ["megabytes", "keys", "port", "compression"],
  boolean: ["kafka"],
  default: { megabytes: "300", keys: "500000", port: "20790", compression: "NONE" },
});
const bytes = Number(flags.megabytes) * 1e6;
const keys = Number(flags.keys);
const compression = Compression[flags.compression.toUpperCase() as keyof typeof Compression];

function send(client: Client, name: string, records: Uint8Array): Promise<void> {
  const topicData = [{ name, topicId: ZERO_UUID, partitionData: [{ index: 0, records }] }];
  return client.send(produce, 9, { acks: 1, timeoutMs: 60_000, topicData }).then(({ responses }) =>
    must(`Produce to ${name}`, responses[0].partitionResponses[0].errorCode)
  );
}

async function fill(client: Client): Promise<void> {
  const random = new Prng(1);
  const underWay = new Set<Promise<void>>();
  for (let left = bytes; left > 0;) {
    const timestamp = Date.now();
    const records = Array.from({ length: RECORDS_IN_BATCH }, () => ({
      timestamp,
      key: new TextEncoder().encode(`key ${String(random.int(keys)).padStart(12, "0")}`),
      value: new TextEncoder().encode(encodeHex(random.bytes(VALUE_BYTES / 2))),
    }));
    const batch = buildBatch(records, { compression });
    left -= batch.length;
    const sent = send(client, TOPIC, batch).finally(() => underWay.delete(sent));
    underWay.add(sent);
    if (underWay.size >= BATCHES_UNDER_WAY) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** One record after the other, each produced and then fetched. */
class Neighbour {
  private latencies: number[] = [];
  private isEnded = false;
  private readonly running: Promise<void>;

  constructor(private readonly client: Client) {
    this.running = this.run();
  }

  private async run(): Promise<void> {
    const record = { timestamp: Date.now(), key: null, value: new Uint8Array(100) };
    for (let offset = 0; !this.isEnded; offset++) {
      const before = performance.now();
      await send(this.client, NEIGHBOUR, buildBatch([record]));
      const partitions = [{ partition: 0, fetchOffset: BigInt(offset), partitionMaxBytes: 1 << 20 }];
      const { responses } = await this.client.send(fetch, 12, {
        maxWaitMs: 0,
        minBytes: 1,
        maxBytes: 1 << 20,
        topics: [{ topic: NEIGHBOUR, topicId: ZERO_UUID, partitions }],
        forgottenTopicsData: [],
      });
      must("Fetch", responses[0].partitions[0].errorCode);
      this.latencies.push(performance.now() - before);
    }
  }

  /** What it has seen since the last call. */
  seen(): string {
    const sorted = this.latencies.sort((a, b) => a - b);
    this.latencies = [];
    const at = (share: number) => percentile(sorted, share).toFixed(2);
    return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms, most ${
      sorted.at(-1)?.toFixed(1)
    } ms`;
  }

  async end(): Promise<void> {
    this.isEnded = true;
    await this.running;
  }
}

async function setPolicy(client: Client, value: string): Promise<void> {
  const configs = [{ name: "cleanup.policy", configOperation: 0, value }];
  const resources = [{ resourceType: 2, resourceName: TOPIC, configs }];
  const { responses } = await client.send(incrementalAlterConfigs, 1, { resources, validateOnly: false });
  must("IncrementalAlterConfigs", responses[0].errorCode);
}

function sizeOfLog(directory: string): { size: number; active: number } {
  const path = `${directory}/${TOPIC}-0`;
  const bases = realFiles.list(path).map(({ name }) => ({ name, base: offsetOfName(name, LOG_SUFFIX) }))
    .filter(({ base }) => base !== null);
  const size = bases.reduce((sum, { name }) => sum + (realFiles.stat(`${path}/${name}`)?.size ?? 0), 0);
  return { size, active: Math.max(...bases.map(({ base }) => base!)) };
}

async function measure(kind: BrokerKind, root: string): Promise<void> {
  const directory = join(root, kind.name);
  const broker: RunningBroker = await kind.start(Number(flags.port), directory, {
    TRACKWAY_LOG_CLEANER_BACKOFF_MS: "100",
    KAFKA_BASELINE_PROPS: "log.cleaner.backoff.ms=100",
  });
  try {
    const client = await connect(broker.port);
    const settings = { "min.cleanable.dirty.ratio": "0.01", "segment.bytes": String(64 << 20) };
    await makeTopics(client, "compaction", 1, 1, { ...settings, "cleanup.policy": "delete" });
    await makeTopics(client, "neighbour", 1);
    await untilLed(client, "neighbour", 1);
    await fill(client);
    const logs = await exists(join(directory, "log")) ? join(directory, "log") : directory;
    const { size, active } = sizeOfLog(logs);
    const neighbour = new Neighbour(await connect(broker.port));
    await new Promise((resolve) => setTimeout(resolve, NEIGHBOUR_BEFORE_MS));
    console.log(`${kind.name}: the neighbour before: ${neighbour.seen()}`);
    const residentBefore = residentBytes(broker.pid);
    let residentMost = residentBefore;
    const cpu = new CpuMeter(broker.pid);
    await setPolicy(client, "compact");
    const before = performance.now();
    while (readOffsets(realFiles, `${logs}/${CLEANER_FILE}`).get(`${TOPIC}-0`) !== active) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      residentMost = Math.max(residentMost, residentBytes(broker.pid));
    }
    const seconds = (performance.now() - before) / 1000;
    const cpuSeconds = cpu.seconds();
    console.log(`${kind.name}: the neighbour meanwhile: ${neighbour.seen()}`);
    await neighbour.end();
    const left = sizeOfLog(logs).size;
    console.log(
      `${kind.name}: ${(size / 1e6).toFixed(0)} MB compacted to ${(left / 1e6).toFixed(0)} MB in ` +
        `${seconds.toFixed(1)} s (${(size / 1e6 / seconds).toFixed(0)} MB/s), ${
          cpuSeconds.toFixed(1)
        } s of CPU with the ` +
        `neighbour's; resident ${(residentBefore / 1e6).toFixed(0)} MB before, ${
          (residentMost / 1e6).toFixed(0)
        } MB at most`,
    );
    await client.close();
  } finally {
    await broker.stop();
  }
}

const checkout = join(import.meta.dirname!, "..");
const root = await Deno.makeTempDir({ prefix: "trackway-compaction-" });
try {
  await measure(trackway(checkout), root);
  if (flags.kafka) await measure(kafka(checkout), root);
} finally {
  await Deno.remove(root, { recursive: true });
}
Deno.exit(0);
