/** Which segments have outlived their topic's settings. Pure: the log does the deleting. */

import { type LogConfig, NO_LIMIT } from "./config.ts";

export interface Expirable {
  baseOffset: number;
  size: number;
  /** Largest record timestamp or, without any, the file's. Costs a read: asked for only when time counts. */
  newestMs(): number;
}

/**
 * How many segments, from the oldest on, may go. The last segment counts too, if it has records: the caller rolls
 * first. `maxOffset` is the high watermark: what is above it is not committed and stays.
 */
export function expiredSegments(
  segments: readonly Expirable[],
  config: LogConfig,
  logStartOffset: number,
  nextOffset: number,
  maxOffset: number,
  now: number,
): number {
  const endOf = (index: number) => index + 1 < segments.length ? segments[index + 1].baseOffset : nextOffset;
  const leading = (expired: (segment: Expirable, index: number) => boolean): number => {
    let count = 0;
    while (
      // A compactor may have left one of them empty.
      count < segments.length && (segments[count].size > 0 || count + 1 < segments.length) &&
      endOf(count) <= maxOffset &&
      expired(segments[count], count)
    ) count++;
    return count;
  };
  // DeleteRecords holds whatever the policy; the last segment stays, being where the log goes on.
  const beforeStart = leading((_, index) => index + 1 < segments.length && endOf(index) <= logStartOffset);
  if (!config.cleanupPolicy.delete) return beforeStart;

  const byTime = config.retentionMs < 0 || config.retentionMs === NO_LIMIT
    ? 0
    : leading((segment) => now - segment.newestMs() > config.retentionMs);
  let bySize = 0;
  if (config.retentionBytes >= 0 && config.retentionBytes !== NO_LIMIT) {
    let excess = segments.reduce((sum, segment) => sum + segment.size, 0) - config.retentionBytes;
    bySize = leading((segment) => {
      excess -= segment.size;
      return excess >= 0;
    });
  }
  return Math.max(beforeStart, byTime, bySize);
}
