/** Directories follow the metadata: at start, when topics come and go, and when Kafka wrote them. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { StartupError } from "../../src/base/startup_error.ts";
import { METADATA_FILE, SqliteStore } from "../../src/cluster/sqlite.ts";
import { decodeHex } from "../../src/base/hex.ts";
import { batchesIn, buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createPartitions } from "../../src/codec/messages/create_partitions.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { encodeFact } from "../../src/coordinators/transactions/facts.ts";
import type { Transaction } from "../../src/coordinators/transactions/types.ts";
import { freePortBroker } from "../lib/broker.ts";
import { allTopics, batchOf, fetchFrom, produceTo, TestClient } from "../protocol/requests.ts";

/** The directories of partitions, those that are only kept until their files may go left out. */
function partitionDirectories(dataDir: string): string[] {
  return [...Deno.readDirSync(dataDir)]
    .filter(({ name, isDirectory }) => isDirectory && /-\d+$/.test(name)).map(({ name }) => name).sort();
}

/** The directories that are kept because nobody knows them. */
function strays(dataDir: string): string[] {
  return [...Deno.readDirSync(dataDir)].map(({ name }) => name).filter((name) => name.endsWith("-stray"))
    .sort();
}

/** A data directory that goes with the test. */
async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "trackway-host-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function copyInto(from: URL | string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    const source = `${from instanceof URL ? from.pathname : from}/${name}`;
    if (!isDirectory) Deno.copyFileSync(source, `${to}/${name}`);
    else copyInto(source, `${to}/${name}`);
  }
}

/** How many records can be read of a partition, and from which error on there are none. */
async function readable(
  client: TestClient,
  topic: string,
  partition = 0,
): Promise<[error: number, records: number]> {
  let records = 0;
  for (let offset = 0;;) {
    const { responses } = await client.send(fetch, 12, fetchFrom(topic, [[partition, offset]]));
    const { errorCode, records: bytes } = responses[0].partitions[0];
    const batches = [...batchesIn(bytes ?? new Uint8Array(0))];
    if (errorCode !== ErrorCode.NONE || batches.length === 0) return [errorCode, records];
    for (const batch of batches) records += batch.recordCount;
    offset = batches.at(-1)!.nextOffset;
  }
}

async function endOffset(client: TestClient, topic: string, partition = 0): Promise<number> {
  const asked = { partitionIndex: partition, timestamp: -1n };
  const answer = await client.send(listOffsets, 5, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 1000,
    topics: [{ name: topic, partitions: [asked] }],
  });
  return Number(answer.topics[0].partitions[0].offset);
}

Deno.test("a new topic has a directory for each partition, a deleted one has none", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("a", 3);
  assertEquals(partitionDirectories(broker.dataDir), ["a-0", "a-1", "a-2"]);
  await client.deleteTopic("a");
  assertEquals(partitionDirectories(broker.dataDir), []);
  assertEquals(await readable(client, "a"), [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]);
});

Deno.test("added partitions are hosted at once, and the old ones keep their records", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("a", 1);
  await client.append("a", batchOf(["x", "y"]));
  const added = {
    topics: [{ name: "a", count: 3, assignments: null }],
    timeoutMs: 1000,
    validateOnly: false,
  };
  assertEquals((await client.send(createPartitions, 3, added)).results[0].errorCode, ErrorCode.NONE);
  assertEquals(await client.append("a", batchOf(["z"]), 2), 0);
  assertEquals([await readable(client, "a", 0), await readable(client, "a", 2)], [[0, 2], [0, 1]]);
  assertEquals(partitionDirectories(broker.dataDir), ["a-0", "a-1", "a-2"]);
});

Deno.test("a topic that is made anew under the same name is empty, starts at 0, and has another id", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  const first = await client.createTopic("a");
  await client.append("a", batchOf(["old", "old"]));
  await client.deleteTopic("a");
  const second = await client.createTopic("a");
  assert(first !== second);
  assertEquals(await readable(client, "a"), [0, 0]);
  assertEquals(await client.append("a", batchOf(["new"])), 0);
  assertEquals(await readable(client, "a"), [0, 1]);
  // Whoever still knows the first one by its id does not get the second one's records.
  const stale = fetchFrom("", [[0, 0]], { topicId: first });
  const answer = await client.send(fetch, 13, stale);
  assertEquals(answer.responses[0].partitions[0].errorCode, ErrorCode.UNKNOWN_TOPIC_ID);
  const stored = await client.send(produce, 13, produceTo("", batchOf(["late"]), { topicId: first }));
  assertEquals(stored.responses[0].partitionResponses[0].errorCode, ErrorCode.UNKNOWN_TOPIC_ID);
});

Deno.test("a topic that was made anew is the new one after a restart too", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
    await client.append("a", batchOf(["old", "old"]));
    await client.deleteTopic("a");
    await client.createTopic("a");
    await client.append("a", batchOf(["new"]));
  }
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals(await readable(client, "a"), [0, 1]);
});

Deno.test("after a restart every topic is there with its records, ids and offsets, and goes on", async () => {
  await using broker = await freePortBroker();
  const before: Record<string, string> = {};
  {
    await using client = await TestClient.to(broker);
    for (const [name, partitions] of [["a", 1], ["b", 3], ["empty", 2]] as const) {
      before[name] = await client.createTopic(name, partitions);
    }
    await client.append("a", batchOf(["1", "2"]));
    await client.append("b", batchOf(["1"]), 2);
  }
  await broker.restart();
  await using client = await TestClient.to(broker);
  const { topics } = await client.send(metadata, 12, allTopics);
  assertEquals(Object.fromEntries(topics.map(({ name, topicId }) => [name, topicId])), before);
  assertEquals([await readable(client, "a"), await readable(client, "b", 2)], [[0, 2], [0, 1]]);
  assertEquals([await client.append("a", batchOf(["3"])), await client.append("empty", batchOf(["x"]), 1)], [
    2,
    0,
  ]);
});

Deno.test("a directory of a topic that the metadata does not know is set aside at start, and kept", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
    await client.append("a", batchOf(["x"]));
  }
  await broker.stop();
  copyInto(`${broker.dataDir}/a-0`, `${broker.dataDir}/stranger-0`);
  const records = Deno.readFileSync(`${broker.dataDir}/a-0/00000000000000000000.log`);
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals(await client.topics(), ["a"]);
  assertEquals(partitionDirectories(broker.dataDir), ["a-0"]);
  assertEquals(await readable(client, "a"), [0, 1]);
  const [stray] = strays(broker.dataDir);
  assert(/^stranger-0\.[0-9A-Za-z]{22}-stray$/.test(stray), stray);
  assertEquals(Deno.readFileSync(`${broker.dataDir}/${stray}/00000000000000000000.log`), records);
  assertEquals(broker.log.filter((line) => line.includes(`stranger-0 (now ${stray})`)).length, 1);
  // Neither is it deleted later, nor does a topic of its name get it.
  await client.createTopic("stranger");
  await broker.restart();
  assertEquals(strays(broker.dataDir), [stray]);
});

Deno.test("an older metadata file costs no topic its records: putting the right one back brings them back", async () => {
  await using broker = await freePortBroker();
  const file = (name: string) => `${broker.dataDir}/${name}`;
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
  }
  await broker.stop();
  Deno.copyFileSync(file("trackway-metadata.sqlite"), file("older"));
  await broker.restart();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("b", 2);
    await client.append("b", batchOf(["x", "y"]));
  }
  await broker.stop();
  Deno.renameSync(file("trackway-metadata.sqlite"), file("newer"));
  Deno.renameSync(file("older"), file("trackway-metadata.sqlite"));
  await broker.restart();
  {
    await using client = await TestClient.to(broker);
    assertEquals(await client.topics(), ["a"]);
  }
  await broker.stop();
  assertEquals(partitionDirectories(broker.dataDir), ["a-0"]);
  for (const name of strays(broker.dataDir)) {
    Deno.renameSync(file(name), file(name.slice(0, name.indexOf("."))));
  }
  Deno.renameSync(file("newer"), file("trackway-metadata.sqlite"));
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals(await readable(client, "b"), [0, 2]);
});

Deno.test("a deletion that a crash cut short is finished at start, also when the topic has been made anew", async () => {
  await using broker = await freePortBroker();
  await inDirectory(async (copy) => {
    {
      await using client = await TestClient.to(broker);
      await client.createTopic("a", 2);
      await client.append("a", batchOf(["old"]));
    }
    await broker.stop();
    copyInto(`${broker.dataDir}/a-0`, copy);
    await broker.restart();
    {
      await using client = await TestClient.to(broker);
      await client.deleteTopic("a");
      await client.createTopic("a", 1);
    }
    await broker.stop();
    // As a kill leaves it between the commit of the deletion and the renaming of the directories.
    const store = SqliteStore.open(broker.dataDir);
    const topicId = /topic_id: (.{22})/.exec(Deno.readTextFileSync(`${copy}/partition.metadata`))![1];
    const key = `deletion/${topicId}`;
    assertEquals((await store.list("deletion/")).entries, []);
    await store.commit({ compare: [], put: [{ key, value: '{"topic":"a"}' }], delete: [] });
    await store.close();
    Deno.removeSync(`${broker.dataDir}/a-0`, { recursive: true });
    copyInto(copy, `${broker.dataDir}/a-0`);
    copyInto(copy, `${broker.dataDir}/a-1`);
    await broker.restart();
    await using client = await TestClient.to(broker);
    assertEquals([await readable(client, "a"), await client.append("a", batchOf(["new"]))], [[0, 0], 0]);
    assertEquals([partitionDirectories(broker.dataDir), strays(broker.dataDir)], [["a-0"], []]);
    await client[Symbol.asyncDispose]();
    await broker.stop();
    const after = SqliteStore.open(broker.dataDir);
    assertEquals((await after.list("deletion/")).entries, []);
    await after.close();
  });
});

Deno.test("a partition whose directory is gone begins anew, which is told with what it had", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a", 2);
    await client.append("a", batchOf(["x", "y"]), 1);
  }
  await broker.stop();
  for (const name of ["a-0", "a-1"]) Deno.removeSync(`${broker.dataDir}/${name}`, { recursive: true });
  await broker.restart();
  const told = broker.log.filter((line) =>
    line.includes("(1) have no directory any more: a-1 (which had reached offset 2).")
  );
  assertEquals(told.length, 1, broker.log.join("\n"));
});

Deno.test("a directory of an earlier topic of the same name is set aside and replaced at start", async () => {
  await using broker = await freePortBroker();
  await inDirectory(async (old) => {
    {
      await using client = await TestClient.to(broker);
      await client.createTopic("a");
      await client.append("a", batchOf(["old", "old"]));
    }
    await broker.stop();
    copyInto(`${broker.dataDir}/a-0`, old);
    await broker.restart();
    {
      await using client = await TestClient.to(broker);
      await client.deleteTopic("a");
      await client.createTopic("a");
      await client.append("a", batchOf(["new"]));
    }
    await broker.stop();
    Deno.removeSync(`${broker.dataDir}/a-0`, { recursive: true });
    copyInto(old, `${broker.dataDir}/a-0`);
    await broker.restart();
    await using client = await TestClient.to(broker);
    // The new topic's records are lost with its directory; the old topic's must not stand in for them.
    assertEquals(await readable(client, "a"), [0, 0]);
    assertEquals(strays(broker.dataDir).length, 1);
  });
});

Deno.test("a directory beyond the topic's partitions is set aside at start", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
  }
  await broker.stop();
  copyInto(`${broker.dataDir}/a-0`, `${broker.dataDir}/a-7`);
  await broker.restart();
  assertEquals(partitionDirectories(broker.dataDir), ["a-0"]);
  assert(strays(broker.dataDir)[0].startsWith("a-7."));
});

/** Puts a log of these records into a directory, as Kafka would. */
function writeLog(
  directory: string,
  name: string,
  records: readonly { key: Uint8Array | null; value: Uint8Array }[],
) {
  Deno.mkdirSync(`${directory}/${name}`);
  const bytes = buildBatch(records.map((record) => ({ timestamp: 1, ...record })));
  Deno.writeFileSync(`${directory}/${name}/00000000000000000000.log`, bytes);
}

Deno.test("ids of transactional producers of a former broker, who may not have written, are not given to others", async () => {
  const nobody: Transaction = {
    transactionalId: "idle",
    producerId: 2004,
    previousProducerId: -1,
    nextProducerId: 2006,
    producerEpoch: 0,
    lastProducerEpoch: -1,
    transactionTimeoutMs: 60_000,
    status: "Empty",
    partitions: new Map(),
    startMs: -1,
    lastUpdateMs: Date.now(),
    clientTransactionVersion: 2,
  };
  const fact = encodeFact({ transactionalId: "idle", value: nobody });
  // Of the broker with number 1, ids up to 3999.
  const block = decodeHex("010f0000000001000000000000000e0000000000000fa000");
  for (const hasMetadata of [false, true]) {
    await inDirectory(async (directory) => {
      writeLog(directory, "__transaction_state-0", [{ key: fact.key, value: fact.value! }]);
      if (hasMetadata) writeLog(directory, "__cluster_metadata-0", [{ key: null, value: block }]);
      await using broker = await freePortBroker({}, directory);
      await using client = await TestClient.to(broker);
      const { producerId } = await client.send(initProducerId, 4, {
        transactionalId: null,
        transactionTimeoutMs: 1,
      });
      assertEquals(producerId, hasMetadata ? 4000n : 2007n);
    });
  }
});

Deno.test("a directory that Kafka has had in between is not gone on with, but taken over anew without the metadata", async () => {
  await inDirectory(async (directory) => {
    copyInto(new URL("../storage/fixtures/kafka-4.4-closed", import.meta.url), directory);
    writeLog(directory, "__cluster_metadata-0", [{ key: null, value: new Uint8Array([1, 2, 0]) }]);
    for (let start = 0; start < 2; start++) await (await freePortBroker({}, directory)).stop();
    const segment = `${directory}/__cluster_metadata-0/00000000000000000000.log`;
    const before = Deno.readFileSync(segment);
    Deno.writeFileSync(segment, before, { append: true });
    await assertRejects(() => freePortBroker({}, directory), StartupError, "Kafka has had");
    for (const suffix of ["", "-wal", "-shm"]) {
      await Deno.remove(`${directory}/${METADATA_FILE}${suffix}`).catch(() => {});
    }
    await using after = await freePortBroker({}, directory);
    await using client = await TestClient.to(after);
    assertEquals(await readable(client, "golden"), [0, 300]);
  });
});

for (const name of ["kafka-4.4-closed", "kafka-4.4-crashed"]) {
  Deno.test(`a directory that Kafka wrote (${name}) is taken over with topics, ids, records and producers`, async () => {
    await inDirectory(async (directory) => {
      copyInto(new URL(`../storage/fixtures/${name}`, import.meta.url), directory);
      await using broker = await freePortBroker({}, directory);
      {
        await using client = await TestClient.to(broker);
        const { topics, clusterId } = await client.send(metadata, 12, allTopics);
        const golden = topics.find((topic) => topic.name === "golden")!;
        assertEquals([golden.topicId, clusterId], ["Ijc7BQyqR_STSj4ph1otqA", "gl9XOgETQuKw1Mp1kL5K1Q"]);
        assertEquals(await readable(client, "golden"), [0, 300]);
        // Producers 0 to 4 of the former broker may still be at work: their ids are not given to others.
        const { producerId } = await client.send(initProducerId, 4, {
          transactionalId: null,
          transactionTimeoutMs: 1,
        });
        assert(Number(producerId) > 4, `producer id ${producerId} was given out again`);
        assertEquals(await client.append("golden", batchOf(["new"])), 300);
      }
      assert(broker.log.some((line) => /Took over \d+ topics/.test(line)), broker.log.join("\n"));
      // From now on the metadata is the truth: it is not taken over again.
      await broker.restart();
      await using client = await TestClient.to(broker);
      assertEquals(await readable(client, "golden"), [0, 301]);
      assertEquals(broker.log.filter((line) => line.includes("Took over")).length, 1);
      assertEquals(await endOffset(client, "golden"), 301);
    });
  });
}

Deno.test("settings of a topic reach its log: what was set at creation holds after a restart", async () => {
  await using broker = await freePortBroker();
  const tooLarge = batchOf(["x".repeat(500)]);
  const refusedIn = async () => {
    await using client = await TestClient.to(broker);
    const answer = await client.send(produce, 9, produceTo("a", tooLarge.slice()));
    return answer.responses[0].partitionResponses[0].errorCode;
  };
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a", 1, { "max.message.bytes": "200" });
  }
  assertEquals(await refusedIn(), ErrorCode.MESSAGE_TOO_LARGE);
  await broker.restart();
  assertEquals(await refusedIn(), ErrorCode.MESSAGE_TOO_LARGE);
});

Deno.test("a broker whose meta.properties is gone is of the same cluster again", async () => {
  await using broker = await freePortBroker();
  const clusterId = async () => {
    await using client = await TestClient.to(broker);
    return (await client.send(metadata, 12, allTopics)).clusterId;
  };
  const before = await clusterId();
  await broker.stop();
  Deno.removeSync(`${broker.dataDir}/meta.properties`);
  await broker.restart();
  assertEquals(await clusterId(), before);
});

Deno.test("a broker whose checkpoint cannot be read does not start, and says in one line why", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    await client.createTopic("a");
  }
  await broker.stop();
  const path = `${broker.dataDir}/recovery-point-offset-checkpoint`;
  Deno.removeSync(path);
  Deno.mkdirSync(path);
  const { message } = await assertRejects(() => broker.restart(), StartupError);
  assert(message.includes(path) && message.includes("move it away") && !message.includes("\n"), message);
});

Deno.test("a damaged log among those that are taken over keeps neither the broker nor the others from starting", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    for (const name of ["sound", "damaged"]) {
      await client.createTopic(name);
      for (const value of ["x", "y"]) await client.append(name, batchOf([value]));
    }
  }
  await broker.stop();
  for (const { name } of Deno.readDirSync(broker.dataDir)) {
    // Without the checkpoints the logs are read, as after a crash.
    if (/sqlite|checkpoint|cleanshutdown/.test(name)) Deno.removeSync(`${broker.dataDir}/${name}`);
  }
  const log = `${broker.dataDir}/damaged-0/00000000000000000000.log`;
  const bytes = Deno.readFileSync(log);
  bytes[62] ^= 0xff;
  Deno.writeFileSync(log, bytes);
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals((await client.topics()).sort(), ["damaged", "sound"]);
  assertEquals(await readable(client, "sound"), [0, 2]);
  assertEquals((await readable(client, "damaged"))[0], ErrorCode.KAFKA_STORAGE_ERROR);
});
