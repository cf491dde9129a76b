/** Looking at transactions and at producers: ListTransactions, DescribeTransactions and DescribeProducers. */
import { describeProducers } from "../../../src/codec/messages/describe_producers.ts";
import { describeTransactions } from "../../../src/codec/messages/describe_transactions.ts";
import { listTransactions } from "../../../src/codec/messages/list_transactions.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, fill, newProducer } from "../setup/records.ts";
import { statuses } from "../setup/stored.ts";
import { createTopic } from "../setup/topics.ts";
import {
  add,
  end,
  initialized,
  named,
  type Producer,
  states,
  tellProducers,
  transactional,
  write,
} from "../setup/transactions.ts";

type List = EncodableRequestOf<typeof listTransactions>;

const HOUR_MS = 3_600_000n;

/** Transactions of each lasting state: what they are called and whose they are. */
async function several(broker: Broker): Promise<Record<string, Producer>> {
  const topic = await createTopic(broker, "t");
  const empty = await transactional(broker, "empty");
  const ongoing = await transactional(broker, "ongoing");
  await add(broker, ongoing, [topic, 0]);
  const committed = await transactional(broker, "committed");
  await add(broker, committed, [topic, 0]);
  await end(broker, committed, true);
  const aborted = await transactional(broker, "aborted");
  await add(broker, aborted, [topic, 0]);
  await end(broker, aborted, false);
  return { empty, ongoing, committed, aborted };
}

/** What is listed of this scenario's own. */
const listed = (broker: Broker) => (r: DecodedResponseOf<typeof listTransactions>) => ({
  errorCode: r.errorCode,
  unknown: [...r.unknownStateFilters].sort(),
  listed: r.transactionStates.filter(({ transactionalId }) => transactionalId.startsWith(broker.name("")))
    .map((s) => [s.transactionalId, named(broker, s.producerId), s.transactionState])
    .sort((a, b) => a[0] < b[0] ? -1 : 1),
});

const listing = (more: Partial<List> = {}): List => ({ stateFilters: [], producerIdFilters: [], ...more });

export const scenarios = [
  scenario("ListTransactions in every version, of all and by state", async (broker) => {
    await several(broker);
    await broker.askEach(listTransactions, [0, 1, 2], {
      "all": listing(),
      "one state": listing({ stateFilters: ["Ongoing"] }),
      "two states": listing({ stateFilters: ["Empty", "CompleteCommit"] }),
    }, listed(broker));
  }),
  scenario("ListTransactions tells which states it does not know", async (broker) => {
    await several(broker);
    for (const state of [...statuses, "Prepare", "ongoing", "Stable", ""]) {
      await broker.ask(listTransactions, 1, listing({ stateFilters: [state] }), listed(broker), `"${state}"`);
    }
    await broker.ask(
      listTransactions,
      1,
      listing({ stateFilters: ["Ongoing", "x", "y", "x"] }),
      listed(broker),
      "several",
    );
  }),
  scenario("ListTransactions by producer, and by both", async (broker) => {
    const { ongoing, empty } = await several(broker);
    await broker.askEach(listTransactions, [0, 2], {
      "one": listing({ producerIdFilters: [ongoing.producerId] }),
      "two": listing({ producerIdFilters: [ongoing.producerId, empty.producerId] }),
      "unknown": listing({ producerIdFilters: [ongoing.producerId + 1_000_000n] }),
      "negative": listing({ producerIdFilters: [-1n] }),
      "one and its state": listing({ producerIdFilters: [ongoing.producerId], stateFilters: ["Ongoing"] }),
      "one and another state": listing({ producerIdFilters: [ongoing.producerId], stateFilters: ["Empty"] }),
      "one and an unknown state": listing({ producerIdFilters: [ongoing.producerId], stateFilters: ["x"] }),
    }, listed(broker));
  }),
  scenario("ListTransactions by how long they run", async (broker) => {
    await several(broker);
    for (const durationFilter of [-1n, -2n, 0n, HOUR_MS, 2n ** 62n]) {
      await broker.ask(
        listTransactions,
        1,
        listing({ durationFilter }),
        listed(broker),
        `${durationFilter} ms`,
      );
    }
  }),
  scenario("ListTransactions by a pattern", async (broker) => {
    await several(broker);
    const patterns = [
      ".*",
      `${broker.name("")}.*`,
      broker.name("ongoing"),
      "ongoing",
      ".*ing",
      ".*(ongoing|empty)$",
    ];
    for (
      const pattern of [...patterns, "", "no such", ".*-EMPTY", "(?i).*-EMPTY", "(", "[", "*", "a{1", "\\"]
    ) {
      await broker.ask(
        listTransactions,
        2,
        listing({ transactionalIdPattern: pattern }),
        listed(broker),
        `"${pattern}"`,
      );
    }
    const of = (more: Partial<List>) => listing({ transactionalIdPattern: ".*ongoing", ...more });
    await broker.ask(
      listTransactions,
      2,
      of({ stateFilters: ["Empty"] }),
      listed(broker),
      "and another state",
    );
    await broker.ask(
      listTransactions,
      2,
      of({ stateFilters: ["x"], transactionalIdPattern: "(" }),
      listed(broker),
      "all wrong",
    );
  }),
  scenario("DescribeTransactions of several, of none, of unknown ones and of one twice", async (broker) => {
    const { empty, ongoing, committed, aborted } = await several(broker);
    const ids = [empty, ongoing, committed, aborted].map(({ transactionalId }) => transactionalId);
    const ask = (label: string, transactionalIds: string[]) =>
      broker.ask(
        describeTransactions,
        0,
        { transactionalIds },
        (r) => states(broker)(r).sort((a, b) => a.transactionalId < b.transactionalId ? -1 : 1),
        label,
      );
    await ask("all", ids);
    await ask("none", []);
    await ask("unknown", [broker.name("none"), ids[0]]);
    await ask("empty", ["", ids[0]]);
    await ask("twice", [ids[0], ids[0]]);
  }),
  scenario("DescribeProducers before, in and after a transaction of either version", async (broker) => {
    const topic = await createTopic(broker, "t", {}, 2);
    const one = await transactional(broker);
    await tellProducers(broker, topic, "nobody");
    await add(broker, one, [topic, 0, 1]);
    await tellProducers(broker, topic, "added");
    await write(broker, one, topic, ["a", "b"], 0, { version: 11 });
    await tellProducers(broker, topic, "written");
    await write(broker, one, topic, ["c"], 2, { version: 11 });
    await tellProducers(broker, topic, "written again");
    await end(broker, one, true, 4);
    await tellProducers(broker, topic, "committed");
    await write(broker, one, topic, ["d"], 3);
    await tellProducers(broker, topic, "version 2");
    const two = await end(broker, one, false);
    await tellProducers(broker, topic, "aborted");
    await write(broker, two, topic, ["e"], 0);
    await tellProducers(broker, topic, "next epoch");
    await initialized(broker, two.transactionalId);
    await tellProducers(broker, topic, "fenced");
  }),
  scenario("DescribeProducers tells of several producers, transactional or not", async (broker) => {
    const topic = await createTopic(broker, "t");
    const producerId = await newProducer(broker);
    named(broker, BigInt(producerId));
    await fill(broker, topic, [
      batchOf(["a", "b"], { producerId, producerEpoch: 3, baseSequence: 0 }),
      batchOf(["plain"]),
    ]);
    await write(broker, await transactional(broker, "x"), topic, ["c"]);
    await write(broker, await transactional(broker, "y"), topic, ["d"]);
    await tellProducers(broker, topic);
  }),
  scenario("DescribeProducers of what does not exist", async (broker) => {
    const topic = await createTopic(broker, "t");
    await broker.askEach(describeProducers, 0, {
      "some partitions": { topics: [{ name: topic, partitionIndexes: [0, 7, -1] }] },
      "missing topic": {
        topics: [{ name: broker.name("missing"), partitionIndexes: [0] }, {
          name: topic,
          partitionIndexes: [0],
        }],
      },
      "no name": { topics: [{ name: "", partitionIndexes: [0] }] },
      "bad name": { topics: [{ name: "a b", partitionIndexes: [0] }] },
      "no partitions": { topics: [{ name: topic, partitionIndexes: [] }] },
      "nothing": { topics: [] },
      "twice": { topics: [{ name: topic, partitionIndexes: [0, 0] }] },
    });
  }),
];
