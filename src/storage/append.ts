/**
 * What a batch must be to enter a log, and what the broker makes of it on the way in: Kafka's validation for one batch
 * of format 2. Pure but for the batch, whose timestamp fields may be patched in place. Records are walked over only
 * where a rule asks for it; a plain batch is judged by its header and its CRC.
 */

import {
  BatchView,
  buildBatch,
  checkBatch,
  checkProducedBatch,
  Compression,
  type NewRecord,
  TimestampType,
} from "../codec/batch.ts";
import { BATCH_LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, NO_TIMESTAMP } from "../codec/batch_format.ts";
import { readInt32 } from "../codec/big_endian.ts";
import { ErrorCode } from "../codec/errors.ts";
import { MalformedFrame } from "../codec/malformed.ts";
import { type LogConfig, NO_LIMIT } from "./log_config.ts";

export interface AppendOptions {
  leaderEpoch: number;
  /** Coordinators write markers and records of their own; what they send has no sequence numbers to check. */
  origin: "client" | "coordinator";
  now: number;
  /** Whether the transaction coordinator vouches for a client's transactional batch (KIP-890). */
  transactionVerified?: boolean;
}

/** A record that made its batch be refused, by its place in the batch (Produce v8, KIP-467). */
export interface RecordError {
  index: number;
  text: string;
}

export class Refusal {
  constructor(
    readonly errorCode: number,
    readonly errorText: string,
    readonly recordErrors: RecordError[] = [],
  ) {}
}

/** What came of an append. */
export interface AppendResult {
  errorCode: number;
  errorText?: string;
  recordErrors?: RecordError[];
  /** -1 after an error. */
  baseOffset: number;
  lastOffset: number;
  /** -1 unless the topic has log append time. */
  logAppendTimeMs: number;
  logStartOffset: number;
  /** The batch was there already: its first append is answered again. */
  duplicate: boolean;
  /** `flush.messages` is reached: the append may be acknowledged only after the log's `flush()`. */
  mustFlush: boolean;
}

export function refusedAppend(refusal: Refusal, logStartOffset: number): AppendResult {
  return {
    errorCode: refusal.errorCode,
    errorText: refusal.errorText,
    recordErrors: refusal.recordErrors,
    baseOffset: -1,
    lastOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset,
    duplicate: false,
    mustFlush: false,
  };
}

/**
 * The batches of a replicated append: whole, intact, of format 2, in order, and from `nextOffset` on. Their offsets,
 * epochs and timestamps are the leader's.
 */
export function leaderBatches(bytes: Uint8Array, nextOffset: number): BatchView[] | Refusal {
  const batches: BatchView[] = [];
  let expected = nextOffset;
  for (let at = 0; at < bytes.length;) {
    const problem = checkBatch(bytes, at, bytes.length);
    if (problem !== null) return new Refusal(problem.errorCode, `${problem.text} (at byte ${at})`);
    const batch = new BatchView(bytes, at);
    if (batch.baseOffset < expected) {
      return new Refusal(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        `Cannot append: a batch begins at offset ${batch.baseOffset}, expected ${expected} or more`,
      );
    }
    batches.push(batch);
    expected = batch.nextOffset;
    at += batch.sizeInBytes;
  }
  return batches.length > 0
    ? batches
    : new Refusal(ErrorCode.CORRUPT_MESSAGE, "Cannot append: there is no batch");
}

const compressionTypes = {
  uncompressed: Compression.NONE,
  gzip: Compression.GZIP,
  snappy: Compression.SNAPPY,
  lz4: Compression.LZ4,
  zstd: Compression.ZSTD,
};

/** The batch as it may be written, offset and leader epoch still to be set, or why not. */
export function prepareBatch(bytes: Uint8Array, config: LogConfig, o: AppendOptions): BatchView | Refusal {
  if (bytes.length === 0) return new Refusal(ErrorCode.INVALID_RECORD, "Cannot append: there is no batch");
  const claimed = bytes.length > MAGIC_AT ? readInt32(bytes, BATCH_LENGTH_AT) + LOG_OVERHEAD : 0;
  // Before the CRC, as in Kafka: a batch that is too large costs nothing.
  if (claimed > config.maxMessageBytes && claimed <= bytes.length) return tooLarge(claimed, config);
  const problem = checkBatch(bytes, 0, bytes.length);
  if (problem !== null) return new Refusal(problem.errorCode, problem.text);
  if (claimed !== bytes.length) {
    return new Refusal(
      ErrorCode.INVALID_RECORD,
      `Cannot append: ${
        bytes.length - claimed
      } bytes follow the batch, but a request may hold one batch a partition`,
    );
  }
  const batch = new BatchView(bytes);
  if (o.origin === "client") {
    const refusal = checkClientBatch(batch, o);
    if (refusal !== null) return refusal;
  }
  const refusal = checkRecordsAndTimes(batch, config, o.now);
  if (refusal !== null) return refusal;

  const target = config.compressionType === "producer" ? null : compressionTypes[config.compressionType];
  const stored = target === null || target === batch.compression || batch.isControl
    ? batch
    : recompressed(batch, target, config.compressionLevel);
  if (stored instanceof Refusal) return stored;
  if (stored.sizeInBytes > config.maxMessageBytes) return tooLarge(stored.sizeInBytes, config);
  if (stored.sizeInBytes > config.segmentBytes) {
    return new Refusal(
      ErrorCode.RECORD_LIST_TOO_LARGE,
      `Cannot append: the batch has ${stored.sizeInBytes} bytes, segment.bytes is ${config.segmentBytes}`,
    );
  }
  if (config.messageTimestampType === "LogAppendTime") stored.setLogAppendTime(o.now);
  return stored;
}

function checkClientBatch(batch: BatchView, o: AppendOptions): Refusal | null {
  const problem = checkProducedBatch(batch);
  if (problem !== null) return new Refusal(problem.errorCode, problem.text);
  if (batch.baseOffset !== 0) {
    return new Refusal(
      ErrorCode.INVALID_RECORD,
      `Cannot append: base offset is ${batch.baseOffset}, expected 0`,
    );
  }
  if (batch.isTransactional && o.transactionVerified !== true) {
    return new Refusal(
      ErrorCode.INVALID_TXN_STATE,
      `Cannot append: the partition is not part of a transaction of producer ${batch.producerId}`,
    );
  }
  return null;
}

function checkRecordsAndTimes(batch: BatchView, config: LogConfig, now: number): Refusal | null {
  const createTime = config.messageTimestampType === "CreateTime";
  if (!createTime && batch.timestampType === TimestampType.LOG_APPEND_TIME) {
    const text = "Cannot append: only the broker may set log append time";
    return new Refusal(ErrorCode.INVALID_TIMESTAMP, text, [{ index: 0, text }]);
  }
  const keysNeeded = config.cleanupPolicy.compact && !batch.isControl;
  // Some clients never set maxTimestamp; believing it would hide the batch from searches by time and from retention.
  const maxTimestampUnset = createTime && batch.maxTimestamp < batch.baseTimestamp;
  const earliest = config.messageTimestampBeforeMaxMs === NO_LIMIT
    ? -Infinity
    : now - config.messageTimestampBeforeMaxMs;
  const latest = now + config.messageTimestampAfterMaxMs;
  const timesInQuestion = createTime && (earliest !== -Infinity || batch.maxTimestamp > latest);
  if (keysNeeded || maxTimestampUnset || timesInQuestion) {
    const refusal = walkRecords(batch, keysNeeded, createTime, earliest, latest);
    if (refusal !== null) return refusal;
  } else if (createTime) {
    batch.setMaxTimestamp(TimestampType.CREATE_TIME, batch.maxTimestamp);
  }
  return null;
}

/** Looks at every record; sets the batch's maxTimestamp to what they really have. */
function walkRecords(
  batch: BatchView,
  keysNeeded: boolean,
  createTime: boolean,
  earliest: number,
  latest: number,
): Refusal | null {
  const errors: RecordError[] = [];
  let timeErrors = 0;
  let max = NO_TIMESTAMP;
  try {
    const cursor = batch.cursor();
    for (let index = 0; cursor.next(); index++) {
      const { timestamp } = cursor;
      if (timestamp > max) max = timestamp;
      if (keysNeeded && cursor.keyLength < 0) {
        errors.push({ index, text: "A compacted topic cannot take a record without a key" });
      } else if (createTime && timestamp !== NO_TIMESTAMP && (timestamp < earliest || timestamp > latest)) {
        timeErrors++;
        errors.push({ index, text: `Timestamp ${timestamp} is outside [${earliest}, ${latest}]` });
      }
    }
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return new Refusal(ErrorCode.INVALID_RECORD, error.message);
  }
  if (errors.length > 0) {
    return new Refusal(
      timeErrors > 0 ? ErrorCode.INVALID_TIMESTAMP : ErrorCode.INVALID_RECORD,
      `Cannot append: ${errors.length} records are not valid, the first at ${errors[0].index}: ${
        errors[0].text
      }`,
      errors,
    );
  }
  if (createTime) batch.setMaxTimestamp(TimestampType.CREATE_TIME, max);
  return null;
}

function recompressed(batch: BatchView, compression: number, level: number | null): BatchView | Refusal {
  let records: NewRecord[];
  try {
    records = [...batch.records()];
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return new Refusal(ErrorCode.INVALID_RECORD, error.message);
  }
  return new BatchView(buildBatch(records, {
    compression,
    compressionLevel: level ?? undefined,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
  }));
}

function tooLarge(size: number, config: LogConfig): Refusal {
  return new Refusal(
    ErrorCode.MESSAGE_TOO_LARGE,
    `Cannot append: the batch has ${size} bytes, max.message.bytes is ${config.maxMessageBytes}`,
  );
}
