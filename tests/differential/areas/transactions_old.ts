/** Transactions in the log as old versions of Fetch and ListOffsets show them: these know of no aborted transactions. */
import { batchesIn } from "../../../src/codec/batch.ts";
import { messagesIn } from "../../../src/codec/message_set.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import type { Oracle } from "../areas.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, fetching, fill } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";
import { add, end, transactional, V1, write } from "../setup/transactions.ts";

/** The last one that has them. */
export const oracle: Oracle = { kafka: "3.9.1" };

/** Which offsets an answer has, as messages or in batches. */
const offsets = (version: number) => (r: DecodedResponseOf<typeof fetch>) => {
  const [{ errorCode, highWatermark, records }] = r.responses[0].partitions;
  const found = version < 4
    ? [...messagesIn(records!)].map((message) => `${message.offset} format ${message.magic}`)
    : [...batchesIn(records!)].map((batch) => `${batch.baseOffset}-${batch.lastOffset}`);
  return { errorCode, highWatermark, found };
};

/** A plain record 0, 1-2 committed with 3, 4-5 aborted with 6, a plain record 7, and 8 that is open. */
async function several(broker: Broker): Promise<string> {
  const topic = await createTopic(broker, "t");
  const one = await transactional(broker);
  await fill(broker, topic, [batchOf(["plain"])]);
  for (const committed of [true, false]) {
    await add(broker, one, [topic, 0]);
    const sequence = committed ? 0 : 2;
    await write(broker, one, topic, ["a", "b"], sequence, { version: V1.produce });
    await end(broker, one, committed, V1.endTxn);
  }
  await fill(broker, topic, [batchOf(["plain"])]);
  await add(broker, one, [topic, 0]);
  await write(broker, one, topic, ["c"], 4, { version: V1.produce });
  return topic;
}

export const scenarios = [
  scenario(
    "Fetch below version 4 gives what is in transactions as messages, and no markers",
    async (broker) => {
      const topic = await several(broker);
      for (const version of [0, 1, 2, 3, 4]) {
        for (const fetchOffset of [0n, 1n, 2n, 3n, 4n, 6n, 7n, 8n, 9n]) {
          await broker.ask(
            fetch,
            version,
            fetching(topic, [{ fetchOffset }], { maxWaitMs: 0 }),
            offsets(version),
            `from ${fetchOffset}`,
          );
        }
      }
    },
  ),
  scenario("ListOffsets below version 2 ends at the high watermark", async (broker) => {
    const topic = await several(broker);
    for (const version of [0, 1, 2]) {
      for (const timestamp of [-2n, -1n]) {
        const partitions = [{ partitionIndex: 0, timestamp, maxNumOffsets: 5 }];
        await broker.ask(
          listOffsets,
          version,
          { replicaId: -1, isolationLevel: 0, timeoutMs: 1000, topics: [{ name: topic, partitions }] },
          undefined,
          `${timestamp}`,
        );
      }
    }
  }),
];
