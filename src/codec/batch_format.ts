/**
 * The layout of a record batch of message format 2 (KIP-98), as numbers. Everything is big-endian:
 *
 *      0 baseOffset int64          21 attributes int16         43 producerId int64
 *      8 batchLength int32         23 lastOffsetDelta int32    51 producerEpoch int16
 *     12 partitionLeaderEpoch i32  27 baseTimestamp int64      53 baseSequence int32
 *     16 magic int8                35 maxTimestamp int64       57 recordCount int32
 *     17 crc uint32                                            61 records
 *
 * `batchLength` counts from byte 12 on. The CRC covers byte 21 to the end, so that a broker can set the offset and
 * the leader epoch without touching it. Bytes 0–16 mean the same in formats 0 and 1, but for the leader epoch, which
 * is their CRC.
 */

/** Bytes before the part that a length field counts: offset and length. */
export const LOG_OVERHEAD = 12;
/** Bytes of a format-2 batch before its first record. */
export const BATCH_OVERHEAD = 61;

export const BASE_OFFSET_AT = 0;
export const BATCH_LENGTH_AT = 8;
export const PARTITION_LEADER_EPOCH_AT = 12;
export const MAGIC_AT = 16;
export const CRC_AT = 17;
export const ATTRIBUTES_AT = 21;
export const LAST_OFFSET_DELTA_AT = 23;
export const BASE_TIMESTAMP_AT = 27;
export const MAX_TIMESTAMP_AT = 35;
export const PRODUCER_ID_AT = 43;
export const PRODUCER_EPOCH_AT = 51;
export const BASE_SEQUENCE_AT = 53;
export const RECORD_COUNT_AT = 57;

/** Bits of `attributes`. Bits above these are unknown, and ignored as Kafka ignores them. */
export const COMPRESSION_MASK = 0x07;
export const LOG_APPEND_TIME_BIT = 0x08;
export const TRANSACTIONAL_BIT = 0x10;
export const CONTROL_BIT = 0x20;
/** The base timestamp is the time at which the compactor may drop the batch's tombstones (KIP-534). */
export const DELETE_HORIZON_BIT = 0x40;

export const Compression = { NONE: 0, GZIP: 1, SNAPPY: 2, LZ4: 3, ZSTD: 4 } as const;
export const TimestampType = { CREATE_TIME: 0, LOG_APPEND_TIME: 1 } as const;

/** What stands in the fields of a batch whose producer is not idempotent. */
export const NO_PRODUCER_ID = -1;
export const NO_PRODUCER_EPOCH = -1;
export const NO_SEQUENCE = -1;
/** A record without a timestamp, as in message format 0. */
export const NO_TIMESTAMP = -1;

/** Sequence numbers count from 0 to 2^31-1 and then start again at 0. */
export function sequenceAfter(sequence: number, increment: number): number {
  return (sequence + increment) % 0x8000_0000;
}

/** Why a batch or message is refused: a Kafka error code and a text for people. */
export interface BatchProblem {
  errorCode: number;
  text: string;
}
