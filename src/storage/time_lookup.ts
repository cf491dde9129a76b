/** Finding offsets by time: from the time index to the batch, and inside the batch (decompressed) to the record. */

import { BatchView } from "../codec/batch.ts";
import { MAGIC_AT } from "../codec/batch_format.ts";
import { lastOffsetAt, leaderEpochAt, maxTimestampAt, scanBatches } from "./batch_scan.ts";
import type { Segment } from "./segment.ts";

export interface TimestampedOffset {
  offset: number;
  timestamp: number;
  /** -1 when the batch does not tell. */
  leaderEpoch: number;
}

/**
 * The first record at or after `startOffset` whose timestamp is at least `timestamp`; null when the segment has none.
 * Its indexes must be open. Throws `IoError`.
 */
export function firstRecordSince(
  segment: Segment,
  timestamp: number,
  startOffset: number,
): TimestampedOffset | null {
  const known = segment.times.lookup(timestamp);
  let found: TimestampedOffset | null = null;
  const from = segment.positionBefore(Math.max(known, startOffset));
  scanBatches(segment.log, from, segment.size, (bytes, at) => {
    if (maxTimestampAt(bytes, at) < timestamp || lastOffsetAt(bytes, at) < startOffset) return true;
    found = recordInBatch(
      bytes,
      at,
      (record) => record.offset >= startOffset && record.timestamp >= timestamp,
    );
    return found === null;
  });
  return found;
}

/** The first record that has the segment's largest timestamp; null when no record has one. Throws `IoError`. */
export function recordOfMaxTimestamp(segment: Segment): TimestampedOffset | null {
  const { maxTimestamp } = segment;
  if (maxTimestamp < 0) return null;
  let found: TimestampedOffset | null = null;
  const from = segment.positionBefore(segment.offsetOfMaxTimestamp);
  scanBatches(segment.log, from, segment.size, (bytes, at) => {
    if (maxTimestampAt(bytes, at) !== maxTimestamp) return true;
    found = recordInBatch(bytes, at, (record) => record.timestamp === maxTimestamp);
    return found === null;
  });
  return found;
}

function recordInBatch(
  bytes: Uint8Array,
  at: number,
  wanted: (record: { offset: number; timestamp: number }) => boolean,
): TimestampedOffset | null {
  const leaderEpoch = leaderEpochAt(bytes, at);
  if (bytes[at + MAGIC_AT] !== 2) {
    const whole = { offset: lastOffsetAt(bytes, at), timestamp: maxTimestampAt(bytes, at) };
    return wanted(whole) ? { ...whole, leaderEpoch } : null;
  }
  const cursor = new BatchView(bytes, at).cursor();
  while (cursor.next()) {
    if (wanted(cursor)) return { offset: cursor.offset, timestamp: cursor.timestamp, leaderEpoch };
  }
  return null;
}
