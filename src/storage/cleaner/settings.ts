/** The broker's settings of compaction, `log.cleaner.*`, in the cleaner's own units. */

import type { BrokerConfig } from "../../config/broker_config.ts";
import type { CleanerSettings } from "./log_cleaner.ts";

/** As they are now: all of them can be changed while the broker runs. */
export function cleanerSettings(config: BrokerConfig): CleanerSettings {
  return {
    threads: config.get("log.cleaner.threads"),
    dedupeBufferBytes: config.get("log.cleaner.dedupe.buffer.size"),
    // Kafka takes any number here; a table that is full cannot be searched.
    dedupeLoadFactor: Math.min(Math.max(config.get("log.cleaner.io.buffer.load.factor"), 0.1), 0.95),
    ioBufferBytes: config.get("log.cleaner.io.buffer.size"),
    ioBytesPerSecond: Math.max(1, config.get("log.cleaner.io.max.bytes.per.second")),
    backoffMs: config.get("log.cleaner.backoff.ms"),
  };
}
