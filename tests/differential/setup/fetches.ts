/** Fetches for scenarios: topics to be read, and answers in short. */
import type { fetch } from "../../../src/codec/messages/fetch.ts";
import type { DecodedResponseOf, EncodableRequestOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import type { Broker } from "../scenario.ts";
import { batchOf, fetching, fill, told, type Wanted } from "./records.ts";
import { createTopic } from "./topics.ts";

const BASE = 1_700_000_000_000;

/** Which partitions are in the answer, with their errors and the offsets of the whole batches. */
export function brief(response: DecodedResponseOf<typeof fetch>) {
  const { errorCode, responses } = told(response);
  const partitions = responses.flatMap((t) =>
    t.partitions.map((p) => [
      t.topic,
      p.partitionIndex,
      p.errorCode,
      (p.records ?? []).map(([, baseOffset]) => baseOffset),
    ])
  );
  // Kafka puts errors last, which says nothing.
  return { errorCode, partitions: partitions.sort((a, b) => `${a[0]} ${a[1]}` < `${b[0]} ${b[1]}` ? -1 : 1) };
}

/** A request for partitions of several topics. */
export function several(...topics: [string, Wanted[]][]): EncodableRequestOf<typeof fetch> {
  const all = topics.map(([topic, wanted]) =>
    fetching(topic, wanted).topics[0] ?? {
      topic,
      topicId: ZERO_UUID,
      partitions: [],
    }
  );
  return { ...fetching("", []), topics: all };
}

/** A partition that is read from an offset. */
export const from = (fetchOffset: bigint, partition = 0): Wanted => ({ partition, fetchOffset });

/** A topic with two batches in each partition: offsets 0 and 1, and 2. */
export async function filled(broker: Broker, text = "t", partitions = 1): Promise<string> {
  const topic = await createTopic(broker, text, {}, partitions);
  for (let index = 0; index < partitions; index++) {
    await fill(
      broker,
      topic,
      [batchOf(["a", "b"], { timestamp: BASE }), batchOf(["c"], { timestamp: BASE })],
      index,
    );
  }
  return topic;
}
