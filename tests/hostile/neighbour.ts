/**
 * A client that keeps to the protocol while others attack, in a worker of its own so that their work is not counted as
 * its broker's: it produces, reads back what it produced, commits and looks whether that is there. It tells how long
 * each round took and the first thing that was not as it should be.
 */
import { Client } from "../../src/client/client.ts";
import { batchesIn, buildBatch } from "../../src/codec/batch.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { offsetCommit } from "../../src/codec/messages/offset_commit.ts";
import { offsetFetch } from "../../src/codec/messages/offset_fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";

/** What the worker is told. */
export type NeighbourOrder = { readonly start: { readonly port: number } } | { readonly stop: true };

/** What it tells. */
export type NeighbourNews =
  | { readonly slow: number }
  | { readonly ready: true }
  | { readonly done: { readonly roundsMs: readonly number[]; readonly failure: string | null } };

/** A round of this is told at once, so that what was sent meanwhile can be looked at. */
const SLOW_MS = 500;
/** Not a load: it is there to feel others'. */
const PAUSE_MS = 5;
/** Nobody guesses the name by mutating another. */
const TOPIC = "the-neighbours-own-7f3a91";
/** So that no change of the cluster's defaults reaches it. */
const CONFIGS = {
  "min.insync.replicas": "1",
  "compression.type": "producer",
  "max.message.bytes": "1048588",
  "message.timestamp.type": "CreateTime",
  "cleanup.policy": "delete",
  "retention.ms": "604800000",
  "retention.bytes": "-1",
  "flush.messages": "9223372036854775807",
};

const utf8 = new TextEncoder(), text = new TextDecoder();
const worker = self as unknown as {
  postMessage(news: NeighbourNews): void;
  onmessage: ((event: MessageEvent<NeighbourOrder>) => void) | null;
  close(): void;
};
let stopped = false;

worker.onmessage = async ({ data }) => {
  if ("stop" in data) {
    stopped = true;
    return;
  }
  const roundsMs: number[] = [];
  let failure: string | null = null;
  try {
    await work(data.start.port, roundsMs);
  } catch (error) {
    failure = error instanceof Error ? error.stack ?? error.message : String(error);
  }
  worker.postMessage({ done: { roundsMs, failure } });
  worker.close();
};

async function work(port: number, roundsMs: number[]): Promise<void> {
  const client = await Client.connect({ hostname: "127.0.0.1", port }, "neighbour");
  await createTopic(client);
  worker.postMessage({ ready: true });
  for (let round = 0; !stopped; round++) {
    const before = performance.now();
    await produceAndRead(client, round);
    if (round % 10 === 0) await commitAndLook(client, round);
    const ms = performance.now() - before;
    roundsMs.push(ms);
    if (ms >= SLOW_MS) worker.postMessage({ slow: ms });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  await client.close();
}

async function createTopic(client: Client): Promise<void> {
  const { topics: [{ errorCode }] } = await client.send(createTopics, 5, {
    topics: [{
      name: TOPIC,
      numPartitions: 1,
      replicationFactor: 1,
      assignments: [],
      configs: Object.entries(CONFIGS).map(([name, value]) => ({ name, value })),
    }],
  });
  expect(0, errorCode, "CreateTopics");
}

async function produceAndRead(client: Client, round: number): Promise<void> {
  const value = `round ${round}`;
  const records = buildBatch([{ timestamp: Date.now(), key: null, value: utf8.encode(value) }]);
  const answer = await client.send(produce, 9, {
    acks: -1,
    timeoutMs: 30_000,
    topicData: [{ name: TOPIC, topicId: ZERO_UUID, partitionData: [{ index: 0, records }] }],
  });
  const produced = answer.responses[0].partitionResponses[0];
  expect(0, produced.errorCode, "Produce");
  expect(BigInt(round), produced.baseOffset, "Produce's offset");
  const { responses: [{ partitions: [fetched] }] } = await client.send(fetch, 12, {
    maxWaitMs: 10_000,
    minBytes: 1,
    topics: [{
      topic: TOPIC,
      topicId: ZERO_UUID,
      partitions: [{ partition: 0, fetchOffset: BigInt(round), partitionMaxBytes: 1 << 20 }],
    }],
    forgottenTopicsData: [],
  });
  expect(0, fetched.errorCode, "Fetch");
  const values = [...batchesIn(fetched.records!)].flatMap((batch) =>
    [...batch.records()].map((r) => text.decode(r.value!))
  );
  expect(value, values.join(), "what was fetched");
}

async function commitAndLook(client: Client, round: number): Promise<void> {
  const topic = { name: TOPIC, topicId: ZERO_UUID };
  let errorCode: number = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS;
  // The offsets topic comes into being with the first request that needs it; clients ask again.
  while (errorCode === ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) errorCode = await commit(client, topic, round);
  expect(0, errorCode, "OffsetCommit");
  const found = await client.send(offsetFetch, 8, {
    groupId: "",
    topics: null,
    groups: [{ groupId: TOPIC, topics: [{ ...topic, partitionIndexes: [0] }] }],
  });
  expect(BigInt(round), found.groups[0].topics[0].partitions[0].committedOffset, "OffsetFetch");
}

async function commit(
  client: Client,
  topic: { name: string; topicId: string },
  round: number,
): Promise<number> {
  const committed = await client.send(offsetCommit, 8, {
    groupId: TOPIC,
    memberId: "",
    topics: [{
      ...topic,
      partitions: [{ partitionIndex: 0, committedOffset: BigInt(round), committedMetadata: "" }],
    }],
  });
  return committed.topics[0].partitions[0].errorCode;
}

function expect<T>(expected: T, actual: T, what: string): void {
  if (expected !== actual) throw new Error(`the neighbour's ${what}: ${actual}, not ${expected}`);
}
