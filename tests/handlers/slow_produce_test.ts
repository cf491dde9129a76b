/** Batches that a topic compresses anew on another thread: in order, each with its own answer, and nobody waits for them. */
import { assertEquals } from "@std/assert/equals";
import { batchesIn, buildBatch, Compression } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { freePortBroker } from "../lib/broker.ts";
import { fetchFrom, produceTo, TestClient } from "../protocol/requests.ts";

const utf8 = new TextEncoder();

/** One record whose value begins with `name` and fills the batch to about `bytes`. */
function batchOf(
  name: string,
  bytes: number,
  o: Parameters<typeof buildBatch>[1] = {},
  key: string | null = "k",
) {
  const value = utf8.encode(`${name} `.padEnd(bytes, `${name} and more `));
  return buildBatch(
    [{ timestamp: 1_700_000_000_000, key: key === null ? null : utf8.encode(key), value }],
    o,
  );
}

async function stored(
  client: TestClient,
  topic: string,
): Promise<[name: string, codec: number, sequence: number][]> {
  const answer = await client.send(fetch, 12, fetchFrom(topic, [[0, 0, 1 << 26]]));
  return [...batchesIn(answer.responses[0].partitions[0].records!)].flatMap((batch) =>
    [...batch.records()].map((record): [string, number, number] => [
      new TextDecoder().decode(record.value!).split(" ")[0],
      batch.compression,
      batch.baseSequence,
    ])
  );
}

for (const [type, codec] of [["gzip", Compression.GZIP], ["zstd", Compression.ZSTD]] as const) {
  Deno.test(`batches that ${type} takes long for keep their order among small ones, and their answers`, async () => {
    await using broker = await freePortBroker();
    await using client = await TestClient.to(broker);
    await client.createTopic("t", 1, { "compression.type": type });
    const producer = { producerId: 77, producerEpoch: 0 };
    const sizes = [200_000, 100, 300_000, 50, 100, 100_000, 20];
    const answers = await Promise.all(
      sizes.map((bytes, i) =>
        client.send(produce, 9, produceTo("t", batchOf(`b${i}`, bytes, { ...producer, baseSequence: i })))
      ),
    );
    const told = answers.map((
      { responses: [{ partitionResponses: [p] }] },
    ) => [p.errorCode, Number(p.baseOffset)]);
    assertEquals(told, sizes.map((_, i) => [ErrorCode.NONE, i]));
    assertEquals(await stored(client, "t"), sizes.map((_, i) => [`b${i}`, codec, i]));
    const again = await client.send(
      produce,
      9,
      produceTo("t", batchOf("b5", 100_000, { ...producer, baseSequence: 5 })),
    );
    const [{ errorCode, baseOffset }] = again.responses[0].partitionResponses;
    assertEquals([errorCode, Number(baseOffset)], [ErrorCode.NONE, 5]);
  });
}

Deno.test("a batch that is compressed on another thread is refused as any other", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 1, {
    "compression.type": "zstd",
    "cleanup.policy": "compact",
    "max.message.bytes": "300000",
  });
  const errorOf = async (batch: Uint8Array) => {
    const answer = await client.send(produce, 9, produceTo("t", batch));
    const [{ errorCode, recordErrors }] = answer.responses[0].partitionResponses;
    return [errorCode, recordErrors.length];
  };
  const damaged = batchOf("a", 100_000);
  damaged[damaged.length - 1] ^= 1;
  const noise = crypto.getRandomValues(new Uint8Array(65_536));
  const grows = buildBatch([{ timestamp: -1, key: utf8.encode("k"), value: noise }]);
  assertEquals(await errorOf(damaged), [ErrorCode.CORRUPT_MESSAGE, 0]);
  assertEquals(await errorOf(batchOf("a", 400_000)), [ErrorCode.MESSAGE_TOO_LARGE, 0]);
  assertEquals(await errorOf(batchOf("a", 100_000, {}, null)), [ErrorCode.INVALID_RECORD, 1]);
  assertEquals(await errorOf(grows), [ErrorCode.NONE, 0]);
  assertEquals(await errorOf(batchOf("a", 100_000)), [ErrorCode.NONE, 0]);
});

Deno.test("a topic that is deleted while a batch for it is being compressed answers so", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await using other = await TestClient.to(broker);
  await client.createTopic("t", 1, { "compression.type": "zstd", "compression.zstd.level": "19" });
  const answer = client.send(produce, 9, produceTo("t", batchOf("a", 900_000)));
  await other.deleteTopic("t");
  const [{ errorCode }] = (await answer).responses[0].partitionResponses;
  assertEquals(
    [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE].includes(errorCode as 0 | 3),
    true,
    `${errorCode}`,
  );
});

Deno.test("acks=0 has no answer for a batch that is compressed on another thread, and stores it", async () => {
  await using broker = await freePortBroker();
  await using client = await TestClient.to(broker);
  await client.createTopic("t", 1, { "compression.type": "gzip" });
  const frame = produceTo("t", batchOf("a", 200_000), { acks: 0 });
  void client.send(produce, 9, frame).catch(() => {});
  assertEquals(await client.append("t", batchOf("b", 100)), 1);
  assertEquals((await stored(client, "t")).map(([name]) => name), ["a", "b"]);
});

Deno.test("a broker stops although a batch is being compressed", async () => {
  const broker = await freePortBroker();
  const client = await TestClient.to(broker);
  await client.createTopic("t", 1, { "compression.type": "zstd", "compression.zstd.level": "19" });
  const answer = client.send(produce, 9, produceTo("t", batchOf("a", 900_000))).then(
    () => "answered",
    () => "closed",
  );
  await broker[Symbol.asyncDispose]();
  assertEquals(["answered", "closed"].includes(await answer), true);
  await client[Symbol.asyncDispose]();
});
