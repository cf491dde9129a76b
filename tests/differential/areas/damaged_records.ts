/** Produce of batches that are whole by their checksum, and whose records are not what the header says. */
import {
  ATTRIBUTES_AT,
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  LOG_OVERHEAD,
} from "../../../src/codec/batch_format.ts";
import { compress } from "../../../src/codec/compression/index.ts";
import { produce } from "../../../src/codec/messages/produce.ts";
import { type Broker, scenario } from "../scenario.ts";
import { batchOf, joinedBytes, produceTo, withHeader } from "../setup/records.ts";
import { createTopic } from "../setup/topics.ts";

const BASE = 1_700_000_000_000;

/** Two records of one value each. Lengths, deltas and counts are one byte each, in zigzag: n is written as 2n. */
const RECORDS = batchOf(["a", "b"], { timestamp: BASE }).subarray(BATCH_OVERHEAD);
/** Where the parts of the first record are, and the second one begins. */
const LENGTH = 0,
  ATTRIBUTES = 1,
  TIMESTAMP_DELTA = 2,
  OFFSET_DELTA = 3,
  KEY_LENGTH = 4,
  VALUE_LENGTH = 7,
  HEADERS = 9;
const SECOND = RECORDS[LENGTH] / 2 + 1;

const changed = (at: number, value: number) => {
  const copy = RECORDS.slice();
  copy[at] = value;
  return copy;
};

const payloads: Record<string, Uint8Array> = {
  "as they should be": RECORDS,
  "attributes that nobody knows": changed(ATTRIBUTES, 0x7f),
  "a negative timestamp delta": changed(TIMESTAMP_DELTA, 1),
  "the first offset is 1": changed(OFFSET_DELTA, 2),
  "the second offset is 0": changed(SECOND + OFFSET_DELTA, 0),
  "the second offset is 5": changed(SECOND + OFFSET_DELTA, 10),
  "a length of 0": changed(LENGTH, 0),
  "a negative length": changed(LENGTH, 1),
  "a length that is too short": changed(LENGTH, RECORDS[LENGTH] - 2),
  "a length that is too long": changed(LENGTH, RECORDS[LENGTH] + 2),
  "a key longer than the record": changed(KEY_LENGTH, 100),
  "a value longer than the record": changed(VALUE_LENGTH, 100),
  "headers that are not there": changed(HEADERS, 4),
  "a negative number of headers": changed(HEADERS, 1),
  "one record instead of two": RECORDS.subarray(0, SECOND),
  "three records instead of two": joinedBytes(RECORDS, RECORDS.subarray(SECOND)),
  "bytes behind the records": joinedBytes(RECORDS, new Uint8Array(3)),
  "no bytes at all": new Uint8Array(0),
};

/** A batch with two records in its header, and this payload. */
function batchAround(payload: Uint8Array, codec = 0): Uint8Array {
  const header = batchOf(["a", "b"], { timestamp: BASE }).subarray(0, BATCH_OVERHEAD);
  return withHeader(joinedBytes(header, payload), (view) => {
    view.setInt16(ATTRIBUTES_AT, codec);
    view.setInt32(BATCH_LENGTH_AT, BATCH_OVERHEAD + payload.length - LOG_OVERHEAD);
  });
}

async function appendEach(broker: Broker, topic: string, pack: (payload: Uint8Array) => Uint8Array) {
  for (const [label, payload] of Object.entries(payloads)) {
    await broker.ask(produce, 9, produceTo(topic, pack(payload)), undefined, label);
  }
}

export const scenarios = [
  scenario("Produce of damaged records, not compressed", async (broker) => {
    await appendEach(broker, await createTopic(broker, "t"), (payload) => batchAround(payload));
  }),
  scenario("Produce of damaged records, compressed", async (broker) => {
    const topic = await createTopic(broker, "t");
    await appendEach(broker, topic, (payload) => batchAround(compress(1, payload), 1));
  }),
  scenario("Produce of damaged records to a topic that compresses by itself", async (broker) => {
    const topic = await createTopic(broker, "t", { "compression.type": "gzip" });
    await appendEach(broker, topic, (payload) => batchAround(payload));
  }),
  scenario("Produce of damaged records to a compacted topic", async (broker) => {
    const topic = await createTopic(broker, "t", { "cleanup.policy": "compact" });
    await appendEach(broker, topic, (payload) => batchAround(payload));
  }),
  scenario("Produce of what cannot be decompressed", async (broker) => {
    const topic = await createTopic(broker, "t");
    const recompressing = await createTopic(broker, "r", { "compression.type": "uncompressed" });
    for (const to of [topic, recompressing]) {
      for (const codec of [1, 2, 3, 4]) {
        const garbage = batchAround(Uint8Array.from({ length: 50 }, (_, i) => i * 7), codec);
        await broker.ask(produce, 9, produceTo(to, garbage), undefined, `codec ${codec}`);
      }
    }
  }),
];
