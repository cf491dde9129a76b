/** Whether a producer's first batch of a transaction is taken: what its guard is worth when the coordinator has answered. */
import { assertEquals } from "@std/assert/equals";
import { ErrorCode } from "../../src/codec/errors.ts";
import { Partition, UNVERIFIED } from "../../src/replication/partition.ts";
import { VerificationGuard } from "../../src/replication/verifications.ts";
import { batch, openLog, START, TOPIC_ID } from "../storage/helpers.ts";

const { NONE, INVALID_TXN_STATE, OUT_OF_ORDER_SEQUENCE_NUMBER } = ErrorCode;
const PRODUCER = 7;

async function openPartition() {
  const { log } = await openLog();
  const partition = new Partition(log, TOPIC_ID, 1, 0, [1]);
  return {
    partition,
    begin: (sequence = 0, epoch = 0) => partition.beginVerification(PRODUCER, epoch, sequence, false),
    append: (
      verification: ReturnType<Partition["beginVerification"]>,
      baseSequence = 0,
      producerEpoch = 0,
    ) => {
      const bytes = batch(1, { producerId: PRODUCER, producerEpoch, baseSequence, isTransactional: true });
      const guard = verification === "fenced" ? null : verification;
      return partition.append(bytes, "client", START, { verification: guard }).errorCode;
    },
    end: (producerEpoch = 0, isCommit = false) => {
      const marker = {
        producerId: PRODUCER,
        producerEpoch,
        coordinatorEpoch: 0,
        isCommit,
        transactionVersion: 0,
      };
      return partition.appendMarker(marker, START).errorCode;
    },
  };
}

Deno.test("Partition.append() takes what is verified, and from then on the whole transaction", async () => {
  const { begin, append } = await openPartition();
  const guard = begin();
  assertEquals(append(null), INVALID_TXN_STATE);
  assertEquals(append(guard), NONE);
  assertEquals(begin(1), null, "nobody has to be asked");
  assertEquals(append(null, 1), NONE);
});

Deno.test("a marker between the coordinator's answer and the append makes the answer worthless", async () => {
  const { begin, append, end } = await openPartition();
  const guard = begin();
  assertEquals(end(), NONE);
  assertEquals(append(guard), INVALID_TXN_STATE);
  const next = begin();
  assertEquals(next === guard, false);
  assertEquals(append(guard), INVALID_TXN_STATE, "of another transaction");
  assertEquals(append(next), NONE);
});

Deno.test("who comes while the coordinator is asked shares the guard, and the lowest sequence has to be first", async () => {
  const { begin, append } = await openPartition();
  const second = begin(1);
  const first = begin(0);
  assertEquals(first, second);
  assertEquals(append(second, 1), OUT_OF_ORDER_SEQUENCE_NUMBER);
  assertEquals(append(first, 0), NONE);
  assertEquals(append(second, 1), NONE);
});

Deno.test("a guard goes by the newest epoch that came to be verified", async () => {
  const { begin, append } = await openPartition();
  begin(0, 0);
  const guard = begin(5, 1) as VerificationGuard;
  assertEquals([guard.lowestSequence, append(guard, 5, 1)], [5, NONE]);
});

Deno.test("Partition.beginVerification() fences a producer of which a newer epoch was seen", async () => {
  const { begin, end } = await openPartition();
  end(3);
  assertEquals(begin(0, 2), "fenced");
  assertEquals(begin(0, 3) instanceof VerificationGuard, true);
});

Deno.test("a batch that is refused leaves the guard, which its producer may come back with", async () => {
  const { begin, append } = await openPartition();
  const guard = begin();
  assertEquals(append(guard, 3), OUT_OF_ORDER_SEQUENCE_NUMBER);
  assertEquals(append(guard, 0), NONE);
});

Deno.test("guards are bounded; the oldest makes way and has to be asked for anew", async () => {
  const { partition, begin, append } = await openPartition();
  const guard = begin();
  for (let id = 100; id < 5100; id++) partition.beginVerification(id, 0, 0, false);
  assertEquals(append(guard), INVALID_TXN_STATE);
  assertEquals(append(begin()), NONE);
});

Deno.test("a guard at which somebody waits for the coordinator does not make way", async () => {
  const { partition, begin, append } = await openPartition();
  const guard = begin() as VerificationGuard;
  guard.asked = { producerEpoch: 0, errorCode: Promise.resolve(NONE) };
  for (let id = 100; id < 5100; id++) partition.beginVerification(id, 0, 0, false);
  assertEquals(append(guard), NONE);
});

Deno.test("Partition.append() asks nobody about producers that are not to be verified", async () => {
  const { partition } = await openPartition();
  const bytes = batch(1, { producerId: PRODUCER, producerEpoch: 0, baseSequence: 4, isTransactional: true });
  assertEquals(partition.append(bytes, "client", START, { verification: UNVERIFIED }).errorCode, NONE);
});

Deno.test("Partition.appendMarker() ends a transaction, lets what is stable grow and wakes who waits", async () => {
  const { partition, begin, append, end } = await openPartition();
  append(begin());
  const told: number[] = [];
  partition.addWaiter({ appended: (waited) => told.push(waited.lastStableOffset) });
  assertEquals([partition.highWatermark, partition.lastStableOffset], [1, 0]);
  assertEquals(end(0, true), NONE);
  assertEquals([partition.highWatermark, partition.lastStableOffset, told], [2, 2, [2]]);
  assertEquals(partition.log.abortedTransactions(0, 2), []);
});

Deno.test("a marker that is not on the disk yet, where it has to be, holds readers of committed records back", async () => {
  const { log } = await openLog({ flushMessages: 1 });
  const partition = new Partition(log, TOPIC_ID, 1, 0, [1]);
  const bytes = batch(1, { producerId: PRODUCER, producerEpoch: 0, baseSequence: 0, isTransactional: true });
  await partition.append(bytes, "client", START, { verification: UNVERIFIED }).committed;
  const marker = {
    producerId: PRODUCER,
    producerEpoch: 0,
    coordinatorEpoch: 0,
    isCommit: true,
    transactionVersion: 0,
  };
  const { committed } = partition.appendMarker(marker, START);
  assertEquals([partition.highWatermark, partition.lastStableOffset], [1, 0]);
  assertEquals(await committed, NONE);
  assertEquals(partition.lastStableOffset, 2);
});
