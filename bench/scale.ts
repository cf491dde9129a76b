/**
 * Growth: what one more partition, connection, group and stored gigabyte costs one broker that nobody asks anything, in
 * steps of ten. What one more costs has to stay level from step to step, or rise with the logarithm at most.
 *
 *     deno task bench:scale [STEP…] [--docs] [--port N]       steps: partitions connections groups bytes
 *
 * Prints a table, and with --docs writes it into docs/bench/README.md. Fails when any request does.
 */
import { join } from "node:path";
import { taskArgs } from "../scripts/lib/task_args.ts";
import type { Client } from "../src/client/client.ts";
import { connect, connectMany, makeTopics, Member, partitionsLed, untilCoordinated } from "./lib/admin.ts";
import { type RunningBroker, trackway } from "./lib/brokers.ts";
import { batchOf, VALUE_BYTES } from "./lib/frames.ts";
import { type GrowthRow, growthTables, growthText } from "./lib/growth.ts";
import { produceLoad } from "./lib/load.ts";
import { forgetTopic } from "./lib/page_cache.ts";
import { bytesRead, CpuMeter, openHandles, residentBytes } from "./lib/process_stats.ts";
import { withTable } from "./lib/report.ts";
import { sleep } from "./lib/scenario.ts";

const checkout = join(import.meta.dirname!, "..");
const usage = `deno task bench:scale [STEP...] [flags]: what one more of a thing costs an idle broker

  partitions, connections, groups, bytes: the steps; all of them if none is named

  --port N    port of the broker (21600)
  --docs      write the tables into docs/bench/README.md`;
const flags = taskArgs("bench:scale", usage, Infinity);
const kind = trackway(checkout);
const port = flags.number("port", 21600);
/** Long enough for the garbage collector to come round and for all upkeep that runs by the second or by five. */
const SETTLE_MS = 8_000, IDLE_MS = 12_000;
const NO_DELAY = { TRACKWAY_GROUP_INITIAL_REBALANCE_DELAY_MS: "0" };

/** Memory, CPU and open files of a broker that is left alone for a while. */
async function idle({ pid }: RunningBroker): Promise<Pick<GrowthRow, "memoryBytes" | "cpuMs" | "handles">> {
  await sleep(SETTLE_MS);
  const meter = new CpuMeter(pid);
  await sleep(IDLE_MS);
  const cpuMs = meter.seconds() * 1000 / (IDLE_MS / 1000);
  return { memoryBytes: residentBytes(pid), cpuMs, handles: openHandles(pid) };
}

/** Stops and starts it, kills and starts it: the broker of after that, and both times to the first answer. */
async function restarted(broker: RunningBroker, directory: string) {
  await broker.stop();
  broker = await kind.start(port, directory, NO_DELAY);
  const cleanStartMs = broker.startMs;
  await broker.kill();
  broker = await kind.start(port, directory, NO_DELAY);
  return { broker, cleanStartMs, killedStartMs: broker.startMs };
}

async function timedMs(work: () => Promise<void>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

/** Of topics with ten partitions each, without records. */
async function partitions(directory: string): Promise<GrowthRow[]> {
  let broker = await kind.start(port, directory);
  const rows: GrowthRow[] = [{ count: 0, ...await idle(broker) }];
  let made = 0;
  for (const count of [100, 1_000, 10_000]) {
    const client = await connect(port);
    const ms = await timedMs(() => makeTopics(client, `to-${count}`, (count - made) / 10, 10));
    made = count;
    const found = await partitionsLed(client, "to-");
    if (found !== count) throw new Error(`there are ${found} partitions instead of ${count}`);
    await client.close();
    const resting = await idle(broker);
    const { broker: again, ...starts } = await restarted(broker, directory);
    broker = again;
    rows.push({ count, madeMs: ms, ...resting, ...starts });
  }
  await broker.stop();
  return rows;
}

/** Each has asked for metadata once. */
async function connections(directory: string): Promise<GrowthRow[]> {
  const broker = await kind.start(port, directory);
  const rows: GrowthRow[] = [{ count: 0, ...await idle(broker) }];
  const clients: Client[] = [];
  for (const count of [100, 1_000, 5_000]) {
    const madeMs = await timedMs(async () => {
      const fresh = await connectMany(port, count - clients.length);
      for (const client of fresh) await partitionsLed(client, "");
      clients.push(...fresh);
    });
    rows.push({ count, madeMs, ...await idle(broker) });
  }
  await Promise.all(clients.map((client) => client.close()));
  await broker.stop();
  return rows;
}

const ASKING = 50;

/** Of one member each, with a committed offset. */
async function groups(directory: string): Promise<GrowthRow[]> {
  let broker = await kind.start(port, directory, NO_DELAY);
  const rows: GrowthRow[] = [];
  let made = 0;
  for (const count of [0, 100, 1_000, 10_000]) {
    const clients = await connectMany(port, ASKING);
    if (count === 0) {
      await makeTopics(clients[0], "read", 1);
      await untilCoordinated(clients[0], "first");
    }
    const madeMs = await timedMs(async () => {
      await Promise.all(clients.map(async (client) => {
        while (made < count) {
          const member = new Member(client, `group-${made++}`, SESSION_MS);
          await member.join();
          await member.commit("read-0", 1);
        }
      }));
    });
    const resting = await idle(broker);
    await Promise.all(clients.map((client) => client.close()));
    const { broker: again, ...starts } = await restarted(broker, directory);
    broker = again;
    rows.push({ count, madeMs: count === 0 ? undefined : madeMs, ...resting, ...starts });
  }
  await broker.stop();
  return rows;
}
/** No heartbeats are sent: what is looked at is groups at rest, not their traffic. */
const SESSION_MS = 1_800_000;

const TOPIC = "large", PARTITIONS = 8, RECORDS = 1000;

/** Stored bytes, of which none is in the page cache at the start; in GB. */
async function bytes(directory: string): Promise<GrowthRow[]> {
  let broker = await kind.start(port, directory);
  const client = await connect(port);
  await makeTopics(client, TOPIC, 1, PARTITIONS);
  await client.close();
  const batch = batchOf(RECORDS, 0);
  const rows: GrowthRow[] = [];
  let stored = 0;
  for (const count of [0.1, 1, 10]) {
    const target = {
      ...{ port, topic: `${TOPIC}-0`, partitions: PARTITIONS, connections: PARTITIONS, acks: 1 },
      ...{ batch, recordsPerBatch: RECORDS, valueBytes: VALUE_BYTES },
    };
    const madeMs = await timedMs(async () => {
      stored += (await produceLoad(target, (count * 1e9 - stored) / (RECORDS * VALUE_BYTES))).bytes;
    });
    await forgetTopic(directory, target.topic);
    const resting = await idle(broker);
    await broker.stop();
    broker = await kind.start(port, directory);
    const cleanStartMs = broker.startMs, readBytes = bytesRead(broker.pid);
    await broker.kill();
    broker = await kind.start(port, directory);
    rows.push({ count, madeMs, ...resting, cleanStartMs, killedStartMs: broker.startMs, readBytes });
  }
  await broker.stop();
  return rows;
}

const steps = { partitions, connections, groups, bytes };
type Step = keyof typeof steps;

const wanted = (flags.words.length > 0 ? flags.words : Object.keys(steps)) as Step[];
const strange = wanted.find((name) => !Object.hasOwn(steps, name));
if (strange !== undefined) {
  console.error(`There is no step ${strange}. There are: ${Object.keys(steps).join(", ")}`);
  Deno.exit(2);
}
const measured: Partial<Record<Step, GrowthRow[]>> = {};
for (const name of wanted) {
  const home = await Deno.makeTempDir({ prefix: "trackway-scale-" });
  try {
    measured[name] = await steps[name](join(home, "data"));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
  console.log(growthText(name, measured[name]!) + "\n");
}
if (flags.has("docs")) {
  const docs = join(checkout, "docs/bench"),
    file = join(docs, "growth.json"),
    readme = join(docs, "README.md");
  const all = { ...JSON.parse(await Deno.readTextFile(file)), ...measured };
  await Deno.writeTextFile(file, JSON.stringify(all, null, 1) + "\n");
  await Deno.writeTextFile(readme, withTable(await Deno.readTextFile(readme), "growth", growthTables(all)));
}
