/** Quotas at a running broker, over real connections. Windows are short, so that no test waits for long. */
import { assertEquals } from "@std/assert/equals";
import { Client, Disconnected } from "../../src/client/client.ts";
import { alterClientQuotas } from "../../src/codec/messages/alter_client_quotas.ts";
import { apiVersions } from "../../src/codec/messages/api_versions.ts";
import { createTopics } from "../../src/codec/messages/create_topics.ts";
import { describeClientQuotas } from "../../src/codec/messages/describe_client_quotas.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { heartbeat } from "../../src/codec/messages/heartbeat.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import type { QuotaEntity } from "../../src/cluster/client_quotas.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { batch } from "../storage/helpers.ts";

/** The window is two samples of a second: a second that never was, and the one that has begun. */
const SHORT_WINDOWS = { "quota.window.num": "2" };

function connect(broker: TestBroker, clientId: string): Promise<Client> {
  return Client.connect({ hostname: "127.0.0.1", port: broker.port }, clientId);
}

/** Sets a quota; null removes it. */
async function setQuota(
  broker: TestBroker,
  entity: QuotaEntity,
  key: string,
  value: number | null,
): Promise<void> {
  const admin = await connect(broker, "admin");
  const { entries } = await admin.send(alterClientQuotas, 1, {
    entries: [{
      entity: Object.entries(entity).map(([entityType, entityName]) => ({ entityType, entityName })),
      ops: [{ key, value: value ?? 0, remove: value === null }],
    }],
    validateOnly: false,
  });
  assertEquals(entries[0].errorCode, 0, entries[0].errorMessage ?? "");
  await admin.close();
}

async function createTopic(broker: TestBroker, name: string): Promise<void> {
  const admin = await connect(broker, "admin");
  await admin.send(createTopics, 5, {
    topics: [{ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }],
    timeoutMs: 1000,
    validateOnly: false,
  });
  await admin.close();
}

function producing(topic: string, bytes: number, acks = 1) {
  const records = batch(1, { bytes });
  return {
    transactionalId: null,
    acks,
    timeoutMs: 1000,
    topicData: [{ name: topic, topicId: "AAAAAAAAAAAAAAAAAAAAAA", partitionData: [{ index: 0, records }] }],
  };
}

function fetching(topic: string, session: { sessionId: number; sessionEpoch: number }) {
  return {
    replicaId: -1,
    maxWaitMs: 0,
    minBytes: 1,
    maxBytes: 10_000_000,
    isolationLevel: 0,
    ...session,
    topics: session.sessionEpoch > 0 ? [] : [{
      topic,
      topicId: "AAAAAAAAAAAAAAAAAAAAAA",
      partitions: [{
        partition: 0,
        currentLeaderEpoch: -1,
        fetchOffset: 0n,
        lastFetchedEpoch: -1,
        logStartOffset: -1n,
        partitionMaxBytes: 10_000_000,
      }],
    }],
    forgottenTopicsData: [],
    rackId: "",
  };
}

const beating = { groupId: "g", generationId: 1, memberId: "m" };

/** What a call gives, and how long it took. */
async function timed<T>(call: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await call;
  return [result, performance.now() - start];
}

/** Whether `ms`, from before the request that was too much, is at least what was told; timers may be a little early. */
function waited(ms: number, throttleTimeMs: number): boolean {
  return ms > throttleTimeMs - 5;
}

Deno.test("a producer above its quota is answered at once, and its next request that much later", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  await setQuota(broker, { "client-id": "p" }, "producer_byte_rate", 10_000);
  const client = await connect(broker, "p");
  const start = performance.now();
  const [first, firstMs] = await timed(client.send(produce, 9, producing("t", 18_000)));
  assertEquals([first.responses[0].partitionResponses[0].errorCode, first.throttleTimeMs > 250], [0, true]);
  assertEquals(firstMs < first.throttleTimeMs, true, `${firstMs} ms for the answer`);
  await client.send(heartbeat, 4, beating);
  const ms = performance.now() - start;
  assertEquals(waited(ms, first.throttleTimeMs), true, `${ms} of ${first.throttleTimeMs} ms`);
  await client.close();
});

Deno.test("an old producer is throttled in the same way", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  await setQuota(broker, { user: "ANONYMOUS" }, "producer_byte_rate", 10_000);
  const client = await connect(broker, "p");
  const [{ throttleTimeMs }, ms] = await timed(client.send(produce, 3, producing("t", 18_000)));
  assertEquals([throttleTimeMs > 150, ms < throttleTimeMs], [true, true]);
  await client.close();
});

Deno.test("a producer that wants no answers is muted all the same", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  await setQuota(broker, { "client-id": "p" }, "producer_byte_rate", 10_000);
  const client = await connect(broker, "p");
  const start = performance.now();
  await client.sendOnly(produce, 9, producing("t", 13_000, 0));
  await client.send(heartbeat, 4, beating);
  const ms = performance.now() - start;
  assertEquals(ms > 250, true, `${ms} ms`);
  await client.close();
});

Deno.test("other clients of the broker are not held up by one that is muted", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  await setQuota(broker, { "client-id": "p" }, "producer_byte_rate", 1000);
  const muted = await connect(broker, "p"), other = await connect(broker, "q");
  const { throttleTimeMs } = await muted.send(produce, 9, producing("t", 10_000));
  const [{ throttleTimeMs: none }, ms] = await timed(other.send(produce, 9, producing("t", 10_000)));
  assertEquals([throttleTimeMs > 5000, none, ms < throttleTimeMs], [true, 0, true]);
  await muted.close();
  await other.close();
});

Deno.test("a fetch above its quota gets nothing and no session, and the same records when the time is over", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  const writer = await connect(broker, "w");
  await writer.send(produce, 9, producing("t", 6000));
  await setQuota(broker, { "client-id": "c" }, "consumer_byte_rate", 10_000);
  const client = await connect(broker, "c");
  const fresh = { sessionId: 0, sessionEpoch: 0 };
  const first = await client.send(fetch, 12, fetching("t", fresh));
  assertEquals([first.throttleTimeMs, first.responses.length, first.sessionId > 0], [0, 1, true]);
  const start = performance.now();
  const second = await client.send(fetch, 12, fetching("t", fresh));
  assertEquals([second.throttleTimeMs > 100, second.errorCode, second.responses, second.sessionId], [
    true,
    0,
    [],
    0,
  ]);
  // What was not sent does not count: otherwise it would never come.
  const third = await client.send(fetch, 12, fetching("t", fresh));
  const ms = performance.now() - start;
  assertEquals(waited(ms, second.throttleTimeMs), true, `${ms} ms`);
  const later = third.throttleTimeMs === 0 ? third : await untilSent(client, () => fetching("t", fresh));
  assertEquals([later.responses.length, later.responses[0].partitions[0].records!.length > 6000], [1, true]);
  await writer.close();
  await client.close();
});

/** Asks until the answer is not an empty one of a client that is too fast. */
async function untilSent(client: Client, request: () => ReturnType<typeof fetching>) {
  for (;;) {
    const response = await client.send(fetch, 12, request());
    if (response.throttleTimeMs === 0) return response;
  }
}

Deno.test("a fetch session goes on after an answer that was held back", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await createTopic(broker, "t");
  const writer = await connect(broker, "w");
  const client = await connect(broker, "c");
  const { sessionId } = await client.send(fetch, 12, fetching("t", { sessionId: 0, sessionEpoch: 0 }));
  await setQuota(broker, { "client-id": "c" }, "consumer_byte_rate", 10_000);
  await writer.send(produce, 9, producing("t", 6000));
  await writer.send(produce, 9, producing("t", 6000));
  // Two seconds' worth at most: the fetch asks for less than both batches.
  let sessionEpoch = 1, held = 0, bytes = 0;
  for (; bytes < 12_000; sessionEpoch++) {
    const { throttleTimeMs, errorCode, responses, sessionId: answered } = await client.send(
      fetch,
      12,
      { ...fetching("t", { sessionId, sessionEpoch }), maxWaitMs: 5000 },
    );
    assertEquals([errorCode, answered], [0, sessionId]);
    if (throttleTimeMs > 0) {
      assertEquals(responses, []);
      held++;
    }
    bytes += responses[0]?.partitions[0].records?.length ?? 0;
  }
  assertEquals(held > 0, true);
  await writer.close();
  await client.close();
});

Deno.test("a client whose requests take too much time is throttled, by a sample at most", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await setQuota(broker, { "client-id": "busy" }, "request_percentage", 1e-6);
  const client = await connect(broker, "busy");
  const start = performance.now();
  const { throttleTimeMs } = await client.send(heartbeat, 4, beating);
  assertEquals(throttleTimeMs, 1000);
  await client.send(apiVersions, 0, { clientSoftwareName: "", clientSoftwareVersion: "" });
  const ms = performance.now() - start;
  assertEquals(waited(ms, 1000), true, `${ms} ms`);
  await client.close();
});

Deno.test("a quota that is removed throttles nobody any more", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await setQuota(broker, { user: null }, "request_percentage", 1e-6);
  const client = await connect(broker, "c");
  await setQuotaUnthrottled(broker);
  assertEquals((await client.send(heartbeat, 4, beating)).throttleTimeMs, 0);
  await client.close();
});

/** The default user's own quota slows the one that removes it, once. */
async function setQuotaUnthrottled(broker: TestBroker): Promise<void> {
  await setQuota(broker, { user: null }, "request_percentage", null);
}

/** Whether a connection is served, or closed before it is. */
async function served(broker: TestBroker): Promise<"served" | "closed"> {
  const client = await connect(broker, "c");
  try {
    await client.send(heartbeat, 4, beating);
    return "served";
  } catch (error) {
    if (!(error instanceof Disconnected)) throw error;
    return "closed";
  } finally {
    await client.close();
  }
}

Deno.test("connections beyond an address's rate are closed after a while, unserved", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  const admin = await connect(broker, "admin");
  await admin.send(alterClientQuotas, 1, {
    entries: [{
      entity: [{ entityType: "ip", entityName: "127.0.0.1" }],
      ops: [{ key: "connection_creation_rate", value: 2, remove: false }],
    }],
    validateOnly: false,
  });
  // All at once: on a machine that has much to do, one after the other may be few enough.
  const outcomes = await Promise.all(Array.from({ length: 10 }, async () => {
    const [outcome, ms] = await timed(served(broker));
    return { outcome, ms };
  }));
  const closed = outcomes.filter(({ outcome }) => outcome === "closed");
  assertEquals([closed.length > 0, closed.length < 10], [true, true], `${closed.length} of 10 are closed`);
  // The later they come, the longer it takes until the rate is what it may be.
  assertEquals(closed.every(({ ms }) => ms > 300), true, JSON.stringify(outcomes));
  await admin.close();
});

Deno.test("quotas are there again after a restart, and hold", async () => {
  await using broker = await freePortBroker(SHORT_WINDOWS);
  await setQuota(broker, { user: "ANONYMOUS", "client-id": null }, "request_percentage", 1e-6);
  await setQuota(broker, { ip: null }, "connection_creation_rate", 1e6);
  await broker.restart();
  const client = await connect(broker, "c");
  const { throttleTimeMs, entries } = await client.send(describeClientQuotas, 1, {
    components: [],
    strict: false,
  });
  assertEquals(throttleTimeMs, 1000);
  const told = entries!.map(({ entity, values }) => JSON.stringify([entity, values])).sort();
  assertEquals(told, [
    '[[{"entityType":"ip","entityName":null}],[{"key":"connection_creation_rate","value":1000000}]]',
    '[[{"entityType":"user","entityName":"ANONYMOUS"},{"entityType":"client-id","entityName":null}],[{"key":"request_percentage","value":0.000001}]]',
  ]);
  await client.close();
});

// ---- Changes of topics

function creating(...topics: [name: string, partitions: number][]) {
  return {
    topics: topics.map(([name, numPartitions]) => ({
      name,
      numPartitions,
      replicationFactor: 1,
      assignments: [],
      configs: [],
    })),
    timeoutMs: 1000,
    validateOnly: false,
  };
}

Deno.test("topics above the quota on changes are refused in new versions, and only told of in old ones", async () => {
  await using broker = await freePortBroker();
  // Eleven tokens are in the bucket.
  await setQuota(broker, { "client-id": "c" }, "controller_mutation_rate", 1);
  const ask = async (version: number, ...topics: [name: string, partitions: number][]) => {
    // Over a connection of its own: the one before may be muted.
    const client = await connect(broker, "c");
    const response = await client.send(createTopics, version, creating(...topics));
    await client.close();
    return [response.throttleTimeMs > 0, ...response.topics.map(({ errorCode }) => errorCode)];
  };
  assertEquals(await ask(7, ["a", 10], ["b", 10]), [false, 0, 0]);
  // What is wrong by itself is told first.
  assertEquals(await ask(7, ["c", 1], ["a", 1], ["d", 0]), [true, 89, 36, 37]);
  assertEquals(await ask(6, ["a", 1]), [false, 36]);
  assertEquals(await ask(5, ["c", 1]), [true, 0]);
});

Deno.test("a topic that is only named is not made above the quota, and costs no time", async () => {
  await using broker = await freePortBroker();
  await setQuota(broker, { "client-id": "c" }, "controller_mutation_rate", 1);
  const client = await connect(broker, "c");
  await client.send(createTopics, 6, creating(["a", 30]));
  const { throttleTimeMs, topics } = await client.send(metadata, 12, {
    topics: [{ name: "b", topicId: "AAAAAAAAAAAAAAAAAAAAAA" }],
    allowAutoTopicCreation: true,
    includeTopicAuthorizedOperations: false,
    includeClusterAuthorizedOperations: false,
  });
  assertEquals([throttleTimeMs, topics[0].errorCode], [0, 3]);
  await client.close();
});
