/**
 * Message formats 0 and 1, which clients older than 0.11 speak: a set is a row of messages, and compression puts a set
 * inside one message, the wrapper.
 *
 *     offset int64 | size int32 | crc uint32 | magic int8 | attributes int8 | timestamp int64 (1 only) | key | value
 *
 * `size` counts from the CRC on, the CRC (the one of zlib, not CRC-32C) covers the magic byte to the end, and key and
 * value have an int32 length, -1 for null. A wrapper has the offset of its last message; inside, format 0 has offsets
 * of the log and format 1 offsets from 0 on (KIP-31). A wrapper with log append time lends it to all inside (KIP-32).
 */

import { crc32 } from "node:zlib";
import { assert } from "../base/assert.ts";
import { Allowance } from "./allowance.ts";
import {
  type BatchProblem,
  Compression,
  COMPRESSION_MASK,
  LOG_APPEND_TIME_BIT,
  LOG_OVERHEAD,
  MAGIC_AT,
  NO_TIMESTAMP,
  TimestampType,
} from "./batch_format.ts";
import { readBigInt64, readInt32, readInt64, readUint32, writeInt32, writeInt64 } from "./big_endian.ts";
import { compress, decompress } from "./compression/index.ts";
import { compressLz4, decompressLz4 } from "./compression/lz4.ts";
import { ErrorCode } from "./errors.ts";
import { type Int64, subtractInt64 } from "./int64.ts";
import { MalformedFrame, TooCostly } from "./malformed.ts";

const SIZE_AT = 8;
const CRC_AT = 12;
const ATTRIBUTES_AT = 17;
const TIMESTAMP_AT = 18;
/** Where the key's length stands, by magic. */
const KEY_AT = [18, 26];
/** The least that `size` may say, by magic: both lengths and everything before them. */
const MIN_SIZE = [14, 22];

/** Lazy view on one message of format 0 or 1, which must have passed {@link checkMessage}. */
export class MessageView {
  constructor(readonly bytes: Uint8Array, readonly start: number = 0) {}

  get offset(): number {
    return readInt64(this.bytes, this.start);
  }
  /** With all 64 bits; {@link checkMessage} refuses what the number does not hold. */
  get offsetBits(): bigint {
    return readBigInt64(this.bytes, this.start);
  }
  /** What the size field counts: everything after it. */
  get messageSize(): number {
    return readInt32(this.bytes, this.start + SIZE_AT);
  }
  /** The whole message. */
  get sizeInBytes(): number {
    return this.messageSize + LOG_OVERHEAD;
  }
  /** The CRC that the message claims, unsigned. */
  get crc(): number {
    return readUint32(this.bytes, this.start + CRC_AT);
  }
  get magic(): number {
    return this.bytes[this.start + MAGIC_AT];
  }
  get attributes(): number {
    return this.bytes[this.start + ATTRIBUTES_AT] << 24 >> 24;
  }
  /** Other than {@link Compression.NONE}: the message is a wrapper. */
  get compression(): number {
    return this.attributes & COMPRESSION_MASK;
  }
  /** One of {@link TimestampType}; format 0 has no timestamps and says create time. */
  get timestampType(): number {
    const isLogAppendTime = this.magic > 0 && (this.attributes & LOG_APPEND_TIME_BIT) !== 0;
    return isLogAppendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
  }
  /** -1 in format 0. */
  get timestamp(): number {
    return this.magic === 0 ? NO_TIMESTAMP : readInt64(this.bytes, this.start + TIMESTAMP_AT);
  }
  /** As {@link offsetBits}. */
  get timestampBits(): bigint {
    return this.magic === 0 ? BigInt(NO_TIMESTAMP) : readBigInt64(this.bytes, this.start + TIMESTAMP_AT);
  }
  get key(): Uint8Array | null {
    return readBytes(this.bytes, this.#keyAt);
  }
  get value(): Uint8Array | null {
    return readBytes(this.bytes, this.#valueAt);
  }

  computeCrc(): number {
    return crc32(this.bytes.subarray(this.start + MAGIC_AT, this.start + this.sizeInBytes));
  }
  /** Exactly this message, as a view. */
  toBytes(): Uint8Array {
    return this.bytes.subarray(this.start, this.start + this.sizeInBytes);
  }

  /** Whether key and value fill the message exactly. */
  get hasRightLengths(): boolean {
    const end = this.start + this.sizeInBytes;
    const keyLength = readInt32(this.bytes, this.#keyAt);
    if (keyLength < -1 || keyLength > end - this.#keyAt - 8) return false;
    const valueLength = readInt32(this.bytes, this.#valueAt);
    return valueLength >= -1 && this.#valueAt + 4 + Math.max(valueLength, 0) === end;
  }

  get #keyAt(): number {
    return this.start + KEY_AT[this.magic];
  }
  get #valueAt(): number {
    return this.#keyAt + 4 + Math.max(readInt32(this.bytes, this.#keyAt), 0);
  }
}

function readBytes(bytes: Uint8Array, at: number): Uint8Array | null {
  const length = readInt32(bytes, at);
  return length < 0 ? null : bytes.subarray(at + 4, at + 4 + length);
}

/**
 * Checks the message at `start`, which must be whole within `end`: size, magic, CRC, attributes, key and value, and that
 * offset and timestamp are safe integers. Null for a good one; what is inside a wrapper is checked by
 * {@link readMessage}. Never throws. Error codes are chosen as for record batches.
 */
export function checkMessage(bytes: Uint8Array, start: number, end: number): BatchProblem | null {
  return checkStructure(bytes, start, end) ?? checkRange(new MessageView(bytes, start));
}

function checkStructure(bytes: Uint8Array, start: number, end: number): BatchProblem | null {
  const available = end - start;
  if (available <= MAGIC_AT) return corrupt(`the frame holds ${available} bytes, less than a message header`);
  const size = readInt32(bytes, start + SIZE_AT);
  const magic = bytes[start + MAGIC_AT] << 24 >> 24;
  if (size < MIN_SIZE[0]) return corrupt(`size is ${size}, less than any format's header`);
  if (magic < 0 || magic > 2) return corrupt(`magic is ${magic}`);
  if (magic === 2) return invalid(`magic is 2, expected 0 or 1`);
  if (size < MIN_SIZE[magic]) return corrupt(`size is ${size}, less than the header's ${MIN_SIZE[magic]}`);
  if (size > available - LOG_OVERHEAD) {
    return corrupt(`size is ${size}, the frame holds ${available - LOG_OVERHEAD}`);
  }
  const message = new MessageView(bytes, start);
  const crc = message.computeCrc();
  if (crc !== message.crc) return corrupt(`CRC is ${message.crc}, computed ${crc}`);
  const { compression } = message;
  if (compression > Compression.ZSTD) return invalid(`compression type ${compression} is unknown`);
  if (compression === Compression.ZSTD) {
    return {
      errorCode: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
      text: `Cannot take message: zstd needs message format 2, this is format ${magic}`,
    };
  }
  if (!message.hasRightLengths) return invalid("key and value do not fill it");
  return null;
}

function checkRange(message: MessageView): BatchProblem | null {
  if (!Number.isSafeInteger(message.offset)) return invalid(`offset ${message.offset} is out of range`);
  if (!Number.isSafeInteger(message.timestamp)) {
    return {
      errorCode: ErrorCode.INVALID_TIMESTAMP,
      text: `Cannot take message: timestamp ${message.timestamp} is out of range`,
    };
  }
  return null;
}

/**
 * The complete outer messages in `bytes[start, end)`; stops where the last one is cut short, as a fetch may end. Throws
 * {@link MalformedFrame} when a message's size or magic cannot be, since nothing tells where the next one would begin.
 * CRCs are not computed.
 */
export function* messagesIn(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): Generator<MessageView> {
  let at = start;
  while (end - at > MAGIC_AT) {
    const magic = bytes[at + MAGIC_AT];
    const size = readInt32(bytes, at + SIZE_AT);
    if (magic > 1) throw new MalformedFrame(`Cannot read message at ${at}: magic is ${magic}`);
    if (size < MIN_SIZE[magic]) throw new MalformedFrame(`Cannot read message at ${at}: size is ${size}`);
    if (size > end - at - LOG_OVERHEAD) return;
    yield new MessageView(bytes, at);
    at += size + LOG_OVERHEAD;
  }
}

/** A record of these formats: no headers. Offset and timestamp as in a batch's record: safe numbers, or bigints. */
export interface LegacyRecord<Integer extends Int64 = number> {
  offset: Integer;
  /** Milliseconds since 1970, or -1 for none. */
  timestamp: Integer;
  key: Uint8Array | null;
  value: Uint8Array | null;
}

export type MessageContent<Integer extends Int64 = number> =
  | { records: LegacyRecord<Integer>[]; problem: null }
  | { records: null; problem: BatchProblem };

/**
 * The records of an outer message that passed {@link checkMessage}: itself, or those inside if it is a wrapper, which is
 * decompressed at the cost of `allowance`. Keys and values are views. An inner message that is damaged, cut short, of
 * another format or itself a wrapper makes the whole wrapper a problem: Java's reader would give what came before it,
 * but a broker that took a part would lose the rest silently.
 */
export function readMessage(message: MessageView, allowance: Allowance = new Allowance()): MessageContent {
  const { messages, problem } = messagesOf(message, allowance, checkMessage);
  if (problem !== null) return { records: null, problem };
  const isLogAppendTime = message.timestampType === TimestampType.LOG_APPEND_TIME;
  const base = hasRelativeOffsets(message) ? message.offset - messages[messages.length - 1].offset : 0;
  if (!Number.isSafeInteger(base)) return { records: null, problem: invalid(`its base offset is ${base}`) };
  const records: LegacyRecord[] = [];
  for (const inner of messages) {
    const offset = base + inner.offset;
    if (!Number.isSafeInteger(offset)) {
      return { records: null, problem: invalid(`offset ${offset} is out of range`) };
    }
    const timestamp = isLogAppendTime ? message.timestamp : inner.timestamp;
    records.push({ offset, timestamp, key: inner.key, value: inner.value });
  }
  return { records, problem: null };
}

/**
 * As {@link readMessage}, for messages beyond what {@link checkMessage} takes: offsets and timestamps have all 64 bits.
 * The structure of the outer message must be right, and only that of the inner ones is judged.
 */
export function readExactMessage(
  message: MessageView,
  allowance: Allowance = new Allowance(),
): MessageContent<bigint> {
  const { messages, problem } = messagesOf(message, allowance, checkStructure);
  if (problem !== null) return { records: null, problem };
  const isLogAppendTime = message.timestampType === TimestampType.LOG_APPEND_TIME;
  const base = hasRelativeOffsets(message)
    ? message.offsetBits - messages[messages.length - 1].offsetBits
    : 0n;
  const records = messages.map((inner) => ({
    offset: BigInt.asIntN(64, base + inner.offsetBits),
    timestamp: isLogAppendTime ? message.timestampBits : inner.timestampBits,
    key: inner.key,
    value: inner.value,
  }));
  return { records, problem: null };
}

/** Whether the messages inside count from 0 (KIP-31). */
function hasRelativeOffsets(message: MessageView): boolean {
  return message.magic === 1 && message.compression !== Compression.NONE;
}

type MessagesOf = { messages: MessageView[]; problem: null } | { messages: null; problem: BatchProblem };

/** The message itself, or the ones inside of a wrapper, at least one, each of which passed `check`. */
function messagesOf(message: MessageView, allowance: Allowance, check: typeof checkMessage): MessagesOf {
  if (message.compression === Compression.NONE) return { messages: [message], problem: null };
  const { magic, value } = message;
  if (value === null) return failed(invalid("a wrapper has no value"));
  let set: Uint8Array;
  try {
    set = allowance.payFor((maxBytes) => decompressSet(message, value, maxBytes));
    allowance.takeItems(countMessages(set));
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    const tooMuch = error instanceof TooCostly;
    return failed({
      errorCode: tooMuch ? ErrorCode.MESSAGE_TOO_LARGE : ErrorCode.INVALID_RECORD,
      text: error.message,
    });
  }
  const messages: MessageView[] = [];
  for (let at = 0; at < set.length;) {
    const problem = check(set, at, set.length);
    if (problem !== null) return failed(problem);
    const inner = new MessageView(set, at);
    if (inner.compression !== Compression.NONE) return failed(invalid("a wrapper holds another wrapper"));
    if (inner.magic !== magic) {
      return failed(invalid(`a wrapper of format ${magic} holds format ${inner.magic}`));
    }
    messages.push(inner);
    at += inner.sizeInBytes;
  }
  return messages.length === 0 ? failed(invalid("a wrapper holds no message")) : { messages, problem: null };
}

/** How many messages a set has, by their sizes alone; where these make no sense it stops. */
function countMessages(set: Uint8Array): number {
  let count = 0;
  for (let at = 0; at + LOG_OVERHEAD <= set.length; count++) {
    const size = readInt32(set, at + SIZE_AT);
    if (size < MIN_SIZE[0]) break;
    at += size + LOG_OVERHEAD;
  }
  return count;
}

function decompressSet(message: MessageView, value: Uint8Array, maxBytes: number): Uint8Array {
  return message.magic === 0 && message.compression === Compression.LZ4
    ? decompressLz4(value, maxBytes, { brokenChecksum: true })
    : decompress(message.compression, value, maxBytes);
}

export interface MessageSetOptions {
  magic: 0 | 1;
  /** One of {@link Compression} but zstd, none by default. Anything else makes one wrapper of all records. */
  compression?: number;
  compressionLevel?: number;
  /** One of {@link TimestampType}; log append time replaces the timestamps of all records by `logAppendTime`. */
  timestampType?: number;
  logAppendTime?: Int64;
}

/** The set that has the given records, at least one if it is compressed, in ascending order of offsets. */
export function buildMessageSet(
  records: readonly LegacyRecord<Int64>[],
  options: MessageSetOptions,
): Uint8Array {
  const { magic, compression = Compression.NONE } = options;
  assert(compression !== Compression.ZSTD, "buildMessageSet(): formats 0 and 1 have no zstd");
  const isLogAppendTime = magic > 0 && options.timestampType === TimestampType.LOG_APPEND_TIME;
  const typeBit = isLogAppendTime ? LOG_APPEND_TIME_BIT : 0;
  const isWrapped = compression !== Compression.NONE;
  const firstOffset = isWrapped && magic === 1 ? records[0].offset : 0;
  let size = 0;
  for (const record of records) size += sizeOfMessage(magic, record.key, record.value);
  const set = new Uint8Array(size);
  let at = 0;
  let maxTimestamp: Int64 = NO_TIMESTAMP;
  for (const record of records) {
    const timestamp = isLogAppendTime ? options.logAppendTime ?? NO_TIMESTAMP : record.timestamp;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    at = writeMessage(set, at, magic, typeBit, {
      offset: subtractInt64(record.offset, firstOffset),
      timestamp,
      key: record.key,
      value: record.value,
    });
  }
  if (!isWrapped) return set;
  assert(records.length > 0, "buildMessageSet(): a wrapper needs a record");
  const value = magic === 0 && compression === Compression.LZ4
    ? compressLz4(set, { brokenChecksum: true })
    : compress(compression, set, options.compressionLevel);
  const wrapper = new Uint8Array(sizeOfMessage(magic, null, value));
  const lastOffset = records[records.length - 1].offset;
  writeMessage(wrapper, 0, magic, typeBit | compression, {
    offset: lastOffset,
    timestamp: maxTimestamp,
    key: null,
    value,
  });
  return wrapper;
}

function sizeOfMessage(magic: 0 | 1, key: Uint8Array | null, value: Uint8Array | null): number {
  return LOG_OVERHEAD + MIN_SIZE[magic] + (key?.length ?? 0) + (value?.length ?? 0);
}

/** Writes one message at `start` and gives the position after it. */
function writeMessage(
  out: Uint8Array,
  start: number,
  magic: 0 | 1,
  attributes: number,
  record: LegacyRecord<Int64>,
): number {
  writeInt64(out, start, record.offset);
  out[start + MAGIC_AT] = magic;
  out[start + ATTRIBUTES_AT] = attributes;
  if (magic === 1) writeInt64(out, start + TIMESTAMP_AT, record.timestamp);
  const valueAt = writeBytes(out, start + KEY_AT[magic], record.key);
  const end = writeBytes(out, valueAt, record.value);
  writeInt32(out, start + SIZE_AT, end - start - LOG_OVERHEAD);
  writeInt32(out, start + CRC_AT, crc32(out.subarray(start + MAGIC_AT, end)));
  return end;
}

function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array | null): number {
  writeInt32(out, at, bytes === null ? -1 : bytes.length);
  if (bytes !== null) out.set(bytes, at + 4);
  return at + 4 + (bytes?.length ?? 0);
}

function failed(problem: BatchProblem): MessagesOf {
  return { messages: null, problem };
}

function corrupt(detail: string): BatchProblem {
  return { errorCode: ErrorCode.CORRUPT_MESSAGE, text: `Cannot parse message: ${detail}` };
}

function invalid(detail: string): BatchProblem {
  return { errorCode: ErrorCode.INVALID_RECORD, text: `Cannot take message: ${detail}` };
}
