/**
 * The settings of a topic that its logs obey, in the log's own units. Where Kafka's "no limit" is 2^63-1 or -1 this
 * has `NO_LIMIT`, so that no comparison needs a special case.
 */

export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export interface LogConfig {
  /** Both, one, or neither (then nothing is ever removed). */
  cleanupPolicy: { delete: boolean; compact: boolean };
  /** "producer" keeps what the client chose; anything else is what batches are recompressed to. */
  compressionType: "producer" | "uncompressed" | "gzip" | "snappy" | "lz4" | "zstd";
  /** As the codec counts; null for its default. */
  compressionLevel: number | null;
  /** How long compaction keeps tombstones and transaction markers that have nothing left to hide. */
  deleteRetentionMs: number;
  fileDeleteDelayMs: number;
  flushMessages: number;
  flushMs: number;
  indexIntervalBytes: number;
  maxCompactionLagMs: number;
  maxMessageBytes: number;
  messageTimestampType: "CreateTime" | "LogAppendTime";
  messageTimestampBeforeMaxMs: number;
  messageTimestampAfterMaxMs: number;
  /** Share of a log's bytes (0–1) that must be uncompacted before compaction is worth its work. */
  minCleanableDirtyRatio: number;
  minCompactionLagMs: number;
  /** Whether a new segment's file has its full size at once; it is cut to what was written when no more comes. */
  preallocate: boolean;
  producerIdExpirationMs: number;
  retentionBytes: number;
  retentionMs: number;
  segmentBytes: number;
  segmentIndexBytes: number;
  segmentJitterMs: number;
  segmentMs: number;
}

export const defaultLogConfig: Readonly<LogConfig> = {
  cleanupPolicy: { delete: true, compact: false },
  compressionType: "producer",
  compressionLevel: null,
  deleteRetentionMs: 86_400_000,
  fileDeleteDelayMs: 60_000,
  flushMessages: NO_LIMIT,
  flushMs: NO_LIMIT,
  indexIntervalBytes: 4096,
  maxCompactionLagMs: NO_LIMIT,
  maxMessageBytes: 1_048_588,
  messageTimestampType: "CreateTime",
  messageTimestampBeforeMaxMs: NO_LIMIT,
  messageTimestampAfterMaxMs: 3_600_000,
  minCleanableDirtyRatio: 0.5,
  minCompactionLagMs: 0,
  preallocate: false,
  producerIdExpirationMs: 86_400_000,
  retentionBytes: NO_LIMIT,
  retentionMs: 604_800_000,
  segmentBytes: 1_073_741_824,
  segmentIndexBytes: 10_485_760,
  segmentJitterMs: 0,
  segmentMs: 604_800_000,
};
