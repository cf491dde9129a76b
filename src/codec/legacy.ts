/**
 * Conversion between message formats 0 and 1 and record batches (format 2), which is all that is ever stored: up when
 * an old client produces (Produce below version 3), down when one fetches (Fetch below version 4, and below 2 to
 * format 0). The old formats themselves are in message_set.ts.
 */

import { Allowance } from "./allowance.ts";
import { BatchView, buildBatch } from "./batch.ts";
import {
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  type BatchProblem,
  Compression,
  LOG_OVERHEAD,
  MAGIC_AT,
} from "./batch_format.ts";
import { readInt32 } from "./big_endian.ts";
import { ErrorCode } from "./errors.ts";
import { MalformedFrame, TooCostly } from "./malformed.ts";
import { buildMessageSet, checkMessage, type LegacyRecord, MessageView, readMessage } from "./message_set.ts";

export {
  buildMessageSet,
  checkMessage,
  type LegacyRecord,
  type MessageContent,
  type MessageSetOptions,
  messagesIn,
  MessageView,
  readExactMessage,
  readMessage,
} from "./message_set.ts";

export type UpConverted = { batch: Uint8Array; problem: null } | { batch: null; problem: BatchProblem };

/**
 * The one record batch that stands for a whole message set: records numbered from 0 on whatever their offsets said,
 * compressed as the set was (as its last compressed message, if there are several), without timestamps if they had none.
 * A producer that claims log append time is taken by its word for the timestamps, but the batch says create time.
 * A set with anything wrong in it, a cut-off end included, is refused as a whole: CORRUPT_MESSAGE for damage,
 * INVALID_RECORD for contradictions, UNSUPPORTED_COMPRESSION_TYPE for zstd, MESSAGE_TOO_LARGE when `allowance` does not
 * suffice, which pays for what is in wrappers.
 */
export function upConvert(bytes: Uint8Array, allowance: Allowance = new Allowance()): UpConverted {
  const records: LegacyRecord[] = [];
  let compression: number = Compression.NONE;
  for (let at = 0; at < bytes.length;) {
    const problem = checkMessage(bytes, at, bytes.length);
    if (problem !== null) return { batch: null, problem };
    const message = new MessageView(bytes, at);
    const content = readMessage(message, allowance);
    if (content.problem !== null) return { batch: null, problem: content.problem };
    if (message.compression !== Compression.NONE) compression = message.compression;
    for (const record of content.records) records.push(record);
    at += message.sizeInBytes;
  }
  if (records.length === 0) {
    const text = "Cannot take message set: it is empty";
    return { batch: null, problem: { errorCode: ErrorCode.INVALID_RECORD, text } };
  }
  const numbered = records.map(({ timestamp, key, value }) => ({ timestamp, key, value }));
  return { batch: buildBatch(numbered, { compression }), problem: null };
}

/**
 * `nextOffset` is the offset after the last batch that was converted, or `fetchOffset` if there was none: with no bytes
 * left over (control batches only) the caller has to read on from there, or the client would ask for the same for ever.
 */
export type DownConverted =
  | { bytes: Uint8Array; nextOffset: number; problem: null }
  | { bytes: null; problem: BatchProblem };

/**
 * Message sets of format `toMagic` for the complete batches in `bytes`, as read from the log for a fetch from
 * `fetchOffset`. Headers and control batches are dropped, since the old formats have neither; transactional records
 * stay, as under read_uncommitted. Compression is kept, except that zstd makes it UNSUPPORTED_COMPRESSION_TYPE. Records
 * below `fetchOffset` are left out where that costs nothing (batches that are not compressed). Messages of the old
 * formats, from logs written by old brokers, pass as they are if their format is not above `toMagic`.
 *
 * `allowance` pays for all records, markers among them. Where it is used up the conversion ends, as if `bytes` had ended
 * there; when it does not suffice for the first batch, that is MESSAGE_TOO_LARGE.
 */
export function downConvert(
  bytes: Uint8Array,
  toMagic: 0 | 1,
  fetchOffset: number,
  allowance: Allowance = new Allowance(),
): DownConverted {
  const sets: Uint8Array[] = [];
  let nextOffset = fetchOffset;
  for (let at = 0; bytes.length - at > MAGIC_AT;) {
    const size = readInt32(bytes, at + BATCH_LENGTH_AT) + LOG_OVERHEAD;
    if (size > bytes.length - at) break;
    const converted = bytes[at + MAGIC_AT] === 2 && size >= BATCH_OVERHEAD
      ? convertBatch(new BatchView(bytes, at), toMagic, fetchOffset, allowance)
      : convertMessage(bytes, at, toMagic, fetchOffset, allowance);
    if (converted.problem?.errorCode === ErrorCode.MESSAGE_TOO_LARGE && at > 0) break;
    if (converted.problem !== null) return converted;
    if (converted.bytes.length > 0) sets.push(converted.bytes);
    nextOffset = converted.nextOffset;
    at += size;
  }
  return { bytes: concat(sets), nextOffset, problem: null };
}

/** The offset behind the whole batches that `bytes`, as read from `offset` on, begins with and that hold no record. */
export function offsetOfRecords(bytes: Uint8Array, offset: number): number {
  for (let at = 0; bytes.length - at >= BATCH_OVERHEAD && bytes[at + MAGIC_AT] === 2;) {
    const batch = new BatchView(bytes, at);
    if (!batch.isControl && batch.recordCount > 0) break;
    at += batch.sizeInBytes;
    if (at > bytes.length) break;
    offset = batch.nextOffset;
  }
  return offset;
}

const nothing = new Uint8Array(0);

function convertBatch(
  batch: BatchView,
  toMagic: 0 | 1,
  fetchOffset: number,
  allowance: Allowance,
): DownConverted {
  const { compression, nextOffset } = batch;
  if (!batch.isControl && compression === Compression.ZSTD) {
    return {
      bytes: null,
      problem: {
        errorCode: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        text:
          `Cannot convert record batch at offset ${batch.baseOffset}: message format ${toMagic} has no zstd`,
      },
    };
  }
  const records: LegacyRecord[] = [];
  try {
    if (batch.isControl) {
      allowance.takeItems(1);
      return { bytes: nothing, nextOffset, problem: null };
    }
    const cursor = batch.cursor(allowance);
    while (cursor.next()) {
      if (compression === Compression.NONE && cursor.offset < fetchOffset) continue;
      records.push({
        offset: cursor.offset,
        timestamp: cursor.timestamp,
        key: cursor.key,
        value: cursor.value,
      });
    }
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    const tooMuch = error instanceof TooCostly;
    const errorCode = tooMuch ? ErrorCode.MESSAGE_TOO_LARGE : ErrorCode.CORRUPT_MESSAGE;
    return { bytes: null, problem: { errorCode, text: error.message } };
  }
  if (records.length === 0) return { bytes: nothing, nextOffset, problem: null };
  const { timestampType, maxTimestamp: logAppendTime } = batch;
  const set = buildMessageSet(records, { magic: toMagic, compression, timestampType, logAppendTime });
  return { bytes: set, nextOffset, problem: null };
}

function convertMessage(
  bytes: Uint8Array,
  at: number,
  toMagic: 0 | 1,
  fetchOffset: number,
  allowance: Allowance,
): DownConverted {
  const problem = checkMessage(bytes, at, bytes.length);
  if (problem !== null) return { bytes: null, problem };
  const message = new MessageView(bytes, at);
  const nextOffset = message.offset + 1;
  if (message.magic <= toMagic) return { bytes: message.toBytes(), nextOffset, problem: null };
  const { compression } = message;
  const content = readMessage(message, allowance);
  if (content.problem !== null) return { bytes: null, problem: content.problem };
  if (compression === Compression.NONE && message.offset < fetchOffset) {
    return { bytes: nothing, nextOffset, problem: null };
  }
  return {
    bytes: buildMessageSet(content.records, { magic: toMagic, compression }),
    nextOffset,
    problem: null,
  };
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0];
  let size = 0;
  for (const part of parts) size += part.length;
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
