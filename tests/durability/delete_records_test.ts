/** What DeleteRecords has answered without an error stays deleted, however the broker ends. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { deleteRecords } from "../../src/codec/messages/delete_records.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { batchOf, fetchFrom, TestClient } from "../protocol/requests.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { BrokerProcess, withDataDir } from "./broker_process.ts";

async function deleteBefore(client: TestClient, topic: string, offset: bigint) {
  const partitions = [{ partitionIndex: 0, offset }];
  const answer = await client.send(deleteRecords, 2, {
    topics: [{ name: topic, partitions }],
    timeoutMs: 1000,
  });
  const [{ errorCode, lowWatermark }] = answer.topics[0].partitions;
  return [errorCode, Number(lowWatermark)];
}

async function earliest(client: TestClient, topic: string): Promise<number> {
  const answer = await client.send(listOffsets, 4, {
    replicaId: -1,
    isolationLevel: 0,
    timeoutMs: 1000,
    topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -2n }] }],
  });
  return Number(answer.topics[0].partitions[0].offset);
}

async function fetchError(client: TestClient, topic: string, offset: number): Promise<number> {
  const answer = await client.send(fetch, 12, fetchFrom(topic, [[0, offset]]));
  return answer.responses[0].partitions[0].errorCode;
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  Deno.test(`deleted records stay deleted when ${signal} comes right after the answer`, async () => {
    await withDataDir(async (directory) => {
      let broker = await BrokerProcess.start(directory);
      try {
        {
          await using client = await TestClient.to(broker);
          await client.createTopic("t");
          for (let i = 0; i < 4; i++) await client.append("t", batchOf(["a", "b", "c"]));
          assertEquals(await deleteBefore(client, "t", 5n), [ErrorCode.NONE, 5]);
          await broker.end(signal);
        }
        broker = await BrokerProcess.start(directory);
        await using client = await TestClient.to(broker);
        assertEquals(await earliest(client, "t"), 5);
        assertEquals(await fetchError(client, "t", 4), ErrorCode.OFFSET_OUT_OF_RANGE);
        assertEquals(await fetchError(client, "t", 5), ErrorCode.NONE);
        assertEquals(await deleteBefore(client, "t", 2n), [ErrorCode.NONE, 5]);
      } finally {
        await broker.end("SIGKILL");
      }
    });
  });
}

Deno.test("a log whose records are all deleted begins and goes on at its end after a kill", async () => {
  await withDataDir(async (directory) => {
    let broker = await BrokerProcess.start(directory);
    try {
      {
        await using client = await TestClient.to(broker);
        await client.createTopic("t");
        await client.append("t", batchOf(["a", "b", "c"]));
        assertEquals(await deleteBefore(client, "t", -1n), [ErrorCode.NONE, 3]);
        await broker.end("SIGKILL");
      }
      broker = await BrokerProcess.start(directory);
      await using client = await TestClient.to(broker);
      assertEquals(await earliest(client, "t"), 3);
      assertEquals(await client.append("t", batchOf(["d"])), 3);
    } finally {
      await broker.end("SIGKILL");
    }
  });
});
