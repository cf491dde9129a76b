/** Fetch and Produce where Kafka's answer is not the obvious one; each was asked of Kafka 4.4. */
import { assertEquals } from "@std/assert/equals";
import { Client } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeRequest } from "../../src/codec/framing.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import { batchOf, produceTo } from "../differential/setup/records.ts";
import { freePortBroker } from "../lib/broker.ts";

/** Longer than any test takes: a fetch that waits for it instead of being answered fails its test. */
const TOO_LONG_MS = 60_000;

async function connected(port: number) {
  return await Client.connect({ hostname: "127.0.0.1", port });
}

async function create(client: Client, name: string, partitions = 1, configs: Record<string, string> = {}) {
  const { topics } = await client.send(createTopics, 5, {
    topics: [{
      name,
      numPartitions: partitions,
      replicationFactor: 1,
      assignments: [],
      configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
    }],
    timeoutMs: 5000,
  });
  assertEquals(topics[0].errorCode, ErrorCode.NONE);
}

async function append(client: Client, topic: string, records: Uint8Array, more = {}) {
  const { responses } = await client.send(produce, 9, produceTo(topic, records, more));
  return responses[0].partitionResponses[0].errorCode;
}

interface Wanted {
  topic?: string;
  partition?: number;
  fetchOffset?: bigint;
  partitionMaxBytes?: number;
}

/** A fetch without a session; gives topic, partition, error code and bytes of each answer. */
async function read(
  client: Client,
  wanted: Wanted[],
  more: { maxWaitMs?: number; minBytes?: number; maxBytes?: number } = {},
  version = 12,
) {
  const { responses } = await client.send(fetch, version, {
    maxWaitMs: TOO_LONG_MS,
    minBytes: 1,
    ...more,
    topics: wanted.map(({ topic = "t", partition = 0, fetchOffset = 0n, partitionMaxBytes = 1 << 20 }) => ({
      topic,
      topicId: ZERO_UUID,
      partitions: [{ partition, fetchOffset, partitionMaxBytes }],
    })),
    forgottenTopicsData: [],
  });
  return responses.flatMap(({ topic, partitions }) =>
    partitions.map((p) => [topic, p.partitionIndex, p.errorCode, p.records?.length ?? null])
  );
}

/** One record of about a thousand bytes. */
const kilobyte = () => batchOf(["x".repeat(1000)]);
const batchBytes = kilobyte().length;

Deno.test("Produce looks at topic and records before it looks at acks", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t");
  const twoBatches = new Uint8Array([...batchOf(["a"]), ...batchOf(["b"])]);
  const damaged = batchOf(["a"]);
  damaged[damaged.length - 1] ^= 1;
  const table: [topic: string, records: Uint8Array, index: number, errorCode: number][] = [
    ["missing", batchOf(["a"]), 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    ["t", batchOf(["a"]), 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    ["t", twoBatches, 0, ErrorCode.INVALID_RECORD],
    ["t", damaged, 0, ErrorCode.INVALID_REQUIRED_ACKS],
    ["t", batchOf(["a"]), 0, ErrorCode.INVALID_REQUIRED_ACKS],
  ];
  for (const [topic, records, index, errorCode] of table) {
    assertEquals(await append(client, topic, records, { acks: 5, index }), errorCode);
  }
  await client.close();
});

Deno.test("Produce with acks=all needs no more in-sync replicas than the partition has replicas", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t", 1, { "min.insync.replicas": "2" });
  assertEquals(await append(client, "t", batchOf(["a"]), { acks: -1 }), ErrorCode.NONE);
  await client.close();
});

Deno.test("Fetch does not wait for more bytes than its limits let it have", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t", 2);
  for (let i = 0; i < 10; i++) await append(client, "t", kilobyte());
  for (let i = 0; i < 3; i++) await append(client, "t", kilobyte(), { index: 1 });
  const four = ["t", 0, ErrorCode.NONE, 4 * batchBytes];
  assertEquals(await read(client, [{}], { minBytes: 100_000, maxBytes: 5000 }), [four]);
  assertEquals(await read(client, [{ partitionMaxBytes: 5000 }], { minBytes: 5000 }), [four]);
  assertEquals(
    await read(client, [{ partitionMaxBytes: 5000 }, { partition: 1, partitionMaxBytes: 5000 }], {
      minBytes: 5000 + 3 * batchBytes,
    }),
    [four, ["t", 1, ErrorCode.NONE, 3 * batchBytes]],
  );
  // With one partition of two there is less than is asked for.
  assertEquals(
    await read(client, [{ partitionMaxBytes: 5000 }], { minBytes: 5001, maxWaitMs: 10 }),
    [four],
  );
  await client.close();
});

Deno.test("Fetch gives nothing more once its bytes are used up, and still tells of wrong offsets", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t", 3);
  for (const index of [0, 1, 2]) await append(client, "t", kilobyte(), { index });
  assertEquals(
    await read(client, [{}, { partition: 1 }, { partition: 2, fetchOffset: 9n }], { maxBytes: 10 }),
    [
      ["t", 0, ErrorCode.NONE, batchBytes],
      ["t", 1, ErrorCode.NONE, 0],
      ["t", 2, ErrorCode.OFFSET_OUT_OF_RANGE, 0],
    ],
  );
  await client.close();
});

Deno.test("Fetch is held for its partitions although others do not exist, and answered at once when none does", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port), producer = await connected(broker.port);
  await create(client, "t");
  const held = read(client, [{}, { partition: 5 }, { topic: "missing" }]);
  assertEquals(await append(producer, "t", kilobyte()), ErrorCode.NONE);
  const missing = [
    ["t", 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0],
    ["missing", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0],
  ];
  // Whether the append came before the fetch or after: the records are there.
  assertEquals(await held, [["t", 0, ErrorCode.NONE, batchBytes], ...missing]);
  const waited = await read(client, [{ fetchOffset: 1n }, { topic: "missing" }], { maxWaitMs: 10 });
  assertEquals(waited.map(([, , errorCode]) => errorCode), [
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ]);
  assertEquals(await read(client, [{ partition: 5 }, { topic: "missing" }]), missing);
  await client.close();
  await producer.close();
});

Deno.test("Fetch answers a partition that is named twice once, as it was named last", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t", 2);
  for (const index of [0, 1]) await append(client, "t", kilobyte(), { index });
  assertEquals(await read(client, [{}, { fetchOffset: 1n }, { partition: 1 }]), [
    ["t", 0, ErrorCode.NONE, 0],
    ["t", 1, ErrorCode.NONE, batchBytes],
  ]);
  await client.close();
});

Deno.test("Fetch version 2 cuts off a message that is larger than the limit, so that the client learns of it", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port);
  await create(client, "t");
  await append(client, "t", kilobyte());
  assertEquals(await read(client, [{ partitionMaxBytes: 100 }], {}, 2), [["t", 0, ErrorCode.NONE, 100]]);
  await client.close();
});

Deno.test("Fetch with the longest wait there is waits, and is woken", async () => {
  await using broker = await freePortBroker();
  const client = await connected(broker.port), producer = await connected(broker.port);
  await create(client, "t");
  const held = read(client, [{}], { maxWaitMs: 0x7fffffff });
  const first = await Promise.race([held.then(() => "answered"), append(producer, "t", kilobyte())]);
  assertEquals(first, ErrorCode.NONE);
  assertEquals(await held, [["t", 0, ErrorCode.NONE, batchBytes]]);
  await client.close();
  await producer.close();
});

Deno.test("Fetch gives less while clients that do not read hold the memory for answers", async () => {
  await using broker = await freePortBroker({ "queued.max.request.bytes": "20000000" });
  const client = await connected(broker.port);
  await create(client, "t");
  const large = batchOf(["x".repeat(1_000_000)]);
  const count = 30;
  for (let i = 0; i < count; i++) await append(client, "t", large.slice());
  const everything = { partitionMaxBytes: 100_000_000 };

  const slow = await Deno.connect({ hostname: "127.0.0.1", port: broker.port });
  await slow.write(concatChunks(encodeRequest(fetch, 4, { correlationId: 1, clientId: null }, {
    maxWaitMs: 0,
    minBytes: 1,
    maxBytes: 100_000_000,
    topics: [{
      topic: "t",
      topicId: ZERO_UUID,
      partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 100_000_000 }],
    }],
    forgottenTopicsData: [],
  })));
  // The first bytes say that the answer is on its way; more than the system's buffers is left.
  await slow.read(new Uint8Array(4));

  const [[, , errorCode, bytes]] = await read(client, [everything], { maxBytes: 100_000_000 });
  assertEquals([errorCode, bytes], [ErrorCode.NONE, large.length], "one batch, so that the client goes on");
  slow.close();
  await client.close();
});
