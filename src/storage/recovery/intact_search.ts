/**
 * The search for intact batches behind damage. Where there are some, nothing may be cut off.
 */

import { MAGIC_AT } from "../../codec/batch_format.ts";
import { baseOffsetAt, isIntact, isPlausibleHeader, PEEK_BYTES, sizeAt } from "../segment/batch_scan.ts";
import type { Segment } from "../segment/segment.ts";

/** Looking costs no more than this many times what is searched, and this much: records may be made to look like batches. */
const CHECKED_PER_SEARCHED = 4;
const CHECKED_AT_LEAST = 64 << 20;
const SEARCH_CHUNK_BYTES = 1 << 20;

/** The search for intact batches behind damage, in one log. */
export class IntactSearch {
  private readonly chunk = new Uint8Array(SEARCH_CHUNK_BYTES);
  private batch = new Uint8Array(0);
  /** Bytes that may still be checksummed. */
  private left = CHECKED_AT_LEAST;

  /**
   * Looks through the segments, the first of them from `from` on. Gives why they must not be cut off, or null when there
   * is no reason. Throws `IoError`.
   */
  within(segments: readonly Segment[], from: number): string | null {
    for (const [index, segment] of segments.entries()) {
      const found = this.through(segment, index === 0 ? from : 0);
      if (found === "unclear") {
        return `too much behind it looks like batches to tell whether there are intact ones`;
      }
      if (found !== null) return `there are intact batches from ${segment.log.path} at position ${found} on`;
    }
    return null;
  }

  /**
   * Looks at every byte from `from` on for the beginning of an intact batch of this segment. Most positions fall at the
   * first comparison; a checksum is computed only for what looks like a header. Offsets need not continue the log: no
   * checksum covers a batch's offset, so a damaged one may have led the check far ahead, and what follows is intact.
   * Gives its position, null when there is none, or "unclear" when that would cost too much to tell.
   */
  through(segment: Segment, from: number): number | "unclear" | null {
    const { chunk } = this;
    this.left += CHECKED_PER_SEARCHED * (segment.size - from);
    for (let position = from; position + PEEK_BYTES <= segment.size;) {
      const length = Math.min(chunk.length, segment.size - position);
      const held = segment.log.get().readAt(chunk.subarray(0, length), position);
      const last = held - PEEK_BYTES;
      for (let at = 0; at <= last; at++) {
        if (chunk[at + MAGIC_AT] !== 2) continue;
        const baseOffset = baseOffsetAt(chunk, at);
        if (!(baseOffset >= segment.baseOffset && segment.canHold(baseOffset))) continue;
        const size = sizeAt(chunk, at);
        if (position + at + size > segment.size || !isPlausibleHeader(chunk, at)) continue;
        this.left -= size;
        // Some may be intact: to cut them off on a guess could drop what was acknowledged.
        if (this.left < 0) return "unclear";
        if (this.isIntactAt(segment, position + at, size)) return position + at;
      }
      if (held < PEEK_BYTES) return null;
      position += last + 1;
    }
    return null;
  }

  private isIntactAt(segment: Segment, position: number, size: number): boolean {
    if (this.batch.length < size) this.batch = new Uint8Array(size);
    segment.log.get().readAt(this.batch.subarray(0, size), position);
    return isIntact(this.batch, 0, size);
  }
}
