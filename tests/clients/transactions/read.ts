/**
 * Reads topics as a read_committed consumer: the broker says which transactions were aborted, and their records are
 * left out here. Written apart from any client library, so that what those give can be held against it.
 */

import type { Client as RawClient } from "../../../src/client/client.ts";
import { batchesIn, type BatchView } from "../../../src/codec/batch.ts";
import { ErrorCode, errorName } from "../../../src/codec/errors.ts";
import { fetch } from "../../../src/codec/messages/fetch.ts";
import { listOffsets } from "../../../src/codec/messages/list_offsets.ts";
import { ZERO_UUID } from "../../../src/codec/uuid.ts";
import { LATEST, offsetFor } from "../../durability/requests.ts";
import type { Read } from "./judge.ts";

const READ_COMMITTED = 1;
const MAX_BYTES = 1 << 20;
/** The type of a control record that aborts; of one that commits it is 1. */
const ABORT = 0;

/** Every committed record before the last stable offset of each partition. */
export async function readAll(
  client: RawClient,
  topic: string,
  partitions: readonly number[],
): Promise<Read[]> {
  const read: Read[] = [];
  for (const partition of partitions) {
    const end = await lastStableOffset(client, topic, partition);
    for (let next = 0; next < end;) {
      const { batches, aborted } = await fetchCommitted(client, topic, partition, next);
      if (batches.length === 0) throw new Error(`${topic}-${partition} gives nothing from ${next} on`);
      for (const batch of committed(batches, aborted)) {
        for (const { offset, value } of batch.records()) {
          if (offset >= next && offset < end) read.push({ partition, offset, value: text(value!) });
        }
      }
      next = batches.at(-1)!.nextOffset;
    }
  }
  return read;
}

/** How many records of a topic are not known to be committed or aborted, with those that come after them. */
export async function unsettled(
  client: RawClient,
  topic: string,
  partitions: readonly number[],
): Promise<number> {
  let open = 0;
  for (const partition of partitions) {
    const end = await offsetFor(client, topic, partition, LATEST);
    open += end - await lastStableOffset(client, topic, partition);
  }
  return open;
}

/** A transaction that was aborted: from this offset on, the producer's batches are void until its next marker. */
interface Aborted {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** The batches of data that are no part of an aborted transaction. */
function* committed(batches: readonly BatchView[], aborted: readonly Aborted[]): Generator<BatchView> {
  const coming = aborted.toSorted((a, b) => Number(a.firstOffset - b.firstOffset));
  const isVoid = new Set<bigint>();
  for (const batch of batches) {
    while (coming.length > 0 && coming[0].firstOffset <= batch.lastOffsetBits) {
      isVoid.add(coming.shift()!.producerId);
    }
    if (batch.isControl) {
      for (const { key } of batch.records()) if (key![3] === ABORT) isVoid.delete(batch.producerIdBits);
    } else if (!batch.isTransactional || !isVoid.has(batch.producerIdBits)) {
      yield batch;
    }
  }
}

async function fetchCommitted(client: RawClient, topic: string, partition: number, offset: number) {
  const { responses } = await client.send(fetch, 12, {
    maxWaitMs: 500,
    minBytes: 1,
    maxBytes: MAX_BYTES,
    isolationLevel: READ_COMMITTED,
    topics: [{
      topic,
      topicId: ZERO_UUID,
      partitions: [{ partition, fetchOffset: BigInt(offset), partitionMaxBytes: MAX_BYTES }],
    }],
    forgottenTopicsData: [],
  });
  const [answer] = responses[0].partitions;
  must(`Fetch of ${topic}-${partition} from ${offset}`, answer.errorCode);
  return {
    batches: [...batchesIn(answer.records ?? new Uint8Array(0))],
    aborted: answer.abortedTransactions ?? [],
  };
}

async function lastStableOffset(client: RawClient, topic: string, partition: number): Promise<number> {
  const { topics } = await client.send(listOffsets, 7, {
    replicaId: -1,
    isolationLevel: READ_COMMITTED,
    topics: [{ name: topic, partitions: [{ partitionIndex: partition, timestamp: LATEST }] }],
    timeoutMs: 30_000,
  });
  const [answer] = topics[0].partitions;
  must(`ListOffsets of ${topic}-${partition}`, answer.errorCode);
  return Number(answer.offset);
}

function must(what: string, errorCode: number): void {
  if (errorCode !== ErrorCode.NONE) throw new Error(`${what}: ${errorName(errorCode)}`);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
