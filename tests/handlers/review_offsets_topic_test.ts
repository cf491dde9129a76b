/** The offsets topic is a topic that clients may delete. */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { deleteTopics } from "../../src/codec/messages/delete_topics.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker } from "../lib/broker.ts";

Deno.test("groups work again after the offsets topic was deleted, and their offsets are gone", async () => {
  await using broker = await freePortBroker({ "offsets.topic.num.partitions": "1" });
  const client = await Client.connect({ hostname: "127.0.0.1", port: broker.port });
  await client.send(createTopics, 4, {
    topics: [{ name: "t", numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }],
    timeoutMs: 5000,
  });
  const coordinator = async () =>
    (await client.send(findCoordinator, 2, { key: "g", keyType: 0, coordinatorKeys: [] })).errorCode;
  const commit = async () => {
    const { topics } = await client.send(offsetCommit, 2, {
      groupId: "g",
      generationIdOrMemberEpoch: -1,
      memberId: "",
      retentionTimeMs: -1,
      topics: [{
        name: "t",
        topicId: ZERO_UUID,
        partitions: [{ partitionIndex: 0, committedOffset: 7, committedMetadata: "" }],
      }],
    });
    return topics[0].partitions[0].errorCode;
  };
  const committed = async () => {
    const { topics } = await client.send(offsetFetch, 2, {
      groupId: "g",
      topics: [{ name: "t", partitionIndexes: [0] }],
      groups: [],
    });
    return Number(topics[0].partitions[0].committedOffset);
  };
  assertEquals(await coordinator(), ErrorCode.NONE);
  assertEquals(await commit(), ErrorCode.NONE);
  assertEquals(await committed(), 7);

  const { responses } = await client.send(deleteTopics, 1, {
    topicNames: ["__consumer_offsets"],
    topics: [],
    timeoutMs: 5000,
  });
  assertEquals(responses[0].errorCode, ErrorCode.NONE);
  assertEquals(await coordinator(), ErrorCode.NONE);
  assertEquals(await committed(), -1);
  assertEquals(await commit(), ErrorCode.NONE);
  assertEquals(await committed(), 7);
  await client.close();
});
