/** DescribeLogDirs and AlterReplicaLogDirs where a recording cannot show them: old versions, broken directories, restarts. */
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { StartupError } from "../../src/base/startup_error.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { alterReplicaLogDirs } from "../../src/codec/messages/alter_replica_log_dirs.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { describeLogDirs } from "../../src/codec/messages/describe_log_dirs.ts";
import { describeTopicPartitions } from "../../src/codec/messages/describe_topic_partitions.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { within } from "../lib/waiting.ts";
import { batchOf, produceTo, TestClient } from "../protocol/requests.ts";

const settings = { "log.dirs": "<dir>/one,<dir>/two" };

/** By directory: its error, and the partitions in it with their sizes. */
async function described(client: TestClient, version = 4) {
  const { results } = await client.send(describeLogDirs, version, { topics: null });
  return Object.fromEntries(results.map(({ logDir, errorCode, topics }) => [
    logDir.split("/").at(-1),
    errorCode !== ErrorCode.NONE
      ? errorCode
      : Object.fromEntries(topics.flatMap(({ name, partitions }) =>
        partitions.map((
          { partitionIndex, partitionSize },
        ) => [`${name}-${partitionIndex}`, Number(partitionSize)])
      )),
  ]));
}

async function move(client: TestClient, path: string, topic: string, version = 2): Promise<number> {
  const dirs = [{ path, topics: [{ name: topic, partitions: [0] }] }];
  const { results } = await client.send(alterReplicaLogDirs, version, { dirs });
  return results[0].partitions[0].errorCode;
}

async function produceError(client: TestClient, topic: string): Promise<number> {
  const answer = await client.send(produce, 9, produceTo(topic, batchOf(["x"])));
  return answer.responses[0].partitionResponses[0].errorCode;
}

async function latest(client: TestClient, topic: string, partition = 0): Promise<[number, number]> {
  const topics = [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: -1n }] }];
  const answer = await client.send(listOffsets, 4, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 1000,
    topics,
  });
  const [{ errorCode, offset }] = answer.topics[0].partitions;
  return [errorCode, Number(offset)];
}

/** What is where once a directory has nothing any more. */
async function emptied(client: TestClient, directory: string) {
  for (;;) {
    const places = await described(client);
    if (Object.keys(places[directory] as object).length === 0) return places;
  }
}

/** Two topics, each in a directory of its own. */
async function withTwoTopics(client: TestClient): Promise<void> {
  await client.createTopic("a");
  await client.createTopic("b");
  await client.append("a", batchOf(["x", "y"]));
  await client.append("b", batchOf(["x"]));
}

/** Restarts the broker while its second directory cannot be used. */
async function restartWithoutTwo(broker: TestBroker): Promise<void> {
  await broker.stop();
  await Deno.rename(`${broker.dataDir}/two`, `${broker.dataDir}/away`);
  await Deno.writeTextFile(`${broker.dataDir}/two`, "a file");
  await broker.restart();
}

Deno.test("DescribeLogDirs and AlterReplicaLogDirs have the same meaning in versions that Kafka 4 dropped", async () => {
  await using broker = await freePortBroker(settings);
  await using client = await TestClient.to(broker);
  await withTwoTopics(client);
  assertEquals(await described(client, 0), await described(client, 1));
  assertEquals(Object.keys((await described(client, 0)).one as object), ["a-0"]);
  assertEquals(await move(client, `${broker.dataDir}/two`, "a", 0), ErrorCode.NONE);
  const places = await within(emptied(client, "one"), "the move");
  assertEquals(Object.keys(places.two as object).sort(), ["a-0", "b-0"]);
});

/** Error, leader, who is in sync and whose disk is away of the first partition of each topic, told alike by both APIs. */
async function leaders(client: TestClient) {
  const { topics } = await client.send(metadata, 12, {
    topics: null,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  const pages = await client.send(describeTopicPartitions, 0, {
    topics: [],
    responsePartitionLimit: 100,
    cursor: null,
  });
  const told = (all: readonly { name: string | null; partitions: readonly Told[] }[]) =>
    Object.fromEntries(all.map(({ name, partitions: [p] }) => [
      name!,
      [p.errorCode, p.leaderId, p.isrNodes, p.offlineReplicas],
    ]));
  assertEquals(told(topics), told(pages.topics));
  return told(topics);
}

interface Told {
  errorCode: number;
  leaderId: number;
  isrNodes: number[];
  offlineReplicas: number[];
}

Deno.test("a directory that is broken at start takes its partitions offline, the others go on", async () => {
  await using broker = await freePortBroker(settings);
  {
    await using client = await TestClient.to(broker);
    await withTwoTopics(client);
  }
  await restartWithoutTwo(broker);
  {
    await using client = await TestClient.to(broker);
    const { one, two } = await described(client);
    assertEquals([Object.keys(one as object), two], [["a-0"], ErrorCode.KAFKA_STORAGE_ERROR]);
    assertEquals(await produceError(client, "a"), ErrorCode.NONE);
    assertEquals(await produceError(client, "b"), ErrorCode.KAFKA_STORAGE_ERROR);
    assertEquals(await latest(client, "b"), [ErrorCode.KAFKA_STORAGE_ERROR, -1]);
    assertEquals(await leaders(client), {
      a: [ErrorCode.NONE, 1, [1], []],
      b: [ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1]],
    });
    assertEquals(await move(client, `${broker.dataDir}/two`, "a"), ErrorCode.KAFKA_STORAGE_ERROR);
    assertEquals(await move(client, `${broker.dataDir}/one`, "b"), ErrorCode.KAFKA_STORAGE_ERROR);
    // New partitions have room in what is left.
    await client.createTopic("c");
    assertEquals(await produceError(client, "c"), ErrorCode.NONE);
  }
  await broker.stop();
  await Deno.remove(`${broker.dataDir}/two`);
  await Deno.rename(`${broker.dataDir}/away`, `${broker.dataDir}/two`);
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals(await latest(client, "b"), [ErrorCode.NONE, 1]);
  assertEquals(Object.keys((await described(client)).one as object).sort(), ["a-0", "c-0"]);
});

Deno.test("the topic of a partition that is offline with its directory can be deleted and made anew", async () => {
  await using broker = await freePortBroker(settings);
  {
    await using client = await TestClient.to(broker);
    await withTwoTopics(client);
  }
  await restartWithoutTwo(broker);
  await using client = await TestClient.to(broker);
  await client.deleteTopic("b");
  await client.createTopic("b");
  assertEquals(await produceError(client, "b"), ErrorCode.NONE);
  assertEquals(await latest(client, "b"), [ErrorCode.NONE, 1]);
});

Deno.test("the metadata is found in whichever directory it is, and must not be in two", async () => {
  await using broker = await freePortBroker(settings);
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
    await client.append("a", batchOf(["x"]));
  }
  await broker.stop();
  await using other = await freePortBroker({ "log.dirs": "<dir>/two,<dir>/one" }, broker.dataDir);
  await using client = await TestClient.to(other);
  assertEquals(await latest(client, "a"), [ErrorCode.NONE, 1]);
  const { results } = await client.send(describeLogDirs, 4, { topics: [] });
  assertEquals(results.map(({ logDir }) => logDir.split("/").at(-1)), ["two", "one"]);
  assertEquals(
    results.every(({ totalBytes, usableBytes }) => totalBytes >= usableBytes && usableBytes > 0n),
    true,
  );
});

Deno.test("metadata.log.dir says which directory has the metadata, if it is one of them", async () => {
  const inTwo = { ...settings, "metadata.log.dir": "<dir>/two" };
  await using broker = await freePortBroker(inTwo);
  const has = (name: string) =>
    Deno.readDirSync(`${broker.dataDir}/${name}`).map((entry) => entry.name).toArray();
  const metadata = "trackway-metadata.sqlite";
  assertEquals([has("one").includes(metadata), has("two").includes(metadata)], [false, true]);
  await broker.stop();
  const elsewhere = await freePortBroker({ ...settings, "metadata.log.dir": "<dir>/three" }, broker.dataDir);
  await elsewhere.stop();
  assertEquals([has("one").includes(metadata), has("two").includes(metadata)], [false, true]);
  assertEquals(elsewhere.log.some((line) => line.includes("which is none of log.dirs")), true);
  await assertRejects(
    () => freePortBroker({ ...settings, "metadata.log.dir": "<dir>/one" }, broker.dataDir),
    StartupError,
    "Move it",
  );
});

Deno.test("a directory that goes away while the broker runs is told, gets nothing new, and holds nobody else up", async () => {
  await using broker = await freePortBroker(settings);
  await using client = await TestClient.to(broker);
  await withTwoTopics(client);
  await Deno.rename(`${broker.dataDir}/two`, `${broker.dataDir}/away`);
  const gone = await described(client);
  assertEquals([Object.keys(gone.one as object), gone.two], [["a-0"], ErrorCode.KAFKA_STORAGE_ERROR]);
  assertEquals(await produceError(client, "a"), ErrorCode.NONE);
  assertEquals(await move(client, `${broker.dataDir}/two`, "a"), ErrorCode.KAFKA_STORAGE_ERROR);
  // The directory that has fewer would be the one that is gone.
  await client.createTopic("c");
  await client.createTopic("d");
  assertEquals([await produceError(client, "c"), await produceError(client, "d")], [
    ErrorCode.NONE,
    ErrorCode.NONE,
  ]);
  await Deno.rename(`${broker.dataDir}/away`, `${broker.dataDir}/two`);
  assertEquals(await produceError(client, "b"), ErrorCode.NONE);
  assertEquals(Object.keys((await described(client)).one as object).sort(), ["a-0", "c-0", "d-0"]);
});

Deno.test("DescribeLogDirs tells cordoned directories, which get nothing new and to which nothing moves", async () => {
  await using broker = await freePortBroker({ ...settings, "cordoned.log.dirs": "<dir>/one" });
  await using client = await TestClient.to(broker);
  await withTwoTopics(client);
  const { results } = await client.send(describeLogDirs, 5, { topics: null });
  assertEquals(results.map(({ isCordoned, topics }) => [isCordoned, topics.length]), [[true, 0], [false, 2]]);
  assertEquals(await move(client, `${broker.dataDir}/one`, "a"), ErrorCode.INVALID_REPLICA_ASSIGNMENT);
  assertEquals(await move(client, `${broker.dataDir}/one`, "missing"), ErrorCode.INVALID_REPLICA_ASSIGNMENT);
});

Deno.test("a partition of the offsets topic moves under its coordinator, which goes on and finds all after a restart", async () => {
  await using broker = await freePortBroker({ ...settings, "offsets.topic.num.partitions": "1" });
  const commit = async (client: TestClient, offset: bigint) => {
    const partitions = [{ partitionIndex: 0, committedOffset: offset, committedMetadata: null }];
    const topics = [{ name: "t", topicId: ZERO_UUID, partitions }];
    const group = { groupId: "g", memberId: "", generationIdOrMemberEpoch: -1 };
    const answer = await client.send(offsetCommit, 7, { ...group, topics });
    return answer.topics[0].partitions[0].errorCode;
  };
  const committed = async (client: TestClient) => {
    const topics = [{ name: "t", partitionIndexes: [0] }];
    const answer = await client.send(offsetFetch, 5, { groupId: "g", topics, groups: [] });
    return Number(answer.topics[0].partitions[0].committedOffset);
  };
  const offsetsAt = async (client: TestClient) => {
    const places = await described(client);
    return ["one", "two"].filter((name) => "__consumer_offsets-0" in (places[name] as object));
  };
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("t");
    await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
    assertEquals(await commit(client, 1n), ErrorCode.NONE);
    const [from] = await offsetsAt(client);
    const to = from === "one" ? "two" : "one";
    assertEquals(await move(client, `${broker.dataDir}/${to}`, "__consumer_offsets"), ErrorCode.NONE);
    let offset = 2n;
    while ((await offsetsAt(client)).join() !== to) {
      assertEquals(await commit(client, offset++), ErrorCode.NONE);
    }
    assertEquals(await commit(client, offset), ErrorCode.NONE);
    assertEquals(await committed(client), Number(offset));
    await broker.restart();
    await using again = await TestClient.to(broker);
    assertEquals(await committed(again), Number(offset));
    assertEquals(await offsetsAt(again), [to]);
  }
});

for (const [kept, away] of [["one", "two"], ["two", "one"]] as const) {
  Deno.test(`a topic that was made again while ${away} was away keeps its records when that is back`, async () => {
    await using broker = await freePortBroker({ ...settings, "metadata.log.dir": `<dir>/${kept}` });
    {
      await using client = await TestClient.to(broker);
      await client.createTopic("a", 2);
      for (const partition of [0, 1]) {
        for (let n = 0; n < 3; n++) await client.append("a", batchOf(["old"]), partition);
      }
    }
    await broker.stop();
    const [path, elsewhere] = [`${broker.dataDir}/${away}`, `${broker.dataDir}/elsewhere`];
    await Deno.rename(path, elsewhere);
    await broker.restart();
    {
      await using client = await TestClient.to(broker);
      await client.send(deleteTopics, 1, { topics: [], topicNames: ["a"], timeoutMs: 1000 });
      await client.createTopic("a", 2);
      for (const partition of [0, 1]) await client.append("a", batchOf(["new"]), partition);
    }
    await broker.stop();
    await Deno.remove(path, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    await Deno.rename(elsewhere, path);
    await broker.restart();
    await using client = await TestClient.to(broker);
    for (const partition of [0, 1]) assertEquals(await latest(client, "a", partition), [ErrorCode.NONE, 1]);
    const left = Deno.readDirSync(path).map(({ name }) => name).filter((name) => name.startsWith("a-"));
    assertEquals(left.toArray().every((name) => name.endsWith("-stray") || name.endsWith("-delete")), true);
  });
}

Deno.test("a request that moves many partitions does not hold up others", async () => {
  const count = 150;
  await using broker = await freePortBroker(settings);
  await using client = await TestClient.to(broker);
  await using neighbour = await TestClient.to(broker);
  await client.createTopic("t", count);
  const answered: string[] = [];
  const partitions = Array.from({ length: count }, (_, i) => i);
  const paths = ["one", "two"].map((name) => `${broker.dataDir}/${name}`);
  const moves = paths.map(async (path) => {
    const dirs = [{ path, topics: [{ name: "t", partitions }] }];
    const { results } = await client.send(alterReplicaLogDirs, 2, { dirs });
    answered.push("moves");
    assertEquals(results[0].partitions.map(({ errorCode }) => errorCode), partitions.map(() => 0));
  });
  const others = neighbour.topics().then(() => answered.push("neighbour"));
  await Promise.all([...moves, others]);
  // On a busy machine its request may come when the first one is done already.
  assertEquals(answered.at(-1), "moves");
});
