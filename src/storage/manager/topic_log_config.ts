/** What the settings of a topic mean to its logs. */
import type { TopicSettings } from "../../config/resource_settings.ts";
import { type LogConfig, NO_LIMIT } from "../log/config.ts";

/** Settings of which -1 means "no limit". */
const unlimited = (value: number) => value < 0 ? NO_LIMIT : value;

/** The settings in the log's own units. */
export function logConfigOf(settings: TopicSettings, producerIdExpirationMs: number): LogConfig {
  const policies = settings.get("cleanup.policy");
  const compressionType = settings.get("compression.type") as LogConfig["compressionType"];
  return {
    cleanupPolicy: { delete: policies.includes("delete"), compact: policies.includes("compact") },
    compressionType,
    compressionLevel: compressionLevel(compressionType, settings),
    deleteRetentionMs: settings.get("delete.retention.ms"),
    fileDeleteDelayMs: settings.get("file.delete.delay.ms"),
    flushMessages: settings.get("flush.messages"),
    flushMs: settings.get("flush.ms"),
    indexIntervalBytes: settings.get("index.interval.bytes"),
    maxCompactionLagMs: settings.get("max.compaction.lag.ms"),
    maxMessageBytes: settings.get("max.message.bytes"),
    messageTimestampType: settings.get("message.timestamp.type") as LogConfig["messageTimestampType"],
    messageTimestampBeforeMaxMs: settings.get("message.timestamp.before.max.ms"),
    messageTimestampAfterMaxMs: settings.get("message.timestamp.after.max.ms"),
    minCleanableDirtyRatio: settings.get("min.cleanable.dirty.ratio"),
    minCompactionLagMs: settings.get("min.compaction.lag.ms"),
    preallocate: settings.get("preallocate"),
    producerIdExpirationMs,
    retentionBytes: unlimited(settings.get("retention.bytes")),
    retentionMs: unlimited(settings.get("retention.ms")),
    segmentBytes: settings.segmentBytes,
    segmentIndexBytes: settings.get("segment.index.bytes"),
    segmentJitterMs: settings.get("segment.jitter.ms"),
    segmentMs: settings.get("segment.ms"),
  };
}

function compressionLevel(type: LogConfig["compressionType"], settings: TopicSettings): number | null {
  switch (type) {
    case "gzip":
      return settings.get("compression.gzip.level");
    case "lz4":
      return settings.get("compression.lz4.level");
    case "zstd":
      return settings.get("compression.zstd.level");
    default:
      return null;
  }
}
