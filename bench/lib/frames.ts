/**
 * Requests built before the clock starts, and as much of their answers as a load generator must know. Produce v9 and
 * Fetch v12: flexible, topics by name, spoken by every Kafka since 2.7.
 */
import { Prng } from "../../src/base/prng.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { encodeRequest, responseHeaderVersion } from "../../src/codec/framing.ts";
import { responseHeader } from "../../src/codec/headers.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
import { Reader } from "../../src/codec/reader.ts";
import { ZERO_UUID } from "../../src/codec/uuid.ts";
import { concatChunks } from "../../src/codec/writer.ts";

export const PRODUCE_VERSION = 9;
export const FETCH_VERSION = 12;
/** Answers come in order on a connection, so that one id does for all requests. */
const CORRELATION_ID = 7;
const CLIENT_ID = "bench";

/** A value of each record, in bytes: what "1 KB record" means here. */
export const VALUE_BYTES = 1024;

/** Text as services log it: `bytes` bytes that compress about as well as such text does (2 to 3 times). */
export function logText(bytes: number, seed: number): Uint8Array {
  const random = new Prng(seed);
  const hex = (digits: number) => Array.from({ length: digits }, () => random.int(16).toString(16)).join("");
  let text = "";
  while (text.length < bytes) {
    text += `{"id":"${hex(16)}","user":${random.int(1e9)},"verb":"${random.pick(VERBS)}",` +
      `"path":"/v1/${random.pick(THINGS)}/${hex(8)}","status":${random.pick(["200", "204", "404", "503"])},` +
      `"ms":${(random.float() * 500).toFixed(2)},"region":"${random.pick(REGIONS)}"}`;
  }
  return new TextEncoder().encode(text).subarray(0, bytes);
}
const VERBS = ["GET", "PUT", "POST", "DELETE"];
const THINGS = ["orders", "users", "payments", "carts", "sessions", "shipments"];
const REGIONS = ["eu-west", "us-east", "ap-south"];

/** A batch of `records` records with values of `valueBytes` each. */
export function batchOf(records: number, compression: number, valueBytes = VALUE_BYTES): Uint8Array {
  const timestamp = Date.now();
  return buildBatch(
    Array.from({ length: records }, (_, i) => ({ timestamp, key: null, value: logText(valueBytes, i + 1) })),
    { compression },
  );
}

/** A Produce request of one batch for each of `partitions`, size included. */
export function produceFrame(
  topic: string,
  partitions: readonly number[],
  batch: Uint8Array,
  acks = 1,
): Uint8Array {
  return concatChunks(
    encodeRequest(produce, PRODUCE_VERSION, { correlationId: CORRELATION_ID, clientId: CLIENT_ID }, {
      acks,
      timeoutMs: 30_000,
      topicData: [{
        name: topic,
        topicId: ZERO_UUID,
        partitionData: partitions.map((index) => ({ index, records: batch })),
      }],
    }),
  );
}

export interface FetchLimits {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly partitionMaxBytes: number;
}

/** What Java consumers ask for by default. */
export const CONSUMER_LIMITS: FetchLimits = { maxWaitMs: 500, minBytes: 1, partitionMaxBytes: 1024 * 1024 };

/** A fetch session (KIP-227) as the broker knows it; none is id 0, epoch -1, and asks for every partition each time. */
export interface FetchSession {
  readonly id: number;
  readonly epoch: number;
}
const NO_SESSION: FetchSession = { id: 0, epoch: -1 };

/** A Fetch request, size included. */
export function fetchFrame(
  topic: string,
  offsets: Iterable<readonly [partition: number, offset: number]>,
  limits: FetchLimits = CONSUMER_LIMITS,
  session: FetchSession = NO_SESSION,
): Uint8Array {
  const partitions = Array.from(
    offsets,
    ([partition, offset]) => ({
      partition,
      fetchOffset: offset,
      partitionMaxBytes: limits.partitionMaxBytes,
    }),
  );
  return concatChunks(
    encodeRequest(fetch, FETCH_VERSION, { correlationId: CORRELATION_ID, clientId: CLIENT_ID }, {
      maxWaitMs: limits.maxWaitMs,
      minBytes: limits.minBytes,
      maxBytes: 50 * 1024 * 1024,
      sessionId: session.id,
      sessionEpoch: session.epoch,
      topics: partitions.length === 0 ? [] : [{ topic, topicId: ZERO_UUID, partitions }],
      forgottenTopicsData: [],
    }),
  );
}

/** The error code in the answer to {@link produceFrame}. `head` is the answer without its size. */
export function produceError(head: Uint8Array, topic: string): number {
  // correlation id, tags, one topic, its name, one partition, index
  const at = 4 + 1 + 1 + 1 + topic.length + 1 + 4;
  return head[at] << 8 | head[at + 1];
}

/** The partitions' error codes in a whole answer to {@link produceFrame}. */
export function produceErrors(answer: Uint8Array): number[] {
  const reader = new Reader(answer);
  responseHeader.read(reader, responseHeaderVersion(produce, PRODUCE_VERSION));
  return produce.response.read(reader, PRODUCE_VERSION).responses
    .flatMap((topic) => topic.partitionResponses.map((partition) => partition.errorCode));
}

/** A whole answer to {@link fetchFrame}. */
export function fetchedPartitions(answer: Uint8Array) {
  const reader = new Reader(answer);
  responseHeader.read(reader, responseHeaderVersion(fetch, FETCH_VERSION));
  const { errorCode, sessionId, responses } = fetch.response.read(reader, FETCH_VERSION);
  return { errorCode, sessionId, partitions: responses.flatMap((topic) => topic.partitions) };
}

export interface FetchAnswer {
  readonly errorCode: number;
  readonly highWatermark: number;
  /** Of the partition's records, the last batch of which may be cut short. */
  readonly recordBytes: number;
}

/** What the answer to {@link fetchFrame} says before its records. `head` is the answer without its size. */
export function fetchAnswer(head: Uint8Array, topic: string): FetchAnswer {
  // correlation id, tags, throttle time; error code, session id
  const topLevelError = head[9] << 8 | head[10];
  if (topLevelError !== 0) return { errorCode: topLevelError, highWatermark: -1, recordBytes: 0 };
  // one topic, its name, one partition, index
  let at = 4 + 1 + 4 + 2 + 4 + 1 + 1 + topic.length + 1 + 4;
  const errorCode = head[at] << 8 | head[at + 1];
  const highWatermark = Number(new DataView(head.buffer, head.byteOffset).getBigInt64(at + 2));
  // high watermark, last stable offset, log start offset; aborted transactions (none), preferred replica
  at += 2 + 8 + 8 + 8 + 1 + 4;
  let length = 0;
  for (let shift = 0;; shift += 7) {
    const byte = head[at++];
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return { errorCode, highWatermark, recordBytes: Math.max(0, length - 1) };
}
