/**
 * What a compactor does to a batch: drop some of its records and leave everything else, offsets above all, as it was.
 * Records are copied as bytes, so that even a header that is not UTF-8 survives.
 */

import type { BatchView } from "./batch.ts";
import { BATCH_OVERHEAD, Compression, TimestampType } from "./batch_format.ts";
import { frameRecords, writeBatchHeader } from "./batch_builder.ts";
import { addInt64, type Int64 } from "./int64.ts";
import { type RecordCursor, sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from "./record.ts";

export interface RetainOptions {
  /** Sets the delete horizon (KIP-534); a batch that has one keeps it otherwise. */
  deleteHorizonMs?: number;
  /** As the codec counts it; without it Kafka's default. */
  compressionLevel?: number;
  /** The most that the batch may decompress to. */
  maxBytes?: number;
}

/**
 * A new batch with the records for which `keep` says true, or the batch itself (as a view) if that is all of them and no
 * delete horizon is to be set. It covers the same offsets and sequence numbers; without any record left it is an empty
 * batch, which the caller may not need. Throws {@link MalformedFrame} when the records cannot be read.
 */
export function retainRecords(
  batch: BatchView,
  keep: (record: RecordCursor) => boolean,
  options: RetainOptions = {},
): Uint8Array {
  const deleteHorizonMs = options.deleteHorizonMs ?? batch.deleteHorizonMs ?? undefined;
  const baseTimestamp = deleteHorizonMs ?? batch.baseTimestamp;
  const timestampShift = batch.baseTimestamp - baseTimestamp;
  const isLogAppendTime = batch.timestampType === TimestampType.LOG_APPEND_TIME;
  const cursor = batch.cursor(options.maxBytes);
  const kept: Uint8Array[] = [];
  let size = 0;
  let maxTimestamp = -1;
  while (cursor.next()) {
    if (!keep(cursor)) continue;
    const record = timestampShift === 0
      ? cursor.bytes.subarray(cursor.start, cursor.end)
      : withTimestampDelta(cursor, addInt64(exactDelta(cursor), timestampShift));
    kept.push(record);
    size += record.length;
    maxTimestamp = Math.max(maxTimestamp, cursor.timestamp);
  }
  if (kept.length === batch.recordCount && deleteHorizonMs === (batch.deleteHorizonMs ?? undefined)) {
    return batch.toBytes();
  }

  const plain = new Uint8Array(BATCH_OVERHEAD + size);
  let at = BATCH_OVERHEAD;
  for (const record of kept) {
    plain.set(record, at);
    at += record.length;
  }
  // An empty batch has no payload, not the compressed form of nothing.
  const compression = kept.length === 0 ? Compression.NONE : batch.compression;
  const out = frameRecords(plain, compression, options.compressionLevel);
  writeBatchHeader(out, {
    baseOffset: batch.baseOffset,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    compression,
    timestampType: batch.timestampType,
    lastOffsetDelta: batch.lastOffsetDelta,
    baseTimestamp,
    maxTimestamp: isLogAppendTime || kept.length === 0 ? batch.maxTimestamp : maxTimestamp,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    recordCount: kept.length,
    deleteHorizonMs,
  });
  return out;
}

/** Under log append time no one looks at deltas, so that any 64 bits may stand there. */
function exactDelta(cursor: RecordCursor): Int64 {
  const { timestampDelta } = cursor;
  return Number.isSafeInteger(timestampDelta) ? timestampDelta : cursor.timestampDeltaBits;
}

/** The record under the cursor with another timestamp delta, the rest copied. */
function withTimestampDelta(cursor: RecordCursor, timestampDelta: Int64): Uint8Array {
  const rest = cursor.bytes.subarray(cursor.offsetDeltaStart, cursor.end);
  const bodySize = 1 + sizeOfVarlong(timestampDelta) + rest.length;
  const out = new Uint8Array(sizeOfVarint(bodySize) + bodySize);
  let at = writeVarint(out, 0, bodySize);
  out[at++] = 0; // attributes: no bit has a meaning yet
  at = writeVarlong(out, at, timestampDelta);
  out.set(rest, at);
  return out;
}
