/**
 * Requests built before the clock starts, and as much of their answers as a load generator must know. Produce v9 and
 * Fetch v12: flexible, topics by name, spoken by every Kafka since 2.7.
 */
import { Prng } from "../../src/base/prng.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import { encodeRequest } from "../../src/codec/framing.ts";
import { fetch } from "../../src/codec/messages/fetch.ts";
import { produce } from "../../src/codec/messages/produce.ts";
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

/** A batch of `records` records of {@link VALUE_BYTES} each. */
export function batchOf(records: number, compression: number): Uint8Array {
  const timestamp = Date.now();
  return buildBatch(
    Array.from({ length: records }, (_, i) => ({ timestamp, key: null, value: logText(VALUE_BYTES, i + 1) })),
    { compression },
  );
}

/** A Produce request of one batch, size included. */
export function produceFrame(topic: string, partition: number, batch: Uint8Array, acks = 1): Uint8Array {
  return concatChunks(
    encodeRequest(produce, PRODUCE_VERSION, { correlationId: CORRELATION_ID, clientId: CLIENT_ID }, {
      acks,
      timeoutMs: 30_000,
      topicData: [{ name: topic, topicId: ZERO_UUID, partitionData: [{ index: partition, records: batch }] }],
    }),
  );
}

export interface FetchLimits {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly partitionMaxBytes: number;
}

/** A Fetch request of one partition without a session, size included. */
export function fetchFrame(
  topic: string,
  partition: number,
  offset: number,
  limits: FetchLimits,
): Uint8Array {
  return concatChunks(
    encodeRequest(fetch, FETCH_VERSION, { correlationId: CORRELATION_ID, clientId: CLIENT_ID }, {
      maxWaitMs: limits.maxWaitMs,
      minBytes: limits.minBytes,
      maxBytes: 50 * 1024 * 1024,
      topics: [{
        topic,
        topicId: ZERO_UUID,
        partitions: [{ partition, fetchOffset: BigInt(offset), partitionMaxBytes: limits.partitionMaxBytes }],
      }],
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

export interface FetchAnswer {
  readonly errorCode: number;
  /** Of the partition's records, the last batch of which may be cut short. */
  readonly recordBytes: number;
}

/** What the answer to {@link fetchFrame} says before its records. `head` is the answer without its size. */
export function fetchAnswer(head: Uint8Array, topic: string): FetchAnswer {
  // correlation id, tags, throttle time; error code, session id
  const topLevelError = head[9] << 8 | head[10];
  if (topLevelError !== 0) return { errorCode: topLevelError, recordBytes: 0 };
  // one topic, its name, one partition, index
  let at = 4 + 1 + 4 + 2 + 4 + 1 + 1 + topic.length + 1 + 4;
  const errorCode = head[at] << 8 | head[at + 1];
  // high watermark, last stable offset, log start offset; aborted transactions (none), preferred replica
  at += 2 + 8 + 8 + 8 + 1 + 4;
  let length = 0;
  for (let shift = 0;; shift += 7) {
    const byte = head[at++];
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return { errorCode, recordBytes: Math.max(0, length - 1) };
}
