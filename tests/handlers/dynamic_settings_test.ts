/** What a change of a setting does, at once and after a restart, seen from a client of a whole broker. */
import { assertEquals } from "@std/assert/equals";
import { Client, Disconnected } from "../../src/client/client.ts";
import { ATTRIBUTES_AT } from "../../src/codec/batch_format.ts";
import { ErrorCode, type ErrorName, errorName } from "../../src/codec/errors.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { describeConfigs } from "../../src/codec/messages/describe_configs.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { incrementalAlterConfigs } from "../../src/codec/messages/incremental_alter_configs.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { listConfigResources } from "../../src/codec/messages/list_config_resources.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { eventually } from "../differential/scenario.ts";
import { batchOf, fetching, produceTo } from "../differential/setup/records.ts";
import { creating } from "../differential/setup/topics.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { BrokerProcess } from "../lib/broker_process.ts";

const TOPIC = 2, BROKER = 4, LOGGER = 8, CLIENT_METRICS = 16, GROUP = 32;
const SET = 0, DELETE = 1;

/** A client with the calls that these tests make. */
class Operator implements AsyncDisposable {
  private constructor(readonly client: Client) {}

  static async of(broker: { readonly port: number }): Promise<Operator> {
    return new Operator(await Client.connect({ hostname: "127.0.0.1", port: broker.port }));
  }

  /** Sets a setting, or takes it back with null. */
  async set(resourceType: number, resourceName: string, name: string, value: string | null): Promise<void> {
    const configs = [{ name, configOperation: value === null ? DELETE : SET, value }];
    const request = { resources: [{ resourceType, resourceName, configs }], validateOnly: false };
    const [{ errorCode, errorMessage }] =
      (await this.client.send(incrementalAlterConfigs, 1, request)).responses;
    assertEquals([errorCode, errorMessage], [ErrorCode.NONE, null]);
  }

  /** The values of some settings. */
  async values(resourceType: number, resourceName: string, names: string[]): Promise<(string | null)[]> {
    const resources = [{ resourceType, resourceName, configurationKeys: names }];
    const request = { resources, includeSynonyms: false, includeDocumentation: false };
    const [{ configs }] = (await this.client.send(describeConfigs, 4, request)).results;
    return names.map((name) => configs.find((config) => config.name === name)?.value ?? null);
  }

  async createTopic(name: string): Promise<void> {
    const request = { topics: [creating(name)], timeoutMs: 5000, validateOnly: false };
    const [{ errorCode }] = (await this.client.send(createTopics, 5, request)).topics;
    assertEquals(errorCode, ErrorCode.NONE);
  }

  async produce(topic: string, batch: Uint8Array): Promise<{ error: ErrorName; logAppendTimeMs: bigint }> {
    const { responses } = await this.client.send(produce, 9, produceTo(topic, batch));
    const [{ errorCode, logAppendTimeMs }] = responses[0].partitionResponses;
    return { error: errorName(errorCode) as ErrorName, logAppendTimeMs };
  }

  /** The bytes of a topic from an offset on. */
  async read(topic: string, fetchOffset: bigint): Promise<Uint8Array> {
    const { responses } = await this.client.send(
      fetch,
      12,
      fetching(topic, [{ fetchOffset }], { maxWaitMs: 0 }),
    );
    return responses[0].partitions[0].records!;
  }

  /** The first offset of a topic. */
  async start(topic: string): Promise<bigint> {
    const { topics } = await this.client.send(listOffsets, 8, {
      replicaId: -1,
      isolationLevel: 0,
      timeoutMs: 1000,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -2n }] }],
    });
    return topics[0].partitions[0].offset;
  }

  async [Symbol.asyncDispose]() {
    await this.client.close();
  }
}

/** A broker with a topic t, and somebody who changes its settings. */
async function withTopic(
  work: (operator: Operator, broker: TestBroker) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  await using broker = await freePortBroker(settings);
  await using operator = await Operator.of(broker);
  await operator.createTopic("t");
  await work(operator, broker);
}

const small = () => batchOf(["a"]);
const large = () => batchOf(["x".repeat(5000)]);

Deno.test("message.max.bytes holds for the next Produce, for all topics that have no limit of their own", () =>
  withTopic(async (operator) => {
    assertEquals((await operator.produce("t", large())).error, "NONE");
    await operator.set(BROKER, "", "message.max.bytes", "1000");
    assertEquals((await operator.produce("t", large())).error, "MESSAGE_TOO_LARGE");
    await operator.set(BROKER, "1", "message.max.bytes", "6000");
    assertEquals((await operator.produce("t", large())).error, "NONE");
    await operator.set(TOPIC, "t", "max.message.bytes", "1000");
    assertEquals((await operator.produce("t", large())).error, "MESSAGE_TOO_LARGE");
    await operator.set(TOPIC, "t", "max.message.bytes", null);
    assertEquals((await operator.produce("t", large())).error, "NONE");
  }));

Deno.test("message.max.bytes holds for the metadata of groups", () =>
  withTopic(async (operator) => {
    // The first look for a coordinator makes the topic of the offsets.
    const join = (groupId: string) => eventually("the coordinator is loading", () => tryToJoin(groupId));
    const tryToJoin = async (groupId: string) => {
      const { errorCode } = await operator.client.send(joinGroup, 3, {
        groupId,
        sessionTimeoutMs: 10_000,
        rebalanceTimeoutMs: 10_000,
        memberId: "",
        protocolType: "consumer",
        protocols: [{ name: "range", metadata: new Uint8Array(5000) }],
      });
      return errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS ? null : errorName(errorCode);
    };
    assertEquals(await join("a"), "NONE");
    await operator.set(BROKER, "1", "message.max.bytes", "1000");
    assertEquals(await join("b"), "GROUP_MAX_SIZE_REACHED");
  }));

Deno.test("max.decompressed.message.bytes holds for the next batch that has to be opened", () =>
  withTopic(async (operator) => {
    const zeros = () => batchOf(["0".repeat(50_000)], { compression: 1 });
    await operator.set(TOPIC, "t", "compression.type", "zstd");
    assertEquals((await operator.produce("t", zeros())).error, "NONE");
    await operator.set(BROKER, "", "max.decompressed.message.bytes", "10000");
    assertEquals((await operator.produce("t", zeros())).error === "NONE", false);
  }));

Deno.test("compression.type and its level hold for the next Produce", () =>
  withTopic(async (operator) => {
    const codecAt = async (offset: bigint) => (await operator.read("t", offset))[ATTRIBUTES_AT + 1] & 7;
    await operator.produce("t", large());
    await operator.set(BROKER, "", "compression.type", "gzip");
    await operator.produce("t", large());
    await operator.set(BROKER, "", "compression.type", null);
    await operator.produce("t", large());
    assertEquals([await codecAt(0n), await codecAt(1n), await codecAt(2n)], [0, 1, 0]);
  }));

Deno.test("log.message.timestamp.* hold for the next Produce", () =>
  withTopic(async (operator) => {
    const late = () => batchOf(["a"], { timestamp: Date.now() + 600_000 });
    assertEquals(await operator.produce("t", late()), { error: "NONE", logAppendTimeMs: -1n });
    await operator.set(BROKER, "1", "log.message.timestamp.after.max.ms", "1000");
    assertEquals((await operator.produce("t", late())).error, "INVALID_TIMESTAMP");
    await operator.set(BROKER, "1", "log.message.timestamp.type", "LogAppendTime");
    assertEquals((await operator.produce("t", late())).logAppendTimeMs > 0n, true);
    await operator.set(BROKER, "1", "log.message.timestamp.type", null);
    await operator.set(BROKER, "1", "log.message.timestamp.before.max.ms", "1000");
    const early = batchOf(["a"], { timestamp: Date.now() - 600_000 });
    assertEquals((await operator.produce("t", early)).error, "INVALID_TIMESTAMP");
  }));

Deno.test("log.cleanup.policy holds for the next record without a key", () =>
  withTopic(async (operator) => {
    const keyless = () => batchOf(["a"], { keys: false });
    assertEquals((await operator.produce("t", keyless())).error, "NONE");
    await operator.set(BROKER, "", "log.cleanup.policy", "compact");
    assertEquals((await operator.produce("t", keyless())).error, "INVALID_RECORD");
    await operator.set(BROKER, "", "log.cleanup.policy", null);
    assertEquals((await operator.produce("t", keyless())).error, "NONE");
  }));

Deno.test("log.retention.* and log.roll.ms hold for what is in the logs already", () =>
  withTopic(async (operator) => {
    await operator.produce("t", batchOf(["a"], { timestamp: Date.now() - 60_000 }));
    await operator.set(BROKER, "", "log.roll.ms", "1");
    await operator.produce("t", small());
    await operator.produce("t", small());
    assertEquals(await operator.start("t"), 0n);
    await operator.set(BROKER, "", "log.retention.ms", "30000");
    await eventually("the old record stays", async () => await operator.start("t") === 1n || null);
    await operator.set(BROKER, "", "log.retention.ms", null);
    await operator.set(BROKER, "", "log.retention.bytes", "0");
    await eventually("the rest stays", async () => await operator.start("t") > 1n || null);
  }, { "log.retention.check.interval.ms": "1" }));

/** Whether a new connection is let in. */
async function isLetIn(broker: TestBroker): Promise<boolean> {
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  try {
    await client.send(apiVersions, 0, { clientSoftwareName: "", clientSoftwareVersion: "" });
    return true;
  } catch (error) {
    if (!(error instanceof Disconnected)) throw error;
    return false;
  } finally {
    await client.close();
  }
}

for (
  const [name, value] of [
    ["max.connections", "1"],
    ["max.connections.per.ip", "1"],
    ["max.connections.per.ip.overrides", "127.0.0.1:1"],
  ]
) {
  Deno.test(`${name} holds for the next connection`, () =>
    withTopic(async (operator, broker) => {
      assertEquals(await isLetIn(broker), true);
      await operator.set(BROKER, "1", name, value);
      assertEquals(await isLetIn(broker), false);
      await operator.set(BROKER, "1", name, null);
      assertEquals(await isLetIn(broker), true);
    }));
}

Deno.test("cordoned.log.dirs holds for the next topic", async () => {
  const directory = await Deno.makeTempDir({ prefix: "trackway-test-" });
  try {
    const dirs = [`${directory}/a`, `${directory}/b`];
    await withTopic(async (operator) => {
      const partitionsIn = (dir: string) => [...Deno.readDirSync(dir)].filter((e) => e.isDirectory).length;
      await operator.set(BROKER, "1", "cordoned.log.dirs", dirs[0]);
      const before = partitionsIn(dirs[0]);
      for (const name of ["u", "v", "w"]) await operator.createTopic(name);
      assertEquals(partitionsIn(dirs[0]), before);
    }, { "log.dirs": dirs.join(",") });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("A logger's level holds for its next line, and for those below it", () =>
  withTopic(async (operator, broker) => {
    const told = (name: string) => broker.log.some((line) => line.includes(`Created topic ${name}`));
    await operator.set(LOGGER, "1", "root", "INFO");
    await operator.createTopic("u");
    await operator.set(LOGGER, "1", "cluster", "ERROR");
    await operator.createTopic("v");
    await operator.set(LOGGER, "1", "cluster", null);
    await operator.createTopic("w");
    assertEquals([told("u"), told("v"), told("w")], [true, false, true]);
    assertEquals(await operator.values(LOGGER, "1", ["root", "cluster"]), ["INFO", "INFO"]);
  }));

Deno.test("Settings of every kind are there after kill -9, and levels of loggers are not", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "trackway-test-" });
  const changes: [number, string, string, string][] = [
    [TOPIC, "t", "retention.ms", "77"],
    [BROKER, "1", "log.segment.bytes", "2000000"],
    [BROKER, "", "log.segment.bytes", "3000000"],
    [BROKER, "", "log.index.interval.bytes", "5000"],
    [BROKER, "1", "some.plugin.setting", "a"],
    [GROUP, "a group/ü", "consumer.session.timeout.ms", "50000"],
    [CLIENT_METRICS, "m", "interval.ms", "1000"],
  ];
  const shown = async (operator: Operator) => {
    const values = [];
    for (const [type, name, setting] of changes) values.push(...await operator.values(type, name, [setting]));
    values.push(...await operator.values(TOPIC, "t", ["segment.bytes", "index.interval.bytes"]));
    const { configResources } = await operator.client.send(listConfigResources, 1, { resourceTypes: [] });
    const listed = configResources.map(({ resourceName, resourceType }) => `${resourceType} ${resourceName}`);
    return { values, listed: listed.sort() };
  };
  let process = await BrokerProcess.start(dataDir);
  try {
    let before;
    {
      await using operator = await Operator.of(process);
      await operator.createTopic("t");
      for (const change of changes) await operator.set(...change);
      await operator.set(LOGGER, "1", "root", "ERROR");
      before = await shown(operator);
    }
    assertEquals(before.values, [
      "77",
      "2000000",
      "3000000",
      "5000",
      null,
      "50000",
      "1000",
      "2000000",
      "5000",
    ]);
    await process.end("SIGKILL");
    process = await BrokerProcess.start(dataDir);
    await using operator = await Operator.of(process);
    assertEquals(await shown(operator), before);
    assertEquals(await operator.values(LOGGER, "1", ["root"]), ["INFO"]);
    for (const [type, name, setting] of changes) await operator.set(type, name, setting, null);
    assertEquals((await shown(operator)).listed, ["2 t", "4 1", "8 1"]);
  } finally {
    await process.end("SIGTERM");
    await Deno.remove(dataDir, { recursive: true });
  }
});
