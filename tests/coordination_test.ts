/** The coordinators of a broker as it starts, loses a disk for a while, and has their topics deleted. */
import { assertEquals } from "@std/assert/equals";
import { assert } from "@std/assert/assert";
import { ManualClock } from "../src/base/clock.ts";
import type { Cluster } from "../src/cluster/cluster.ts";
import { newTopic, type TopicImage } from "../src/cluster/image.ts";
import type { ProducerIds } from "../src/cluster/producer_ids.ts";
import { StoreFailure } from "../src/cluster/store.ts";
import { OFFSETS_TOPIC, TRANSACTIONS_TOPIC } from "../src/cluster/topic_names.ts";
import { ErrorCode } from "../src/codec/errors.ts";
import { BrokerConfig } from "../src/config/broker_config.ts";
import { Coordination } from "../src/coordination.ts";
import { Partition } from "../src/replication/partition.ts";
import { Replicas } from "../src/replication/replicas.ts";
import { FaultyFiles } from "../src/storage/files/faulty.ts";
import { MemoryFiles } from "../src/storage/files/memory.ts";
import { defaultLogConfig } from "../src/storage/log/config.ts";
import { LogManager } from "../src/storage/manager/log_manager.ts";
import { settled } from "./coordinators/harness.ts";
import { commitRequest, committed } from "./coordinators/requests.ts";

const DIRECTORY = "/data";
const TOPIC = "t";

/** What is on the disk of one broker, and which of it can be reached. */
class Disk {
  memory = new MemoryFiles();
  /** Operations on paths with this in them fail. */
  broken: string | null = null;
  /** Paths that anything was done with. */
  touched: string[] = [];
  starts = 0;

  get files(): FaultyFiles {
    return new FaultyFiles(this.memory, ({ path }) => {
      this.touched.push(path);
      return this.broken !== null && path.includes(this.broken) ? { code: "EIO" } : null;
    });
  }
}

/** A broker with one partition of each coordinator's topic, or as many as asked for, and of `t`. */
async function start(
  disk: Disk,
  { partitions = 1, topics: names = [TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC] } = {},
) {
  const manager = await LogManager.open({
    files: disk.files,
    directory: DIRECTORY,
    clusterId: "cluster",
    nodeId: 1,
    clock: new ManualClock(),
    bootId: `boot ${disk.starts++}`,
    configOf: () => defaultLogConfig,
    onWarning: () => {},
  });
  const topics = new Map<string, TopicImage>();
  const replicas = new Replicas();
  const make = (name: string, generation = "A") => {
    const topicId = name.replaceAll("_", "x").padEnd(22, generation).slice(0, 21) + "A";
    const image = newTopic(name, topicId, Array.from({ length: partitions }, () => [1]), new Map());
    topics.set(name, image);
    for (let index = 0; index < partitions; index++) {
      const log = manager.get(name, index) ?? manager.create(name, index, topicId);
      replicas.add(new Partition(log, topicId, 1, 0, [1]));
    }
    return image;
  };
  for (const name of names) make(name);
  const reports: string[] = [];
  const ids: { next: () => Promise<number> } = { next: () => Promise.resolve(1000) };
  const coordination = new Coordination({
    config: new BrokerConfig(),
    cluster: {
      image: { topics },
      autoCreateTopics([name]: readonly string[]) {
        make(name);
        return Promise.resolve([{ errorCode: ErrorCode.NONE }]);
      },
    } as unknown as Cluster,
    replicas,
    producerIds: ids as unknown as ProducerIds,
    inform: () => {},
    report: (problem) => reports.push(problem),
  });
  return {
    coordination,
    topics,
    replicas,
    reports,
    ids,
    make,
    /** Deletes a topic, with its logs. */
    delete(name: string) {
      const image = topics.get(name)!;
      topics.delete(name);
      replicas.removeTopic(name);
      for (const { partition } of image.partitions) manager.remove(name, partition);
      coordination.apply({ ...nothing, deleted: [image] });
    },
    /** Leaves the disk as it is. */
    kill() {
      coordination.close();
      disk.memory = disk.memory.crashed("killed");
    },
    /** As after SIGTERM. */
    async stop() {
      coordination.close();
      await manager.close();
    },
  };
}
type Broker = Awaited<ReturnType<typeof start>>;

const nothing = {
  version: 1,
  deleted: [],
  created: [],
  changed: [],
  brokerConfigs: [],
  groupConfigs: [],
  clientMetricsConfigs: [],
  clientQuotas: [],
};

const offsets = async ({ coordination: { groups } }: Broker) => {
  const { errorCode } = await groups.fetchOffsets({ groupId: "g", topics: null });
  return errorCode === ErrorCode.NONE ? await committed(groups, "g") : errorCode;
};

async function begin({ coordination: { transactions } }: Broker) {
  const { errorCode, producerId, producerEpoch } = await transactions.initProducerId({
    transactionalId: "tx",
    transactionTimeoutMs: 60_000,
    producerId: -1,
    producerEpoch: -1,
    enable2Pc: false,
    keepPreparedTxn: false,
  });
  return { transactionalId: "tx", errorCode, producerId, producerEpoch };
}

Deno.test("Coordination makes the topic of a coordinator at its first use", async () => {
  const broker = await start(new Disk(), { topics: [TOPIC] });
  assertEquals(await offsets(broker), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  await settled();
  assertEquals(await offsets(broker), {});
  assertEquals([...broker.topics.keys()], [TOPIC, OFFSETS_TOPIC]);
  await broker.stop();
});

Deno.test("Coordination.retry() ends a transaction whose log a disk did not let be opened, though nobody asks", async () => {
  const disk = new Disk();
  const before = await start(disk);
  const { transactions } = before.coordination;
  const { errorCode: _, ...producer } = await begin(before);
  const partitions = [{ topic: TOPIC, partition: 0 }];
  await transactions.addPartitions({ ...producer, partitions, verifyOnly: false });
  disk.broken = `/${TOPIC}-0/`;
  await transactions.endTxn({ ...producer, isCommit: true, clientTransactionVersion: 2 });
  assertEquals((await transactions.describe("tx")).transactionState, "PrepareCommit");
  before.kill();

  disk.broken = `/${TRANSACTIONS_TOPIC}-0/`;
  const broker = await start(disk);
  broker.coordination.open();
  const describe = () => broker.coordination.transactions.describe("tx");
  assertEquals((await describe()).errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE);
  broker.coordination.retry();
  assertEquals(broker.replicas.get(TOPIC, 0)!.highWatermark, 0);
  disk.broken = null;
  broker.coordination.retry();
  await settled();
  assertEquals(broker.replicas.get(TOPIC, 0)!.highWatermark, 1);
  assertEquals((await describe()).transactionState, "CompleteCommit");
  await broker.stop();
});

Deno.test("Coordination.apply() forgets the groups with their topic, and serves from the one that is made anew", async () => {
  const broker = await start(new Disk());
  const { coordination: { groups } } = broker;
  await groups.commitOffsets(commitRequest("g", { "t:0": 5 }));
  broker.delete(OFFSETS_TOPIC);
  assertEquals(await offsets(broker), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  await settled();
  assertEquals(await offsets(broker), {});
  await groups.commitOffsets(commitRequest("g", { "t:1": 6 }));
  assertEquals(broker.replicas.get(OFFSETS_TOPIC, groups.partitionOf("g"))!.highWatermark, 1);
  await broker.stop();
});

Deno.test("Coordination.apply() deletes the offsets of a topic that is deleted", async () => {
  const broker = await start(new Disk());
  await broker.coordination.groups.commitOffsets(commitRequest("g", { "t:0": 5, "u:0": 6 }));
  broker.delete(TOPIC);
  assertEquals(await offsets(broker), { "u:0": 6 });
  await broker.stop();
});

Deno.test("Coordination.open() loads what there is, and leaves empty partitions alone", async () => {
  const disk = new Disk();
  const before = await start(disk, { partitions: 5 });
  await before.coordination.groups.commitOffsets(commitRequest("g", { "t:0": 5 }));
  await before.stop();
  const broker = await start(disk, { partitions: 5 });
  const opened = new Set<string>();
  for (const { topic, index, log } of broker.replicas.all()) {
    const open = log.open.bind(log);
    log.open = () => {
      opened.add(`${topic}-${index}`);
      return open();
    };
  }
  broker.coordination.open();
  assertEquals([...opened], [`${OFFSETS_TOPIC}-${broker.coordination.groups.partitionOf("g")}`]);
  disk.touched = [];
  assertEquals(await offsets(broker), { "t:0": 5 });
  assertEquals(disk.touched, []);
  await broker.stop();
});

Deno.test("Coordination.open() loads a partition that only seems empty: a disk did not let it be looked at", async () => {
  const disk = new Disk();
  const before = await start(disk);
  await before.coordination.groups.commitOffsets(commitRequest("g", { "t:0": 5 }));
  before.kill();
  disk.broken = `/${OFFSETS_TOPIC}-0/`;
  const broker = await start(disk);
  assertEquals(broker.replicas.get(OFFSETS_TOPIC, 0)!.highWatermark, 0);
  disk.broken = null;
  disk.touched = [];
  broker.coordination.open();
  assert(disk.touched.some((path) => path.includes(`/${OFFSETS_TOPIC}-0/`)));
  assertEquals(await offsets(broker), { "t:0": 5 });
  await broker.stop();
});

Deno.test("Coordination tells a producer to come again when no id is to be had, and reports why", async () => {
  const broker = await start(new Disk());
  broker.ids.next = () => Promise.reject(new StoreFailure("the disk is full"));
  assertEquals((await begin(broker)).errorCode, ErrorCode.COORDINATOR_NOT_AVAILABLE);
  assertEquals(broker.reports, ["Cannot get a producer id: the disk is full"]);
  await broker.stop();
});
