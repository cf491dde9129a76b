/**
 * Record batches that are wrong inside while their CRC is right, so that a broker has to look further: lying counts,
 * lengths and varints, nested compression, bombs, control bits, sequence numbers out of nowhere; and formats 0 and 1.
 */
import type { Prng } from "../../src/base/prng.ts";
import { buildBatch } from "../../src/codec/batch.ts";
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_LENGTH_AT,
  BATCH_OVERHEAD,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LOG_OVERHEAD,
  MAGIC_AT,
  MAX_TIMESTAMP_AT,
  PARTITION_LEADER_EPOCH_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
} from "../../src/codec/batch_format.ts";
import { compress } from "../../src/codec/compression/index.ts";
import { crc32c } from "../../src/codec/crc32c.ts";
import { buildMessageSet } from "../../src/codec/legacy.ts";
import { bombs } from "./bombs.ts";
import { ByteSink, joined } from "./byte_sink.ts";

/** Whose batches these are; a fault may send something else. */
export interface Producer {
  readonly id: bigint;
  readonly epoch: number;
  readonly sequence: number;
}

const INT32S = [0, 1, -1, 2, 1000, 0x7fffffff, -0x80000000, 10_001, 1_000_000];
const INT64S = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 1_700_000_000_000n];
const utf8 = new TextEncoder();

/** A batch that a client could send in earnest. */
export function plainBatch(prng: Prng, producer: Producer | null = null): Uint8Array<ArrayBuffer> {
  const timestamp = Date.now() - prng.int(1000);
  const count = prng.pick([1, 1, 1, 2, 3, 20]);
  const records = Array.from({ length: count }, (_, i) => ({
    timestamp: timestamp + i,
    key: prng.chance(0.8) ? utf8.encode(`key ${prng.int(5)}`) : null,
    value: prng.chance(0.9) ? prng.bytes(prng.pick([0, 1, 10, 100, 1000])) : null,
    headers: prng.chance(0.2) ? [{ key: "h", value: null }, { key: "", value: prng.bytes(3) }] : [],
  }));
  const sequenced = producer === null
    ? {}
    : { producerId: producer.id, producerEpoch: producer.epoch, baseSequence: producer.sequence };
  return buildBatch(records, { compression: prng.pick([0, 0, 0, 1, 2, 3, 4]), ...sequenced });
}

/** A batch with something wrong in it. */
export function wrongBatch(prng: Prng, producer: Producer | null = null): Uint8Array<ArrayBuffer> {
  const batch = plainBatch(prng, producer);
  switch (prng.int(9)) {
    case 0:
    case 1:
      return withWrongHeader(batch, prng);
    case 2:
    case 3:
      return withRecords(batch, prng.pick([1, 2, 5]), 0, lyingRecords(prng));
    case 4: {
      const compression = prng.between(1, 4);
      return withRecords(batch, prng.pick([1, 3]), compression, compress(compression, lyingRecords(prng)));
    }
    case 5: {
      const { compression, bytes } = prng.pick(bombs);
      const count = prng.pick([1, 1, 1000, 10_001, 5_000_000]);
      return withRecords(batch, count, prng.chance(0.9) ? compression : prng.int(8), bytes);
    }
    case 6: {
      // A batch in a batch: brokers of format 1 would open it again and again.
      const inner = prng.chance() ? batch : wrongBatch(prng);
      const compression = prng.between(1, 4);
      return withRecords(batch, 1, compression, compress(compression, joined(inner, inner)));
    }
    case 7:
      // Two batches where one may be, half of one, one and a half.
      return prng.pick([
        joined(batch, batch),
        batch.slice(0, prng.int(batch.length)),
        joined(batch, batch.slice(0, prng.int(batch.length))),
        new Uint8Array(0),
      ]);
    default:
      return withWrongPayload(batch, prng);
  }
}

/** Something of formats 0 and 1, right or wrong, for the versions that take them. */
export function messageSet(prng: Prng): Uint8Array<ArrayBuffer> {
  const magic = prng.pick([0, 1] as const);
  const records = Array.from({ length: prng.pick([1, 1, 2, 10]) }, (_, i) => ({
    offset: i,
    timestamp: prng.pick([-1, 0, 1_700_000_000_000]),
    key: prng.chance() ? utf8.encode("k") : null,
    value: prng.bytes(prng.pick([0, 10, 300])),
  }));
  const compression = prng.int(4);
  let set = buildMessageSet(records, { magic, compression }).slice();
  if (prng.chance(0.3)) {
    // A wrapper of wrappers.
    const wrapped = {
      offset: 0,
      timestamp: 1,
      key: null,
      value: prng.chance(0.3) ? prng.pick(bombs).bytes : set,
    };
    set = buildMessageSet([wrapped], { magic, compression: prng.int(4) }).slice();
  }
  if (prng.chance()) {
    const view = new DataView(set.buffer);
    const at = prng.int(set.length);
    if (prng.chance() && at + 4 <= set.length) view.setInt32(at, prng.pick(INT32S));
    else set[at] ^= 1 << prng.int(8);
    if (prng.chance(0.2)) set = set.slice(0, at);
  }
  return set;
}

/** Puts the CRC right again, as a client that means harm does. */
function sealed(batch: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (batch.length >= BATCH_OVERHEAD) {
    new DataView(batch.buffer).setUint32(CRC_AT, crc32c(batch, ATTRIBUTES_AT));
  }
  return batch;
}

function withWrongHeader(batch: Uint8Array<ArrayBuffer>, prng: Prng): Uint8Array<ArrayBuffer> {
  const view = new DataView(batch.buffer);
  for (let changes = prng.between(1, 3); changes > 0; changes--) {
    const at32 = [
      BATCH_LENGTH_AT,
      PARTITION_LEADER_EPOCH_AT,
      LAST_OFFSET_DELTA_AT,
      BASE_SEQUENCE_AT,
      RECORD_COUNT_AT,
    ];
    const at64 = [BASE_OFFSET_AT, BASE_TIMESTAMP_AT, MAX_TIMESTAMP_AT, PRODUCER_ID_AT];
    switch (prng.int(5)) {
      case 0:
        view.setInt32(prng.pick(at32), prng.pick(INT32S));
        break;
      case 1:
        view.setBigInt64(prng.pick(at64), prng.pick(INT64S));
        break;
      case 2:
        // Codecs that there are not, control and transactional bits, bits that nobody knows.
        view.setInt16(
          ATTRIBUTES_AT,
          prng.pick([5, 6, 7, 8, 0x10, 0x20, 0x30, 0x40, 0x80, -1, prng.int(0x10000)]),
        );
        break;
      case 3:
        view.setInt16(PRODUCER_EPOCH_AT, prng.pick([0, -1, -2, 0x7fff, 5]));
        break;
      default:
        if (prng.chance(0.3)) view.setInt8(MAGIC_AT, prng.pick([0, 1, 3, -1, 127]));
        else {
          // As many records as offsets, both wrong.
          const count = prng.pick([2, 1000, 10_001, 2_000_000, 0x7fffffff]);
          view.setInt32(RECORD_COUNT_AT, count);
          view.setInt32(LAST_OFFSET_DELTA_AT, count - 1);
        }
    }
  }
  return prng.chance(0.85) ? sealed(batch) : batch;
}

/** The header of `batch` over other records, which it counts as `count`. */
export function withRecords(
  batch: Uint8Array<ArrayBuffer>,
  count: number,
  compression: number,
  payload: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const out = joined(batch.subarray(0, BATCH_OVERHEAD), payload);
  const view = new DataView(out.buffer);
  view.setInt32(BATCH_LENGTH_AT, out.length - LOG_OVERHEAD);
  view.setInt16(ATTRIBUTES_AT, compression);
  view.setInt32(LAST_OFFSET_DELTA_AT, count - 1);
  view.setInt32(RECORD_COUNT_AT, count);
  return sealed(out);
}

/** Changes bytes behind the header; the CRC is right afterwards. */
function withWrongPayload(batch: Uint8Array<ArrayBuffer>, prng: Prng): Uint8Array<ArrayBuffer> {
  if (batch.length === BATCH_OVERHEAD) return batch;
  for (let changes = prng.between(1, 4); changes > 0; changes--) {
    const at = prng.between(BATCH_OVERHEAD, batch.length - 1);
    batch[at] = prng.chance() ? batch[at] ^ 1 << prng.int(8) : prng.pick([0, 1, 0x7f, 0x80, 0xff]);
  }
  return sealed(batch);
}

/** Records whose lengths, deltas and counts are what a parser had better not believe. */
function lyingRecords(prng: Prng): Uint8Array<ArrayBuffer> {
  const sink = new ByteSink();
  const wrong = () =>
    prng.pick([0, 1, -1, -2, 5, 127, 0x7fffffff, -0x80000000, 2n ** 62n, -(2n ** 62n), 2n ** 53n]);
  const maybe = (right: number) => prng.chance(0.25) ? wrong() : right;
  for (let i = prng.pick([1, 2, 5]); i > 0; i--) {
    const body = new ByteSink();
    const key = prng.bytes(prng.int(5)), value = prng.bytes(prng.int(20));
    body.int8(prng.chance(0.9) ? 0 : prng.int(256));
    body.varint(maybe(1));
    body.varint(maybe(0));
    body.varint(maybe(key.length));
    body.raw(key);
    body.varint(maybe(value.length));
    body.raw(value);
    body.varint(maybe(0));
    if (prng.chance(0.1)) body.raw(new Uint8Array(prng.pick([11, 300])).fill(prng.pick([0x80, 0xff, 0])));
    const bytes = body.take();
    sink.varint(maybe(bytes.length));
    sink.raw(bytes);
  }
  return sink.take();
}
