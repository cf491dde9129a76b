/** Requests of a few bytes about transactions whose answers may be very large: what they may take, and who waits. */
import { assertEquals } from "@std/assert/equals";
import { ManualClock } from "../../src/base/clock.ts";
import { errorName } from "../../src/codec/errors.ts";
import {
  listTransactions,
  type ListTransactionsRequest,
} from "../../src/codec/messages/list_transactions.ts";
import type { RequestContext } from "../../src/handlers/context.ts";
import { describeProducersHandler } from "../../src/handlers/describe_producers.ts";
import { describeTransactionsHandler } from "../../src/handlers/describe_transactions.ts";
import { listTransactionsHandler } from "../../src/handlers/list_transactions.ts";

/** A broker that has these transactional ids, and a partition of `producers`. */
class Stage {
  /** What was asked for so far. */
  bytes = 0;
  connection = { isOver: false };
  /** What memory has to be waited for; null: there is enough. */
  room: Promise<void> | null = null;
  private readonly ids: string[];
  private readonly producers: number;

  constructor({ ids = [], producers = 0 }: { ids?: string[]; producers?: number }) {
    this.ids = ids;
    this.producers = producers;
  }

  get context(): RequestContext {
    const transactions = this.ids.map((transactionalId) => ({
      transactionalId,
      producerId: 1,
      status: "Empty",
    }));
    const entries = Array.from({ length: this.producers }, (_, producerId) => ({
      producerId,
      producerEpoch: 0,
      batches: [],
      lastTimestamp: 1,
      coordinatorEpoch: 0,
      currentTxnFirstOffset: -1,
    }));
    const log = { activeProducerCount: entries.length, activeProducers: () => entries };
    const services = {
      clock: new ManualClock(),
      transactions: {
        count: transactions.length,
        list: () => Promise.resolve({ errorCode: 0, transactions }),
        describe: () => Promise.resolve({ errorCode: 0, topics: [{ topic: "t", partitions: [0, 1, 2] }] }),
      },
      replicas: { get: () => ({ log }) },
    };
    const growAnswer = (bytes: number) => {
      this.bytes += bytes;
      return this.room;
    };
    return { services, version: 0, growAnswer, connection: this.connection } as unknown as RequestContext;
  }

  async list(pattern: string | null = null) {
    const request = { stateFilters: [], producerIdFilters: [], durationFilter: -1n };
    const asked: ListTransactionsRequest = { ...request, transactionalIdPattern: pattern };
    const answer = await listTransactionsHandler(asked, this.context);
    if (answer === null) return null;
    const { response } = listTransactions;
    const { errorCode, transactionStates } = response.decode(response.encode(0, answer), 0);
    return errorCode === 0 ? transactionStates.map((state) => state.transactionalId) : errorName(errorCode);
  }
}

const idOf = (length: number) => "x".repeat(length);

for (
  const [name, pattern, length, isServed] of [
    ["a pattern of 255 characters", "x|".repeat(127) + "x", 300, true],
    ["a longer pattern", "x|".repeat(127) + "xx", 300, false],
    ["a short pattern and the longest id", "x*", 32_767, true],
    ["a long pattern and a long id", "x*".repeat(127), 5000, false],
    ["what is repeated by number and a long id", "(?:xx?){100}.*", 5000, false],
    ["what is repeated by number and a usual id", "(?:xx?){100}.*", 300, true],
  ] as const
) {
  Deno.test(`ListTransactions: ${name} ${isServed ? "are matched" : "are refused"}`, async () => {
    const answer = await new Stage({ ids: ["short", idOf(length)] }).list(pattern);
    assertEquals(Array.isArray(answer) ? "NONE" : answer, isServed ? "NONE" : "INVALID_REGULAR_EXPRESSION");
  });
}

Deno.test("ListTransactions refuses to list more than one answer holds, rather than leave some out", async () => {
  const long = idOf(32_000);
  const stage = new Stage({ ids: ["short", ...new Array<string>(2200).fill(long)] });
  assertEquals(await stage.list(), "INVALID_REQUEST");
  assertEquals(await stage.list("s.*"), ["short"], "a filter asks for less");
  const wide = new Stage({ ids: new Array<string>(2300).fill("€".repeat(10_000)) });
  assertEquals(await wide.list(), "INVALID_REQUEST", "bytes count, not characters");
});

const answers: [api: string, few: Stage, many: Stage, ask: (stage: Stage) => unknown][] = [
  [
    "ListTransactions",
    new Stage({ ids: ["a"] }),
    new Stage({ ids: new Array<string>(1000).fill(idOf(1000)) }),
    (stage) => stage.list(),
  ],
  [
    "DescribeProducers",
    new Stage({ producers: 1 }),
    new Stage({ producers: 200 }),
    ({ context }) =>
      describeProducersHandler(
        { topics: [{ name: "t", partitionIndexes: new Array(100).fill(0) }] },
        context,
      ),
  ],
  [
    "DescribeTransactions",
    new Stage({}),
    new Stage({}),
    (stage) => {
      const transactionalIds = new Array<string>(stage === answers[2][1] ? 10 : 2000).fill("a");
      return describeTransactionsHandler({ transactionalIds }, stage.context);
    },
  ],
];
for (const [api, few, many, ask] of answers) {
  Deno.test(`${api} has memory before it makes a large answer, and makes none when nobody wants it any more`, async () => {
    await ask(few);
    assertEquals(few.bytes < 64 * 1024, true, `${few.bytes} bytes for a small one`);
    await ask(many);
    assertEquals(many.bytes >= 1_000_000, true, `${many.bytes} bytes for a large one`);
    let give = () => {};
    many.room = new Promise((resolve) => give = resolve);
    many.bytes = 0;
    const answer = ask(many);
    await Promise.resolve();
    assertEquals(many.bytes < 1_000_000, true, `${many.bytes} bytes before there was room`);
    many.connection.isOver = true;
    give();
    assertEquals(await answer, null);
  });
}
