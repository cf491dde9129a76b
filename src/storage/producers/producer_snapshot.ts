/**
 * The producer state on disk, in Kafka's format, as of the offset in the file's name (exclusive):
 *
 *     version int16 = 1 | crc uint32 over the rest | count int32 | entries
 *     entry: producerId int64 | epoch int16 | lastSequence int32 | lastOffset int64 | offsetDelta int32 |
 *            timestamp int64 | coordinatorEpoch int32 | currentTxnFirstOffset int64
 *
 * Kafka writes one entry a producer, of its last batch. Here each batch that is remembered has one, oldest first, all
 * with the producer's fields: a client whose five batches were on their way when the broker stopped sends them all
 * again, and an unknown one among them would be out of order. To Kafka the last entry of a producer is the one that
 * counts, so it reads these files as its own.
 */

import { NO_SEQUENCE } from "../../codec/batch_format.ts";
import {
  readInt16,
  readInt32,
  readInt64,
  readUint32,
  writeInt16,
  writeInt32,
  writeInt64,
} from "../../codec/big_endian.ts";
import { crc32c } from "../../codec/crc32c.ts";
import { type ProducerEntry, ProducerState, type WrittenBatch } from "./producer_state.ts";

const VERSION = 1;
const CRC_AT = 2;
const COUNT_AT = 6;
const HEADER_BYTES = 10;
const ENTRY_BYTES = 46;

export function writeProducerSnapshot(state: ProducerState): Uint8Array {
  let count = 0;
  for (const { batches } of state.entries()) count += Math.max(batches.length, 1);
  const bytes = new Uint8Array(HEADER_BYTES + count * ENTRY_BYTES);
  writeInt16(bytes, 0, VERSION);
  writeInt32(bytes, COUNT_AT, count);
  let at = HEADER_BYTES;
  for (const entry of state.entries()) {
    const last = entry.batches.length - 1;
    // Without any batch there is still an epoch to be kept.
    for (let i = Math.min(0, last); i <= last; i++) {
      writeEntry(bytes, at, entry, entry.batches[i], i === last);
      at += ENTRY_BYTES;
    }
  }
  writeInt32(bytes, CRC_AT, crc32c(bytes, COUNT_AT, bytes.length));
  return bytes;
}

function writeEntry(
  bytes: Uint8Array,
  at: number,
  entry: ProducerEntry,
  batch: WrittenBatch | undefined,
  isLast: boolean,
): void {
  writeInt64(bytes, at, entry.producerId);
  writeInt16(bytes, at + 8, entry.producerEpoch);
  writeInt32(bytes, at + 10, batch?.lastSequence ?? NO_SEQUENCE);
  writeInt64(bytes, at + 14, batch?.lastOffset ?? -1);
  writeInt32(bytes, at + 22, batch?.offsetDelta ?? 0);
  writeInt64(bytes, at + 26, isLast ? entry.lastTimestamp : batch!.timestamp);
  writeInt32(bytes, at + 34, entry.coordinatorEpoch);
  writeInt64(bytes, at + 38, entry.currentTxnFirstOffset);
}

/**
 * Why the bytes are no snapshot, or a damaged one, and where in them that shows; null for a good one. One of `offset` must
 * not know of batches from there on.
 */
export function snapshotProblem(
  bytes: Uint8Array,
  offset = Infinity,
): { position: number; problem: string } | null {
  if (bytes.length < HEADER_BYTES) {
    return { position: bytes.length, problem: `it has ${bytes.length} bytes, less than its header` };
  }
  const version = readInt16(bytes, 0);
  if (version !== VERSION) return { position: 0, problem: `version is ${version}, expected ${VERSION}` };
  const count = readInt32(bytes, COUNT_AT);
  if (bytes.length !== HEADER_BYTES + count * ENTRY_BYTES) {
    return { position: COUNT_AT, problem: `it claims ${count} entries and has ${bytes.length} bytes` };
  }
  const claimed = readUint32(bytes, CRC_AT);
  const crc = crc32c(bytes, COUNT_AT, bytes.length);
  if (crc !== claimed) return { position: CRC_AT, problem: `CRC is ${claimed}, computed ${crc}` };
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    const lastOffset = readInt64(bytes, at + 14);
    if (lastOffset < offset) continue;
    return { position: at + 14, problem: `it knows of offset ${lastOffset}, but is of offset ${offset}` };
  }
  return null;
}

/** Null when the bytes are no snapshot, or a damaged one: an older snapshot or the log itself has to serve. */
export function readProducerSnapshot(bytes: Uint8Array, now: number): ProducerState | null {
  if (snapshotProblem(bytes) !== null) return null;
  const state = new ProducerState();
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) state.restore(readEntry(bytes, at, now));
  return state;
}

function readEntry(bytes: Uint8Array, at: number, now: number): ProducerEntry {
  const lastTimestamp = readInt64(bytes, at + 26);
  const lastOffset = readInt64(bytes, at + 14);
  return {
    producerId: readInt64(bytes, at),
    producerEpoch: readInt16(bytes, at + 8),
    coordinatorEpoch: readInt32(bytes, at + 34),
    lastTimestamp,
    currentTxnFirstOffset: readInt64(bytes, at + 38),
    batches: lastOffset < 0 ? [] : [{
      lastSequence: readInt32(bytes, at + 10),
      lastOffset,
      offsetDelta: readInt32(bytes, at + 22),
      timestamp: lastTimestamp,
    }],
    lastSeenMs: now,
  };
}
