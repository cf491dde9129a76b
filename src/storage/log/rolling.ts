/** Which segment an append goes into: when the active one has had enough, by Kafka's rules, and how a log goes on then. */

import { IoError } from "../files/files.ts";
import type { LogConfig } from "./config.ts";
import { flushNow, writeSnapshot } from "./durability.ts";
import type { LogState } from "./state.ts";
import { MAX_RELATIVE_OFFSET, type Segment } from "../segment/segment.ts";

/** What is to be appended. */
export interface Incoming {
  bytes: number;
  baseOffset: number;
  lastOffset: number;
  maxTimestamp: number;
}

/** The active segment, rolled first if it is full, too old, or cannot hold the offset. Throws `IoError`. */
export function segmentFor(log: LogState, incoming: Incoming, now: number): Segment {
  const { segments } = log;
  const { baseOffset } = incoming;
  if (log.tailDirty && !log.cleanTail()) {
    throw new IoError("truncate", segments.place.path, "a failed append could not be cut off");
  }
  const { active } = segments;
  if (active === undefined) return addSegment(log, firstBase(log, incoming), now);
  if (active.size === 0) {
    if (active.canHold(incoming.lastOffset)) return active;
    // A follower that starts far behind its leader's oldest record: an empty segment is in the way.
    segments.removeLast();
    log.reader.forget();
    return addSegment(log, baseOffset, now);
  }
  return needsRoll(active, log.config, incoming, now) ? roll(log, active, baseOffset, now) : active;
}

/**
 * Where a log without segments begins: where it says that it does, although the first batch may come later, as that of a
 * compacted log. A start takes the first segment's base for it, and whoever had read up to before would be out of range.
 */
function firstBase({ endOffset }: LogState, { baseOffset, lastOffset }: Incoming): number {
  return lastOffset - endOffset <= MAX_RELATIVE_OFFSET ? endOffset : baseOffset;
}

/**
 * Whether `active`, which has records, must make room for a new segment: it is full, an index is, the offset does not
 * fit into an index, or its first record is older than `segment.ms`. May read the segment's first header: `IoError`.
 */
function needsRoll(active: Segment, config: LogConfig, incoming: Incoming, now: number): boolean {
  const { segmentBytes, segmentIndexBytes } = config;
  // What is in the active segment is not compacted (KIP-354).
  const segmentMs = config.cleanupPolicy.compact
    ? Math.min(config.segmentMs, config.maxCompactionLagMs)
    : config.segmentMs;
  return active.size > segmentBytes - incoming.bytes || active.offsets.isFull(segmentIndexBytes) ||
    active.times.isFull(segmentIndexBytes) || !active.canHold(incoming.lastOffset) ||
    active.filledForMs(incoming.maxTimestamp, now) > segmentMs - jitterMs(active, config);
}

/** Ends the segment `closed`, the active one, and goes on in a new one from `baseOffset` on. Throws `IoError`. */
export function roll(log: LogState, closed: Segment, baseOffset: number, now: number): Segment {
  // First, so that recovery finds zeros behind the last segment's batches only.
  closed.trimLog();
  const segment = addSegment(log, baseOffset, now);
  // Neither is needed: the next flush writes the indexes, and recovery reads further back without a snapshot.
  log.attempt("finish a segment of", () => {
    closed.finishIndexes();
    writeSnapshot(log);
  });
  closed.unsynced = true; // its indexes, at least
  flushNow(log);
  return segment;
}

function addSegment({ segments, config }: LogState, baseOffset: number, now: number): Segment {
  return segments.add(baseOffset, now, config.preallocate ? config.segmentBytes : 0);
}

// Spread out by place instead of chance, so that a run can be repeated.
function jitterMs(segment: Segment, { segmentJitterMs, segmentMs }: LogConfig): number {
  if (segmentJitterMs === 0) return 0;
  let hash = segment.baseOffset;
  for (let i = 0; i < segment.log.path.length; i++) {
    hash = (hash * 31 + segment.log.path.charCodeAt(i)) % 0x7fff_ffff;
  }
  return hash % Math.min(segmentJitterMs, segmentMs);
}
