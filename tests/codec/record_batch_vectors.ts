/**
 * Holds the record batch codec against tests/vectors/RecordBatch.jsonl: batches and message sets that the Java library
 * made, whole and damaged. No tests here, so that a script can use it too.
 */

import { createHash } from "node:crypto";
import { isDeepStrictEqual as equal } from "node:util";
import {
  batchesIn,
  type BatchProblem,
  BatchView,
  buildBatch,
  checkBatch,
  checkRecords,
  Compression,
  type Record,
  TimestampType,
} from "../../src/codec/batch.ts";
import { compress, compressionNames, decompress } from "../../src/codec/compression/index.ts";
import { ErrorCode, errorName } from "../../src/codec/errors.ts";
import {
  buildMessageSet,
  checkMessage,
  type LegacyRecord,
  messagesIn,
  MessageView,
  readMessage,
} from "../../src/codec/legacy.ts";
import { MalformedFrame } from "../../src/codec/malformed.ts";

interface VectorRecord {
  offset: string;
  timestamp: string;
  sequence?: number;
  key?: string | null;
  value?: string | null;
  valueLength?: number;
  valueSha256?: string;
  headers?: { key: string; value: string | null }[];
}

type VectorBatch = { [field: string]: unknown } & { records: VectorRecord[] };

interface Line {
  case: string;
  kind: "valid" | "malformed";
  magic: number;
  hex: string;
  batches: VectorBatch[];
  java: { batches: number; failedAt: string | null; error: string | null };
}

/** Null when the codec does with this line of RecordBatch.jsonl what it should, else what it did instead. */
export function checkRecordBatchLine(line: object): string | null {
  const vector = line as Line;
  const bytes = fromHex(vector.hex);
  const failures = vector.kind === "malformed"
    ? malformedFailures(vector, bytes)
    : vector.magic === 2
    ? batchFailures(vector, bytes)
    : messageSetFailures(vector, bytes);
  return failures.length === 0 ? null : `${vector.case}: ${failures.join("; ")}`;
}

/** Bytes of a string of hexadecimal digits. */
export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Uint8Array.fromHex(hex));
}

// Whole batches of format 2

function batchFailures(vector: Line, bytes: Uint8Array): string[] {
  const views = [...batchesIn(bytes)];
  if (views.length !== vector.batches.length) {
    return [`${views.length} batches, not ${vector.batches.length}`];
  }
  return vector.batches.flatMap((expected, i) => {
    const batch = views[i];
    return [
      ...headerFailures(batch, expected),
      ...checkFailures(batch, bytes),
      ...recordFailures([...batch.records()], expected.records, batch),
      ...rebuildFailures(batch),
    ];
  });
}

function headerFailures(batch: BatchView, { records: _, ...expected }: VectorBatch): string[] {
  const actual: { [field: string]: unknown } = {
    baseOffset: String(batch.baseOffset),
    batchLength: batch.batchLength,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    magic: batch.magic,
    crc: batch.crc,
    attributes: batch.attributes,
    compression: compressionNames[batch.compression],
    timestampType: batch.timestampType === TimestampType.LOG_APPEND_TIME ? "LogAppendTime" : "CreateTime",
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    deleteHorizonMs: batch.deleteHorizonMs === null ? null : String(batch.deleteHorizonMs),
    lastOffsetDelta: batch.lastOffsetDelta,
    baseTimestamp: String(batch.baseTimestamp),
    maxTimestamp: String(batch.maxTimestamp),
    producerId: String(batch.producerIdBits),
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    lastSequence: batch.lastSequence,
    recordCount: batch.recordCount,
    lastOffset: String(batch.lastOffset),
  };
  return differences(actual, expected);
}

/** The vectors' transactional batches have producer ids above 2^53, which no broker gives out; those are refused. */
function checkFailures(batch: BatchView, bytes: Uint8Array): string[] {
  const isIdUnsafe = !Number.isSafeInteger(batch.producerId);
  const problem = checkBatch(bytes, batch.start, bytes.length) ?? checkRecords(batch);
  const code = problem?.errorCode ?? ErrorCode.NONE;
  const expected = isIdUnsafe ? ErrorCode.INVALID_RECORD : ErrorCode.NONE;
  const failures: string[] = [];
  if (code !== expected) failures.push(`checked as ${errorName(code)} (${problem?.text})`);
  if (isIdUnsafe && !problem?.text.includes("producer id")) failures.push(`refused for ${problem?.text}`);
  if (batch.computeCrc() !== batch.crc) failures.push(`computed CRC is ${batch.computeCrc()}`);
  return failures;
}

function recordFailures(actual: Record[], expected: VectorRecord[], batch: BatchView): string[] {
  if (actual.length !== expected.length) return [`${actual.length} records, not ${expected.length}`];
  return expected.flatMap((record, i) => {
    const { headers, ...rest } = actual[i];
    const sequence = batch.baseSequence < 0
      ? -1
      : Number((BigInt(batch.baseSequence) + BigInt(rest.offset - batch.baseOffset)) & 0x7fffffffn);
    const { control: _, ...wanted } = record as VectorRecord & { control?: unknown };
    return differences({
      ...describe(rest, wanted),
      sequence,
      headers: headers.map(({ key, value }) => ({ key, value: toBase64(value) })),
    }, wanted as unknown as { [field: string]: unknown });
  });
}

/** A record in the words of the vectors, with a long value by its length and hash. */
function describe(record: LegacyRecord, wanted: VectorRecord): { [field: string]: unknown } {
  const value = wanted.valueSha256 === undefined ? { value: toBase64(record.value) } : {
    valueLength: record.value?.length,
    valueSha256: createHash("sha256").update(record.value ?? "").digest("hex"),
  };
  return {
    offset: String(record.offset),
    timestamp: String(record.timestamp),
    key: toBase64(record.key),
    ...value,
  };
}

/** The same records built again: uncompressed the very bytes, compressed the same but for what the codec made of them. */
function rebuildFailures(batch: BatchView): string[] {
  const { compression, timestampType, maxTimestamp, baseTimestamp, deleteHorizonMs } = batch;
  const records = [];
  for (const cursor = batch.cursor(); cursor.next();) {
    records.push({ ...cursor.record(), timestamp: baseTimestamp + cursor.timestampDelta });
  }
  const rebuilt = new BatchView(buildBatch(records, {
    baseOffset: batch.baseOffset,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    compression,
    timestampType,
    logAppendTime: timestampType === TimestampType.LOG_APPEND_TIME ? maxTimestamp : undefined,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    lastOffsetDelta: batch.lastOffsetDelta,
    maxTimestamp,
    deleteHorizonMs: deleteHorizonMs ?? undefined,
  }));
  // Producer ids above 2^53 cannot be given as numbers.
  rebuilt.bytes.set(batch.bytes.subarray(batch.start + 43, batch.start + 51), 43);
  rebuilt.updateCrc();
  if (compression === Compression.NONE) {
    return equal(rebuilt.toBytes(), batch.toBytes()) ? [] : [`rebuilt as ${rebuilt.toBytes().toHex()}`];
  }
  const failures: string[] = [];
  if (!equal([...rebuilt.records()], [...batch.records()])) failures.push("records differ after rebuilding");
  if (checkRecords(rebuilt) !== null) failures.push(`rebuilt one is refused: ${checkRecords(rebuilt)?.text}`);
  const headerOf = (view: BatchView) => [...view.toBytes().subarray(21, 61)];
  if (!equal(headerOf(rebuilt), headerOf(batch))) failures.push("header differs after rebuilding");
  const payload = decompress(compression, batch.toBytes().subarray(61));
  if (!equal(decompress(compression, compress(compression, payload)), payload)) {
    failures.push("codec loses bytes");
  }
  return failures;
}

// Message sets of formats 0 and 1

function messageSetFailures(vector: Line, bytes: Uint8Array): string[] {
  const messages = [...messagesIn(bytes)];
  if (messages.length !== vector.batches.length) {
    return [`${messages.length} messages, not ${vector.batches.length}`];
  }
  const failures: string[] = [];
  const all: LegacyRecord[] = [];
  vector.batches.forEach(({ records, ...expected }, i) => {
    const message = messages[i];
    const problem = checkMessage(bytes, message.start, bytes.length);
    const content = readMessage(message);
    if (problem !== null) failures.push(`checked as ${errorName(problem.errorCode)} (${problem.text})`);
    if (content.problem !== null) failures.push(`not readable: ${content.problem.text}`);
    const actual = content.records ?? [];
    failures.push(...differences(describeMessage(message), expected));
    if (message.computeCrc() !== message.crc) failures.push(`computed CRC is ${message.computeCrc()}`);
    if (actual.length !== records.length) failures.push(`${actual.length} records, not ${records.length}`);
    records.forEach((record, j) =>
      failures.push(
        ...differences(describe(actual[j], record), record as unknown as { [field: string]: unknown }),
      )
    );
    all.push(...actual);
  });
  const { magic, compression, timestampType, timestamp } = messages[0];
  const logAppendTime = timestampType === TimestampType.LOG_APPEND_TIME ? timestamp : undefined;
  const rebuilt = buildMessageSet(all, { magic: magic as 0 | 1, compression, timestampType, logAppendTime });
  if (compression === Compression.NONE) {
    if (!equal(rebuilt, bytes)) failures.push(`rebuilt as ${rebuilt.toHex()}`);
  } else {
    const problem = checkMessage(rebuilt, 0, rebuilt.length);
    if (problem !== null) failures.push(`rebuilt one is refused: ${problem.text}`);
    const { messageSize: _, crc: __, ...rest } = describeMessage(new MessageView(rebuilt));
    failures.push(...differences(rest, { ...vector.batches[0], ...without(rest, vector.batches[0]) }));
    if (!equal(readMessage(new MessageView(rebuilt)).records, all)) {
      failures.push("records differ after rebuilding");
    }
  }
  return failures;
}

/** The fields of `expected` that `actual` does not have, set to undefined: they are not compared. */
function without(actual: object, expected: object): { [field: string]: undefined } {
  return Object.fromEntries(
    Object.keys(expected).filter((key) => !(key in actual)).map((key) => [key, undefined]),
  );
}

function describeMessage(message: MessageView): { [field: string]: unknown } {
  const { magic, compression, timestampType } = message;
  return {
    offset: String(message.offset),
    messageSize: message.messageSize,
    magic,
    crc: message.crc,
    attributes: message.attributes,
    compression: compressionNames[compression],
    timestampType: magic === 0
      ? "NoTimestampType"
      : timestampType === TimestampType.LOG_APPEND_TIME
      ? "LogAppendTime"
      : "CreateTime",
    ...(magic === 0 ? {} : { timestamp: String(message.timestamp) }),
    lastOffset: String(message.offset),
  };
}

// Damaged ones

/**
 * Where Java's reader lets a damaged case pass, as the incomplete end of a fetch or because it does not look, the
 * codec's own choice. A broker that takes records has to look: what it drops here was acknowledged.
 */
const ownChoices: { [name: string]: number } = {
  // Kafka's broker ignores an incomplete end on produce. Here it is damage; reading a log, iteration stops there.
  "truncated-body": ErrorCode.CORRUPT_MESSAGE,
  "truncated-header": ErrorCode.CORRUPT_MESSAGE,
  "truncated-before-magic": ErrorCode.CORRUPT_MESSAGE,
  "truncated-in-length": ErrorCode.CORRUPT_MESSAGE,
  "truncated-last-of-three": ErrorCode.CORRUPT_MESSAGE,
  "trailing-garbage": ErrorCode.CORRUPT_MESSAGE,
  "length-too-large-125": ErrorCode.CORRUPT_MESSAGE,
  "length-too-large-1124": ErrorCode.CORRUPT_MESSAGE,
  "magic0-truncated-body": ErrorCode.CORRUPT_MESSAGE,
  "magic0-truncated-header": ErrorCode.CORRUPT_MESSAGE,
  "magic1-truncated-body": ErrorCode.CORRUPT_MESSAGE,
  "magic1-truncated-header": ErrorCode.CORRUPT_MESSAGE,
  "magic0-wrapper-inner-truncated": ErrorCode.CORRUPT_MESSAGE,
  "magic1-wrapper-inner-truncated": ErrorCode.CORRUPT_MESSAGE,
  // As Kafka's broker has it on produce.
  "record-count-0": ErrorCode.INVALID_RECORD,
  "last-offset-delta-1": ErrorCode.INVALID_RECORD,
  "last-offset-delta-negative": ErrorCode.INVALID_RECORD,
  "magic0-wrapper-magic-mismatch": ErrorCode.INVALID_RECORD,
  "magic1-wrapper-magic-mismatch": ErrorCode.INVALID_RECORD,
  // What a control record means is not the codec's business, and no bytes are no error.
  "control-type-unknown": ErrorCode.NONE,
  "empty": ErrorCode.NONE,
};

/**
 * Java's CorruptRecordException is CORRUPT_MESSAGE. Everything else that it throws has a right CRC and is
 * INVALID_RECORD, but for a size near 2^31, where its arithmetic overflows and ours sees an incomplete end.
 */
function expectedCode(vector: Line): number | undefined {
  const { error } = vector.java;
  if (error === null) return ownChoices[vector.case];
  const isCorrupt = error.startsWith("CorruptRecordException") || error.includes("newLimit < 0");
  return isCorrupt ? ErrorCode.CORRUPT_MESSAGE : ErrorCode.INVALID_RECORD;
}

function malformedFailures(vector: Line, bytes: Uint8Array): string[] {
  const expected = expectedCode(vector);
  if (expected === undefined) return ["no choice is written down for a case that Java lets pass"];
  const failures: string[] = [];
  const problem = vector.magic === 0 || vector.magic === 1 ? messageProblem(bytes) : batchProblem(bytes);
  const code = problem?.errorCode ?? ErrorCode.NONE;
  if (code !== expected) failures.push(`checked as ${errorName(code)} (${problem?.text})`);
  const found = iterate(vector.magic, bytes);
  // Iteration finds as many whole ones as Java's, unless Java's stopped at what is inside one of them.
  if (["batches", null].includes(vector.java.failedAt) && found !== vector.java.batches) {
    failures.push(`iteration found ${found}, Java's ${vector.java.batches}`);
  }
  return failures;
}

function batchProblem(bytes: Uint8Array): BatchProblem | null {
  for (let at = 0; at < bytes.length;) {
    const batch = new BatchView(bytes, at);
    const problem = checkBatch(bytes, at, bytes.length) ?? checkRecords(batch);
    if (problem !== null) return problem;
    at += batch.sizeInBytes;
  }
  return null;
}

function messageProblem(bytes: Uint8Array): BatchProblem | null {
  for (let at = 0; at < bytes.length;) {
    const message = new MessageView(bytes, at);
    const problem = checkMessage(bytes, at, bytes.length) ?? readMessage(message).problem;
    if (problem !== null) return problem;
    at += message.sizeInBytes;
  }
  return null;
}

function iterate(magic: number, bytes: Uint8Array): number {
  let found = 0;
  try {
    for (const _ of magic === 0 || magic === 1 ? messagesIn(bytes) : batchesIn(bytes)) found++;
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
  }
  return found;
}

function toBase64(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : bytes.toBase64();
}

/** Fields that are not equal; those that `expected` sets to undefined do not count. */
function differences(
  actual: { [field: string]: unknown },
  expected: { [field: string]: unknown },
): string[] {
  return Object.keys({ ...actual, ...expected })
    .filter((field) => !(field in expected && expected[field] === undefined))
    .filter((field) => !equal(actual[field], expected[field]))
    .map((field) => `${field} is ${JSON.stringify(actual[field])}, not ${JSON.stringify(expected[field])}`);
}
