/**
 * Finding offsets by time: from the time index to the batch, and inside the batch (decompressed) to the record. A batch
 * whose header claims a later time than its records have is looked into for nothing, and so may be many: the lookup has
 * an allowance for all of them.
 */

import { Allowance, DEFAULT_MAX_DECOMPRESSED_BYTES } from "../../codec/allowance.ts";
import { BatchView } from "../../codec/batch.ts";
import { MAGIC_AT } from "../../codec/batch_format.ts";
import {
  baseOffsetAt,
  isIntact,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  scanBatches,
} from "./batch_scan.ts";
import { damaged } from "./read.ts";
import type { Segment } from "./segment.ts";

export interface TimestampedOffset {
  offset: number;
  timestamp: number;
  /** -1 when the batch does not tell. */
  leaderEpoch: number;
}

/** More than any sane batch holds; walking over so many records takes a tenth of a second. */
export const LOOKUP_ITEMS = 2_000_000;

/** What one lookup may cost. */
export function lookupAllowance(): Allowance {
  return new Allowance(DEFAULT_MAX_DECOMPRESSED_BYTES, LOOKUP_ITEMS);
}

/**
 * The first record at or after `startOffset` whose timestamp is at least `timestamp`; null when the segment has none.
 * `from` is the position of a batch that every such record is in or behind. Throws `IoError`, and `MalformedFrame` for a
 * batch that cannot be read or is more than the allowance suffices for.
 */
export function firstRecordSince(
  segment: Segment,
  from: number,
  timestamp: number,
  startOffset: number,
  dense: boolean,
  allowance: Allowance = lookupAllowance(),
): TimestampedOffset | null {
  let found: TimestampedOffset | null = null;
  const isNext = inOrder(segment, from, dense);
  const end = scanBatches(segment.log, from, segment.size, (bytes, at, size) => {
    if (!isNext(bytes, at, size)) return false;
    if (maxTimestampAt(bytes, at) < timestamp || lastOffsetAt(bytes, at) < startOffset) return true;
    found = recordInBatch(
      bytes,
      at,
      (record) => record.offset >= startOffset && record.timestamp >= timestamp,
      allowance,
    );
    return found === null;
  });
  if (found === null && end < segment.size) throw damaged(segment, end);
  return found;
}

/**
 * The first record that has the segment's largest timestamp, or where its batch claims more than its records have, the
 * first of the latest there; null when no record has a timestamp. `from` is the position of a batch that it is in or
 * behind. Throws as above.
 */
export function recordOfMaxTimestamp(
  segment: Segment,
  from: number,
  dense: boolean,
  allowance: Allowance = lookupAllowance(),
): TimestampedOffset | null {
  const { maxTimestamp } = segment;
  if (maxTimestamp < 0) return null;
  let found: TimestampedOffset | null = null;
  const isNext = inOrder(segment, from, dense);
  const end = scanBatches(segment.log, from, segment.size, (bytes, at, size) => {
    if (!isNext(bytes, at, size)) return false;
    if (maxTimestampAt(bytes, at) !== maxTimestamp) return true;
    found = latestRecordInBatch(bytes, at, allowance);
    return found === null;
  });
  if (found === null && end < segment.size) throw damaged(segment, end);
  return found;
}

/**
 * Whether batches are intact, so that their times can be believed, and have the offsets that their places in the segment
 * allow, which no checksum covers. In a log that is `dense` none may be missing.
 */
function inOrder(
  segment: Segment,
  from: number,
  dense: boolean,
): (bytes: Uint8Array, at: number, size: number) => boolean {
  let least = segment.baseOffset;
  let isKnown = from === 0;
  return (bytes, at, size) => {
    const [baseOffset, lastOffset] = [baseOffsetAt(bytes, at), lastOffsetAt(bytes, at)];
    const mayFollow = !dense || !isKnown || baseOffset === least || bytes[at + MAGIC_AT] !== 2;
    const fits = mayFollow && baseOffset >= least && lastOffset >= baseOffset &&
      segment.canHold(lastOffset) &&
      isIntact(bytes, at, size);
    least = lastOffset + 1;
    isKnown = true;
    return fits;
  };
}

function latestRecordInBatch(bytes: Uint8Array, at: number, allowance: Allowance): TimestampedOffset | null {
  let latest: TimestampedOffset | null = null, latestTimestamp = -1;
  recordInBatch(bytes, at, ({ offset, timestamp }) => {
    if (timestamp > latestTimestamp) {
      latestTimestamp = timestamp;
      latest = { offset, timestamp, leaderEpoch: leaderEpochAt(bytes, at) };
    }
    return false;
  }, allowance);
  return latest;
}

function recordInBatch(
  bytes: Uint8Array,
  at: number,
  wanted: (record: { offset: number; timestamp: number }) => boolean,
  allowance: Allowance,
): TimestampedOffset | null {
  const leaderEpoch = leaderEpochAt(bytes, at);
  if (bytes[at + MAGIC_AT] !== 2) {
    const whole = { offset: lastOffsetAt(bytes, at), timestamp: maxTimestampAt(bytes, at) };
    return wanted(whole) ? { ...whole, leaderEpoch } : null;
  }
  const cursor = new BatchView(bytes, at).cursor(allowance);
  while (cursor.next()) {
    if (wanted(cursor)) return { offset: cursor.offset, timestamp: cursor.timestamp, leaderEpoch };
  }
  return null;
}
