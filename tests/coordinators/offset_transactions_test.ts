/** Offsets in transactions where no client of Kafka can look: failing logs, restarts, what happens in between. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import type { ProducerCheckPorts } from "../../src/coordinators/groups/producer_check.ts";
import { MarkerWriter } from "../../src/coordinators/marker_writer.ts";
import type {
  AddPartitionsReply,
  AddPartitionsRequest,
} from "../../src/coordinators/transactions/requests.ts";
import type { TransactionMarker } from "../../src/replication/transaction_marker.ts";
import { type Harness, harness, MemoryLog, settled } from "./harness.ts";
import {
  commitRequest,
  committed,
  heartbeatRequest,
  ifSettled,
  joinAsNew,
  transactional,
} from "./requests.ts";

const { NONE } = ErrorCode;

function marker(isCommit: boolean, producerId = 100, producerEpoch = 0): TransactionMarker {
  return { producerId, producerEpoch, coordinatorEpoch: 0, isCommit, transactionVersion: 0 };
}

/** Stages an offset of partition 0 of the topic "t"; gives the error code. */
async function stage(h: Harness, offset: number, producerId = 100, producerEpoch = 0, apiVersion = 5) {
  const request = commitRequest("g", { "t:0": offset });
  const { topics } = await h.service.commitInTransaction(
    transactional(request, producerId, producerEpoch, apiVersion),
  );
  return topics[0].partitions[0].errorCode;
}

async function stableError(h: Harness): Promise<number> {
  const topics = [{ name: "t", partitionIndexes: [0] }];
  const reply = await h.service.fetchOffsets({ groupId: "g", topics, requireStable: true });
  return reply.topics[0].partitions[0].errorCode;
}

/** What a transaction coordinator is asked, and the answers that it gives. */
function coordinator(answer: (request: AddPartitionsRequest) => number | Promise<number>) {
  const asked: AddPartitionsRequest[] = [];
  const ports: ProducerCheckPorts = {
    addPartitions: async (request): Promise<AddPartitionsReply> => {
      asked.push(request);
      return { errorCodes: [await answer(request)] };
    },
    verifiesPartitions: () => true,
  };
  return { asked, ports };
}

Deno.test("a commit in a transaction asks the coordinator, or is refused, when its log is found meanwhile", async () => {
  const { asked, ports } = coordinator(() => ErrorCode.INVALID_TXN_STATE);
  const log = new MemoryLog();
  let isThere = false;
  const h = harness({}, 1, ports, () => {
    const found = isThere ? log : ErrorCode.COORDINATOR_NOT_AVAILABLE;
    isThere = true;
    return found;
  });
  // The disk has just begun to work again.
  isThere = false;
  assertEquals(await stage(h, 7), ErrorCode.COORDINATOR_NOT_AVAILABLE);
  assertEquals([asked.length, log.batches.length], [0, 0]);
  assertEquals(await stage(h, 7), ErrorCode.INVALID_TXN_STATE);
  assertEquals([asked.length, log.batches.length], [1, 0]);
});

Deno.test("pending offsets survive a restart, and the end that comes after it decides", async () => {
  for (const isCommit of [true, false]) {
    const before = harness();
    assertEquals(await stage(before, 7), NONE);
    const h = before.restarted();
    assertEquals([await committed(h.service, "g"), await stableError(h)], [
      {},
      ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ]);
    assertEquals(await h.service.endTransaction(0, marker(isCommit)), NONE);
    assertEquals([await committed(h.service, "g"), await stableError(h)], [
      isCommit ? { "t:0": 7 } : {},
      NONE,
    ]);
    const again = h.restarted();
    assertEquals(await committed(again.service, "g"), isCommit ? { "t:0": 7 } : {});
    again.service.close();
  }
});

Deno.test("a producer that has pending offsets is believed in their epoch, and asked about in another", async () => {
  const { asked, ports } = coordinator(({ producerEpoch }) =>
    producerEpoch === 0 ? NONE : ErrorCode.PRODUCER_FENCED
  );
  const h = harness({}, 1, ports);
  assertEquals([await stage(h, 7), await stage(h, 8)], [NONE, NONE]);
  assertEquals(asked.length, 1);
  assertEquals(await stage(h, 9, 100, 1), ErrorCode.INVALID_PRODUCER_EPOCH);
  assertEquals(asked.length, 2);
  h.service.close();
});

Deno.test("offsets over which a transaction is pending do not expire, nor does a group that has nothing else", async () => {
  const h = harness();
  await h.service.commitOffsets(commitRequest("g", { "t:0": 5, "t:1": 6 }));
  await stage(h, 7);
  await h.service.commitOffsets(commitRequest("other", { "t:1": 6 }));
  await h.service.commitInTransaction(transactional(commitRequest("other", { "t:0": 8 })));
  await h.advance(8 * 24 * 3_600_000);
  assertEquals(await committed(h.service, "g"), { "t:0": 5 }, "what the transaction does not touch is gone");
  assertEquals((await h.service.describe(["other"], 5))[0].groupState, "Empty");
  await h.service.endTransaction(0, marker(true));
  assertEquals([await committed(h.service, "g"), await committed(h.service, "other")], [{ "t:0": 7 }, {
    "t:0": 8,
  }]);
  h.service.close();
});

Deno.test("a marker that cannot be written leaves the offsets pending, and can be sent again", async () => {
  const h = harness();
  await stage(h, 7);
  h.logs[0].failWith = ErrorCode.KAFKA_STORAGE_ERROR;
  assertEquals(await h.service.endTransaction(0, marker(true)), ErrorCode.KAFKA_STORAGE_ERROR);
  assertEquals(await stableError(h), ErrorCode.UNSTABLE_OFFSET_COMMIT);
  h.logs[0].failWith = NONE;
  assertEquals(await h.service.endTransaction(0, marker(true)), NONE);
  assertEquals(await h.service.endTransaction(0, marker(true)), NONE);
  assertEquals(await committed(h.service, "g"), { "t:0": 7 });
  h.service.close();
});

Deno.test("offsets that cannot be logged are not pending", async () => {
  const h = harness();
  h.logs[0].failWith = ErrorCode.NOT_ENOUGH_REPLICAS;
  assertEquals(await stage(h, 7), ErrorCode.COORDINATOR_NOT_AVAILABLE);
  h.logs[0].failWith = NONE;
  assertEquals(await stableError(h), NONE);
  h.service.close();
});

Deno.test("nobody hears of the end of a transaction, or of what it committed, before it is committed itself", async () => {
  const h = harness();
  await stage(h, 7);
  h.logs[0].isReplicated = true;
  const ended = h.service.endTransaction(0, marker(true));
  const seen = committed(h.service, "g");
  assertEquals([await ifSettled(ended), await ifSettled(seen)], ["held", "held"]);
  h.logs[0].commit();
  assertEquals([await ended, await seen], [NONE, { "t:0": 7 }]);
  h.service.close();
});

Deno.test("the coordinator of transactions is asked once for a transaction, with what the version asks for", async () => {
  const { asked, ports } = coordinator(() => NONE);
  const h = harness({}, 1, ports);
  const partitions = [{ topic: "__consumer_offsets", partition: 0 }];
  for (const [apiVersion, verifyOnly] of [[4, true], [5, false]] as const) {
    asked.length = 0;
    await stage(h, 7, 100, 0, apiVersion);
    await stage(h, 8, 100, 0, apiVersion);
    const request = { transactionalId: "x100", producerId: 100, producerEpoch: 0, partitions, verifyOnly };
    assertEquals(asked, [request]);
    await h.service.endTransaction(0, marker(true));
  }
  h.service.close();
});

Deno.test("transaction.partition.verification.enable spares the question, but not for producers that rely on it", async () => {
  const { asked, ports } = coordinator(() => NONE);
  const h = harness({}, 1, { ...ports, verifiesPartitions: () => false });
  for (const apiVersion of [0, 4, 5]) {
    assertEquals(await stage(h, 7, 100 + apiVersion, 0, apiVersion), NONE);
  }
  assertEquals(asked.map(({ producerId }) => producerId), [105]);
  for (const [producerId, epoch] of [[-1, 0], [-1, -1], [5, -1]]) {
    assertEquals(await stage(h, 7, producerId, epoch, 4), ErrorCode.INVALID_PRODUCER_ID_MAPPING);
  }
  h.service.close();
});

Deno.test("each version hears of the coordinator's errors as Kafka tells it", async () => {
  const table = [
    [ErrorCode.TRANSACTION_ABORTABLE, 3, ErrorCode.INVALID_TXN_STATE],
    [ErrorCode.TRANSACTION_ABORTABLE, 4, ErrorCode.TRANSACTION_ABORTABLE],
    [ErrorCode.PRODUCER_FENCED, 3, ErrorCode.INVALID_PRODUCER_EPOCH],
    [ErrorCode.PRODUCER_FENCED, 5, ErrorCode.INVALID_PRODUCER_EPOCH],
    [ErrorCode.INVALID_PRODUCER_ID_MAPPING, 5, ErrorCode.INVALID_PRODUCER_ID_MAPPING],
    [ErrorCode.CONCURRENT_TRANSACTIONS, 5, ErrorCode.CONCURRENT_TRANSACTIONS],
    [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 4, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
    [ErrorCode.NOT_COORDINATOR, 4, ErrorCode.NOT_COORDINATOR],
  ];
  for (const [answer, apiVersion, expected] of table) {
    const h = harness({}, 1, coordinator(() => answer).ports);
    assertEquals(await stage(h, 7, 100, 0, apiVersion), expected);
    assertEquals([h.logs[0].nextOffset, await stableError(h)], [0, NONE]);
    h.service.close();
  }
});

Deno.test("a transaction that ends while the coordinator is asked takes no more offsets: no marker would end them", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const h = harness({}, 1, coordinator(() => promise).ports);
  const staging = [stage(h, 7), stage(h, 8, 101)];
  await settled();
  await h.service.endTransaction(0, marker(false));
  resolve(NONE);
  assertEquals(await Promise.all(staging), [ErrorCode.INVALID_TXN_STATE, NONE]);
  assertEquals([...h.shard("g").state.transactions.keys()], [101]);
  h.service.close();
});

Deno.test("a commit in a transaction does not keep the session alive", async () => {
  const h = harness();
  const joining = joinAsNew(h.service, "g", { sessionTimeoutMs: 10_000 });
  await h.advance(0);
  const joined = await joining;
  await h.service.sync({
    ...heartbeatRequest("g", joined),
    protocolType: "consumer",
    protocolName: "range",
    assignments: [],
    apiVersion: 5,
  });
  await h.advance(6_000);
  const request = commitRequest("g", { "t:0": 7 }, joined);
  const { topics } = await h.service.commitInTransaction(transactional(request));
  assertEquals(topics[0].partitions[0].errorCode, NONE);
  await h.advance(6_000);
  assertEquals(
    (await h.service.heartbeat(heartbeatRequest("g", joined))).errorCode,
    ErrorCode.UNKNOWN_MEMBER_ID,
  );
  h.service.close();
});

Deno.test("a group service that is closed ends no transaction and takes no offsets", async () => {
  const h = harness();
  h.service.close();
  assertEquals(await stage(h, 7), ErrorCode.COORDINATOR_NOT_AVAILABLE);
  assertEquals(await h.service.endTransaction(0, marker(true)), ErrorCode.COORDINATOR_NOT_AVAILABLE);
});

Deno.test("MarkerWriter goes to groups for their partitions, and speaks of leaders where they speak of coordinators", async () => {
  const ends: [number, number][] = [];
  const answers = [NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.TRANSACTION_COORDINATOR_FENCED];
  const appended: TransactionMarker[] = [];
  const log = {
    appendMarker: (each: TransactionMarker) => {
      appended.push(each);
      return { errorCode: NONE, committed: appended.length === 1 ? null : Promise.resolve(56) };
    },
  };
  const writer = new MarkerWriter({
    partition: (_, index) => index < 2 ? log : undefined,
    endInGroups: (index, { producerId }) => {
      ends.push([index, producerId]);
      return Promise.resolve(answers[ends.length - 1]);
    },
  });
  const write = (topic: string, index: number) => writer.writeMarker(topic, index, marker(true), 1);
  for (const expected of [NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.TRANSACTION_COORDINATOR_FENCED]) {
    assertEquals(await write("__consumer_offsets", 1), expected);
  }
  assertEquals(ends, [[1, 100], [1, 100], [1, 100]]);
  assertEquals(await write("__consumer_offsets", 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  assertEquals(await write("t", 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  assertEquals([await write("t", 0), await write("t", 0)], [NONE, 56]);
  assertEquals(appended, [marker(true), marker(true)]);
  writer.close();
  assertEquals([await write("t", 0), appended.length], [ErrorCode.NOT_LEADER_OR_FOLLOWER, 2]);
});
