/**
 * The producer state on disk, in Kafka's format, as of the offset in the file's name (exclusive):
 *
 *     version int16 = 1 | crc uint32 over the rest | count int32 | entries
 *     entry: producerId int64 | epoch int16 | lastSequence int32 | lastOffset int64 | offsetDelta int32 |
 *            timestamp int64 | coordinatorEpoch int32 | currentTxnFirstOffset int64
 *
 * Of a producer's last batches it holds only the last.
 */

import { NO_SEQUENCE } from "../codec/batch_format.ts";
import {
  readInt16,
  readInt32,
  readInt64,
  readUint32,
  writeInt16,
  writeInt32,
  writeInt64,
} from "../codec/big_endian.ts";
import { crc32c } from "../codec/crc32c.ts";
import { type ProducerEntry, ProducerState } from "./producer_state.ts";

const VERSION = 1;
const CRC_AT = 2;
const COUNT_AT = 6;
const HEADER_BYTES = 10;
const ENTRY_BYTES = 46;

export function writeProducerSnapshot(state: ProducerState): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + state.size * ENTRY_BYTES);
  writeInt16(bytes, 0, VERSION);
  writeInt32(bytes, COUNT_AT, state.size);
  let at = HEADER_BYTES;
  for (const entry of state.entries()) {
    const last = entry.batches[entry.batches.length - 1];
    writeInt64(bytes, at, entry.producerId);
    writeInt16(bytes, at + 8, entry.producerEpoch);
    writeInt32(bytes, at + 10, last?.lastSequence ?? NO_SEQUENCE);
    writeInt64(bytes, at + 14, last?.lastOffset ?? -1);
    writeInt32(bytes, at + 22, last?.offsetDelta ?? 0);
    writeInt64(bytes, at + 26, entry.lastTimestamp);
    writeInt32(bytes, at + 34, entry.coordinatorEpoch);
    writeInt64(bytes, at + 38, entry.currentTxnFirstOffset);
    at += ENTRY_BYTES;
  }
  writeInt32(bytes, CRC_AT, crc32c(bytes, COUNT_AT, bytes.length));
  return bytes;
}

/** Null when the bytes are no snapshot, or a damaged one: an older snapshot or the log itself has to serve. */
export function readProducerSnapshot(bytes: Uint8Array, now: number): ProducerState | null {
  if (bytes.length < HEADER_BYTES || readInt16(bytes, 0) !== VERSION) return null;
  const count = readInt32(bytes, COUNT_AT);
  if (bytes.length !== HEADER_BYTES + count * ENTRY_BYTES) return null;
  if (crc32c(bytes, COUNT_AT, bytes.length) !== readUint32(bytes, CRC_AT)) return null;
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
