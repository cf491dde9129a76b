/** Reading what is in transactions: the last stable offset, lists of aborted transactions, and offsets under read_committed. */
import { deleteRecords } from "../../../src/codec/messages/delete_records.ts";
import { endTxn } from "../../../src/codec/messages/end_txn.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { batchesIn } from "../../../src/codec/batch.ts";
import { type Broker, eventually, scenario } from "../scenario.ts";
import { batchOf, fetching, fill } from "../setup/records.ts";
import { createTopic, ready } from "../setup/topics.ts";
import {
  add,
  end,
  ending,
  initialized,
  named,
  tellLog,
  transactional,
  V1,
  write,
} from "../setup/transactions.ts";

const COMMITTED = 1;

/** Offsets, which batches came, and which of them were aborted. */
const read = (broker: Broker) => (r: DecodedResponseOf<typeof fetch>) => ({
  errorCode: r.errorCode,
  partitions: r.responses.flatMap(({ partitions }) =>
    partitions.map((p) => ({
      errorCode: p.errorCode,
      highWatermark: p.highWatermark,
      lastStableOffset: p.lastStableOffset,
      aborted: p.abortedTransactions?.map(({ producerId, firstOffset }) =>
        `${named(broker, producerId)} ${firstOffset}`
      ) ??
        null,
      batches: p.records && [...batchesIn(p.records)].map((b) =>
        `${b.baseOffset}-${b.lastOffset}${b.isControl ? " marker" : ""}`
      ),
    }))
  ),
});

/** Reads a partition from each of these offsets. */
async function tellReads(
  broker: Broker,
  topic: string,
  offsets: number[],
  label = "",
  levels = [COMMITTED],
): Promise<void> {
  for (const isolationLevel of levels) {
    for (const offset of offsets) {
      await broker.ask(
        fetch,
        11,
        fetching(topic, [{ fetchOffset: BigInt(offset) }], { isolationLevel, maxWaitMs: 0 }),
        read(broker),
        `${label} ${isolationLevel === COMMITTED ? "committed" : "uncommitted"} from ${offset}`.trim(),
      );
    }
  }
}

/** What ListOffsets gives under either level for the ends, the largest timestamp and some times. */
async function tellOffsets(
  broker: Broker,
  topic: string,
  label: string,
  times: number[] = [],
  versions = [7],
): Promise<void> {
  const wanted: [string, bigint][] = [["earliest", -2n], ["latest", -1n], ["largest timestamp", -3n]];
  for (const version of versions) {
    for (const isolationLevel of [0, COMMITTED]) {
      for (
        const [what, timestamp] of [
          ...wanted,
          ...times.map((t, i): [string, bigint] => [`time ${i}`, BigInt(t)]),
        ]
      ) {
        if (timestamp === -3n && version < 7) continue;
        const topics = [{ name: topic, partitions: [{ partitionIndex: 0, timestamp }] }];
        await broker.ask(
          listOffsets,
          version,
          { replicaId: -1, isolationLevel, timeoutMs: 1000, topics },
          (r) => {
            const { errorCode, offset, timestamp } = r.topics[0].partitions[0];
            return {
              errorCode,
              offset,
              timestamp: timestamp < 0n ? timestamp : times.indexOf(Number(timestamp)),
            };
          },
          `${label}, ${isolationLevel === COMMITTED ? "committed" : "uncommitted"}, ${what}`,
        );
      }
    }
  }
}

/**
 * A plain record 0; A writes 1-2 and aborts with 5; B writes 3-4 and commits with 7; A writes 6 and aborts with 8, a plain
 * record 9; B's 10 is open.
 */
async function interleaved(broker: Broker): Promise<string> {
  const topic = await createTopic(broker, "t");
  const a = await transactional(broker, "a"), b = await transactional(broker, "b");
  await fill(broker, topic, [batchOf(["plain"])]);
  await write(broker, a, topic, ["a1", "a2"]);
  await write(broker, b, topic, ["b1", "b2"]);
  const again = await end(broker, a, false);
  await write(broker, again, topic, ["a3"]);
  const next = await end(broker, b, true);
  await end(broker, again, false);
  await fill(broker, topic, [batchOf(["plain"])]);
  await write(broker, next, topic, ["b3"]);
  return topic;
}

export const scenarios = [
  scenario("Fetch in every version, of what is open, committed and aborted", async (broker) => {
    const topic = await interleaved(broker);
    const topicId = await ready(broker, topic);
    for (const isolationLevel of [0, COMMITTED]) {
      const label = isolationLevel === COMMITTED ? "committed" : "uncommitted";
      for (const version of [4, 5, 6, 7, 8, 9, 10, 11, 12]) {
        await broker.ask(
          fetch,
          version,
          fetching(topic, [{ fetchOffset: 0n }], { isolationLevel }),
          read(broker),
          label,
        );
      }
      for (const version of [13, 14, 15, 16, 17, 18]) {
        await broker.ask(
          fetch,
          version,
          fetching("", [{ fetchOffset: 0n }], { isolationLevel, topicId }),
          read(broker),
          label,
        );
      }
    }
  }),
  scenario(
    "Fetch from each offset names the aborted transactions from there to the end of what is read",
    async (broker) => {
      const topic = await interleaved(broker);
      await tellReads(broker, topic, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "", [0, COMMITTED]);
      await tellLog(broker, topic);
    },
  ),
  scenario(
    "Fetch with a small limit names the aborted transactions of what it reads, and some after",
    async (broker) => {
      const topic = await interleaved(broker);
      for (const partitionMaxBytes of [1, 100, 200, 300, 400, 500, 600]) {
        await broker.ask(
          fetch,
          11,
          fetching(topic, [{ fetchOffset: 1n, partitionMaxBytes }], { isolationLevel: COMMITTED }),
          (r) => read(broker)(r).partitions[0].aborted,
          `${partitionMaxBytes} bytes`,
        );
      }
    },
  ),
  scenario(
    "The last stable offset is the first of what is open, and moves when that ends",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const a = await transactional(broker, "a"), b = await transactional(broker, "b");
      await tellReads(broker, topic, [0, 1], "empty");
      await add(broker, a, [topic, 0]);
      await tellReads(broker, topic, [0], "added");
      await write(broker, b, topic, ["b"]);
      await write(broker, a, topic, ["a"]);
      await fill(broker, topic, [batchOf(["plain"])]);
      await tellReads(broker, topic, [0, 1, 3, 4], "both are open");
      await end(broker, a, true);
      await tellReads(broker, topic, [0], "the second is committed");
      await end(broker, b, false);
      await tellReads(broker, topic, [0, 4, 5], "the first is aborted");
    },
  ),
  scenario("A transaction of one producer after the other, each aborted", async (broker) => {
    const topic = await createTopic(broker, "t");
    let a = await transactional(broker, "a");
    const offsets: bigint[] = [];
    for (let i = 0; i < 4; i++) {
      offsets.push(await write(broker, a, topic, ["a", "b"]));
      a = await end(broker, a, false);
    }
    broker.note("began at", offsets);
    await tellReads(broker, topic, [0, 2, 3, 6, 11, 12]);
  }),
  scenario(
    "Several batches of an aborted transaction count as one, in several partitions as one each",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 3);
      const a = await transactional(broker, "a");
      await add(broker, a, [topic, 0, 1, 2]);
      for (const index of [0, 1]) {
        for (const sequence of [0, 1, 2]) {
          await write(broker, a, topic, ["x"], sequence, {
            version: V1.produce,
            index,
          });
        }
      }
      await end(broker, a, false, V1.endTxn);
      const partitions = [0, 1, 2].map((partition) => ({ partition, fetchOffset: 0n }));
      await broker.ask(fetch, 11, fetching(topic, partitions, { isolationLevel: COMMITTED }), read(broker));
    },
  ),
  scenario("A marker of a partition that nothing was written to is in its log", async (broker) => {
    const topic = await createTopic(broker, "t");
    for (const committed of [true, false]) {
      const a = await transactional(broker, `a${committed}`);
      await add(broker, a, [topic, 0]);
      await end(broker, a, committed, V1.endTxn);
    }
    await tellLog(broker, topic);
    await tellReads(broker, topic, [0, 1, 2]);
  }),
  scenario("What a fenced producer wrote is aborted under its id", async (broker) => {
    const topic = await createTopic(broker, "t");
    const a = await transactional(broker, "a");
    await write(broker, a, topic, ["x"]);
    const again = await initialized(broker, a.transactionalId);
    await write(broker, again, topic, ["y"]);
    await end(broker, again, true);
    await tellReads(broker, topic, [0, 2]);
    await tellLog(broker, topic);
  }),
  scenario(
    "ListOffsets under read_committed ends at the last stable offset, in every version",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const a = await transactional(broker, "a");
      await fill(broker, topic, [batchOf(["plain"])]);
      await write(broker, a, topic, ["a"]);
      await fill(broker, topic, [batchOf(["plain"])]);
      await tellOffsets(broker, topic, "open", [], [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
      await end(broker, a, false);
      await tellOffsets(broker, topic, "aborted", [], [2, 7, 11]);
    },
  ),
  scenario(
    "ListOffsets by time and by the largest timestamp, of what is open, aborted and committed",
    async (broker) => {
      const topic = await createTopic(broker, "t");
      const a = await transactional(broker, "a");
      const now = Date.now(), times = [0, 1, 2, 3].map((i) => now - 60_000 + 10_000 * i);
      await fill(broker, topic, [batchOf(["plain"], { timestamp: times[0] })]);
      await write(broker, a, topic, ["a"], 0, { timestamp: times[2] });
      await fill(broker, topic, [batchOf(["plain"], { timestamp: times[1] })]);
      await tellOffsets(broker, topic, "open", times);
      const again = await end(broker, a, false);
      await tellOffsets(broker, topic, "aborted", times);
      await write(broker, again, topic, ["b"], 0, { timestamp: times[3] });
      await tellOffsets(broker, topic, "open again", times);
      await end(broker, again, true);
      await tellOffsets(broker, topic, "committed", times);
    },
  ),
  ...[true, false].map((commits) =>
    scenario(
      `Fetch that waits under read_committed is woken by a ${commits ? "commit" : "abort"}`,
      async (broker) => {
        const topic = await createTopic(broker, "t");
        const a = await transactional(broker, "a");
        await write(broker, a, topic, ["a"]);
        const waits = broker.another().send(
          fetch,
          11,
          fetching(topic, [{ fetchOffset: 0n }], { isolationLevel: COMMITTED, maxWaitMs: 30_000 }),
        );
        await write(broker, a, topic, ["more"], 1);
        await broker.ask(endTxn, 5, ending(a, commits), ({ errorCode }) => ({ errorCode }));
        broker.tell(fetch, 11, await waits, "held", read(broker));
      },
    )
  ),
  scenario("Fetch that waits under read_committed does not count what is not stable", async (broker) => {
    const topic = await createTopic(broker, "t");
    const a = await transactional(broker, "a"), b = await transactional(broker, "b");
    await write(broker, a, topic, ["a"]);
    const waits = broker.another().send(
      fetch,
      11,
      fetching(topic, [{ fetchOffset: 0n }], { isolationLevel: COMMITTED, maxWaitMs: 600 }),
    );
    await write(broker, b, topic, ["b".repeat(5000)]);
    await end(broker, b, true);
    broker.tell(fetch, 11, await waits, "held", read(broker));
    await end(broker, a, true);
    await tellReads(broker, topic, [0]);
  }),
  scenario(
    "Fetch sessions under read_committed tell of a partition when it has more to read",
    async (broker) => {
      const topic = await createTopic(broker, "t", {}, 2);
      const a = await transactional(broker, "a");
      await write(broker, a, topic, ["a"]);
      const first = await broker.ask(
        fetch,
        11,
        fetching(topic, [{ fetchOffset: 0n }, { partition: 1, fetchOffset: 0n }], {
          isolationLevel: COMMITTED,
          sessionEpoch: 0,
          maxWaitMs: 0,
        }),
        read(broker),
        "full",
      );
      const { sessionId } = first!;
      const ask = (label: string, sessionEpoch: number) =>
        broker.ask(
          fetch,
          11,
          fetching(topic, [], { isolationLevel: COMMITTED, sessionId, sessionEpoch, maxWaitMs: 0 }),
          read(broker),
          label,
        );
      await ask("nothing new", 1);
      await write(broker, a, topic, ["b"], 1);
      await ask("more that is open", 2);
      await end(broker, a, false);
      await ask("aborted", 3);
    },
  ),
  scenario("DeleteRecords before, in and behind an open transaction", async (broker) => {
    const topic = await createTopic(broker, "t");
    const a = await transactional(broker, "a");
    await fill(broker, topic, [batchOf(["plain"])]);
    await write(broker, a, topic, ["a", "b"]);
    await fill(broker, topic, [batchOf(["plain"])]);
    for (const offset of [1n, 2n, 4n, -1n]) {
      await broker.ask(
        deleteRecords,
        2,
        { topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset }] }], timeoutMs: 5000 },
        (r) => r.topics[0].partitions,
        `to ${offset}`,
      );
      await tellReads(broker, topic, [2, 4], `deleted to ${offset}`);
    }
    await end(broker, a, false);
    await tellReads(broker, topic, [4, 5], "aborted");
  }),
  scenario("Aborted transactions are found over several segments", async (broker) => {
    // Each append begins a segment, a millisecond after the one before.
    const topic = await createTopic(broker, "t", { "segment.ms": "1" });
    const a = await transactional(broker, "a"), b = await transactional(broker, "b");
    await write(broker, a, topic, ["a1"], 0, { timestamp: 1000 });
    await write(broker, b, topic, ["b1"], 0, { timestamp: 2000 });
    await write(broker, a, topic, ["a2"], 1, { timestamp: 3000 });
    const next = await end(broker, a, false);
    await write(broker, next, topic, ["a3"], 0, { timestamp: 4000 });
    await end(broker, b, false);
    const ended = Date.now();
    // Markers have the broker's time.
    await eventually("time stands still", () => Promise.resolve(Date.now() > ended + 2 || null));
    await end(broker, next, false);
    await tellReads(broker, topic, [0, 1, 2, 3, 4, 5, 6, 7]);
  }),
];
