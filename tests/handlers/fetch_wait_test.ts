/** Fetches that wait for bytes: by what they are woken, by what they are not, and what they leave behind. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { Client } from "../../src/client/client.ts";
import { ErrorCode } from "../../src/codec/errors.ts";
import { encodeRequest, responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { fetch, type FetchRequest, type FetchResponse } from "../../src/codec/messages/fetch.ts";
import { joinGroup } from "../../src/codec/messages/join_group.ts";
import { metadata } from "../../src/codec/messages/metadata.ts";
import { Reader } from "../../src/codec/reader.ts";
import type { Api, DecodedResponseOf, EncodableRequestOf } from "../../src/codec/schema.ts";
import { concatChunks } from "../../src/codec/writer.ts";
import type { RequestContext, Services } from "../../src/handlers/context.ts";
import { BufferPool, Loans } from "../../src/server/buffer_pool.ts";
import { fetchHandler } from "../../src/handlers/fetch.ts";
import { FetchSessions } from "../../src/replication/fetch_sessions.ts";
import { HeldRequests } from "../../src/replication/held_requests.ts";
import { Partition } from "../../src/replication/partition.ts";
import { Replicas } from "../../src/replication/replicas.ts";
import { configWith, imageWith } from "../cluster/support.ts";
import { freePortBroker } from "../lib/broker.ts";
import { allTopics, batchOf, fetchFrom, TestClient, type Wanted } from "../protocol/requests.ts";
import { turn } from "../server/fakes.ts";
import { batch, openManager, START, TOPIC_ID } from "../storage/helpers.ts";
import { noQuotas } from "../quotas/support.ts";

/** No test takes so long: what is answered before was woken. */
const TOO_LONG_MS = 60_000;

/** The topic t with three partitions, and what a fetch handler needs of a broker. */
class Stage implements Disposable {
  readonly replicas = new Replicas();
  readonly held = new HeldRequests();
  readonly partitions: Partition[] = [];
  /** How often a log was read. */
  reads = 0;
  private readonly services: Services;

  static async open(flushMessages = Infinity): Promise<Stage> {
    const { manager } = await openManager({ flushMessages });
    const stage = new Stage();
    for (let index = 0; index < 3; index++) {
      const log = manager.create("t", index, TOPIC_ID);
      const read = log.read.bind(log);
      log.read = (...args) => {
        stage.reads++;
        return read(...args);
      };
      const partition = new Partition(log, TOPIC_ID, 1, 0, [1]);
      stage.partitions.push(partition);
      stage.replicas.add(partition);
    }
    return stage;
  }

  private constructor() {
    this.services = {
      clock: new ManualClock(),
      config: configWith(),
      cluster: { image: imageWith({ t: 3 }) },
      replicas: this.replicas,
      held: this.held,
      quotas: noQuotas(),
      answerRoomBytes: () => Infinity,
      fetchSessions: new FetchSessions(10, (bound) => Math.floor(Math.random() * bound)),
    } as unknown as Services;
  }

  /** Asks for partitions of t. */
  fetch(wanted: Wanted[], more: { minBytes?: number; maxWaitMs?: number } = {}): Waiting {
    const context = {
      services: this.services,
      version: 11,
      sendsFiles: false,
      onDisconnect: null,
      loans: new Loans(new BufferPool()),
    } as unknown as RequestContext;
    const request = fetch.request.decode(
      fetch.request.encode(11, fetchFrom("t", wanted, { maxWaitMs: TOO_LONG_MS, ...more })),
      11,
    );
    return new Waiting(fetchHandler(request as FetchRequest, context) as Answer, context);
  }

  append(index: number, bytes: Uint8Array): void {
    assertEquals(this.partitions[index].append(bytes, "client", START).errorCode, ErrorCode.NONE);
  }

  /** Nothing that is held outlives the test, the timer neither. */
  [Symbol.dispose](): void {
    this.held.endAll();
  }

  /** How many wait at the partitions. */
  get waiters(): number {
    return this.partitions.reduce((sum, partition) => sum + partition["waiters"].size, 0);
  }
}

type Answer = FetchResponse | null | PromiseLike<FetchResponse | null>;

/** A fetch that may be answered or not. */
class Waiting {
  answer: FetchResponse | null = null;
  readonly answered: Promise<FetchResponse | null>;

  constructor(answer: Answer, readonly context: RequestContext) {
    this.answered = Promise.resolve(answer).then((response) => this.answer = response);
  }

  /** Partition and bytes of each that has some; null while the fetch waits. */
  async got(): Promise<[number, number][] | null> {
    await turn();
    return this.answer?.responses.flatMap((t) =>
      t.partitions.filter((p) => p.records!.length > 0)
        .map((p): [number, number] => [p.partitionIndex, p.records!.length])
    ) ?? null;
  }
}

// ---- What does not wait

Deno.test("a fetch is answered at once when there are enough bytes, or when it would not wait", async () => {
  using stage = await Stage.open();
  const bytes = batch(1);
  stage.append(0, bytes);
  const size = bytes.length;
  assertEquals(await stage.fetch([[0, 0]]).got(), [[0, size]]);
  assertEquals(await stage.fetch([[1, 0]], { minBytes: 0 }).got(), []);
  assertEquals(await stage.fetch([[1, 0]], { maxWaitMs: 0 }).got(), []);
  assertEquals(await stage.fetch([[1, 0]], { maxWaitMs: -1 }).got(), []);
  assertEquals(await stage.fetch([]).got(), [], "of nothing");
  assertEquals(await stage.fetch([[0, 99], [1, 0]]).got(), [], "an error is told at once");
  assertEquals([stage.waiters, stage.held.count], [0, 0]);
});

// ---- What wakes

Deno.test("a fetch that waits is answered by the append that brings enough bytes, and not before", async () => {
  using stage = await Stage.open();
  const size = batch(1).length;
  const fetching = stage.fetch([[0, 0]], { minBytes: 2 * size + 1 });
  for (let appended = 1; appended <= 2; appended++) {
    stage.append(0, batch(1));
    assertEquals(await fetching.got(), null, `${appended} batches are too few`);
  }
  stage.append(0, batch(1));
  assertEquals(await fetching.got(), [[0, 3 * size]]);
});

Deno.test("a fetch that waits is read once for all that one turn appends, in the call that ends the turn", async () => {
  using stage = await Stage.open();
  const size = batch(1).length;
  const fetching = stage.fetch([[0, 0], [1, 0]]);
  const { reads } = stage;
  for (const index of [0, 1, 0]) stage.append(index, batch(1));
  assertEquals(stage.reads, reads);
  stage.held.answerWoken();
  assertEquals([stage.reads, stage.waiters, stage.held.count], [reads + 2, 0, 0]);
  assertEquals(await fetching.got(), [[0, 2 * size], [1, size]]);
});

Deno.test("a fetch that waits counts the bytes of all its partitions, and what was there before", async () => {
  using stage = await Stage.open();
  const size = batch(1).length;
  stage.append(0, batch(1));
  const fetching = stage.fetch([[0, 0], [1, 0], [2, 0]], { minBytes: 3 * size });
  stage.append(2, batch(1));
  assertEquals(await fetching.got(), null);
  stage.append(1, batch(1));
  assertEquals(await fetching.got(), [[0, size], [1, size], [2, size]]);
});

Deno.test("a fetch that waits is not woken by partitions that it does not ask for", async () => {
  using stage = await Stage.open();
  const fetching = stage.fetch([[0, 0]]);
  stage.append(1, batch(1));
  stage.append(2, batch(1));
  assertEquals(await fetching.got(), null);
  stage.append(0, batch(1));
  assert((await fetching.got())!.length === 1);
});

Deno.test("a fetch that waits is woken by what is committed, not by what is still on its way to the disk", async () => {
  using stage = await Stage.open(1);
  const fetching = stage.fetch([[0, 0]]);
  const { committed } = stage.partitions[0].append(batch(1), "client", START);
  let answeredBefore = false;
  void fetching.answered.then(() => answeredBefore = stage.partitions[0].highWatermark === 0);
  await committed;
  await fetching.answered;
  assertEquals([answeredBefore, (await fetching.got())!.length], [false, 1]);
});

Deno.test("a fetch that waits is answered with nothing when its time is over, and not before", async () => {
  using stage = await Stage.open();
  const before = performance.now();
  const fetching = stage.fetch([[0, 0]], { maxWaitMs: 30 });
  assertEquals((await fetching.answered)!.responses[0].partitions[0].errorCode, ErrorCode.NONE);
  assertEquals(await fetching.got(), []);
  // Timers count whole milliseconds.
  assert(performance.now() - before >= 29, "answered before its time");
});

Deno.test("a fetch that waits is answered with what there is when its time is over", async () => {
  using stage = await Stage.open();
  const fetching = stage.fetch([[0, 0]], { minBytes: 100_000, maxWaitMs: 30 });
  stage.append(0, batch(1));
  assertEquals((await fetching.answered)!.responses[0].partitions[0].records!.length, batch(1).length);
});

Deno.test("a fetch that waits hears that its topic was deleted", async () => {
  using stage = await Stage.open();
  const fetching = stage.fetch([[0, 0], [1, 0]], { minBytes: 2 ** 31 - 1 });
  assertEquals(await fetching.got(), null);
  stage.replicas.removeTopic("t");
  const { responses } = (await fetching.answered)!;
  assert(responses[0].partitions.every((p) => p.errorCode !== ErrorCode.NONE));
});

Deno.test("fetches that wait are answered when the broker stops, and when their client leaves", async () => {
  using stage = await Stage.open();
  const stopped = stage.fetch([[0, 0]]);
  stage.held.endAll();
  assertEquals(await stopped.got(), []);
  const left = stage.fetch([[0, 0]]);
  left.context.onDisconnect!();
  assertEquals(await left.answered, null, "nothing is read for a client that is gone");
});

Deno.test("a fetch that waits holds none of the buffers that it has read into", async () => {
  using stage = await Stage.open();
  stage.append(0, batch(1));
  const fetching = stage.fetch([[0, 0], [1, 0]], { minBytes: 1_000_000 });
  assertEquals(await fetching.got(), null);
  assertEquals((fetching.context.loans as Loans).buffers, []);
  stage.held.endAll();
  assertEquals((await fetching.answered)!.responses.length, 1);
  assertEquals((fetching.context.loans as Loans).buffers.length, 1, "only the partition that had something");
});

Deno.test("a fetch is held for five minutes at most, whatever it asks for", async () => {
  using stage = await Stage.open();
  const waits: number[] = [];
  const hold = stage.held.hold.bind(stage.held);
  stage.held.hold = (waitMs, answer) => {
    waits.push(waitMs);
    return hold(waitMs, answer);
  };
  for (const maxWaitMs of [299_999, 2 ** 31 - 1]) stage.fetch([[0, 0]], { maxWaitMs });
  assertEquals(waits, [299_999, 300_000]);
});

// ---- What is left behind

Deno.test("a fetch leaves nothing behind, whatever ended it", async () => {
  const ways: Record<string, (stage: Stage, fetching: Waiting) => void> = {
    append: (stage) => stage.append(0, batch(1)),
    stop: (stage) => stage.held.endAll(),
    disconnect: (_, fetching) => fetching.context.onDisconnect!(),
    deletion: (stage) => stage.replicas.removeTopic("t"),
    time: () => {},
  };
  for (const [way, end] of Object.entries(ways)) {
    using stage = await Stage.open();
    const fetching = stage.fetch([[0, 0], [1, 0], [2, 0]], { maxWaitMs: way === "time" ? 5 : TOO_LONG_MS });
    assertEquals([stage.waiters, stage.held.count], [3, 1]);
    end(stage, fetching);
    // A second end, at the same time, must not do anything either.
    if (way !== "time") stage.held.endAll();
    await fetching.answered;
    assertEquals([stage.waiters, stage.held.count, fetching.context.onDisconnect], [0, 0, null], way);
  }
});

Deno.test("1,000 fetches that wait cost nothing until something happens, and then one read each", async () => {
  using stage = await Stage.open();
  const fetches = Array.from({ length: 1000 }, () => stage.fetch([[0, 0]]));
  assertEquals([stage.reads, stage.waiters, stage.held.count], [1000, 1000, 1000]);
  stage.append(1, batch(1));
  await turn();
  assertEquals(stage.reads, 1000, "read without a reason");
  stage.append(0, batch(1));
  const answers = await Promise.all(fetches.map((fetching) => fetching.answered));
  assert(answers.every((answer) => answer!.responses[0].partitions[0].records!.length > 0));
  assertEquals([stage.reads, stage.waiters, stage.held.count], [2000, 0, 0]);
});

// ---- Through a real broker

/**
 * Sends a request that will be held; resolves, to its answer to come, when the broker has it: it went in one piece with
 * a request that was answered.
 */
async function sendHeld<A extends Api>(
  client: Client,
  api: A,
  version: number,
  request: EncodableRequestOf<A>,
) {
  const frame = <B extends Api>(id: number, b: B, v: number, r: EncodableRequestOf<B>) =>
    encodeRequest(b, v, { correlationId: id, clientId: "test" }, r);
  const answer = client.roundTrip(1002, new Uint8Array(0)).then((bytes) => {
    const reader = new Reader(bytes);
    responseHeader.read(reader, responseHeaderVersion(api, version));
    return api.response.read(reader, version) as DecodedResponseOf<A>;
  });
  const both = [...frame(1001, metadata, 12, allTopics), ...frame(1002, api, version, request)];
  await client.roundTrip(1001, concatChunks(both));
  return { answer };
}

Deno.test("a broker wakes 1,000 waiting clients' fetches with one append", async () => {
  await using broker = await freePortBroker();
  await using producer = await TestClient.to(broker);
  await producer.createTopic("t");
  const clients = await Promise.all(Array.from({ length: 1000 }, () => TestClient.to(broker)));
  const fetches = clients.map((client) =>
    client.send(fetch, 11, fetchFrom("t", [[0, 0]], { maxWaitMs: TOO_LONG_MS }))
  );
  await producer.append("t", batchOf(["x"]));
  for (const { responses } of await Promise.all(fetches)) {
    assert(responses[0].partitions[0].records!.length > 0);
  }
  await Promise.all(clients.map((client) => client.client.close()));
});

Deno.test("a broker tells a fetch that waits of its topic's deletion", async () => {
  await using broker = await freePortBroker();
  await using admin = await TestClient.to(broker);
  await using consumer = await TestClient.to(broker);
  await admin.createTopic("t");
  const fetching = await sendHeld(
    consumer.client,
    fetch,
    11,
    fetchFrom("t", [[0, 0]], { maxWaitMs: TOO_LONG_MS }),
  );
  await admin.deleteTopic("t");
  const [{ errorCode }] = (await fetching.answer).responses[0].partitions;
  assertEquals(errorCode, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
});

Deno.test("a broker that stops answers the fetches and joins that it holds, before it closes their connections", async () => {
  // The rebalance waits for members that never come.
  await using broker = await freePortBroker({ "group.initial.rebalance.delay.ms": String(TOO_LONG_MS) });
  const address = { hostname: "127.0.0.1", port: broker.port };
  const consumer = await Client.connect(address), member = await Client.connect(address);
  await using admin = await TestClient.to(broker);
  await admin.createTopic("t");
  const fetching = await sendHeld(consumer, fetch, 11, fetchFrom("t", [[0, 0]], { maxWaitMs: TOO_LONG_MS }));
  const joining = await sendHeld(member, joinGroup, 2, {
    groupId: "g",
    sessionTimeoutMs: 30_000,
    rebalanceTimeoutMs: TOO_LONG_MS,
    memberId: "",
    protocolType: "consumer",
    protocols: [{ name: "range", metadata: new Uint8Array(0) }],
  });
  const before = performance.now();
  await broker.stop();
  assertEquals((await fetching.answer).responses[0].partitions[0].errorCode, ErrorCode.NONE);
  const { errorCode } = await joining.answer;
  assert(errorCode !== ErrorCode.NONE, "the member is told to come back, not that it joined");
  assert(performance.now() - before < 2000, "the stop used up its patience");
  await consumer.close();
  await member.close();
});
