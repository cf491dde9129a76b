/** Many topics at once: made by one call, told by one answer, or page by page. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import {
  describeTopicPartitions,
  type DescribeTopicPartitionsResponse,
} from "../../src/codec/messages/describe_topic_partitions.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { freePortBroker } from "../lib/broker.ts";
import { TestClient } from "../protocol/requests.ts";

const TOPICS = 1_000;
const names = Array.from({ length: TOPICS }, (_, i) => `topic-${String(i).padStart(4, "0")}`);

/** Creates them in one call and gives the error codes. */
async function create(client: TestClient, topics: readonly string[], numPartitions: number) {
  const response = await client.send(createTopics, 7, {
    topics: topics.map((name) => ({
      name,
      numPartitions,
      replicationFactor: 1,
      assignments: [],
      configs: [],
    })),
    validateOnly: false,
  });
  return response.topics.map(({ errorCode }) => errorCode);
}

/** Every partition as `topic-partition`, by Metadata. */
async function allPartitions(client: TestClient): Promise<string[]> {
  const response = await client.send(metadata, 12, {
    topics: null,
    allowAutoTopicCreation: false,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  return response.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, leaderId, errorCode }) => {
      assertEquals([leaderId, errorCode], [1, ErrorCode.NONE], `${name}-${partitionIndex}`);
      return `${name}-${partitionIndex}`;
    })
  ).sort();
}

/** Every partition, by following the cursor, and how many calls that takes. */
async function pages(client: TestClient, responsePartitionLimit: number, topics: readonly string[] = []) {
  const seen: string[] = [];
  let calls = 0;
  let cursor: DescribeTopicPartitionsResponse["nextCursor"] = null;
  do {
    const request = { topics: topics.map((name) => ({ name })), responsePartitionLimit, cursor };
    const response: DescribeTopicPartitionsResponse = await client.send(describeTopicPartitions, 0, request);
    const inPage = response.topics.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex }) => `${name}-${partitionIndex}`)
    );
    assert(inPage.length > 0, "a page without a partition");
    assert(inPage.length <= responsePartitionLimit, "a page above its limit");
    seen.push(...inPage);
    calls++;
    cursor = response.nextCursor ?? null;
  } while (cursor !== null);
  return { seen, calls };
}

Deno.test("a thousand topics are made by one call, and all of them are told at once, page by page, and after a restart", async () => {
  await using broker = await freePortBroker();
  {
    await using client = await TestClient.to(broker);
    assertEquals(await create(client, names, 1), names.map(() => ErrorCode.NONE));
    assertEquals(await create(client, ["many"], 150), [ErrorCode.NONE]);
    const all = await allPartitions(client);
    assertEquals(all.length, TOPICS + 150);
    for (const limit of [2000, 100, 7]) {
      const { seen, calls } = await pages(client, limit);
      assertEquals(seen.toSorted(), all, `pages of ${limit}`);
      assertEquals(new Set(seen).size, seen.length, `pages of ${limit} tell a partition twice`);
      assertEquals(calls, Math.ceil(all.length / limit));
    }
    const some = ["many", names[500], names[3]];
    const { seen } = await pages(client, 40, some);
    assertEquals(seen.slice(-2), [`${names[3]}-0`, `${names[500]}-0`], "in the order of their names");
    assertEquals(seen.length, 152);
  }
  await broker.restart();
  await using client = await TestClient.to(broker);
  assertEquals((await allPartitions(client)).length, TOPICS + 150);
});

Deno.test("max.request.partition.size.limit bounds a page, whatever a client asks for", async () => {
  await using broker = await freePortBroker({ "max.request.partition.size.limit": "50" });
  await using client = await TestClient.to(broker);
  assertEquals(await create(client, ["t"], 120), [ErrorCode.NONE]);
  const request = { topics: [], responsePartitionLimit: 2000, cursor: null };
  const { topics, nextCursor } = await client.send(describeTopicPartitions, 0, request);
  assertEquals(topics[0].partitions.length, 50);
  assertEquals(nextCursor, { topicName: "t", partitionIndex: 50 });
});

Deno.test("a CreateTopics of more than 10,000 partitions makes none of them", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  const refused = await create(client, names.slice(0, 101), 100);
  assertEquals(new Set(refused), new Set([ErrorCode.POLICY_VIOLATION]));
  assertEquals(await allPartitions(client), []);
});
