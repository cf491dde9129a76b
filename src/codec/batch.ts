/**
 * A record batch of message format 2 as a view on the bytes it came in: reading a field costs a few loads, nothing is
 * copied and nothing is parsed that was not asked for. The layout is in batch_format.ts; building is in
 * batch_builder.ts, one record in record.ts, formats 0 and 1 in legacy.ts.
 */

import { Allowance } from "./allowance.ts";
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  type BatchProblem,
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
  NO_SEQUENCE,
  PARTITION_LEADER_EPOCH_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  sequenceAfter,
  TimestampType,
  TRANSACTIONAL_BIT,
} from "./batch_format.ts";
import {
  readBigInt64,
  readInt16,
  readInt32,
  readInt64,
  readUint32,
  writeInt16,
  writeInt32,
  writeInt64,
} from "./big_endian.ts";
import { decompress } from "./compression/index.ts";
import { crc32c } from "./crc32c.ts";
import { ErrorCode } from "./errors.ts";
import { MalformedFrame } from "./malformed.ts";
import { MIN_RECORD_BYTES, type Record, RecordCursor } from "./record.ts";

export {
  BATCH_OVERHEAD,
  type BatchProblem,
  Compression,
  LOG_OVERHEAD,
  TimestampType,
} from "./batch_format.ts";
export {
  type BatchOptions,
  batchWithRecords,
  buildBatch,
  type NewRecord,
  recompressBatch,
} from "./batch_builder.ts";
export { type Record, RecordCursor, type RecordHeader } from "./record.ts";

/**
 * Lazy view on one format-2 batch, which must be whole ({@link checkBatch}, {@link batchesIn}). The getters believe
 * what the header says.
 */
export class BatchView {
  constructor(readonly bytes: Uint8Array, readonly start: number = 0) {}

  get baseOffset(): number {
    return readInt64(this.bytes, this.start + BASE_OFFSET_AT);
  }
  /** Patched in place; the CRC does not cover it. */
  set baseOffset(offset: number) {
    writeInt64(this.bytes, this.start + BASE_OFFSET_AT, offset);
  }
  /**
   * With all 64 bits, as the other fields that end so: a log takes none beyond 2^53 ({@link checkBatch}), but the format
   * has them.
   */
  get baseOffsetBits(): bigint {
    return readBigInt64(this.bytes, this.start + BASE_OFFSET_AT);
  }

  /** What the length field counts: everything after it. */
  get batchLength(): number {
    return readInt32(this.bytes, this.start + BATCH_LENGTH_AT);
  }
  /** The whole batch. */
  get sizeInBytes(): number {
    return this.batchLength + LOG_OVERHEAD;
  }

  get partitionLeaderEpoch(): number {
    return readInt32(this.bytes, this.start + PARTITION_LEADER_EPOCH_AT);
  }
  /** Patched in place; the CRC does not cover it. */
  set partitionLeaderEpoch(epoch: number) {
    writeInt32(this.bytes, this.start + PARTITION_LEADER_EPOCH_AT, epoch);
  }

  get magic(): number {
    return magicAt(this.bytes, this.start);
  }
  /** The CRC that the batch claims, unsigned. */
  get crc(): number {
    return readUint32(this.bytes, this.start + CRC_AT);
  }
  get attributes(): number {
    return readInt16(this.bytes, this.start + ATTRIBUTES_AT);
  }
  get lastOffsetDelta(): number {
    return readInt32(this.bytes, this.start + LAST_OFFSET_DELTA_AT);
  }
  get baseTimestamp(): number {
    return readInt64(this.bytes, this.start + BASE_TIMESTAMP_AT);
  }
  get baseTimestampBits(): bigint {
    return readBigInt64(this.bytes, this.start + BASE_TIMESTAMP_AT);
  }
  get maxTimestamp(): number {
    return readInt64(this.bytes, this.start + MAX_TIMESTAMP_AT);
  }
  get maxTimestampBits(): bigint {
    return readBigInt64(this.bytes, this.start + MAX_TIMESTAMP_AT);
  }
  get producerId(): number {
    return readInt64(this.bytes, this.start + PRODUCER_ID_AT);
  }
  get producerIdBits(): bigint {
    return readBigInt64(this.bytes, this.start + PRODUCER_ID_AT);
  }
  get producerEpoch(): number {
    return readInt16(this.bytes, this.start + PRODUCER_EPOCH_AT);
  }
  get baseSequence(): number {
    return readInt32(this.bytes, this.start + BASE_SEQUENCE_AT);
  }
  get recordCount(): number {
    return readInt32(this.bytes, this.start + RECORD_COUNT_AT);
  }

  /** The last offset that the batch covers; after compaction its record may be gone. */
  get lastOffset(): number {
    return this.baseOffset + this.lastOffsetDelta;
  }
  get lastOffsetBits(): bigint {
    return BigInt.asIntN(64, this.baseOffsetBits + BigInt(this.lastOffsetDelta));
  }
  get nextOffset(): number {
    return this.lastOffset + 1;
  }
  /** -1 without sequence numbers; wraps from 2^31-1 to 0. */
  get lastSequence(): number {
    const first = this.baseSequence;
    return first === NO_SEQUENCE ? NO_SEQUENCE : sequenceAfter(first, this.lastOffsetDelta);
  }

  /** One of {@link Compression}, or 5–7, which no one has defined. */
  get compression(): number {
    return this.attributes & COMPRESSION_MASK;
  }
  /** One of {@link TimestampType}. */
  get timestampType(): number {
    return this.attributes & LOG_APPEND_TIME_BIT ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
  }
  get isTransactional(): boolean {
    return (this.attributes & TRANSACTIONAL_BIT) !== 0;
  }
  /** A batch of transaction markers, which consumers never see. */
  get isControl(): boolean {
    return (this.attributes & CONTROL_BIT) !== 0;
  }
  /** When the compactor may drop the batch's tombstones (KIP-534), milliseconds since 1970. */
  get deleteHorizonMs(): number | null {
    return this.attributes & DELETE_HORIZON_BIT ? this.baseTimestamp : null;
  }
  get hasProducerId(): boolean {
    return this.producerId >= 0;
  }

  computeCrc(): number {
    return crc32c(this.bytes, this.start + ATTRIBUTES_AT, this.start + this.sizeInBytes);
  }
  updateCrc(): void {
    writeInt32(this.bytes, this.start + CRC_AT, this.computeCrc());
  }

  /** Gives every record the broker's time `ms`, and the batch a new CRC. */
  setLogAppendTime(ms: number): void {
    this.setMaxTimestamp(TimestampType.LOG_APPEND_TIME, ms);
  }
  /** Sets timestamp type and maxTimestamp. The CRC is computed anew only if something changed. */
  setMaxTimestamp(type: number, ms: number): void {
    if (this.timestampType === type && this.maxTimestamp === ms) return;
    const others = this.attributes & ~LOG_APPEND_TIME_BIT;
    const bit = type === TimestampType.LOG_APPEND_TIME ? LOG_APPEND_TIME_BIT : 0;
    writeInt16(this.bytes, this.start + ATTRIBUTES_AT, others | bit);
    writeInt64(this.bytes, this.start + MAX_TIMESTAMP_AT, ms);
    this.updateCrc();
  }

  /**
   * Walks over the records without decoding more than it is asked for, at the cost of `allowance` (or of one with at
   * most that many decompressed bytes). This and the cursor throw {@link MalformedFrame} when the payload is not what
   * the header says, and `TooCostly`, which is one, when the allowance does not suffice or this batch alone would be
   * decompressed to more than `maxBytes`.
   */
  cursor(allowance: Allowance | number = new Allowance(), maxBytes: number = Infinity): RecordCursor {
    const allowed = typeof allowance === "number" ? new Allowance(allowance) : allowance;
    const logAppendTime = this.timestampType === TimestampType.LOG_APPEND_TIME ? this.maxTimestamp : null;
    // Before anything is decompressed: that so many records would be too many can be known for nothing.
    allowed.takeItems(Math.max(0, this.recordCount));
    const { bytes, start, end } = this.payload(allowed, maxBytes);
    return new RecordCursor(
      bytes,
      start,
      end,
      this.recordCount,
      this.baseOffset,
      this.baseTimestamp,
      logAppendTime,
      allowed,
    );
  }

  /** Where the records are, decompressed. Throws as {@link cursor}. */
  private payload(allowance: Allowance, maxBytes: number): { bytes: Uint8Array; start: number; end: number } {
    const start = this.start + BATCH_OVERHEAD;
    const end = this.start + this.sizeInBytes;
    // Without records there is no payload to be decompressed: a compactor leaves such batches, whatever their codec.
    if (this.compression === Compression.NONE || (this.recordCount === 0 && start === end)) {
      return { bytes: this.bytes, start, end };
    }
    const compressed = this.bytes.subarray(start, end);
    const bytes = allowance.payFor((most) =>
      decompress(this.compression, compressed, Math.min(most, maxBytes))
    );
    return { bytes, start: 0, end: bytes.length };
  }

  /** All records, decoded one by one as they are taken. Bounds and errors as for {@link cursor}. */
  *records(maxBytes?: Allowance | number): Generator<Record, void, undefined> {
    const cursor = this.cursor(maxBytes);
    while (cursor.next()) yield cursor.record();
  }

  /** As {@link records}, for batches beyond what a log takes: offsets and timestamps have all 64 bits. */
  *exactRecords(maxBytes?: number): Generator<Record<bigint>, void, undefined> {
    const { baseOffsetBits, baseTimestampBits, maxTimestampBits } = this;
    const isLogAppendTime = this.timestampType === TimestampType.LOG_APPEND_TIME;
    for (const cursor = this.cursor(maxBytes); cursor.advance();) {
      yield {
        offset: BigInt.asIntN(64, baseOffsetBits + BigInt(cursor.offsetDelta)),
        timestamp: isLogAppendTime
          ? maxTimestampBits
          : BigInt.asIntN(64, baseTimestampBits + cursor.timestampDeltaBits),
        key: cursor.key,
        value: cursor.value,
        headers: cursor.headers,
      };
    }
  }

  /** Exactly this batch, as a view. */
  toBytes(): Uint8Array {
    return this.bytes.subarray(this.start, this.start + this.sizeInBytes);
  }
}

/** Magic byte of the batch or message at `start`, whatever the format: signed, as Kafka reads it. */
export function magicAt(bytes: Uint8Array, start: number): number {
  return bytes[start + MAGIC_AT] << 24 >> 24;
}

/**
 * The complete format-2 batches in `bytes[start, end)`, one after the other; stops where the last one is cut short, as
 * a fetch may end. Throws {@link MalformedFrame} at a length below the smallest batch or another magic, since nothing
 * tells where the next batch would begin. CRCs are not computed.
 */
export function* batchesIn(bytes: Uint8Array, start = 0, end: number = bytes.length): Generator<BatchView> {
  let at = start;
  while (end - at > MAGIC_AT) {
    const size = readInt32(bytes, at + BATCH_LENGTH_AT) + LOG_OVERHEAD;
    const magic = magicAt(bytes, at);
    if (magic !== 2) throw new MalformedFrame(`Cannot read record batch at ${at}: magic is ${magic}`);
    if (size < BATCH_OVERHEAD) throw new MalformedFrame(`Cannot read record batch at ${at}: size is ${size}`);
    if (size > end - at) return;
    yield new BatchView(bytes, at);
    at += size;
  }
}

/**
 * Checks the batch at `start`, which must be whole within `end`: length, magic 2, CRC, then what the header says. Gives
 * null for a good one and never throws. Damage is CORRUPT_MESSAGE, a contradiction under a right CRC INVALID_RECORD
 * (the same bytes would come again, so it must not be retriable). A batch that a compactor thinned out, with fewer
 * records than offsets, is good; what a producer may send is narrower: {@link checkProducedBatch}. Records themselves
 * are not looked at: {@link checkRecords}.
 */
export function checkBatch(bytes: Uint8Array, start: number, end: number): BatchProblem | null {
  const available = end - start;
  if (available <= MAGIC_AT) return corrupt(`the frame holds ${available} bytes, less than a batch header`);
  const size = readInt32(bytes, start + BATCH_LENGTH_AT) + LOG_OVERHEAD;
  if (size < MIN_ENTRY_BYTES) return corrupt(`size is ${size}, less than any format's header`);
  const magic = magicAt(bytes, start);
  if (magic < 0 || magic > 2) return corrupt(`magic is ${magic}`);
  if (magic !== 2) return invalid(`magic is ${magic}, expected 2`);
  if (size < BATCH_OVERHEAD) return corrupt(`size is ${size}, less than the header's ${BATCH_OVERHEAD}`);
  if (size > available) return corrupt(`size is ${size}, the frame holds ${available}`);
  const batch = new BatchView(bytes, start);
  const crc = batch.computeCrc();
  if (crc !== batch.crc) return corrupt(`CRC is ${batch.crc}, computed ${crc}`);
  return checkHeader(batch);
}

/** The smallest message of format 0: below it the magic byte means nothing. */
export const MIN_ENTRY_BYTES = LOG_OVERHEAD + 14;

function checkHeader(batch: BatchView): BatchProblem | null {
  const { compression, recordCount, lastOffsetDelta } = batch;
  if (compression > Compression.ZSTD) return invalid(`compression type ${compression} is unknown`);
  if (lastOffsetDelta < 0) return invalid(`lastOffsetDelta is ${lastOffsetDelta}`);
  if (recordCount < 0 || recordCount > lastOffsetDelta + 1) {
    return invalid(`${recordCount} records in ${lastOffsetDelta + 1} offsets`);
  }
  const payload = batch.sizeInBytes - BATCH_OVERHEAD;
  if (compression === Compression.NONE && recordCount * MIN_RECORD_BYTES > payload) {
    return invalid(`${recordCount} records do not fit into ${payload} bytes`);
  }
  if (recordCount === 0 && payload > 0) return invalid(`no records, but ${payload} bytes of them`);
  // Below, 64 bits become numbers: a rounded producer id or offset would be another producer's, or another record's.
  if (!Number.isSafeInteger(batch.baseOffset) || !Number.isSafeInteger(batch.nextOffset)) {
    return invalid(`base offset ${batch.baseOffset} is out of range`);
  }
  if (!Number.isSafeInteger(batch.producerId)) {
    return invalid(`producer id ${batch.producerId} is out of range`);
  }
  if (!Number.isSafeInteger(batch.baseTimestamp) || !Number.isSafeInteger(batch.maxTimestamp)) {
    return {
      errorCode: ErrorCode.INVALID_TIMESTAMP,
      text:
        `Cannot take record batch: timestamps ${batch.baseTimestamp} and ${batch.maxTimestamp} are out of range`,
    };
  }
  return null;
}

/**
 * What a producer may send, beyond {@link checkBatch}, which must have passed: a record for every offset, at least
 * one, no control batch, and sequence numbers if there is a producer id. Gives null or INVALID_RECORD.
 */
export function checkProducedBatch(batch: BatchView): BatchProblem | null {
  const { recordCount, lastOffsetDelta } = batch;
  if (recordCount !== lastOffsetDelta + 1) {
    return invalid(`${recordCount} records in ${lastOffsetDelta + 1} offsets`);
  }
  if (batch.isControl) return invalid("clients may not write control batches");
  if (batch.hasProducerId && batch.baseSequence < 0) {
    return invalid(`producer ${batch.producerId} sends base sequence ${batch.baseSequence}`);
  }
  return null;
}

/**
 * Reads every record of a batch that passed {@link checkBatch}, without keeping any. Null, or INVALID_RECORD when the
 * payload cannot be decompressed (within `maxBytes`), is not what the header says, or has a record whose offset or
 * timestamp is beyond 2^53.
 */
export function checkRecords(batch: BatchView, maxBytes?: number): BatchProblem | null {
  try {
    const cursor = batch.cursor(maxBytes);
    while (cursor.next());
    return null;
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return { errorCode: ErrorCode.INVALID_RECORD, text: error.message };
  }
}

function corrupt(detail: string): BatchProblem {
  return { errorCode: ErrorCode.CORRUPT_MESSAGE, text: `Cannot parse record batch: ${detail}` };
}

function invalid(detail: string): BatchProblem {
  return { errorCode: ErrorCode.INVALID_RECORD, text: `Cannot take record batch: ${detail}` };
}
