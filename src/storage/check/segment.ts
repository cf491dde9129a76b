/**
 * Looking at every batch of a segment's file: framing, checksum, header and offsets and, when asked to look deeper, the
 * records in it. Where something is wrong the scan goes on at the next batch that can be believed.
 */

import { Allowance } from "../../codec/allowance.ts";
import { BatchView, checkBatch } from "../../codec/batch.ts";
import { LAST_OFFSET_DELTA_AT, MAGIC_AT } from "../../codec/batch_format.ts";
import { readInt32 } from "../../codec/big_endian.ts";
import { checkMessage, MessageView, readMessage } from "../../codec/legacy.ts";
import { MalformedFrame } from "../../codec/malformed.ts";
import {
  baseOffsetAt,
  isPlausibleHeader,
  lastOffsetAt,
  leaderEpochAt,
  maxTimestampAt,
  PEEK_BYTES,
  scanBatches,
  sizeAt,
} from "../segment/batch_scan.ts";
import { IntactSearch } from "../recovery/intact_search.ts";
import type { Segment } from "../segment/segment.ts";

/**
 * - "framing": there is no whole batch here;
 * - "content": there is one, but not with the content that its writer gave it;
 * - "offset": a whole one, with an offset that cannot be its own (no checksum covers it);
 * - "gap": offsets are missing before it, which only a compactor may take out;
 * - "records": the batch is what was written, but what is in it cannot be read.
 */
export type StretchKind = "framing" | "content" | "offset" | "gap" | "records";

/** A stretch of a segment's file that is not as it should be. */
export interface Stretch {
  readonly kind: StretchKind;
  readonly position: number;
  /** Where the scan went on. */
  readonly end: number;
  /** The offset that was expected there. */
  readonly offset: number;
  readonly problem: string;
  /** The file ends inside of the batch that begins here. */
  readonly isCutShort?: boolean;
}

/** What is in a batch that can be believed. */
export interface SeenBatch {
  readonly position: number;
  readonly size: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly maxTimestamp: number;
  /** -1 in the old formats. */
  readonly leaderEpoch: number;
}

export interface SegmentScanInput {
  readonly segment: Segment;
  /** The offset that the first batch must have; null when not known. */
  readonly firstOffset: number | null;
  /** Whether a compactor may have been here: then offsets may be missing. */
  readonly compacted: boolean;
  /** Whether to decompress and read every record. */
  readonly deep: boolean;
  onBatch(batch: SeenBatch): void;
  /** Is told of the batches of transactions, whose offsets are the other arguments. */
  onTransactional(batch: BatchView, baseOffset: number, lastOffset: number): void;
  onStretch(stretch: Stretch): void;
  /** Is told now and then how far the scan has come. */
  onPosition(position: number): void;
}

export interface SegmentScan {
  /** The offset after the last batch; null when the end cannot be believed. */
  readonly nextOffset: number | null;
  /** What the last batch's header says of that, if there is one, whatever else is wrong with it. */
  readonly claimedNextOffset: number | null;
  readonly batches: number;
  /** Where the bytes end that hold batches. */
  readonly end: number;
}

/** No broker takes larger batches by its defaults; a damaged length must not make the check take gigabytes. */
const MAX_BATCH_BYTES = 128 << 20;
/** What one batch may be decompressed to. */
const MAX_RECORDS_BYTES = 1 << 30;

/** Scans all of the file. Throws `IoError`. */
export function scanSegment(i: SegmentScanInput): SegmentScan {
  const { segment } = i;
  const { log, size } = segment;
  const seen = { batches: 0, end: 0 };
  let expected = i.firstOffset;
  let claimed = i.firstOffset;
  let position = 0;
  while (position < size) {
    let problem: string | null = null;
    const stop = scanBatches(log, position, size, (bytes, at, batchSize, where) => {
      problem = contentProblem(bytes, at, batchSize);
      claimed = lastOffsetAt(bytes, at) + 1;
      if (problem !== null) return false;
      const order = orderProblem(i, expected, bytes, at, batchSize, where);
      if (order !== null) i.onStretch(order.stretch);
      const shift = order?.shift ?? 0;
      const batch = {
        position: where,
        size: batchSize,
        baseOffset: baseOffsetAt(bytes, at) - shift,
        lastOffset: lastOffsetAt(bytes, at) - shift,
        maxTimestamp: maxTimestampAt(bytes, at),
        leaderEpoch: leaderEpochAt(bytes, at),
      };
      if (i.deep) {
        const records = recordsProblem(bytes, at, batch.baseOffset);
        const offset = batch.baseOffset;
        if (records !== null) {
          i.onStretch({ kind: "records", position: where, end: where + batchSize, offset, problem: records });
        }
      }
      i.onBatch(batch);
      if (bytes[at + MAGIC_AT] === 2) {
        const view = new BatchView(bytes, at);
        if (view.isTransactional) i.onTransactional(view, batch.baseOffset, batch.lastOffset);
      }
      i.onPosition(where + batchSize);
      expected = claimed = batch.lastOffset + 1;
      seen.batches++;
      seen.end = where + batchSize;
      return true;
    }, MAX_BATCH_BYTES);
    if (stop === size) break;
    const kind: StretchKind = problem === null ? "framing" : "content";
    if (kind === "framing") claimed = null;
    problem ??= framingProblem(segment, stop);
    const end = resume(segment, stop);
    const isCutShort = kind === "framing" && endsInside(segment, stop);
    i.onStretch({ kind, position: stop, end, offset: expected ?? segment.baseOffset, problem, isCutShort });
    i.onPosition(end);
    position = end;
    expected = null;
  }
  return { nextOffset: expected, claimedNextOffset: claimed, ...seen };
}

function contentProblem(bytes: Uint8Array, at: number, size: number): string | null {
  const problem = bytes[at + MAGIC_AT] === 2
    ? checkBatch(bytes, at, at + size)
    : checkMessage(bytes, at, at + size);
  return problem === null ? null : afterColon(problem.text);
}

/** The codec's texts begin with what was being done, which is plain here. */
function afterColon(text: string): string {
  return text.slice(text.indexOf(": ") + 1).trim();
}

/**
 * Whether a batch's offset is what has to come next. When the batch after it tells that it is this one's offset that is
 * wrong, `shift` is by how much.
 */
function orderProblem(
  i: SegmentScanInput,
  expected: number | null,
  bytes: Uint8Array,
  at: number,
  size: number,
  position: number,
): { stretch: Stretch; shift: number } | null {
  const { segment } = i;
  const isLegacy = bytes[at + MAGIC_AT] !== 2;
  const baseOffset = baseOffsetAt(bytes, at);
  const lastOffset = lastOffsetAt(bytes, at);
  const least = expected ?? segment.baseOffset;
  // A compressed set of the old formats tells its last offset only.
  const isDense = baseOffset === least || expected === null || isLegacy || i.compacted;
  if (lastOffset >= least && baseOffset >= least && isDense && segment.canHold(lastOffset)) return null;
  const end = position + size;
  const wrong = (kind: StretchKind, problem: string, shift = 0) => ({
    stretch: { kind, position, end, offset: least, problem },
    shift,
  });
  const follower = nextBaseOffset(segment, end);
  const delta = isLegacy ? 0 : readInt32(bytes, at + LAST_OFFSET_DELTA_AT);
  const shift = baseOffset - least;
  if (expected !== null && follower === least + delta + 1) {
    return wrong("offset", `base offset is ${baseOffset}, but the batches around it say ${least}`, shift);
  }
  if (baseOffset < least) return wrong("offset", `base offset is ${baseOffset}, expected ${least}`);
  if (!segment.canHold(lastOffset)) {
    return wrong("offset", `base offset is ${baseOffset}, too far from the segment's ${segment.baseOffset}`);
  }
  return wrong("gap", `base offset is ${baseOffset}, expected ${least}: the records between are missing`);
}

/** Null at the end of the file, or when there is no batch. */
function nextBaseOffset(segment: Segment, position: number): number | null {
  const peek = new Uint8Array(PEEK_BYTES);
  const held = segment.log.get().readAt(peek, position);
  return held <= MAGIC_AT || sizeAt(peek, 0) === 0 ? null : baseOffsetAt(peek, 0);
}

function recordsProblem(bytes: Uint8Array, at: number, baseOffset: number): string | null {
  if (bytes[at + MAGIC_AT] !== 2) {
    const { problem } = readMessage(new MessageView(bytes, at), new Allowance(MAX_RECORDS_BYTES));
    return problem === null ? null : afterColon(problem.text);
  }
  const batch = new BatchView(bytes, at);
  try {
    let last = -1;
    const cursor = batch.cursor(MAX_RECORDS_BYTES);
    while (cursor.next()) {
      const { offsetDelta } = cursor;
      if (offsetDelta <= last || offsetDelta > batch.lastOffsetDelta) {
        return `a record has offset ${baseOffset + offsetDelta} after ${baseOffset + last}`;
      }
      last = offsetDelta;
    }
    return null;
  } catch (error) {
    if (!(error instanceof MalformedFrame)) throw error;
    return afterColon(error.message);
  }
}

function framingProblem(segment: Segment, position: number): string {
  const left = segment.size - position;
  const peek = new Uint8Array(Math.min(PEEK_BYTES, left));
  segment.log.get().readAt(peek, position);
  if (peek.every((byte) => byte === 0)) return `there are zeros instead of a batch`;
  if (peek.length <= MAGIC_AT) return `${left} bytes are left, less than a batch's header`;
  const size = sizeAt(peek, 0);
  if (size > left) return `the batch claims ${size} bytes, ${left} are left`;
  if (size > MAX_BATCH_BYTES) return `the batch claims ${size} bytes, more than any has that can be checked`;
  if (peek[MAGIC_AT] > 2) return `there is no batch: magic is ${peek[MAGIC_AT]}`;
  return `there is no batch: its size is ${readInt32(peek, 8)}`;
}

function endsInside(segment: Segment, position: number): boolean {
  const peek = new Uint8Array(PEEK_BYTES);
  const held = segment.log.get().readAt(peek, position);
  return held < PEEK_BYTES || sizeAt(peek, 0) > segment.size - position;
}

/** Where after a batch that is damaged the next one begins that can be believed; the file's end when there is none. */
function resume(segment: Segment, position: number): number {
  const { size } = segment;
  const peek = new Uint8Array(PEEK_BYTES);
  if (segment.log.get().readAt(peek, position) > MAGIC_AT) {
    const claimed = sizeAt(peek, 0);
    const next = position + claimed;
    if (claimed > 0 && next <= size && (next === size || beginsBatch(segment, next))) return next;
  }
  const found = new IntactSearch().through(segment, position + 1);
  return typeof found === "number" ? found : size;
}

function beginsBatch(segment: Segment, position: number): boolean {
  const peek = new Uint8Array(PEEK_BYTES);
  const held = segment.log.get().readAt(peek, position);
  if (held <= MAGIC_AT || sizeAt(peek, 0) === 0 || sizeAt(peek, 0) > segment.size - position) return false;
  const offset = baseOffsetAt(peek, 0);
  return offset >= segment.baseOffset && segment.canHold(offset) &&
    (peek[MAGIC_AT] !== 2 || isPlausibleHeader(peek, 0));
}
