/**
 * Holds the record batch codec against lines of RecordBatch.jsonl, of any seed and style: batches and message sets that
 * the Java library made. Damaged ones are in record_batch_damage.ts. Whole ones must be read with all 64 bits of their
 * offsets and timestamps and built again; checkBatch(), checkMessage() and what gives numbers must take them too, except
 * that they refuse integers beyond 2^53, which no broker gives out. No tests here, so that a script can use it too.
 */

import { createHash } from "node:crypto";
import { isDeepStrictEqual as equal } from "node:util";
import {
  batchesIn,
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
  readExactMessage,
  readMessage,
} from "../../src/codec/legacy.ts";
import { damageFailures, type JavaOutcome } from "./record_batch_damage.ts";

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
  java: JavaOutcome;
}

/** Null when the codec does with this line of RecordBatch.jsonl what it should, else what it did instead. */
export function checkRecordBatchLine(line: object): string | null {
  const vector = line as Line;
  const bytes = fromHex(vector.hex);
  const failures = vector.kind === "malformed"
    ? damageFailures(vector.magic, bytes, vector.java)
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
    const records = [...batch.exactRecords()];
    return [
      ...headerFailures(batch, expected),
      ...checkFailures(batch, bytes, records),
      ...recordFailures(records, expected.records, batch),
      ...rebuildFailures(batch),
    ];
  });
}

function headerFailures(batch: BatchView, { records: _, ...expected }: VectorBatch): string[] {
  const actual: { [field: string]: unknown } = {
    baseOffset: String(batch.baseOffsetBits),
    batchLength: batch.batchLength,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    magic: batch.magic,
    crc: batch.crc,
    attributes: batch.attributes,
    compression: compressionNames[batch.compression],
    timestampType: batch.timestampType === TimestampType.LOG_APPEND_TIME ? "LogAppendTime" : "CreateTime",
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    deleteHorizonMs: batch.deleteHorizonMs === null ? null : String(batch.baseTimestampBits),
    lastOffsetDelta: batch.lastOffsetDelta,
    baseTimestamp: String(batch.baseTimestampBits),
    maxTimestamp: String(batch.maxTimestampBits),
    producerId: String(batch.producerIdBits),
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    lastSequence: batch.lastSequence,
    recordCount: batch.recordCount,
    lastOffset: String(batch.lastOffsetBits),
  };
  return differences(actual, expected);
}

/** Whether numbers hold it: decided on the bits, apart from the codec's own way. */
function isSafe(...bits: bigint[]): boolean {
  return bits.every((each) => each > -(2n ** 53n) && each < 2n ** 53n);
}

/** The one reason for which a whole batch may be refused, in the order of checkBatch(): code and words of its text. */
function allowedRefusal(batch: BatchView, records: Record<bigint>[]): [number, string] | null {
  const { baseOffsetBits, lastOffsetBits, producerIdBits, baseTimestampBits, maxTimestampBits } = batch;
  if (!isSafe(baseOffsetBits, lastOffsetBits + 1n)) return [ErrorCode.INVALID_RECORD, "base offset"];
  if (!isSafe(producerIdBits)) return [ErrorCode.INVALID_RECORD, "producer id"];
  if (!isSafe(baseTimestampBits, maxTimestampBits)) return [ErrorCode.INVALID_TIMESTAMP, "timestamps"];
  const isRecordSafe = ({ offset, timestamp }: Record<bigint>) =>
    isSafe(offset, timestamp, timestamp - baseTimestampBits);
  return records.every(isRecordSafe) ? null : [ErrorCode.INVALID_RECORD, "out of range"];
}

function checkFailures(batch: BatchView, bytes: Uint8Array, records: Record<bigint>[]): string[] {
  const failures: string[] = [];
  if (batch.computeCrc() !== batch.crc) failures.push(`computed CRC is ${batch.computeCrc()}`);
  const problem = checkBatch(bytes, batch.start, bytes.length) ?? checkRecords(batch);
  const [code, words] = allowedRefusal(batch, records) ?? [ErrorCode.NONE, ""];
  if ((problem?.errorCode ?? ErrorCode.NONE) !== code || !(problem?.text ?? "").includes(words)) {
    const actual = problem === null
      ? "taken"
      : `refused as ${errorName(problem.errorCode)} (${problem.text})`;
    failures.push(`${actual}, not ${errorName(code)} ${words}`);
  }
  if (problem === null && !equal(inBits([...batch.records()]), records)) {
    failures.push("records() and exactRecords() differ");
  }
  return failures;
}

/** Records read as numbers, to be compared with those read as bits. */
function inBits<R extends LegacyRecord>(records: R[]): unknown[] {
  return records.map((record) => ({
    ...record,
    offset: BigInt(record.offset),
    timestamp: BigInt(record.timestamp),
  }));
}

function recordFailures(actual: Record<bigint>[], expected: VectorRecord[], batch: BatchView): string[] {
  if (actual.length !== expected.length) return [`${actual.length} records, not ${expected.length}`];
  return expected.flatMap((record, i) => {
    const { headers, ...rest } = actual[i];
    const sequence = batch.baseSequence < 0
      ? -1
      : Number((BigInt(batch.baseSequence) + rest.offset - batch.baseOffsetBits) & 0x7fffffffn);
    const { control: _, ...wanted } = record as VectorRecord & { control?: unknown };
    return differences({
      ...describe(rest, wanted),
      sequence,
      headers: headers.map(({ key, value }) => ({ key, value: toBase64(value) })),
    }, wanted as unknown as { [field: string]: unknown });
  });
}

/** A record in the words of the vectors, with a long value by its length and hash. */
function describe(record: LegacyRecord<bigint>, wanted: VectorRecord): { [field: string]: unknown } {
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
  const { compression, timestampType, maxTimestampBits, baseTimestampBits } = batch;
  const records = [...batch.exactRecords()];
  const cursor = batch.cursor();
  // Not the time of the log, which may have replaced the record's own.
  for (const record of records) {
    if (cursor.advance()) record.timestamp = baseTimestampBits + cursor.timestampDeltaBits;
  }
  const rebuilt = new BatchView(buildBatch(records, {
    baseOffset: batch.baseOffsetBits,
    partitionLeaderEpoch: batch.partitionLeaderEpoch,
    compression,
    timestampType,
    logAppendTime: timestampType === TimestampType.LOG_APPEND_TIME ? maxTimestampBits : undefined,
    producerId: batch.producerIdBits,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    lastOffsetDelta: batch.lastOffsetDelta,
    maxTimestamp: maxTimestampBits,
    deleteHorizonMs: batch.deleteHorizonMs === null ? undefined : baseTimestampBits,
  }));
  if (compression === Compression.NONE) {
    return equal(rebuilt.toBytes(), batch.toBytes()) ? [] : [`rebuilt as ${rebuilt.toBytes().toHex()}`];
  }
  const failures: string[] = [];
  if (!equal([...rebuilt.exactRecords()], [...batch.exactRecords()])) {
    failures.push("records differ after rebuilding");
  }
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
  const all: LegacyRecord<bigint>[] = [];
  vector.batches.forEach(({ records, ...expected }, i) => {
    const message = messages[i];
    const content = readExactMessage(message);
    if (content.problem !== null) failures.push(`not readable: ${content.problem.text}`);
    const actual = content.records ?? [];
    failures.push(...differences(describeMessage(message), expected));
    if (message.computeCrc() !== message.crc) failures.push(`computed CRC is ${message.computeCrc()}`);
    failures.push(...checkMessageFailures(message, actual));
    all.push(...actual);
    if (actual.length !== records.length) {
      failures.push(`${actual.length} records, not ${records.length}`);
      return;
    }
    records.forEach((record, j) =>
      failures.push(
        ...differences(describe(actual[j], record), record as unknown as { [field: string]: unknown }),
      )
    );
  });
  const { magic, compression, timestampType, timestampBits } = messages[0];
  const logAppendTime = timestampType === TimestampType.LOG_APPEND_TIME ? timestampBits : undefined;
  const rebuilt = buildMessageSet(all, { magic: magic as 0 | 1, compression, timestampType, logAppendTime });
  if (compression === Compression.NONE) {
    if (!equal(rebuilt, bytes)) failures.push(`rebuilt as ${rebuilt.toHex()}`);
  } else {
    const { messageSize: _, crc: __, ...rest } = describeMessage(new MessageView(rebuilt));
    failures.push(...differences(rest, { ...vector.batches[0], ...without(rest, vector.batches[0]) }));
    if (!equal(readExactMessage(new MessageView(rebuilt)).records, all)) {
      failures.push("records differ after rebuilding");
    }
  }
  return failures;
}

/** Numbers must do unless something is beyond them: the outer message's integers, or those of one inside. */
function checkMessageFailures(message: MessageView, exact: LegacyRecord<bigint>[]): string[] {
  const { bytes, start, sizeInBytes, offsetBits, timestampBits } = message;
  const checked = checkMessage(bytes, start, start + sizeInBytes);
  const content = checked === null ? readMessage(message) : null;
  const problem = checked ?? content?.problem ?? null;
  const areSafe = isSafe(offsetBits, timestampBits) &&
    exact.every(({ offset, timestamp }) => isSafe(offset, timestamp));
  if (problem !== null) {
    const isAllowed = !areSafe && problem.text.includes("out of range");
    return isAllowed ? [] : [`refused as ${errorName(problem.errorCode)} (${problem.text})`];
  }
  if (!areSafe) return ["taken, though an integer of it is beyond 2^53"];
  return equal(inBits(content?.records ?? []), exact) ? [] : ["readMessage() and readExactMessage() differ"];
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
    offset: String(message.offsetBits),
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
    ...(magic === 0 ? {} : { timestamp: String(message.timestampBits) }),
    lastOffset: String(message.offsetBits),
  };
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
