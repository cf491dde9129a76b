/** Records for scenarios: batches, and the requests that write and read them. */
import { batchesIn, type BatchOptions, buildBatch } from "../../../src/codec/batch.ts";
import { ATTRIBUTES_AT, CRC_AT } from "../../../src/codec/batch_format.ts";
import { crc32c } from "../../../src/codec/crc32c.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { initProducerId } from "../../../src/codec/messages/init_producer_id.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import type { DecodedResponseOf } from "../../../src/codec/schema.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { type Broker, eventually } from "../scenario.ts";

const utf8 = new TextEncoder();

/** A batch of `values`, a millisecond apart from `timestamp` on. */
export function batchOf(
  values: string[],
  options: BatchOptions & { timestamp?: number; keys?: boolean } = {},
): Uint8Array {
  const { timestamp = Date.now(), keys = true, ...batch } = options;
  return buildBatch(
    values.map((value, i) => ({
      timestamp: timestamp + i,
      key: keys ? utf8.encode(`k${i}`) : null,
      value: utf8.encode(value),
    })),
    batch,
  );
}

/** A Produce request for one partition. */
export function produceTo(
  topic: string,
  records: Uint8Array | null,
  more: { acks?: number; index?: number; topicId?: string } = {},
) {
  const { acks = -1, index = 0, topicId = ZERO_UUID } = more;
  return {
    acks,
    timeoutMs: 5000,
    topicData: [{ name: topic, topicId, partitionData: [{ index, records }] }],
  };
}

/** A producer id that was given out. */
export async function newProducer(broker: Broker): Promise<number> {
  // A Kafka that has just started has no ids yet, and says so.
  return await eventually("no producer id", async () => {
    const response = await broker.send(initProducerId, 4, {
      transactionalId: null,
      transactionTimeoutMs: 1000,
    });
    return response!.errorCode === 0 ? Number(response!.producerId) : null;
  });
}

/** Appends these batches, one by one. */
export async function fill(broker: Broker, topic: string, batches: Uint8Array[], index = 0): Promise<void> {
  for (const batch of batches) await broker.send(produce, 9, produceTo(topic, batch, { index }));
}

export interface Wanted {
  partition?: number;
  fetchOffset: bigint;
  partitionMaxBytes?: number;
  currentLeaderEpoch?: number;
  lastFetchedEpoch?: number;
}

/** A Fetch request for partitions of one topic. */
export function fetching(
  topic: string,
  wanted: Wanted[],
  more: Partial<
    {
      maxWaitMs: number;
      minBytes: number;
      maxBytes: number;
      isolationLevel: number;
      sessionId: number;
      sessionEpoch: number;
      topicId: string;
      forgotten: number[];
    }
  > = {},
) {
  const { topicId = ZERO_UUID, forgotten = [], ...rest } = more;
  return {
    maxWaitMs: 100,
    minBytes: 1,
    ...rest,
    topics: wanted.length === 0 ? [] : [{
      topic,
      topicId,
      partitions: wanted.map((w) => ({ partition: 0, partitionMaxBytes: 1 << 20, ...w })),
    }],
    forgottenTopicsData: forgotten.length === 0 ? [] : [{ topic, topicId, partitions: forgotten }],
  };
}

/** The answer with record batches told by their offsets and sizes. */
export function told(response: DecodedResponseOf<typeof fetch>) {
  return {
    errorCode: response.errorCode,
    sessionId: response.sessionId,
    responses: response.responses.map((t) => ({
      ...t,
      partitions: t.partitions.map(({ records, ...p }) => ({
        ...p,
        records: records === null
          ? null
          : [...batchesIn(records)].map((b) => [b.magic, b.baseOffset, b.lastOffset, b.sizeInBytes]),
        bytes: records?.length ?? null,
      })),
    })),
  };
}

/** The answer as far as the old versions have it. */
export const old = (r: DecodedResponseOf<typeof fetch>) =>
  r.responses.map((t) =>
    t.partitions.map(({ errorCode, highWatermark, records }) => ({ errorCode, highWatermark, records }))
  );

/** A batch with some header fields changed, under a checksum that fits. */
export function withHeader(batch: Uint8Array, change: (header: DataView) => void): Uint8Array {
  const copy = batch.slice(), header = new DataView(copy.buffer);
  change(header);
  header.setUint32(CRC_AT, crc32c(copy, ATTRIBUTES_AT));
  return copy;
}

/** Bytes one after the other. */
export function joinedBytes(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Every batch of the partition as it is stored, from offset 0 on: codec, offsets, times and records. */
export async function stored(broker: Broker, topic: string, label = "", partition = 0): Promise<void> {
  const answer = await broker.send(fetch, 11, fetching(topic, [{ partition, fetchOffset: 0n }]));
  const text = new TextDecoder();
  const told = [...batchesIn(answer!.responses[0].partitions[0].records!)].map((batch) => {
    const records: unknown[] = [], cursor = batch.cursor(10_000_000);
    while (cursor.next()) {
      const [key, value] = [cursor.key, cursor.value].map((bytes) => bytes && text.decode(bytes));
      records.push([cursor.offset, key, value]);
    }
    const { compression, timestampType, partitionLeaderEpoch, baseOffset, lastOffset, baseSequence } = batch;
    return {
      compression,
      timestampType,
      partitionLeaderEpoch,
      baseOffset,
      lastOffset,
      baseSequence,
      records,
    };
  });
  broker.note(`stored ${label}`.trim(), told);
}
