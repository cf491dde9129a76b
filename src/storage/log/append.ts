/**
 * What a batch must be to enter a log, and what the broker makes of it on the way in: Kafka's validation for one batch
 * of format 2. Pure but for the batch, whose timestamp fields may be patched in place. Records are walked over only
 * where a rule asks for it; a plain batch is judged by its header and its CRC.
 */

import { Allowance, DEFAULT_MAX_DECOMPRESSED_BYTES } from "../../codec/allowance.ts";
import {
  BATCH_OVERHEAD,
  BatchView,
  batchWithRecords,
  checkBatch,
  checkProducedBatch,
  Compression,
  recompressBatch,
  type RecordCursor,
  TimestampType,
} from "../../codec/batch.ts";
import { DEFAULT_GZIP_LEVEL } from "../../codec/compression/gzip.ts";
import type { CompressionThread } from "../../codec/compression/thread.ts";
import { DEFAULT_ZSTD_LEVEL } from "../../codec/compression/zstd.ts";
import { BATCH_LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, NO_TIMESTAMP } from "../../codec/batch_format.ts";
import { readInt32 } from "../../codec/big_endian.ts";
import { ErrorCode } from "../../codec/errors.ts";
import { MalformedFrame, TooCostly } from "../../codec/malformed.ts";
import { MIN_RECORD_BYTES } from "../../codec/record.ts";
import { type LogConfig, NO_LIMIT } from "./config.ts";
import type { Verification } from "../producers/producer_state.ts";

export interface AppendOptions {
  leaderEpoch: number;
  /** Coordinators write markers and records of their own; what they send has no sequence numbers to check. */
  origin: "client" | "coordinator";
  now: number;
  /** That the coordinator vouches for a client's transactional batch, where it is the first of its transaction here. */
  verification?: Verification | null;
  /** Of a marker: the protocol that its transaction ended by. */
  transactionVersion?: number;
  /** What the request may still cost where compressed batches have to be opened; more is MESSAGE_TOO_LARGE. */
  allowance?: Allowance;
  /** `max.decompressed.message.bytes` of the topic, for batches that have to be opened. */
  maxDecompressedBytes?: number;
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

/** A batch that may enter the log, and what is to become of it. */
interface Judged {
  readonly batch: BatchView;
  /** One of {@link Compression}. */
  readonly target: number;
  /** The records, not compressed, when they are to be compressed anew; else null. */
  readonly records: Uint8Array | null;
}

/** The batch as it may be written, offset and leader epoch still to be set, or why not. */
export function prepareBatch(bytes: Uint8Array, config: LogConfig, o: AppendOptions): BatchView | Refusal {
  const judged = judge(bytes, config, o);
  if (judged instanceof Refusal) return judged;
  const { batch, target, records } = judged;
  const stored = records === null
    ? batch
    : new BatchView(recompressBatch(batch, records, target, config.compressionLevel ?? undefined));
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

/** From this size on, a batch is compressed beside everything else: a few milliseconds' work. */
const SLOW_BYTES = 48 * 1024;
/** From this level on zstd takes a second for a megabyte; so much of it may be done at once. */
const SLOW_ZSTD_LEVEL = 13, SLOW_ZSTD_BYTES = 4 * 1024;

/** Whether it is great work to compress a batch of so many bytes anew, should it be of another codec than the topic. */
export function isSlowToCompress(bytes: number, { compressionType, compressionLevel }: LogConfig): boolean {
  if (bytes < SLOW_ZSTD_BYTES || (compressionType !== "gzip" && compressionType !== "zstd")) return false;
  return bytes >= SLOW_BYTES || (compressionType === "zstd" && (compressionLevel ?? 0) >= SLOW_ZSTD_LEVEL);
}

/**
 * The batch in the compression that the topic wants, made by `thread`, to be appended when it is there; null when that is no
 * great work, or the batch is refused anyway, and it should be appended as it is.
 */
export function recompressBeside(
  bytes: Uint8Array,
  config: LogConfig,
  o: AppendOptions,
  thread: Pick<CompressionThread, "compress">,
): Promise<Uint8Array> | null {
  if (!isSlowToCompress(bytes.length, config)) return null;
  const judged = judge(bytes, config, o);
  if (judged instanceof Refusal || judged.records === null) return null;
  const { batch, target, records } = judged;
  const level = config.compressionLevel ??
    (target === Compression.ZSTD ? DEFAULT_ZSTD_LEVEL : DEFAULT_GZIP_LEVEL);
  return thread.compress(target, records, level).then((payload) => batchWithRecords(batch, payload, target));
}

function judge(bytes: Uint8Array, config: LogConfig, o: AppendOptions): Judged | Refusal {
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
    const refusal = checkClientBatch(batch);
    if (refusal !== null) return refusal;
  }
  const target = config.compressionType === "producer"
    ? batch.compression
    : compressionTypes[config.compressionType];
  const isRecompressed = target !== batch.compression && !batch.isControl;
  const cursor = checkRecordsAndTimes(batch, config, o, isRecompressed);
  if (cursor instanceof Refusal) return cursor;
  return { batch, target, records: isRecompressed && cursor !== null ? cursor.allBytes : null };
}

function checkClientBatch(batch: BatchView): Refusal | null {
  const problem = checkProducedBatch(batch);
  if (problem !== null) return new Refusal(problem.errorCode, problem.text);
  if (batch.recordCount * MIN_RECORD_BYTES > DEFAULT_MAX_DECOMPRESSED_BYTES) {
    const text = `Cannot append: no batch holds the ${batch.recordCount} records that this one claims`;
    return new Refusal(ErrorCode.INVALID_RECORD, text);
  }
  if (batch.baseOffset !== 0) {
    return new Refusal(
      ErrorCode.INVALID_RECORD,
      `Cannot append: base offset is ${batch.baseOffset}, expected 0`,
    );
  }
  return null;
}

/**
 * Judges the records, as far as a rule asks for that or the batch is to be `recompressed`, and sets maxTimestamp to what
 * it is. Gives the cursor at its end, or null when nothing had to be looked at.
 */
function checkRecordsAndTimes(
  batch: BatchView,
  config: LogConfig,
  o: AppendOptions,
  recompressed: boolean,
): RecordCursor | Refusal | null {
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
    : o.now - config.messageTimestampBeforeMaxMs;
  const latest = o.now + config.messageTimestampAfterMaxMs;
  const timesInQuestion = createTime && (earliest !== -Infinity || batch.maxTimestamp > latest);
  const countInQuestion = o.origin === "client" && claimsMuch(batch);
  if (!keysNeeded && !maxTimestampUnset && !timesInQuestion && !countInQuestion && !recompressed) {
    if (createTime) batch.setMaxTimestamp(TimestampType.CREATE_TIME, batch.maxTimestamp);
    return null;
  }
  try {
    const cursor = open(batch, o);
    const countsOffsets = recompressed || batch.compression !== Compression.NONE;
    return walkRecords(batch, cursor, { keysNeeded, createTime, earliest, latest, countsOffsets }) ?? cursor;
  } catch (error) {
    if (error instanceof TooCostly) return new Refusal(ErrorCode.MESSAGE_TOO_LARGE, error.message);
    if (error instanceof MalformedFrame) return new Refusal(ErrorCode.INVALID_RECORD, error.message);
    throw error;
  }
}

/** So many records may a batch claim to have without a look at them. */
const CLAIMED_UNSEEN = 10_000;

/**
 * Whether the header of a compressed batch claims so many records that they have to be counted: each takes an offset,
 * and some dozen bytes that claim 2^31 would take the log a segment further. More than one to a byte is possible, since
 * a record may compress to less, but nobody sends that in earnest.
 */
function claimsMuch(batch: BatchView): boolean {
  if (batch.compression === Compression.NONE) return false;
  return batch.recordCount > Math.max(CLAIMED_UNSEEN, batch.sizeInBytes - BATCH_OVERHEAD);
}

/**
 * A batch that is not compressed costs no more than was sent for it, and is not paid for. Throws {@link MalformedFrame},
 * {@link TooCostly} when it holds more than is allowed.
 */
function open(
  batch: BatchView,
  { allowance = new Allowance(), maxDecompressedBytes = Infinity }: AppendOptions,
) {
  if (batch.compression === Compression.NONE) return batch.cursor();
  const bytes = Math.min(allowance.bytes, maxDecompressedBytes);
  if (batch.recordCount * MIN_RECORD_BYTES > bytes) {
    throw new TooCostly(
      `Cannot append: ${batch.recordCount} records do not fit into the ${bytes} bytes allowed`,
    );
  }
  return batch.cursor(allowance, maxDecompressedBytes);
}

/** So many of the records that are wrong are named one by one. */
const MAX_RECORD_ERRORS = 1000;

interface RecordRules {
  readonly keysNeeded: boolean;
  readonly createTime: boolean;
  readonly earliest: number;
  readonly latest: number;
  /** Whether the records' offsets are held against the batch's. Kafka looks at them in compressed batches too. */
  readonly countsOffsets: boolean;
}

/**
 * Looks at every record; sets the batch's maxTimestamp to what they really have. Throws {@link MalformedFrame} when they
 * cannot be read, or do not have the offsets that the batch claims: a reader would take them for others.
 */
function walkRecords(
  batch: BatchView,
  cursor: RecordCursor,
  { keysNeeded, createTime, earliest, latest, countsOffsets }: RecordRules,
): Refusal | null {
  const errors: RecordError[] = [];
  const isDense = batch.recordCount === batch.lastOffsetDelta + 1;
  let wrong = 0, timeErrors = 0;
  let max = NO_TIMESTAMP;
  let previous = -1;
  const refuse = (index: number, text: () => string) => {
    wrong++;
    if (errors.length < MAX_RECORD_ERRORS) errors.push({ index, text: text() });
  };
  for (let index = 0; cursor.next(); index++) {
    const { timestamp, offsetDelta } = cursor;
    const fits = isDense
      ? offsetDelta === index
      : offsetDelta > previous && offsetDelta <= batch.lastOffsetDelta;
    if (countsOffsets && !fits) {
      throw new MalformedFrame(`Cannot append: record ${index} has offset delta ${offsetDelta}`);
    }
    previous = offsetDelta;
    if (timestamp > max) max = timestamp;
    if (keysNeeded && cursor.keyLength < 0) {
      refuse(index, () => "A compacted topic cannot take a record without a key");
    } else if (createTime && timestamp !== NO_TIMESTAMP && (timestamp < earliest || timestamp > latest)) {
      timeErrors++;
      refuse(index, () => `Timestamp ${timestamp} is outside [${earliest}, ${latest}]`);
    }
  }
  if (wrong > 0) {
    return new Refusal(
      timeErrors > 0 ? ErrorCode.INVALID_TIMESTAMP : ErrorCode.INVALID_RECORD,
      `Cannot append: ${wrong} records are not valid, the first at ${errors[0].index}: ${errors[0].text}`,
      errors,
    );
  }
  if (createTime) batch.setMaxTimestamp(TimestampType.CREATE_TIME, max);
  return null;
}

function tooLarge(size: number, config: LogConfig): Refusal {
  return new Refusal(
    ErrorCode.MESSAGE_TOO_LARGE,
    `Cannot append: the batch has ${size} bytes, max.message.bytes is ${config.maxMessageBytes}`,
  );
}
