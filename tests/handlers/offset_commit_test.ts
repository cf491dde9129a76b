/** OffsetCommit with numbers that no honest client sends; what honest ones get is in tests/differential. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { freePortBroker } from "../lib/broker.ts";
import { TestClient } from "../protocol/requests.ts";

Deno.test("OffsetCommit refuses an offset that no log can reach, and stores the others of the request", async () => {
  await using broker = await freePortBroker({ "offsets.topic.num.partitions": "1" });
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 3);
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  const offsets = [2n ** 53n, 5n, -(2n ** 63n)];
  const { topics } = await client.send(offsetCommit, 8, {
    groupId: "g",
    memberId: "",
    topics: [{
      name: "t",
      topicId: ZERO_UUID,
      partitions: offsets.map((committedOffset, partitionIndex) => ({
        partitionIndex,
        committedOffset,
        committedMetadata: null,
      })),
    }],
  });
  assertEquals(topics[0].partitions, [
    { partitionIndex: 0, errorCode: ErrorCode.INVALID_COMMIT_OFFSET_SIZE },
    { partitionIndex: 2, errorCode: ErrorCode.INVALID_COMMIT_OFFSET_SIZE },
    { partitionIndex: 1, errorCode: ErrorCode.NONE },
  ]);
  const asked = { groupId: "g", topics: [{ name: "t", partitionIndexes: [0, 1, 2] }], groups: [] };
  const fetched = await client.send(offsetFetch, 5, asked);
  assertEquals(fetched.topics[0].partitions.map((p) => Number(p.committedOffset)), [-1, 5, -1]);
});

Deno.test("OffsetCommit takes any retention and commit time, as far away as they may be", async () => {
  await using broker = await freePortBroker({ "offsets.topic.num.partitions": "1" });
  await using client = await TestClient.to(broker);
  await client.createTopic("t");
  await client.send(findCoordinator, 0, { key: "g", coordinatorKeys: [] });
  const commit = (version: number, fields: { retentionTimeMs?: bigint; commitTimestamp?: bigint }) =>
    client.send(offsetCommit, version, {
      groupId: "g",
      memberId: "",
      retentionTimeMs: fields.retentionTimeMs,
      topics: [{
        name: "t",
        topicId: ZERO_UUID,
        partitions: [{
          partitionIndex: 0,
          committedOffset: 1n,
          committedMetadata: null,
          commitTimestamp: fields.commitTimestamp,
        }],
      }],
    });
  for (const time of [2n ** 63n - 1n, 2n ** 53n, -(2n ** 63n), 0n]) {
    for (
      const [version, fields] of [[2, { retentionTimeMs: time }], [1, { commitTimestamp: time }]] as const
    ) {
      const { topics } = await commit(version, fields);
      assertEquals(topics[0].partitions[0].errorCode, ErrorCode.NONE, `version ${version}, ${time}`);
    }
  }
});
