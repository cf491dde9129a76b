/** Scenarios of a broker that starts, that nobody uses, that has been used, and that has very many partitions. */
import type { RunningBroker } from "./brokers.ts";
import { connect, makeTopics, untilLed } from "./admin.ts";
import { metrics } from "./metrics.ts";
import { CpuMeter, residentBytes } from "./process_stats.ts";
import { MEGABYTE, running, type Scenario, sleep } from "./scenario.ts";

const SETTLE_MS = 5_000, IDLE_MS = 10_000;

export const startUp: Scenario = {
  name: "start",
  about: "From the start of the process to the first ApiVersions answer, on data that is there already",
  maxRounds: 5,
  warmUps: 1,
  alone: true,
  metrics: [metrics.start("start to first answer")],
  async measure({ launch }) {
    const broker = await launch();
    await broker.stop();
    return [broker.startMs];
  },
};

export const idle: Scenario = {
  name: "idle",
  about: "A broker that nobody has used: CPU over 10 s, resident memory",
  maxRounds: 1,
  warmUps: 0,
  metrics: [metrics.idleCpu, metrics.memory("memory, idle")],
  async measure(subject) {
    const { pid } = running(subject);
    await sleep(SETTLE_MS);
    const cpuMs = await idleCpu(pid);
    return [cpuMs, residentBytes(pid) / MEGABYTE];
  },
};

export const loaded: Scenario = {
  name: "loaded",
  about: "Resident memory after all the scenarios before it",
  maxRounds: 1,
  warmUps: 0,
  metrics: [metrics.memory("memory, after load")],
  async measure(subject) {
    const { pid } = running(subject);
    await sleep(SETTLE_MS);
    return [residentBytes(pid) / MEGABYTE];
  },
};

const TOPICS = 1000, PARTITIONS_EACH = 10;
const COUNT = (TOPICS * PARTITIONS_EACH).toLocaleString("en");

export const manyPartitions: Scenario = {
  name: "10000",
  about: `${COUNT} partitions: made, idle, and started with after a clean stop and after kill -9`,
  maxRounds: 1,
  warmUps: 0,
  alone: true,
  metrics: [
    metrics.told.lower(`${COUNT} partitions made and led`, "ms"),
    metrics.memory(`memory with ${COUNT} partitions, idle`),
    metrics.idleCpu,
    metrics.start("start after a clean stop"),
    metrics.memory("memory after that start"),
    metrics.start("start after kill -9"),
    metrics.told.lower("until all are led again", "ms"),
  ],
  async measure({ launch }) {
    // Kafka maps two index files of each, and needs more than the other scenarios give it.
    const environment = { KAFKA_HEAP_OPTS: "-Xmx1G -Xms256M" };
    let broker = await launch(environment);
    const made = await ledMs(broker, async (client) => {
      await makeTopics(client, "wide", TOPICS, PARTITIONS_EACH);
    });
    await sleep(SETTLE_MS);
    const cpuMs = await idleCpu(broker.pid);
    const memory = residentBytes(broker.pid) / MEGABYTE;
    await broker.stop();

    broker = await launch(environment);
    const cleanMs = broker.startMs;
    await ledMs(broker);
    await sleep(SETTLE_MS);
    const memoryAgain = residentBytes(broker.pid) / MEGABYTE;
    await broker.kill();

    broker = await launch(environment);
    const killedMs = broker.startMs;
    const ledAgain = await ledMs(broker);
    await broker.stop();
    return [made, memory, cpuMs, cleanMs, memoryAgain, killedMs, ledAgain];
  },
};

/** Milliseconds of some work and then until all partitions have leaders. */
async function ledMs(
  broker: RunningBroker,
  work: (client: Awaited<ReturnType<typeof connect>>) => Promise<void> = async () => {},
): Promise<number> {
  const client = await connect(broker.port);
  const started = performance.now();
  await work(client);
  await untilLed(client, "wide", TOPICS * PARTITIONS_EACH);
  const ms = performance.now() - started;
  await client.close();
  return ms;
}

/** Milliseconds of CPU in a second of a process that is left alone. */
async function idleCpu(pid: number): Promise<number> {
  const cpu = new CpuMeter(pid);
  await sleep(IDLE_MS);
  return cpu.seconds() * 1000 / (IDLE_MS / 1000);
}
