/**
 * What a compactor does to a batch: drop some of its records and leave everything else, offsets above all, as it was.
 * Records are copied as bytes, so that even a header that is not UTF-8 survives. Selecting and building are apart, since
 * what is selected decides whether there is anything to build.
 */

import type { BatchView } from "./batch.ts";
import { BATCH_OVERHEAD, Compression, NO_TIMESTAMP, TimestampType } from "./batch_format.ts";
import { frameRecords, writeBatchHeader } from "./batch_builder.ts";
import { addInt64, type Int64 } from "./int64.ts";
import { RecordCursor, sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from "./record.ts";

export interface RetainOptions {
  /** Sets the delete horizon (KIP-534); a batch that has one keeps it otherwise. */
  deleteHorizonMs?: number;
  /** As the codec counts it; without it Kafka's default. */
  compressionLevel?: number;
  /** The most that the batch may decompress to. */
  maxBytes?: number;
}

/** The records of a batch that stay. */
export interface Selection {
  readonly count: number;
  /** One of them has no value. */
  readonly hasTombstone: boolean;
  /** Where they are in `bytes`, not compressed: begin and end of each stretch. */
  readonly bytes: Uint8Array;
  readonly stretches: readonly number[];
  /** Of those that stay, -1 for none. */
  readonly maxTimestamp: number;
  /** The bytes of all records. */
  readonly first: number;
  readonly limit: number;
}

/** The records for which `keep` says true. Throws {@link MalformedFrame} when the records cannot be read. */
export function selectRecords(
  batch: BatchView,
  keep: (record: RecordCursor) => boolean,
  maxBytes?: number,
): Selection {
  const cursor = batch.cursor(maxBytes);
  const stretches: number[] = [];
  let count = 0;
  let hasTombstone = false;
  let maxTimestamp = NO_TIMESTAMP;
  while (cursor.next()) {
    if (!keep(cursor)) continue;
    count++;
    hasTombstone ||= cursor.valueLength < 0;
    if (cursor.timestamp > maxTimestamp) maxTimestamp = cursor.timestamp;
    const last = stretches.length - 1;
    if (last >= 0 && stretches[last] === cursor.start) stretches[last] = cursor.end;
    else stretches.push(cursor.start, cursor.end);
  }
  const { bytes, first, limit } = cursor;
  return { count, hasTombstone, bytes, stretches, maxTimestamp, first, limit };
}

/**
 * A new batch with the selected records, or the batch itself (as a view) if that is all of them and no delete horizon is
 * to be set. It covers the same offsets and sequence numbers; without any record left it is an empty batch, which the
 * caller may not need.
 */
export function batchOfSelection(
  batch: BatchView,
  selection: Selection,
  options: RetainOptions = {},
): Uint8Array {
  const { count } = selection;
  const horizonBefore = batch.deleteHorizonMs ?? undefined;
  const deleteHorizonMs = options.deleteHorizonMs ?? horizonBefore;
  if (count === batch.recordCount && deleteHorizonMs === horizonBefore) return batch.toBytes();

  // An empty batch has no payload, not the compressed form of nothing, and nothing that a horizon would be for.
  const isEmpty = count === 0;
  const compression = isEmpty ? Compression.NONE : batch.compression;
  const baseTimestamp = isEmpty ? NO_TIMESTAMP : deleteHorizonMs ?? batch.baseTimestamp;
  const isLogAppendTime = batch.timestampType === TimestampType.LOG_APPEND_TIME;
  const out = frameRecords(
    plainRecords(batch, selection, batch.baseTimestamp - baseTimestamp),
    compression,
    options.compressionLevel,
  );
  writeBatchHeader(out, {
    baseOffset: batch.baseOffset,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    compression,
    timestampType: batch.timestampType,
    lastOffsetDelta: batch.lastOffsetDelta,
    baseTimestamp,
    maxTimestamp: isLogAppendTime || isEmpty ? batch.maxTimestamp : selection.maxTimestamp,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    recordCount: count,
    deleteHorizonMs: isEmpty ? undefined : deleteHorizonMs,
  });
  return out;
}

/** {@link selectRecords} and {@link batchOfSelection} in one. */
export function retainRecords(
  batch: BatchView,
  keep: (record: RecordCursor) => boolean,
  options: RetainOptions = {},
): Uint8Array {
  return batchOfSelection(batch, selectRecords(batch, keep, options.maxBytes), options);
}

/** The selected records, not compressed, behind room for a header. Their times count from `timestampShift` earlier. */
function plainRecords(
  batch: BatchView,
  selection: Selection,
  timestampShift: number,
): Uint8Array<ArrayBuffer> {
  const { bytes, stretches } = selection;
  const parts = timestampShift === 0
    ? Array.from(
      { length: stretches.length / 2 },
      (_, i) => bytes.subarray(stretches[2 * i], stretches[2 * i + 1]),
    )
    : shiftedRecords(batch, selection, timestampShift);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const plain = new Uint8Array(BATCH_OVERHEAD + size);
  let at = BATCH_OVERHEAD;
  for (const part of parts) {
    plain.set(part, at);
    at += part.length;
  }
  return plain;
}

function shiftedRecords(
  batch: BatchView,
  { bytes, first, limit, stretches }: Selection,
  timestampShift: number,
): Uint8Array[] {
  const cursor = new RecordCursor(
    bytes,
    first,
    limit,
    batch.recordCount,
    batch.baseOffset,
    batch.baseTimestamp,
    null,
  );
  const records: Uint8Array[] = [];
  let stretch = 0;
  while (stretch < stretches.length && cursor.advance()) {
    if (cursor.start >= stretches[stretch + 1]) stretch += 2;
    if (cursor.start < stretches[stretch]) continue;
    if (stretch < stretches.length) {
      records.push(withTimestampDelta(cursor, addInt64(exactDelta(cursor), timestampShift)));
    }
  }
  return records;
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
