/**
 * Committed offsets in versions 0 and 1. In Kafka version 0 stood for offsets in ZooKeeper, and 3.9 without it only had
 * an error for it; here it is the same store in all versions, so that an old client's offsets are those of its group.
 */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { TestClient } from "../protocol/requests.ts";

/** Commits for partitions of t, as a consumer without a group would. */
async function commit(
  client: TestClient,
  version: number,
  offsets: Record<number, number>,
  member: { memberId: string; generationIdOrMemberEpoch?: number } = { memberId: "" },
): Promise<[partition: number, error: number][]> {
  const answer = await client.send(offsetCommit, version, {
    groupId: "g",
    ...member,
    topics: [{
      name: "t",
      topicId: ZERO_UUID,
      partitions: Object.entries(offsets).map(([index, offset]) => ({
        partitionIndex: Number(index),
        committedOffset: BigInt(offset),
        committedMetadata: `at ${offset}`,
      })),
    }],
  });
  return answer.topics[0].partitions.map((p) => [p.partitionIndex, p.errorCode]);
}

/** What is committed for partitions of t: offset, metadata and error. */
async function committed(client: TestClient, version: number, ...partitionIndexes: number[]) {
  const topics = [{ name: "t", partitionIndexes }];
  const groups = version >= 8 ? [{ groupId: "g", topics: [{ ...topics[0], topicId: ZERO_UUID }] }] : [];
  const answer = await client.send(offsetFetch, version, { groupId: "g", topics, groups });
  const [topic] = version >= 8 ? answer.groups[0].topics : answer.topics;
  return topic.partitions.map((p) => [Number(p.committedOffset), p.metadata, p.errorCode]);
}

async function withTopic(run: (client: TestClient, broker: TestBroker) => Promise<void>): Promise<void> {
  await using broker = await freePortBroker({ "offsets.topic.num.partitions": "1" });
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 2);
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  await run(client, broker);
}

for (const version of [0, 1, 2]) {
  Deno.test(`OffsetCommit ${version} stores offsets that every version of OffsetFetch gives back`, async () => {
    await withTopic(async (client, broker) => {
      assertEquals(await commit(client, version, { 0: 5, 1: 7 }), [[0, ErrorCode.NONE], [1, ErrorCode.NONE]]);
      for (let fetching = 0; fetching <= 9; fetching++) {
        assertEquals(
          await committed(client, fetching, 0, 1),
          [[5, "at 5", 0], [7, "at 7", 0]],
          `version ${fetching}`,
        );
      }
      await broker.restart();
      await using again = await TestClient.to(broker);
      assertEquals(await committed(again, 0, 0), [[5, "at 5", 0]]);
    });
  });

  Deno.test(`OffsetCommit ${version} names partitions that do not exist, and stores the others`, async () => {
    await withTopic(async (client) => {
      assertEquals(await commit(client, version, { 0: 5, 7: 9 }), [
        [7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        [0, ErrorCode.NONE],
      ]);
      assertEquals(await committed(client, 0, 0), [[5, "at 5", 0]]);
    });
  });
}

Deno.test("OffsetFetch 0 and 1 give -1 without an error where nothing is committed", async () => {
  await withTopic(async (client) => {
    for (const version of [0, 1]) {
      assertEquals(await committed(client, version, 0, 1), [[-1, "", 0], [-1, "", 0]]);
    }
  });
});

Deno.test("OffsetCommit 1 refuses a member that the group does not have", async () => {
  await withTopic(async (client) => {
    const stranger = { memberId: "stranger", generationIdOrMemberEpoch: 5 };
    const [[, errorCode]] = await commit(client, 1, { 0: 5 }, stranger);
    assertEquals(
      errorCode === ErrorCode.UNKNOWN_MEMBER_ID || errorCode === ErrorCode.ILLEGAL_GENERATION,
      true,
    );
    assertEquals(await committed(client, 1, 0), [[-1, "", 0]]);
  });
});
