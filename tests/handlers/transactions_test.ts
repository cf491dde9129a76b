/** Transactions in the data path: who may write, what readers of committed records are given, and when. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { batchesIn, type BatchOptions, buildBatch } from "../../src/codec/batch.ts";
import { type ErrorName, errorName } from "../../src/codec/errors.ts";
import { addPartitionsToTxn } from "../../src/codec/messages/add_partitions_to_txn.ts";
import { describeProducers } from "../../src/codec/messages/describe_producers.ts";
import { endTxn } from "../../src/codec/messages/end_txn.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { findCoordinator } from "../../src/codec/messages/find_coordinator.ts";
import { initProducerId } from "../../src/codec/messages/init_producer_id.ts";
import { listOffsets } from "../../src/codec/messages/list_offsets.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { writeTxnMarkers } from "../../src/codec/messages/write_txn_markers.ts";
import { freePortBroker, type TestBroker } from "../lib/broker.ts";
import { fetchFrom, produceTo, TestClient } from "../protocol/requests.ts";

const READ_COMMITTED = 1;
const utf8 = new TextEncoder();

interface Producer {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

async function initialized({ client }: Setting, transactionalId: string): Promise<Producer> {
  // This makes the coordinators' topic.
  await client.send(findCoordinator, 3, { key: transactionalId, keyType: 1, coordinatorKeys: [] });
  const request = { transactionalId, transactionTimeoutMs: 60_000 };
  const { errorCode, producerId, producerEpoch } = await client.send(initProducerId, 4, request);
  assertEquals(errorName(errorCode), "NONE");
  return { transactionalId, producerId: Number(producerId), producerEpoch };
}

/** A batch of `count` records in the producer's transaction. */
function batch(
  { producerId, producerEpoch }: Producer,
  baseSequence: number,
  count = 1,
  o: BatchOptions = {},
) {
  const records = Array.from({ length: count }, (_, i) => ({
    timestamp: 1_000_000 + i,
    key: null,
    value: utf8.encode(`value ${i}`),
  }));
  return buildBatch(records, { producerId, producerEpoch, baseSequence, isTransactional: true, ...o });
}

interface Setting extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly client: TestClient;
}

/** A broker, and a topic "t" of three partitions that lets records be as old as they like. */
async function setting(set: Record<string, string> = {}): Promise<Setting> {
  const broker = await freePortBroker(set);
  const client = await TestClient.to(broker);
  await client.createTopic("t", 3, { "segment.ms": String(2 ** 52) });
  return {
    broker,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await broker[Symbol.asyncDispose]();
    },
  };
}

/** What Produce answers for each partition: the error, or the offset. */
async function produced(
  { client }: Setting,
  version: number,
  transactionalId: string | null,
  partitions: readonly (readonly [index: number, records: Uint8Array])[],
): Promise<(ErrorName | number)[]> {
  const partitionData = partitions.map(([index, records]) => ({ index, records }));
  const answer = await client.send(produce, version, {
    transactionalId,
    acks: -1,
    timeoutMs: 5000,
    topicData: [{ name: "t", topicId: "", partitionData }],
  });
  return answer.responses[0].partitionResponses.map(({ errorCode, baseOffset }) =>
    errorCode === 0 ? Number(baseOffset) : errorName(errorCode) as ErrorName
  );
}

async function added({ client }: Setting, producer: Producer, partitions: number[]): Promise<string[]> {
  const answer = await client.send(addPartitionsToTxn, 3, {
    transactions: [],
    v3AndBelowTransactionalId: producer.transactionalId,
    v3AndBelowProducerId: producer.producerId,
    v3AndBelowProducerEpoch: producer.producerEpoch,
    v3AndBelowTopics: [{ name: "t", partitions }],
  });
  return answer.resultsByTopicV3AndBelow[0].resultsByPartition.map((one) =>
    errorName(one.partitionErrorCode)
  );
}

/** Ends the transaction; resolves when its markers are there. */
async function ended(
  setting: Setting,
  producer: Producer,
  committed: boolean,
  version = 4,
): Promise<Producer> {
  const { client } = setting;
  const answer = await client.send(endTxn, version, { ...producer, committed });
  assertEquals(errorName(answer.errorCode), "NONE");
  for (let looks = 1;; looks++) {
    assert(looks < 5000, "the end of the transaction does not come to the partition");
    const { producers } = await described(setting);
    const open = producers.find((one) => Number(one.producerId) === producer.producerId)
      ?.currentTxnStartOffset;
    if (open === undefined || open < 0) break;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const { producerEpoch } = answer;
  return version < 5 ? producer : { ...producer, producerEpoch };
}

async function described({ client }: Setting, partition = 0) {
  const answer = await client.send(describeProducers, 0, {
    topics: [{ name: "t", partitionIndexes: [partition] }],
  });
  const [{ errorCode, activeProducers }] = answer.topics[0].partitions;
  return { errorCode, producers: activeProducers };
}

async function fetched({ client }: Setting, offset: number, isolationLevel: number, o = {}) {
  const request = { ...fetchFrom("t", [[0, offset, 1 << 20]]), isolationLevel, ...o };
  const [answer] = (await client.send(fetch, 12, request)).responses[0].partitions;
  return {
    stable: Number(answer.lastStableOffset),
    batches: [...batchesIn(answer.records!)].map(({ baseOffset, isControl }) =>
      isControl ? -baseOffset : baseOffset
    ),
    aborted: answer.abortedTransactions?.map((one) => [Number(one.producerId), Number(one.firstOffset)]) ??
      null,
  };
}

async function listed(
  { client }: Setting,
  timestamp: number,
  isolationLevel: number,
  name = "t",
): Promise<number> {
  const partitions = [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp, maxNumOffsets: 1 }];
  const request = { replicaId: -1, isolationLevel, timeoutMs: 5000, topics: [{ name, partitions }] };
  return Number((await client.send(listOffsets, 7, request)).topics[0].partitions[0].offset);
}

Deno.test("read_committed ends before the oldest open transaction, and is told which ones were aborted", async () => {
  await using s = await setting();
  const [one, two] = [await initialized(s, "one"), await initialized(s, "two")];
  await added(s, one, [0]);
  await added(s, two, [0]);
  assertEquals(await produced(s, 11, "one", [[0, batch(one, 0, 2)]]), [0]);
  assertEquals(await produced(s, 11, "two", [[0, batch(two, 0)]]), [2]);
  assertEquals(await fetched(s, 0, READ_COMMITTED), { stable: 0, batches: [], aborted: [] });
  assertEquals(await fetched(s, 0, 0), { stable: 0, batches: [0, 2], aborted: null });
  await ended(s, two, false);
  assertEquals(await fetched(s, 0, READ_COMMITTED), { stable: 0, batches: [], aborted: [] });
  await ended(s, one, true);
  const aborted = [[two.producerId, 2]];
  assertEquals(await fetched(s, 0, READ_COMMITTED), { stable: 5, batches: [0, 2, -3, -4], aborted });
  assertEquals(await fetched(s, 3, READ_COMMITTED), { stable: 5, batches: [-3, -4], aborted });
  assertEquals(await fetched(s, 4, READ_COMMITTED), { stable: 5, batches: [-4], aborted: [] });
  assertEquals((await fetched(s, 0, 0)).aborted, null);
});

Deno.test("ListOffsets under read_committed knows nothing from the first open transaction on", async () => {
  await using s = await setting();
  const one = await initialized(s, "one");
  await produced(s, 12, "one", [[0, batch(one, 0, 3)]]);
  const [LATEST, MAX_TIMESTAMP] = [-1, -3];
  for (
    const [timestamp, uncommitted, committed] of [[LATEST, 3, 0], [1_000_001, 1, -1], [MAX_TIMESTAMP, 2, -1]]
  ) {
    assertEquals(await listed(s, timestamp, 0), uncommitted);
    assertEquals(await listed(s, timestamp, READ_COMMITTED), committed);
  }
  await ended(s, one, true, 5);
  assertEquals([await listed(s, LATEST, READ_COMMITTED), await listed(s, 1_000_001, READ_COMMITTED)], [4, 1]);
});

Deno.test("a held fetch of committed records is answered by the marker, not by what is appended before", async () => {
  await using s = await setting();
  await using reader = await TestClient.to(s.broker);
  const one = await initialized(s, "one");
  await produced(s, 12, "one", [[0, batch(one, 0, 2)]]);
  let answered = false;
  const held = fetched({ ...s, client: reader }, 0, READ_COMMITTED, { maxWaitMs: 20_000, minBytes: 200 });
  held.then(() => answered = true);
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 2, 3)]]), [2]);
  assertEquals(answered, false);
  await ended(s, one, true, 5);
  assertEquals(await held, { stable: 6, batches: [0, 2, -5], aborted: [] });
});

Deno.test("a marker that is too small for the bytes that a fetch waits for does not end the wait", async () => {
  await using s = await setting();
  await using reader = await TestClient.to(s.broker);
  const one = await initialized(s, "one");
  await produced(s, 12, "one", [[0, batch(one, 0)]]);
  let answered = false;
  const held = fetched({ ...s, client: reader }, 0, READ_COMMITTED, { maxWaitMs: 20_000, minBytes: 400 });
  held.then(() => answered = true);
  const next = await ended(s, one, true, 5);
  assertEquals(answered, false);
  await produced(s, 12, "one", [[0, batch(next, 0, 20)]]);
  assertEquals(answered, false, "what is written is not committed");
  await ended(s, next, true, 5);
  assertEquals((await held).batches, [0, -1, 2, -22]);
});

for (
  const [version, what, answers] of [
    [3, "added by nobody", "INVALID_TXN_STATE"],
    [10, "added by nobody", "INVALID_TXN_STATE"],
    [11, "added by nobody", "TRANSACTION_ABORTABLE"],
    [12, "added by nobody", 0],
    [11, "of a higher epoch", "INVALID_PRODUCER_EPOCH"],
    [12, "of a higher epoch", "INVALID_PRODUCER_EPOCH"],
    [11, "of another producer id", "INVALID_PRODUCER_ID_MAPPING"],
    [12, "of another producer id", "INVALID_PRODUCER_ID_MAPPING"],
    [11, "of an id that nobody has", "INVALID_PRODUCER_ID_MAPPING"],
    [11, "of an empty id", "INVALID_REQUEST"],
  ] as [number, string, ErrorName | number][]
) {
  Deno.test(`Produce ${version} answers a transactional batch ${what} with ${answers}`, async () => {
    await using s = await setting();
    const one = await initialized(s, "one");
    const producer = what === "of a higher epoch"
      ? { ...one, producerEpoch: one.producerEpoch + 1 }
      : what === "of another producer id"
      ? { ...one, producerId: one.producerId + 77 }
      : one;
    const transactionalId = what === "of an id that nobody has"
      ? "none"
      : what === "of an empty id"
      ? ""
      : "one";
    assertEquals(await produced(s, version, transactionalId, [[0, batch(producer, 0)]]), [answers]);
  });
}

Deno.test("AddPartitionsToTxn that has a transaction many times logs it once, and answers each", async () => {
  await using s = await setting({ "transaction.state.log.num.partitions": "1" });
  const [one, two] = [await initialized(s, "one"), await initialized(s, "two")];
  const logged = () => listed(s, -1, 0, "__transaction_state");
  const before = await logged();
  const ask = ({ transactionalId, producerId, producerEpoch }: Producer, partitions: number[], o = {}) => ({
    transactionalId,
    producerId: BigInt(producerId),
    producerEpoch,
    verifyOnly: false,
    topics: [{ name: "t", partitions }],
    ...o,
  });
  const answer = await s.client.send(addPartitionsToTxn, 5, {
    v3AndBelowTransactionalId: "",
    v3AndBelowProducerId: 0n,
    v3AndBelowProducerEpoch: 0,
    v3AndBelowTopics: [],
    transactions: [
      ask(one, [0]),
      ask({ ...one, producerEpoch: 7 }, [0]),
      ask(two, [1]),
      ask(one, [9, 0]),
      ask(one, [2, 0]),
      ask(one, [2, 1], { verifyOnly: true }),
    ],
  });
  const answers = answer.resultsByTransaction.map((
    { transactionalId, topicResults: [{ resultsByPartition }] },
  ) => [
    transactionalId,
    ...resultsByPartition.map((p) => `${p.partitionIndex} ${errorName(p.partitionErrorCode)}`),
  ]);
  assertEquals(answers, [
    ["one", "0 NONE"],
    ["one", "0 PRODUCER_FENCED"],
    ["two", "1 NONE"],
    ["one", "9 UNKNOWN_TOPIC_OR_PARTITION", "0 OPERATION_NOT_ATTEMPTED"],
    ["one", "2 NONE", "0 NONE"],
    ["one", "2 NONE", "1 TRANSACTION_ABORTABLE"],
  ]);
  assertEquals(await logged(), before + 2);
});

Deno.test("Produce asks for all partitions of a request, and answers each", async () => {
  await using s = await setting();
  const one = await initialized(s, "one");
  await added(s, one, [0, 2]);
  const all = [0, 1, 2].map((index) => [index, batch(one, 0)] as const);
  assertEquals(await produced(s, 11, "one", all), [0, "TRANSACTION_ABORTABLE", 0]);
  const next = [0, 1, 2].map((index) => [index, batch(one, index === 1 ? 0 : 1)] as const);
  assertEquals(await produced(s, 12, "one", next), [1, 0, 1]);
});

Deno.test("Produce with transactional batches of two producers, or without an id, appends nothing at all", async () => {
  await using s = await setting();
  const [one, two] = [await initialized(s, "one"), await initialized(s, "two")];
  for (const producer of [one, two]) await added(s, producer, [0, 1]);
  const both = [[0, batch(one, 0)], [1, batch(two, 0)]] as const;
  assertEquals(await produced(s, 11, "one", both), [
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_PRODUCER_ID_MAPPING",
  ]);
  const plain = batch({ ...one, producerId: -1, producerEpoch: -1 }, -1, 1, { isTransactional: false });
  const refused = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED";
  assertEquals(await produced(s, 11, null, [[0, batch(one, 0)], [1, plain]]), [refused, refused]);
  assertEquals(await produced(s, 11, null, [[0, plain], [1, plain]]), [0, 0]);
});

Deno.test("in an open transaction a producer writes on, in order and in the transaction only", async () => {
  await using s = await setting();
  const one = await initialized(s, "one");
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 4)]]), ["OUT_OF_ORDER_SEQUENCE_NUMBER"]);
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 0)]]), [0]);
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 0)]]), [0], "sent again");
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 3)]]), ["OUT_OF_ORDER_SEQUENCE_NUMBER"]);
  const plain = batch(one, 1, 1, { isTransactional: false });
  assertEquals(await produced(s, 12, "one", [[0, plain]]), ["INVALID_TXN_STATE"]);
  const next = await ended(s, one, true, 5);
  assertEquals(await produced(s, 12, "one", [[0, batch(next, 1)]]), ["OUT_OF_ORDER_SEQUENCE_NUMBER"]);
  assertEquals(await produced(s, 12, "one", [[0, batch(next, 0)]]), [2]);
  assertEquals(await produced(s, 12, "one", [[0, batch(one, 1)]]), ["INVALID_PRODUCER_EPOCH"]);
});

for (const version of [11, 12]) {
  for (const acks of [-1, 0]) {
    Deno.test(`EndTxn does not overtake Produce ${version} with acks=${acks} on its connection`, async () => {
      await using s = await setting();
      const { client } = s;
      const producer = await initialized(s, "one");
      if (version < 12) await added(s, producer, [0]);
      const partitionData = [{ index: 0, records: batch(producer, 0) }];
      const request = {
        transactionalId: "one",
        acks,
        timeoutMs: 5000,
        topicData: [{ name: "t", topicId: "", partitionData }],
      };
      const sent = acks === 0
        ? client.client.sendOnly(produce, version, request)
        : client.send(produce, version, request);
      const end = client.send(endTxn, version < 12 ? 4 : 5, { ...producer, committed: true });
      await sent;
      assertEquals(errorName((await end).errorCode), "NONE");
      // As Kafka 4.4 does.
      assertEquals(await fetched(s, 0, READ_COMMITTED), { stable: 2, batches: [0, -1], aborted: [] });
    });
  }
}

Deno.test("batches that are sent without waiting go in their order behind the verification of the first", async () => {
  await using s = await setting();
  const one = await initialized(s, "one");
  const all = Array.from(
    { length: 10 },
    (_, i) => produced(s, 12, "one", [[0, batch(one, i)], [1, batch(one, i)]]),
  );
  assertEquals(await Promise.all(all), all.map((_, i) => [i, i]));
});

Deno.test("a transaction keeps its order where batches are compressed anew on another thread", async () => {
  await using s = await setting();
  await s.client.createTopic("slow", 1, { "compression.type": "gzip" });
  const one = await initialized(s, "one");
  const sizes = [200_000, 10, 100_000, 10, 60_000];
  const all = sizes.map((bytes, i) => {
    const record = { timestamp: 1_000_000, key: null, value: new Uint8Array(bytes).fill(i) };
    const { producerId, producerEpoch } = one;
    const records = buildBatch([record], {
      producerId,
      producerEpoch,
      baseSequence: i,
      isTransactional: true,
    });
    return s.client.send(produce, 12, { ...produceTo("slow", records), transactionalId: "one" });
  });
  const answers = (await Promise.all(all)).map(({ responses: [{ partitionResponses: [one] }] }) => one);
  assertEquals(answers.map(({ errorCode }) => errorName(errorCode)), sizes.map(() => "NONE"));
  assertEquals(answers.map(({ baseOffset }) => Number(baseOffset)), sizes.map((_, i) => i));
});

Deno.test("the next transaction may begin while the markers of the one before are being written", async () => {
  await using s = await setting();
  let producer = await initialized(s, "one");
  for (let round = 0; round < 20; round++) {
    const [offset] = await produced(s, 12, "one", [[0, batch(producer, 0)]]);
    assertEquals(typeof offset, "number", `round ${round}: ${offset}`);
    const answer = await s.client.send(endTxn, 5, { ...producer, committed: round % 2 === 0 });
    producer = { ...producer, producerEpoch: answer.producerEpoch };
  }
});

Deno.test("without transaction.partition.verification.enable old producers are believed", async () => {
  await using s = await setting({ "transaction.partition.verification.enable": "false" });
  const one = await initialized(s, "one");
  assertEquals(await produced(s, 11, "one", [[0, batch(one, 0)]]), [0]);
  assertEquals((await fetched(s, 0, READ_COMMITTED)).stable, 0);
});

Deno.test("DescribeProducers tells epochs, sequences and where transactions began", async () => {
  await using s = await setting();
  const one = await initialized(s, "one");
  await produced(s, 12, "one", [[0, batch(one, 0, 2)]]);
  const producerId = BigInt(one.producerId);
  assertEquals((await described(s)).producers, [{
    producerId,
    producerEpoch: 0,
    lastSequence: 1,
    lastTimestamp: 1_000_001n,
    coordinatorEpoch: -1,
    currentTxnStartOffset: 0n,
  }]);
  await ended(s, one, false, 5);
  const [{ lastTimestamp, ...after }] = (await described(s)).producers;
  assertEquals(lastTimestamp > 1_000_001n, true);
  assertEquals(after, {
    producerId,
    producerEpoch: 1,
    lastSequence: -1,
    coordinatorEpoch: 0,
    currentTxnStartOffset: -1n,
  });
  assertEquals(errorName((await described(s, 9)).errorCode), "UNKNOWN_TOPIC_OR_PARTITION");
});

Deno.test("what is open, aborted and stable is the same after a restart", async () => {
  await using s = await setting();
  const [one, two] = [await initialized(s, "one"), await initialized(s, "two")];
  await produced(s, 12, "one", [[0, batch(one, 0)]]);
  await ended(s, one, false, 5);
  await produced(s, 12, "two", [[0, batch(two, 0)]]);
  const before = await fetched(s, 0, READ_COMMITTED);
  assertEquals(before, { stable: 2, batches: [0, -1], aborted: [[one.producerId, 0]] });
  await s.client[Symbol.asyncDispose]();
  await s.broker.restart();
  await using client = await TestClient.to(s.broker);
  assertEquals(await fetched({ ...s, client }, 0, READ_COMMITTED), before);
  assertEquals(await listed({ ...s, client }, -1, READ_COMMITTED), 2);
});

for (
  const [what, version, o, expected] of [
    ["of the same epoch", 1, {}, "NONE"],
    ["of the same epoch, which should be raised", 2, { transactionVersion: 2 }, "INVALID_PRODUCER_EPOCH"],
    ["of a raised epoch", 2, { transactionVersion: 2, producerEpoch: 1 }, "NONE"],
  ] as const
) {
  Deno.test(`WriteTxnMarkers ends what is open with a marker ${what}: ${expected}`, async () => {
    await using s = await setting();
    const one = await initialized(s, "one");
    await produced(s, 12, "one", [[0, batch(one, 0)]]);
    const answer = await s.client.send(writeTxnMarkers, version, {
      markers: [{
        ...one,
        transactionResult: false,
        coordinatorEpoch: 0,
        topics: [{ name: "t", partitionIndexes: [0] }],
        ...o,
      }],
    });
    assertEquals(errorName(answer.markers[0].topics[0].partitions[0].errorCode), expected);
    assertEquals((await fetched(s, 0, READ_COMMITTED)).stable, expected === "NONE" ? 2 : 0);
  });
}

Deno.test("a coordinator's topic that cannot be created is told of once, with the reason", async () => {
  await using broker = await freePortBroker({ "transaction.state.log.segment.bytes": "1" });
  await using client = await TestClient.to(broker);
  for (let i = 0; i < 3; i++) {
    const answer = await client.send(findCoordinator, 3, { key: "tx", keyType: 1, coordinatorKeys: [] });
    assertEquals(errorName(answer.errorCode), "COORDINATOR_NOT_AVAILABLE");
  }
  const told = broker.log.filter((line) => line.includes("Cannot create __transaction_state"));
  assertEquals(told.length, 1, broker.log.join("\n"));
  assert(told[0].includes("segment.bytes"), told[0]);
});
