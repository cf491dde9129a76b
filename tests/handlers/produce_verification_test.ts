/** Who waits for which answer of the coordinator before a batch is appended, where epochs of one producer meet. */
import { assert } from "@std/assert/assert";
import { assertEquals } from "@std/assert/equals";
import { BatchView } from "../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import type { Services } from "../../src/handlers/context.ts";
import { verify } from "../../src/handlers/produce_verification.ts";
import { Partition } from "../../src/replication/partition.ts";
import { batch, openLog, START, TOPIC_ID } from "../storage/helpers.ts";

const { NONE, PRODUCER_FENCED } = ErrorCode;

interface Question {
  readonly producerEpoch: number;
  answer(errorCode: number): void;
}

/** A partition, and a coordinator that answers when the test says so. */
async function setting() {
  const { log } = await openLog();
  const partition = new Partition(log, TOPIC_ID, 1, 0, [1]);
  const questions: Question[] = [];
  const services = {
    clock: { monotonic: () => 0 },
    // Of the waits between questions, and for how long they are repeated.
    config: { get: () => 1000 },
    transactions: {
      addPartitions: ({ producerEpoch }: { producerEpoch: number }) =>
        new Promise((resolve) =>
          questions.push({ producerEpoch, answer: (errorCode) => resolve({ errorCodes: [errorCode] }) })
        ),
    },
  } as unknown as Services;
  return {
    questions,
    /** Resolves when the coordinator has been asked so often. */
    async asked(times: number): Promise<void> {
      for (let looks = 1; questions.length < times; looks++) {
        assert(looks < 5000, `asked ${questions.length} times, not ${times}`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    end: (producerEpoch: number) => {
      const marker = {
        producerId: 7,
        producerEpoch,
        coordinatorEpoch: 0,
        isCommit: true,
        transactionVersion: 2,
      };
      return errorName(partition.appendMarker(marker, START).errorCode);
    },
    /** Sends a batch of one record; gives what its producer is told. */
    send: async (producerEpoch: number, baseSequence: number): Promise<string> => {
      const bytes = batch(1, { producerId: 7, producerEpoch, baseSequence, isTransactional: true });
      const request = { transactionalId: "tx", version: 12, timeoutMs: 1000 };
      const [{ verification, answer }] = verify(
        [{ partition, batch: new BatchView(bytes) }],
        request,
        services,
      );
      const problem = await answer;
      if (problem !== null) return errorName(problem.errorCode);
      return errorName(partition.append(bytes, "client", START, { verification }).errorCode);
    },
  };
}

Deno.test("what an older epoch hears lets nothing of the newer one past its first batch", async () => {
  const { questions, send } = await setting();
  const sent = [send(1, 0), send(0, 0), send(1, 1)];
  assertEquals(
    questions.map(({ producerEpoch }) => producerEpoch),
    [1, 0],
    "the newer one's share an answer",
  );
  questions[1].answer(PRODUCER_FENCED);
  questions[0].answer(NONE);
  assertEquals(await Promise.all(sent), ["NONE", "INVALID_PRODUCER_EPOCH", "NONE"]);
});

Deno.test("a newer epoch asks for itself while an older one's question is open, and is not hurt by its answer", async () => {
  const { questions, send } = await setting();
  const sent = [send(0, 0), send(1, 0)];
  assertEquals(questions.map(({ producerEpoch }) => producerEpoch), [0, 1]);
  questions[0].answer(PRODUCER_FENCED);
  await sent[0];
  const next = send(1, 1);
  assertEquals(questions.length, 2, "the newer one's question is still open");
  questions[1].answer(NONE);
  assertEquals([...await Promise.all(sent), await next], ["INVALID_PRODUCER_EPOCH", "NONE", "NONE"]);
});

Deno.test("once the coordinator has refused, it is asked anew", async () => {
  const { questions, send } = await setting();
  const first = send(0, 0);
  questions[0].answer(ErrorCode.NOT_COORDINATOR);
  assertEquals(await first, "NOT_ENOUGH_REPLICAS");
  const again = send(0, 0);
  questions[1].answer(NONE);
  assertEquals(await again, "NONE");
});

Deno.test("a marker of the transaction before, for whose end the coordinator has the batch wait, does not count", async () => {
  const { questions, send, end, asked } = await setting();
  const before = send(0, 0);
  questions[0].answer(NONE);
  assertEquals(await before, "NONE");
  const sent = [send(1, 0), send(1, 1)];
  questions[1].answer(ErrorCode.CONCURRENT_TRANSACTIONS);
  assertEquals(end(1), "NONE");
  const late = send(1, 2);
  await asked(3);
  questions[2].answer(NONE);
  assertEquals([...await Promise.all(sent), await late], ["NONE", "NONE", "NONE"]);
});

Deno.test("a marker that comes when the coordinator has said yes makes that worthless", async () => {
  const { questions, send, end } = await setting();
  const before = send(0, 0);
  questions[0].answer(NONE);
  assertEquals(await before, "NONE");
  const sent = send(1, 0);
  assertEquals(end(1), "NONE");
  questions[1].answer(NONE);
  assertEquals(await sent, "INVALID_TXN_STATE");
  const again = send(1, 0);
  questions[2].answer(NONE);
  assertEquals(await again, "NONE");
});
