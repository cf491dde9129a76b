/**
 * The transaction index of a segment: the transactions whose abort marker is in it, in Kafka's format.
 *
 *     entry: version int16 = 0 | producerId int64 | firstOffset int64 | lastOffset int64 | lastStableOffset int64
 */

import { readInt16, readInt64, writeInt16, writeInt64 } from "../../codec/big_endian.ts";

const VERSION = 0;
const ENTRY_BYTES = 34;

/** A transaction that was aborted. Its marker is at `lastOffset`. */
export interface AbortedTransaction {
  producerId: number;
  firstOffset: number;
  lastOffset: number;
  /** The last stable offset when it ended. */
  lastStableOffset: number;
}

/** The whole entries in the bytes of an index, as far as they are of a version that is known. */
export function readTransactionIndex(bytes: Uint8Array): AbortedTransaction[] {
  const entries: AbortedTransaction[] = [];
  for (let at = 0; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
    if (readInt16(bytes, at) !== VERSION) break;
    entries.push({
      producerId: readInt64(bytes, at + 2),
      firstOffset: readInt64(bytes, at + 10),
      lastOffset: readInt64(bytes, at + 18),
      lastStableOffset: readInt64(bytes, at + 26),
    });
  }
  return entries;
}

export function writeTransactionIndex(entries: readonly AbortedTransaction[]): Uint8Array {
  const bytes = new Uint8Array(entries.length * ENTRY_BYTES);
  for (const [i, { producerId, firstOffset, lastOffset, lastStableOffset }] of entries.entries()) {
    const at = i * ENTRY_BYTES;
    writeInt16(bytes, at, VERSION);
    writeInt64(bytes, at + 2, producerId);
    writeInt64(bytes, at + 10, firstOffset);
    writeInt64(bytes, at + 18, lastOffset);
    writeInt64(bytes, at + 26, lastStableOffset);
  }
  return bytes;
}
