/** What a request of a few bytes may make the broker do, and answer. */
import { assertEquals } from "@std/assert/equals";
import { assertRejects } from "@std/assert/rejects";
import { ManualClock } from "../../src/base/clock.ts";
import { Client, Disconnected } from "../../src/client/client.ts";
import { BATCH_OVERHEAD, Compression } from "../../src/codec/batch.ts";
import { frameRecords, writeBatchHeader } from "../../src/codec/batch_builder.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import { encodeRequest } from "../../src/codec/framing.ts";
import { buildMessageSet } from "../../src/codec/legacy.ts";
import { addPartitionsToTxn } from "../../src/codec/messages/add_partitions_to_txn.ts";
import { deleteGroups } from "../../src/codec/messages/delete_groups.ts";
import { describeConfigs } from "../../src/codec/messages/describe_configs.ts";
import { describeGroups } from "../../src/codec/messages/describe_groups.ts";
import { describeTransactions } from "../../src/codec/messages/describe_transactions.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import { inSlices } from "../../src/handlers/pacing.ts";
import { freePortBroker } from "../lib/broker.ts";
import { batchOf, produceTo, TestClient } from "../protocol/requests.ts";

const GROUP = 32;
const oneOffsetsPartition = { "offsets.topic.num.partitions": "1" };

async function commit(client: TestClient, groupId: string, topic: string, offsets: readonly bigint[]) {
  await client.send(findCoordinator, 0, { key: groupId, coordinatorKeys: [] });
  const partitions = offsets.map((committedOffset, partitionIndex) => ({
    partitionIndex,
    committedOffset,
    committedMetadata: "m",
  }));
  await client.send(offsetCommit, 8, {
    groupId,
    memberId: "",
    topics: [{ name: topic, topicId: ZERO_UUID, partitions }],
  });
}

Deno.test("DescribeGroups and DeleteGroups answer a group once, however often it is named", async () => {
  await using broker = await freePortBroker(oneOffsetsPartition);
  await using client = await TestClient.to(broker);
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  const names = [...new Array<string>(2500).fill("g"), "h"];
  const described = await client.send(describeGroups, 5, {
    groups: names,
    includeAuthorizedOperations: false,
  });
  assertEquals(described.groups.map(({ groupId }) => groupId), ["g", "h"]);
  const deleted = await client.send(deleteGroups, 2, { groupsNames: names });
  assertEquals(deleted.results.map(({ groupId }) => groupId), ["g", "h"]);
});

Deno.test("DescribeTransactions tells no more partitions than one answer holds, however often an id is named", async () => {
  await using broker = await freePortBroker({ "transaction.state.log.num.partitions": "1" });
  await using client = await TestClient.to(broker);
  await client.createTopic("wide", 1000);
  const transactionalId = "transaction";
  await client.send(findCoordinator, 4, { key: "", keyType: 1, coordinatorKeys: [transactionalId] });
  const producer = await client.send(initProducerId, 5, { transactionalId, transactionTimeoutMs: 60_000 });
  await client.send(addPartitionsToTxn, 3, {
    transactions: [],
    v3AndBelowTransactionalId: transactionalId,
    v3AndBelowProducerId: producer.producerId,
    v3AndBelowProducerEpoch: producer.producerEpoch,
    v3AndBelowTopics: [{ name: "wide", partitions: Array.from({ length: 1000 }, (_, i) => i) }],
  });
  const transactionalIds = new Array<string>(50_000).fill(transactionalId);
  const { transactionStates } = await client.send(describeTransactions, 0, { transactionalIds });
  assertEquals(transactionStates.length, transactionalIds.length);
  const told = transactionStates.filter(({ errorCode }) => errorCode === ErrorCode.NONE);
  assertEquals(told[0].topics[0].partitions.length, 1000);
  assertEquals([told.length >= 100, told.length < 25_000], [true, true], `told ${told.length} times`);
  const { errorCode, topics } = transactionStates.at(-1)!;
  assertEquals([errorName(errorCode), topics], ["INVALID_REQUEST", []]);
});

Deno.test("DescribeGroups of very many groups lets other requests through", async () => {
  await using broker = await freePortBroker(oneOffsetsPartition);
  await using client = await TestClient.to(broker);
  await using other = await TestClient.to(broker);
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  const groups = Array.from({ length: 60_000 }, (_, i) => `group ${i}`);
  let isAnswered = false;
  const answer = client.send(describeGroups, 5, { groups, includeAuthorizedOperations: false })
    .then((described) => {
      isAnswered = true;
      return described.groups.length;
    });
  let others = 0;
  while (!isAnswered) {
    await other.topics();
    others++;
  }
  assertEquals(await answer, groups.length);
  assertEquals(others > 2, true);
});

Deno.test("OffsetFetch answers what a request asks of a group once", async () => {
  await using broker = await freePortBroker(oneOffsetsPartition);
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  await commit(client, "g", "t", [3n, 4n]);
  const topic = { name: "t", topicId: ZERO_UUID };
  const ask = async (groups: { groupId: string; topics: { partitionIndexes: number[] }[] | null }[]) => {
    const answer = await client.send(offsetFetch, 8, {
      groupId: "",
      topics: null,
      requireStable: false,
      groups: groups.map((group) => ({
        ...group,
        topics: group.topics?.map((one) => ({ ...topic, ...one })) ?? null,
      })),
    });
    return answer.groups.map(({ groupId, topics }) => [
      groupId,
      topics.flatMap(({ partitions }) => partitions.map(({ partitionIndex }) => partitionIndex)),
    ]);
  };
  const all = { groupId: "g", topics: null };
  assertEquals(await ask([all, all, { groupId: "h", topics: null }, all]), [["g", [0, 1]], ["h", []]]);
  const some = (...partitions: number[][]) => ({
    groupId: "g",
    topics: partitions.map((partitionIndexes) => ({ partitionIndexes })),
  });
  assertEquals(await ask([some([0, 0], [0]), some([0]), some([0, 1]), some()]), [["g", [0]], ["g", [1]]]);
  const old = await client.send(offsetFetch, 5, {
    groupId: "g",
    topics: [{ name: "t", partitionIndexes: [1, 1] }, { name: "t", partitionIndexes: [1, 0] }],
    groups: [],
  });
  assertEquals(old.topics.map(({ partitions }) => partitions.length), [1, 1]);
});

Deno.test("ListOffsets answers a partition that is named twice once, in whatever entry, with INVALID_REQUEST", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  const partitions = (...indexes: number[]) =>
    indexes.map((partitionIndex) => ({ partitionIndex, timestamp: 0n, currentLeaderEpoch: -1 }));
  const answer = await client.send(listOffsets, 4, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 0,
    topics: [
      { name: "t", partitions: partitions(0, 1) },
      { name: "u", partitions: partitions(0) },
      { name: "t", partitions: partitions(0) },
    ],
  });
  const codes = answer.topics.map((
    { name, partitions },
  ) => [name, partitions.map((p) => errorName(p.errorCode))]);
  assertEquals(codes, [["t", ["INVALID_REQUEST", "NONE"]], ["u", ["UNKNOWN_TOPIC_OR_PARTITION"]]]);
});

Deno.test("DescribeConfigs tells many groups the same as one, up to what one answer holds", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  const ask = async (count: number, configurationKeys: string[] | null) => {
    const resources = Array.from({ length: count }, (_, i) => ({
      resourceType: GROUP,
      resourceName: `g${i}`,
      configurationKeys,
    }));
    const more = { includeSynonyms: true, includeDocumentation: false };
    return (await client.send(describeConfigs, 4, { resources, ...more })).results;
  };
  const [one] = await ask(1, null);
  const many = await ask(40, null);
  assertEquals(many.length, 40);
  for (const { configs } of many) assertEquals(configs, one.configs);
  const tooMany = await ask(Math.ceil(500_000 / one.configs.length) + 10, null);
  assertEquals(tooMany.filter(({ errorCode }) => errorCode === ErrorCode.INVALID_REQUEST).length, 10);
  assertEquals(tooMany.at(-1)!.configs, []);
});

/** A batch of `count` smallest records, or a message set of the oldest formats where `magic` says so. */
function tinyBatch(count: number, compression: number, maxTimestamp = 1000): Uint8Array {
  const plain = new Uint8Array(BATCH_OVERHEAD + 7 * count);
  for (let i = 0; i < count; i++) plain.set([12, 0, 0, 0, 1, 1, 0], BATCH_OVERHEAD + 7 * i);
  const bytes = frameRecords(plain, compression);
  const fields = { baseOffset: 0, compression, baseTimestamp: 1000, maxTimestamp };
  writeBatchHeader(bytes, { ...fields, lastOffsetDelta: count - 1, recordCount: count });
  return bytes;
}

async function codeOfProduce(client: TestClient, topic: string, records: Uint8Array, version = 9) {
  const { responses } = await client.send(produce, version, produceTo(topic, records));
  return errorName(responses[0].partitionResponses[0].errorCode);
}

Deno.test("Produce opens no batch that holds more than its request pays for", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("gzip", 1, { "compression.type": "gzip" });
  await client.createTopic("compact", 1, { "cleanup.policy": "compact" });
  await client.createTopic("small", 1, {
    "compression.type": "gzip",
    "max.decompressed.message.bytes": "1000",
  });
  const bomb = tinyBatch(600_000, Compression.ZSTD);
  for (const topic of ["gzip", "compact"]) {
    assertEquals(await codeOfProduce(client, topic, bomb), "MESSAGE_TOO_LARGE");
  }
  assertEquals(
    await codeOfProduce(client, "small", batchOf(["x".repeat(2000)], { compression: 4 })),
    "MESSAGE_TOO_LARGE",
  );
  assertEquals(await codeOfProduce(client, "small", batchOf(["x".repeat(200)], { compression: 4 })), "NONE");
  assertEquals(await codeOfProduce(client, "gzip", batchOf(["x".repeat(2000)], { compression: 4 })), "NONE");
});

Deno.test("Produce of an old format converts no more messages than its request pays for", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t");
  const set = (count: number) => {
    const records = new Array(count).fill({ offset: 0, timestamp: 1, key: null, value: null });
    return buildMessageSet(records, { magic: 1, compression: Compression.GZIP });
  };
  assertEquals(await codeOfProduce(client, "t", set(450_000), 2), "MESSAGE_TOO_LARGE");
  assertEquals(await codeOfProduce(client, "t", set(1000), 2), "NONE");
  assertEquals(await codeOfProduce(client, "t", new Uint8Array(6_000_000), 2), "MESSAGE_TOO_LARGE");
});

Deno.test("Fetch of an old version gives what it may convert, and the rest when it is asked for", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t");
  await client.createTopic("bomb");
  // Twenty megabytes each: two of them are more than one fetch converts.
  const batch = () => batchOf(["x".repeat(20_000_000)], { compression: Compression.GZIP });
  for (let i = 0; i < 3; i++) await client.append("t", batch());
  await client.append("bomb", batchOf(["x".repeat(40_000_000)], { compression: Compression.GZIP }));
  const read = async (...wanted: [topic: string, offset: bigint][]) => {
    const { responses } = await client.send(fetch, 2, {
      maxWaitMs: 0,
      minBytes: 1,
      topics: wanted.map(([topic, fetchOffset]) => ({
        topic,
        topicId: ZERO_UUID,
        partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1 << 20 }],
      })),
      forgottenTopicsData: [],
    });
    return responses.flatMap(({ partitions }) =>
      partitions.map((p) => [errorName(p.errorCode), (p.records?.length ?? 0) > 0])
    );
  };
  assertEquals(await read(["t", 0n]), [["NONE", true]]);
  assertEquals(await read(["t", 2n], ["t", 2n]), [["NONE", true]]);
  assertEquals(await read(["t", 0n], ["bomb", 0n]), [["NONE", true], ["NONE", false]]);
  assertEquals(await read(["bomb", 0n]), [["CORRUPT_MESSAGE", false]]);
});

Deno.test("a name that grows beyond its field ends the connection with a line of warning and no stack", async () => {
  await using broker = await freePortBroker();
  const body = encodeRequest(metadata, 1, { correlationId: 1, clientId: "x" }, {
    topics: [{ topicId: ZERO_UUID, name: "?".repeat(20_000) }],
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  const frame = concatChunks(body).slice();
  frame.fill(0xff, frame.length - 20_000);
  using conn = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  await conn.write(frame);
  assertEquals(await conn.read(new Uint8Array(10)), null);
  const [line] = broker.log.filter((one) => one.includes("Closed the connection"));
  assertEquals(line.includes("string of 60000 bytes"), true);
  assertEquals(broker.log.some((one) => /Assertion|\.ts:\d/.test(one)), false);
});

Deno.test("a frame of the smallest names ends the connection, not the broker", async () => {
  await using broker = await freePortBroker();
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  const groups = new Array<string>(1_500_000).fill("");
  await assertRejects(
    () => client.send(describeGroups, 0, { groups, includeAuthorizedOperations: false }),
    Disconnected,
  );
  await using other = await TestClient.to(broker);
  assertEquals(await other.topics(), []);
});

Deno.test("inSlices() keeps the order, waits for what is begun, and stops for nobody whose turn is short", async () => {
  const clock = new ManualClock();
  const begun: number[] = [];
  const each = (n: number) => {
    begun.push(n);
    clock.advance(4);
    return n % 2 === 0 ? n : Promise.resolve(n);
  };
  let turns = 0;
  const turn = setInterval(() => turns++, 0);
  assertEquals(await inSlices([1, 2, 3, 4, 5, 6, 7, 8], clock, each), [1, 2, 3, 4, 5, 6, 7, 8]);
  clearInterval(turn);
  assertEquals(begun, [1, 2, 3, 4, 5, 6, 7, 8]);
  assertEquals(turns > 0, true);
  assertEquals(await inSlices([], clock, each), []);
});

Deno.test("ListOffsets by time opens no more for one request than it may, and tells for what it has to be asked again", async () => {
  await using broker = await freePortBroker({ "trackway.list.offsets.decompressed.bytes": "50000" });
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 3);
  for (const partition of [0, 1, 2]) {
    await client.append("t", tinyBatch(5000, Compression.GZIP, 2000), partition);
  }
  const ask = async (version: number, indexes: number[]) => {
    const partitions = indexes.map((partitionIndex) => ({ partitionIndex, timestamp: 1000n }));
    const asked = { replicaId: -1, isolationLevel: 0, timeoutMs: 0, topics: [{ name: "t", partitions }] };
    const { topics } = await client.send(listOffsets, version, asked);
    return topics[0].partitions.map((
      { partitionIndex, errorCode, offset },
    ) => [partitionIndex, errorName(errorCode), Number(offset)]);
  };
  assertEquals(await ask(7, [0, 1, 2]), [
    [0, "NONE", 0],
    [1, "OFFSET_NOT_AVAILABLE", -1],
    [2, "OFFSET_NOT_AVAILABLE", -1],
  ]);
  assertEquals(await ask(4, [1, 2]), [[1, "NONE", 0], [2, "LEADER_NOT_AVAILABLE", -1]]);
  assertEquals(await ask(7, [2]), [[2, "NONE", 0]], "whoever asks again gets further");
});

Deno.test("OffsetCommit of more offsets than fit into one batch says so for each, and stores none of them", async () => {
  await using broker = await freePortBroker({ "offsets.topic.num.partitions": "1" });
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  const commit = async (count: number) => {
    const partitions = Array.from({ length: count }, (_, i) => ({
      partitionIndex: i % 2,
      committedOffset: BigInt(count),
      committedMetadata: "",
    }));
    const topics = [{ name: "t", topicId: ZERO_UUID, partitions }];
    const answer = await client.send(offsetCommit, 8, { groupId: "g", memberId: "", topics });
    const codes = answer.topics[0].partitions.map(({ errorCode }) => errorName(errorCode));
    return [codes.length, ...new Set(codes)];
  };
  assertEquals(await commit(10_000), [10_000, "NONE"]);
  // The first cannot fit whatever is in them, of the second that comes to light only when they are written.
  for (const count of [200_000, 20_000]) {
    assertEquals(await commit(count), [count, "INVALID_COMMIT_OFFSET_SIZE"]);
  }
  const groups = [{ groupId: "g", topics: null }];
  const found = await client.send(offsetFetch, 8, { groupId: "", topics: null, groups });
  const offsets = found.groups[0].topics[0].partitions.map(({ committedOffset }) => committedOffset);
  assertEquals(offsets, [10_000n, 10_000n]);
});
