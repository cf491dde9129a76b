/**
 * Partitions that move between data directories while a producer writes to them and the process is killed, again and
 * again: what was acknowledged is there, once, in order, in one directory; and every move that was asked for is done in
 * the end.
 */
import { assertEquals } from "@std/assert/equals";
import { join } from "node:path";
import { Prng } from "../../src/base/prng.ts";
import { batchesIn } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { alterReplicaLogDirs } from "../../src/codec/messages/alter_replica_log_dirs.ts";
import { describeLogDirs } from "../../src/codec/messages/describe_log_dirs.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { batchOf, fetchFrom, TestClient } from "../protocol/requests.ts";
import { BrokerProcess, withDataDir, within } from "./broker_process.ts";

const ROUNDS = 6;
const DIRECTORIES = ["one", "two", "three"];
/** Some 4 MB, which take longer to copy than the process lives. */
const FIRST_RECORDS = 60;
const value = (n: number) => `${n} `.padEnd(64 * 1024, "x");

async function move(client: TestClient, path: string): Promise<void> {
  const dirs = [{ path, topics: [{ name: "t", partitions: [0] }] }];
  const { results } = await client.send(alterReplicaLogDirs, 2, { dirs });
  assertEquals(results[0].partitions[0].errorCode, ErrorCode.NONE);
}

/** The directories that have something of the partition, the copies marked. */
async function places(client: TestClient): Promise<string[]> {
  const { results } = await client.send(describeLogDirs, 4, { topics: [{ topic: "t", partitions: [0] }] });
  return results.flatMap(({ logDir, topics }) =>
    topics.flatMap(({ partitions }) =>
      partitions.map(({ isFutureKey }) => isFutureKey ? `${logDir} (copy)` : logDir)
    )
  );
}

async function read(client: TestClient): Promise<string[]> {
  const values: string[] = [];
  for (let offset = 0;;) {
    const answer = await client.send(fetch, 12, fetchFrom("t", [[0, offset]]));
    const [{ errorCode, highWatermark, records }] = answer.responses[0].partitions;
    assertEquals(errorCode, ErrorCode.NONE);
    for (const batch of batchesIn(records!)) {
      for (const record of batch.records()) {
        assertEquals(record.offset, offset++);
        values.push(new TextDecoder().decode(record.value!));
      }
    }
    if (offset >= Number(highWatermark)) return values;
  }
}

Deno.test("partitions that move survive kills with all that was acknowledged, and get to where they were sent", async () => {
  const seed = Number(Deno.env.get("DURABILITY_SEED") ?? 1);
  const random = new Prng(seed);
  await withDataDir(async (directory) => {
    const paths = DIRECTORIES.map((name) => join(directory, name));
    const start = () => BrokerProcess.start(paths.join(","), 0);
    let broker = await start();
    let acknowledged = 0;
    try {
      {
        await using client = await TestClient.to(broker);
        await client.createTopic("t", 1, { "internal.segment.bytes": "1000000" });
        for (; acknowledged < FIRST_RECORDS; acknowledged++) {
          await client.append("t", batchOf([value(acknowledged)]));
        }
      }
      for (let round = 0; round < ROUNDS; round++) {
        await using client = await TestClient.to(broker);
        const target = paths[random.int(paths.length)];
        await move(client, target);
        const killed = broker;
        const timer = setTimeout(() => killed.signal("SIGKILL"), random.int(40));
        try {
          for (;;) {
            await client.append("t", batchOf([value(acknowledged)]));
            acknowledged++;
          }
        } catch (error) {
          if (killed.ending === null) await within(killed.exit(), "the kill");
          if (!/closed|reset|broken/i.test(String(error))) throw error;
        } finally {
          clearTimeout(timer);
        }
        broker = await start();
        await using again = await TestClient.to(broker);
        const values = await read(again);
        const context = `seed ${seed}, round ${round}, to ${target}`;
        assertEquals(values.length >= acknowledged, true, `${context}: ${values.length} of ${acknowledged}`);
        assertEquals(values, values.map((_, n) => value(n)), context);
        // What was written and not acknowledged before the kill stays.
        acknowledged = values.length;
        await within(arrived(again, target), `${context}: the move`);
      }
      assertEquals(broker.warnings.filter((line) => !/cut \d+ bytes off/.test(line)), []);
    } finally {
      await broker.end("SIGKILL");
    }
  });
});

async function arrived(client: TestClient, path: string): Promise<void> {
  while ((await places(client)).join() !== path) await new Promise((resolve) => setTimeout(resolve, 5));
}
