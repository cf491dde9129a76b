/**
 * The end of a transaction in a partition: a control batch of one record, written by the transaction's coordinator. Key
 * `version int16 = 0 | type int16` (0 abort, 1 commit), value `version int16 = 0 | coordinatorEpoch int32`.
 */
import type { BatchView } from "./batch.ts";
import { buildBatch } from "./batch_builder.ts";
import { readInt16, readInt32, writeInt32 } from "./big_endian.ts";

export interface EndMarker {
  readonly isCommit: boolean;
  /** The leader epoch of the coordinator's partition. */
  readonly coordinatorEpoch: number;
}

const ABORT = 0, COMMIT = 1;
const KEY_BYTES = 4, TYPE_AT = 2;
const VALUE_BYTES = 6, COORDINATOR_EPOCH_AT = 2;

/** The batch, with everything in it but its offset and leader epoch. */
export function buildEndMarker(
  { producerId, producerEpoch, isCommit, coordinatorEpoch }: EndMarker & {
    readonly producerId: number;
    readonly producerEpoch: number;
  },
  timestamp: number,
): Uint8Array<ArrayBuffer> {
  const key = new Uint8Array(KEY_BYTES);
  key[KEY_BYTES - 1] = isCommit ? COMMIT : ABORT;
  const value = new Uint8Array(VALUE_BYTES);
  writeInt32(value, COORDINATOR_EPOCH_AT, coordinatorEpoch);
  return buildBatch([{ timestamp, key, value }], {
    producerId,
    producerEpoch,
    isTransactional: true,
    isControl: true,
  });
}

/**
 * What a control batch ends; null where a compactor has removed the marker, and for other kinds of control records. Throws
 * {@link MalformedFrame}.
 */
export function readEndMarker(batch: BatchView): EndMarker | null {
  if (batch.recordCount === 0) return null;
  const cursor = batch.cursor();
  if (!cursor.next()) return null;
  const { bytes, keyStart, keyLength, value } = cursor;
  if (keyLength < KEY_BYTES || value === null || value.length < VALUE_BYTES) return null;
  const type = readInt16(bytes, keyStart + TYPE_AT);
  if (type !== ABORT && type !== COMMIT) return null;
  return { isCommit: type === COMMIT, coordinatorEpoch: readInt32(value, COORDINATOR_EPOCH_AT) };
}
