/** Makes format-2 batches out of records, for internal topics, control markers, the compactor, clients and tests. */

import { assert } from "../base/assert.ts";
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  Compression,
  COMPRESSION_MASK,
  CONTROL_BIT,
  CRC_AT,
  DELETE_HORIZON_BIT,
  LAST_OFFSET_DELTA_AT,
  LOG_APPEND_TIME_BIT,
  LOG_OVERHEAD,
  MAGIC_AT,
  MAX_TIMESTAMP_AT,
  NO_PRODUCER_EPOCH,
  NO_PRODUCER_ID,
  NO_SEQUENCE,
  NO_TIMESTAMP,
  PARTITION_LEADER_EPOCH_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  TimestampType,
  TRANSACTIONAL_BIT,
} from "./batch_format.ts";
import { writeInt16, writeInt32, writeInt64 } from "./big_endian.ts";
import { compress } from "./compression/index.ts";
import { crc32c } from "./crc32c.ts";
import { type Int64, subtractInt64 } from "./int64.ts";
import {
  encodeHeaderKeys,
  type RecordHeader,
  type RecordParts,
  sizeOfRecordBody,
  sizeOfVarint,
  writeRecord,
} from "./record.ts";

export interface NewRecord {
  /** Milliseconds since 1970, or -1 for none. */
  timestamp: Int64;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers?: readonly RecordHeader[];
  /** Its place in the log, for batches with gaps as a compactor leaves them. Without it: one after the last record. */
  offset?: Int64;
}

/** What is left out stands for a plain batch of a producer that is not idempotent, at offset 0. */
export interface BatchOptions {
  baseOffset?: Int64;
  /** -1, the default, is what producers send; the leader sets it. */
  partitionLeaderEpoch?: number;
  /** One of {@link Compression}. */
  compression?: number;
  /** As the codec counts it; without it Kafka's default for that codec. */
  compressionLevel?: number;
  /** One of {@link TimestampType}; log append time asks for `logAppendTime`. */
  timestampType?: number;
  logAppendTime?: Int64;
  producerId?: Int64;
  producerEpoch?: number;
  baseSequence?: number;
  isTransactional?: boolean;
  isControl?: boolean;
  /** When the batch covers offsets after its last record, which a compactor removed; the only way to make an empty one. */
  lastOffsetDelta?: number;
  /** Of an empty batch. Otherwise it is found among the records. */
  maxTimestamp?: Int64;
  /** KIP-534: takes the base timestamp's place. */
  deleteHorizonMs?: Int64;
}

/** One whole batch. Records keep their order; the first one's timestamp becomes the base timestamp. */
export function buildBatch(
  records: readonly NewRecord[],
  options: BatchOptions = {},
): Uint8Array<ArrayBuffer> {
  const baseOffset = options.baseOffset ?? 0;
  const baseTimestamp = options.deleteHorizonMs ?? records[0]?.timestamp ?? NO_TIMESTAMP;
  const parts: RecordParts[] = new Array(records.length);
  let maxTimestamp: Int64 = records.length === 0 ? options.maxTimestamp ?? NO_TIMESTAMP : NO_TIMESTAMP;
  let offsetDelta = -1;
  for (let i = 0; i < records.length; i++) {
    const { timestamp, key, value, headers, offset } = records[i];
    const next = offset === undefined ? offsetDelta + 1 : Number(subtractInt64(offset, baseOffset));
    assert(next > offsetDelta && next <= 0x7fffffff, "buildBatch(): offsets are not ascending within 2^31");
    offsetDelta = next;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    parts[i] = { timestampDelta: subtractInt64(timestamp, baseTimestamp), offsetDelta, key, value, headers };
  }
  const lastOffsetDelta = options.lastOffsetDelta ?? offsetDelta;
  assert(
    lastOffsetDelta >= 0 && lastOffsetDelta >= offsetDelta,
    "buildBatch(): no records and no lastOffsetDelta",
  );

  const compression = options.compression ?? Compression.NONE;
  const out = encodeRecords(parts, compression, options.compressionLevel);
  writeBatchHeader(out, {
    ...options,
    baseOffset,
    compression,
    lastOffsetDelta,
    baseTimestamp,
    maxTimestamp: options.timestampType === TimestampType.LOG_APPEND_TIME
      ? options.logAppendTime ?? NO_TIMESTAMP
      : maxTimestamp,
    recordCount: records.length,
  });
  return out;
}

/** The records behind room for a header: `BATCH_OVERHEAD` bytes of zeros. */
function encodeRecords(
  parts: readonly RecordParts[],
  compression: number,
  level: number | undefined,
): Uint8Array<ArrayBuffer> {
  const bodySizes = new Array<number>(parts.length);
  const keys = new Array<readonly Uint8Array[]>(parts.length);
  let size = 0;
  for (let i = 0; i < parts.length; i++) {
    keys[i] = encodeHeaderKeys(parts[i].headers);
    bodySizes[i] = sizeOfRecordBody(parts[i], keys[i]);
    size += sizeOfVarint(bodySizes[i]) + bodySizes[i];
  }
  const out = new Uint8Array(BATCH_OVERHEAD + size);
  let at = BATCH_OVERHEAD;
  for (let i = 0; i < parts.length; i++) at = writeRecord(out, at, parts[i], keys[i], bodySizes[i]);
  assert(at === out.length, "encodeRecords(): a record has another size than was measured");
  return frameRecords(out, compression, level);
}

/** `plain` is room for a header and uncompressed records; gives the same with the records in the given compression. */
export function frameRecords(
  plain: Uint8Array<ArrayBuffer>,
  compression: number,
  level?: number,
): Uint8Array<ArrayBuffer> {
  if (compression === Compression.NONE) return plain;
  const payload = compress(compression, plain.subarray(BATCH_OVERHEAD), level);
  const out = new Uint8Array(BATCH_OVERHEAD + payload.length);
  out.set(payload, BATCH_OVERHEAD);
  return out;
}

/**
 * The batch in another compression. `records` are its records, not compressed, and are taken over as they are: offsets,
 * timestamps and header keys that are not UTF-8 stay what they were, and so does everything else in the header.
 */
export function recompressBatch(
  batch: { toBytes(): Uint8Array; attributes: number },
  records: Uint8Array,
  compression: number,
  level?: number,
): Uint8Array<ArrayBuffer> {
  return batchWithRecords(batch, compress(compression, records, level), compression);
}

/** The batch with other records in its place, `payload`, which are in this compression already. */
export function batchWithRecords(
  batch: { toBytes(): Uint8Array; attributes: number },
  payload: Uint8Array,
  compression: number,
): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(BATCH_OVERHEAD + payload.length);
  out.set(batch.toBytes().subarray(0, BATCH_OVERHEAD));
  out.set(payload, BATCH_OVERHEAD);
  writeInt32(out, BATCH_LENGTH_AT, out.length - LOG_OVERHEAD);
  writeInt16(out, ATTRIBUTES_AT, (batch.attributes & ~COMPRESSION_MASK) | compression);
  writeInt32(out, CRC_AT, crc32c(out, ATTRIBUTES_AT));
  return out;
}

/** The fields of a header that follow from nothing else; `batchLength` and `crc` are taken from the bytes. */
export interface BatchHeaderFields extends BatchOptions {
  baseOffset: Int64;
  compression: number;
  lastOffsetDelta: number;
  baseTimestamp: Int64;
  maxTimestamp: Int64;
  recordCount: number;
}

/** Fills the first 61 bytes of `batch`, whose records are in place, and computes its CRC. */
export function writeBatchHeader(batch: Uint8Array, fields: BatchHeaderFields): void {
  let attributes: number = fields.compression;
  if (fields.timestampType === TimestampType.LOG_APPEND_TIME) attributes |= LOG_APPEND_TIME_BIT;
  if (fields.isTransactional) attributes |= TRANSACTIONAL_BIT;
  if (fields.isControl) attributes |= CONTROL_BIT;
  if (fields.deleteHorizonMs !== undefined) attributes |= DELETE_HORIZON_BIT;
  writeInt64(batch, BASE_OFFSET_AT, fields.baseOffset);
  writeInt32(batch, BATCH_LENGTH_AT, batch.length - LOG_OVERHEAD);
  writeInt32(batch, PARTITION_LEADER_EPOCH_AT, fields.partitionLeaderEpoch ?? -1);
  batch[MAGIC_AT] = 2;
  writeInt16(batch, ATTRIBUTES_AT, attributes);
  writeInt32(batch, LAST_OFFSET_DELTA_AT, fields.lastOffsetDelta);
  writeInt64(batch, BASE_TIMESTAMP_AT, fields.baseTimestamp);
  writeInt64(batch, MAX_TIMESTAMP_AT, fields.maxTimestamp);
  writeInt64(batch, PRODUCER_ID_AT, fields.producerId ?? NO_PRODUCER_ID);
  writeInt16(batch, PRODUCER_EPOCH_AT, fields.producerEpoch ?? NO_PRODUCER_EPOCH);
  writeInt32(batch, BASE_SEQUENCE_AT, fields.baseSequence ?? NO_SEQUENCE);
  writeInt32(batch, RECORD_COUNT_AT, fields.recordCount);
  writeInt32(batch, CRC_AT, crc32c(batch, ATTRIBUTES_AT));
}
