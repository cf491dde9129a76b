/** When the active segment has had enough, by Kafka's rules. */

import type { LogConfig } from "./log_config.ts";
import type { Segment } from "./segment.ts";

/** What is to be appended. */
export interface Incoming {
  bytes: number;
  lastOffset: number;
  maxTimestamp: number;
}

/**
 * Whether `active`, which has records, must make room for a new segment: it is full, an index is, the offset does not
 * fit into an index, or its first record is older than `segment.ms`. May read the segment's first header: `IoError`.
 */
export function needsRoll(active: Segment, config: LogConfig, incoming: Incoming, now: number): boolean {
  const { segmentBytes, segmentIndexBytes, segmentMs } = config;
  return active.size > segmentBytes - incoming.bytes || active.offsets.isFull(segmentIndexBytes) ||
    active.times.isFull(segmentIndexBytes) || !active.canHold(incoming.lastOffset) ||
    active.filledForMs(incoming.maxTimestamp, now) > segmentMs - jitterMs(active, config);
}

// Spread out by place instead of chance, so that a run can be repeated.
function jitterMs(segment: Segment, { segmentJitterMs }: LogConfig): number {
  if (segmentJitterMs === 0) return 0;
  let hash = segment.baseOffset;
  for (let i = 0; i < segment.log.path.length; i++) {
    hash = (hash * 31 + segment.log.path.charCodeAt(i)) % 0x7fff_ffff;
  }
  return hash % segmentJitterMs;
}
