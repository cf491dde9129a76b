/**
 * What many topics, groups and connections cost one broker: time to make them, memory and CPU while they idle, and the
 * start with all of them. In steps of ten, so that what one more of each costs can be told.
 *
 *     deno run -A bench/scale.ts [STEP…]      steps: everything partitions costs soak (default: all)
 *
 * Fails when any request does. PORT is the port, 21600 if not set.
 */
import { join } from "node:path";
import { Client } from "../src/client/client.ts";
import { batchesIn, buildBatch } from "../src/codec/batch.ts";
import { createTopics } from "../src/codec/messages/create_topics.ts";
import { fetch } from "../src/codec/messages/fetch.ts";
import { heartbeat } from "../src/codec/messages/heartbeat.ts";
import { joinGroup } from "../src/codec/messages/join_group.ts";
import { metadata } from "../src/codec/messages/metadata.ts";
import { offsetCommit } from "../src/codec/messages/offset_commit.ts";
import { produce } from "../src/codec/messages/produce.ts";
import { syncGroup } from "../src/codec/messages/sync_group.ts";
import { ZERO_UUID } from "../src/codec/uuid.ts";
import { type RunningBroker, trackway } from "./lib/brokers.ts";
import { CpuMeter, residentBytes } from "./lib/process_stats.ts";

// So that the members of a group all come in its first generation.
Deno.env.set("TRACKWAY_GROUP_INITIAL_REBALANCE_DELAY_MS", "1000");
const kind = trackway(new URL("..", import.meta.url).pathname);
const port = Number(Deno.env.get("PORT") ?? 21600);
/** Long enough for the garbage collector to come round and for all upkeep that runs by the second or five. */
const IDLE_MS = 12_000;

function report(what: string, value: string): void {
  console.log(`${what.padEnd(58)} ${value}`);
}
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
const per = (bytes: number, count: number) => `${(bytes / 1000 / count).toFixed(1)} kB each`;

function connect(): Promise<Client> {
  return Client.connect({ hostname: "127.0.0.1", port }, "scale");
}

function must(what: string, errorCode: number): void {
  if (errorCode !== 0) throw new Error(`${what} was refused with ${errorCode}`);
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const since = performance.now();
  const result = await work();
  report(what, `${(performance.now() - since).toFixed(0)} ms`);
  return result;
}

/** Resident memory and CPU of a broker that is left alone for a while. */
async function idle(what: string, broker: RunningBroker): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS / 2));
  const meter = new CpuMeter(broker.pid);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const cpu = meter.seconds() / (IDLE_MS / 1000);
  const resident = residentBytes(broker.pid);
  const handles = [...Deno.readDirSync(`/proc/${broker.pid}/fd`)].length;
  report(`  ${what}, idle`, `${megabytes(resident)}, CPU ${(cpu * 100).toFixed(2)} %, ${handles} handles`);
  return resident;
}

/** Makes so many topics, some per request, as fast as one client can. */
async function makeTopics(client: Client, prefix: string, count: number, partitionsEach = 1): Promise<void> {
  for (let at = 0; at < count;) {
    const names = Array.from({ length: Math.min(100, count - at) }, () => `${prefix}-${at++}`);
    const { topics } = await client.send(createTopics, 4, {
      topics: names.map((name) => ({
        name,
        numPartitions: partitionsEach,
        replicationFactor: 1,
        assignments: [],
        configs: [],
      })),
    });
    for (const topic of topics) must(`CreateTopics of ${topic.name}`, topic.errorCode);
  }
}

async function allMetadata(client: Client): Promise<number> {
  const { topics } = await client.send(metadata, 9, {
    topics: null,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  for (const topic of topics) must(`Metadata of ${topic.name}`, topic.errorCode);
  return topics.reduce((sum, topic) => sum + topic.partitions.length, 0);
}

/** A record into each of these topics' only partitions, so that they have files. */
async function writeToEach(client: Client, topics: readonly string[]): Promise<void> {
  for (const name of topics) {
    const records = buildBatch([{ timestamp: Date.now(), key: null, value: new Uint8Array(100) }]);
    const { responses } = await client.send(produce, 9, {
      acks: -1,
      timeoutMs: 30_000,
      topicData: [{ name, topicId: ZERO_UUID, partitionData: [{ index: 0, records }] }],
    });
    must(`Produce to ${name}`, responses[0].partitionResponses[0].errorCode);
  }
}

/** A member on a connection of its own, alone in its group. */
class Member {
  private memberId = "";
  private generationId = -1;

  constructor(private readonly client: Client, private readonly groupId: string) {}

  async join(): Promise<void> {
    const { client, groupId } = this;
    for (;;) {
      const answer = await client.send(joinGroup, 7, {
        groupId,
        memberId: this.memberId,
        sessionTimeoutMs: 45_000,
        rebalanceTimeoutMs: 60_000,
        protocolType: "consumer",
        protocols: [{ name: "range", metadata: new Uint8Array(60) }],
      });
      this.memberId = answer.memberId;
      this.generationId = answer.generationId;
      if (answer.errorCode === 0) break;
      // The offsets topic is being made, or the member has just been given its id.
      if (![14, 15, 16, 79].includes(answer.errorCode)) must("JoinGroup", answer.errorCode);
    }
    const { memberId, generationId } = this;
    const { errorCode } = await client.send(syncGroup, 4, {
      groupId,
      memberId,
      generationId,
      assignments: [{ memberId, assignment: new Uint8Array(60) }],
    });
    must("SyncGroup", errorCode);
  }

  async heartbeat(): Promise<void> {
    const { client, groupId, memberId, generationId } = this;
    must("Heartbeat", (await client.send(heartbeat, 4, { groupId, memberId, generationId })).errorCode);
  }

  async commit(topic: string, offset: number): Promise<void> {
    const { client, groupId, memberId, generationId } = this;
    const { topics } = await client.send(offsetCommit, 8, {
      groupId,
      generationIdOrMemberEpoch: generationId,
      memberId,
      topics: [{
        name: topic,
        topicId: ZERO_UUID,
        partitions: [{ partitionIndex: 0, committedOffset: offset, committedMetadata: "" }],
      }],
    });
    must("OffsetCommit", topics[0].partitions[0].errorCode);
  }
}

/** One broker with 1,000 topics, 500 connections, and 100 groups whose members live on some of them. */
async function everything(dataDir: string): Promise<void> {
  let broker = await kind.start(port, dataDir);
  const admin = await connect();
  let before = await idle("empty", broker);

  for (const [count, prefix] of [[100, "few"], [900, "more"]] as const) {
    await timed(`${count} topics of 1 partition made`, () => makeTopics(admin, prefix, count));
    const after = await idle(`${count} more topics`, broker);
    report(`  resident memory`, per(after - before, count));
    before = after;
  }
  await timed("Metadata of all topics", () => allMetadata(admin));
  await timed("Metadata of all topics, again", () => allMetadata(admin));
  const names = Array.from({ length: 900 }, (_, i) => `more-${i}`);
  await timed("a first record into each of 900 topics", () => writeToEach(admin, names));
  await timed("a second record into each of 900 topics", () => writeToEach(admin, names));
  let after = await idle("900 topics with records", broker);
  report(`  resident memory`, per(after - before, 900));
  before = after;

  const clients: Client[] = [];
  for (const count of [50, 450]) {
    await timed(`${count} connections, a Metadata request on each`, async () => {
      const fresh = await Promise.all(Array.from({ length: count }, connect));
      clients.push(...fresh);
      for (const client of fresh) {
        await client.send(metadata, 9, {
          topics: [{ topicId: ZERO_UUID, name: "few-1" }],
          includeClusterAuthorizedOperations: false,
          includeTopicAuthorizedOperations: false,
        });
      }
    });
    after = await idle(`${count} more connections`, broker);
    report(`  resident memory`, per(after - before, count));
    before = after;
  }

  const members: Member[] = [];
  for (const count of [10, 90]) {
    await timed(`${count} groups of 4 members joined`, async () => {
      const fresh: Member[] = [];
      for (let group = 0; group < count; group++) {
        const groupId = `group-${members.length / 4 + group}`;
        const four = clients.splice(0, 4).map((client) => {
          clients.push(client);
          return new Member(client, groupId);
        });
        fresh.push(...four);
      }
      members.push(...fresh);
      await Promise.all(fresh.map((member) => member.join()));
    });
    after = await idle(`${count} more groups`, broker);
    report(`  resident memory`, per(after - before, count));
    before = after;
  }
  await timed(`10 rounds of heartbeats of ${members.length} members`, async () => {
    for (let round = 0; round < 10; round++) await Promise.all(members.map((member) => member.heartbeat()));
  });
  await timed(`10 rounds of commits of ${members.length} members`, async () => {
    for (let round = 0; round < 10; round++) {
      await Promise.all(members.map((member, i) => member.commit(`more-${i}`, round)));
    }
  });
  await idle("all of it", broker);
  await Promise.all([...clients, admin].map((client) => client.close()));
  await idle("with all connections closed", broker);
  await timed("an orderly stop", () => broker.stop());
  broker = await kind.start(port, dataDir);
  report("start with all of it, to the first answer", `${broker.startMs.toFixed(0)} ms`);
  await idle("started again", broker);
  Deno.kill(broker.pid, "SIGKILL");
  await broker.ended;
  broker = await kind.start(port, dataDir);
  report("start after a kill, to the first answer", `${broker.startMs.toFixed(0)} ms`);
  await broker.stop();
}

/** 10,000 partitions: made, asked for, started with. */
async function manyPartitions(dataDir: string): Promise<void> {
  let broker = await kind.start(port, dataDir);
  let admin = await connect();
  const before = residentBytes(broker.pid);
  await timed("1,000 topics of 10 partitions made", () => makeTopics(admin, "wide", 1000, 10));
  const after = await idle("10,000 partitions", broker);
  report(`  resident memory`, per(after - before, 10_000));
  await timed("Metadata of 10,000 partitions", () => allMetadata(admin));
  await timed("Metadata of 10,000 partitions, again", () => allMetadata(admin));
  await admin.close();
  await timed("an orderly stop", () => broker.stop());
  broker = await kind.start(port, dataDir);
  report("start with 10,000 partitions, to the first answer", `${broker.startMs.toFixed(0)} ms`);
  admin = await connect();
  await timed("Metadata of 10,000 partitions", () => allMetadata(admin));
  await admin.close();
  await idle("started with 10,000 partitions", broker);
  Deno.kill(broker.pid, "SIGKILL");
  await broker.ended;
  broker = await kind.start(port, dataDir);
  report("start after a kill, to the first answer", `${broker.startMs.toFixed(0)} ms`);
  await broker.stop();
}

/** What one more connection and one more group cost, in steps large enough to stand out from the collector's moods. */
async function costs(dataDir: string): Promise<void> {
  Deno.env.set("TRACKWAY_GROUP_INITIAL_REBALANCE_DELAY_MS", "0");
  const broker = await kind.start(port, dataDir);
  const admin = await connect();
  await makeTopics(admin, "few", 10);
  await new Member(admin, "first").join();
  let before = await idle("one group", broker);
  const clients: Client[] = [];
  const steps: [what: string, counts: number[], make: (count: number) => Promise<void>][] = [
    ["connections", [300, 3000], async (count) => {
      for (let i = 0; i < count; i++) {
        const client = await connect();
        clients.push(client);
        await allMetadata(client);
      }
    }],
    ["groups of 1 member with a commit", [1000, 10_000], async (count) => {
      const numbers = Array.from({ length: count }, (_, i) => i);
      await Promise.all(
        clients.slice(0, 50).map(async (client) => {
          for (let i = numbers.pop(); i !== undefined; i = numbers.pop()) {
            const member = new Member(client, `group-${count}-${i}`);
            await member.join();
            await member.commit("few-1", i);
          }
        }),
      );
    }],
  ];
  for (const [what, counts, make] of steps) {
    for (const count of counts) {
      await timed(`${count} ${what} made`, () => make(count));
      const after = await idle(`${count} more`, broker);
      report(`  resident memory`, per(after - before, count));
      before = after;
    }
  }
  await Promise.all([...clients, admin].map((client) => client.close()));
  await idle("all connections closed", broker);
  await broker.stop();
}

const SOAK_MS = 180_000;
const SAMPLE_MS = 20_000;
/** How much more memory and how many more files the second half of a soak may need than the first. */
const LEVEL = 1.15;

/** A steady load for some minutes, with rolling, retention and commits: what it needs has to stay level. */
async function soak(dataDir: string): Promise<void> {
  Deno.env.set("TRACKWAY_LOG_RETENTION_CHECK_INTERVAL_MS", "5000");
  const broker = await kind.start(port, dataDir);
  const [admin, producing, consuming, committing] = await Promise.all(Array.from({ length: 4 }, connect));
  const topic = "steady";
  const settings = {
    "internal.segment.bytes": 4_000_000,
    "retention.bytes": 20_000_000,
    "file.delete.delay.ms": 5000,
  };
  const { topics } = await admin.send(createTopics, 4, {
    topics: [{
      name: topic,
      numPartitions: 4,
      replicationFactor: 1,
      assignments: [],
      configs: Object.entries(settings).map(([name, value]) => ({ name, value: String(value) })),
    }],
  });
  must("CreateTopics", topics[0].errorCode);
  const value = crypto.getRandomValues(new Uint8Array(1000));
  let sent = 0, received = 0, commits = 0;
  const end = performance.now() + SOAK_MS;
  const every = async (ms: number, work: () => Promise<void>) => {
    for (let next = performance.now(); next < end; next += ms) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
      await work();
    }
  };
  const member = new Member(committing, "steady-readers");
  await member.join();
  await Promise.all([
    every(10, async () => {
      const records = buildBatch(
        Array.from({ length: 20 }, () => ({ timestamp: Date.now(), key: null, value })),
      );
      const partitionData = [{ index: sent / 20 % 4, records }];
      const { responses } = await producing.send(produce, 9, {
        acks: -1,
        timeoutMs: 30_000,
        topicData: [{ name: topic, topicId: ZERO_UUID, partitionData }],
      });
      must("Produce", responses[0].partitionResponses[0].errorCode);
      sent += 20;
    }),
    ...[0, 1, 2, 3].map(async (partition) => {
      const client = partition === 0 ? consuming : await connect();
      for (let offset = 0; performance.now() < end;) {
        const { responses } = await client.send(fetch, 11, {
          maxWaitMs: 500,
          minBytes: 1,
          topics: [{
            topic,
            topicId: ZERO_UUID,
            partitions: [{ partition, fetchOffset: offset, partitionMaxBytes: 1_000_000 }],
          }],
          forgottenTopicsData: [],
        });
        const [answer] = responses[0].partitions;
        must("Fetch", answer.errorCode);
        for (const batch of batchesIn(answer.records ?? new Uint8Array(0))) {
          received += batch.recordCount;
          offset = batch.baseOffset + batch.recordCount;
        }
      }
      if (partition !== 0) await client.close();
    }),
    every(20, () => member.commit(topic, commits++)),
    every(3000, () => member.heartbeat()),
    every(100, async () => {
      const client = await connect();
      await allMetadata(client);
      await client.close();
    }),
    sampled(broker.pid, end, () => `${sent} sent, ${received} received, ${commits} commits`),
  ]);
  await Promise.all([admin, producing, consuming, committing].map((client) => client.close()));
  await idle("after the load", broker);
  await timed("an orderly stop", () => broker.stop());
}

/** Prints memory and handles now and then; throws at the end when they have risen from the first half to the second. */
async function sampled(pid: number, end: number, progress: () => string): Promise<void> {
  const resident: number[] = [], handles: number[] = [];
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    resident.push(residentBytes(pid));
    handles.push([...Deno.readDirSync(`/proc/${pid}/fd`)].length);
    report(`  ${megabytes(resident.at(-1)!)}, ${handles.at(-1)} handles`, progress());
  }
  for (const [what, values] of [["memory", resident], ["open files", handles]] as const) {
    // The first sample is of a broker that is still growing into its load.
    const half = Math.ceil((values.length + 1) / 2);
    const [before, after] = [values.slice(1, half), values.slice(half)].map((part) => Math.max(...part));
    if (after > before * LEVEL) {
      throw new Error(`${what} rose from ${before} to ${after} under a steady load`);
    }
  }
}

const steps: Record<string, (dataDir: string) => Promise<void>> = {
  everything,
  partitions: manyPartitions,
  costs,
  soak,
};
const wanted = Deno.args.length > 0 ? Deno.args : Object.keys(steps);
for (const name of wanted) {
  if (steps[name] === undefined) {
    console.error(`There is no step ${name}. There are: ${Object.keys(steps).join(", ")}`);
    Deno.exit(2);
  }
  const home = await Deno.makeTempDir({ prefix: "trackway-scale-" });
  try {
    await steps[name](join(home, "data"));
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}
