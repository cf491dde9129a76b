/** The first pass of a cleaning: the last offset of each key in what was not cleaned yet, or in as much of it as there is room for. */

import type { AbortedTransaction } from "../segment/transaction_index.ts";
import type { Segment } from "../segment/segment.ts";
import { MAX_BATCH_PAYLOAD_BYTES, readSegment } from "./batches.ts";
import type { KeyMap } from "./key_map.ts";
import type { Pace } from "./pace.ts";
import { CleanedTransactions } from "./transactions.ts";

export interface KeyPassInput {
  /** Those that hold something from `firstDirtyOffset` on, up to `upperBound`, by base offset. */
  readonly segments: readonly Segment[];
  readonly firstDirtyOffset: number;
  readonly upperBound: number;
  readonly aborted: readonly AbortedTransaction[];
  readonly bufferBytes: number;
  readonly pace: Pace;
}

/** Fills the map, and its `latestOffset`. Gives the bytes read. Throws `DamagedLog`, `IoError`, `Interrupted`. */
export function fillKeyMap(map: KeyMap, i: KeyPassInput): number {
  const { firstDirtyOffset } = i;
  const transactions = new CleanedTransactions(i.aborted, firstDirtyOffset);
  let bytesRead = 0;
  let isFull = false;
  for (const [index, segment] of i.segments.entries()) {
    readSegment(segment, 0, segment.size, i.bufferBytes, i.pace, (batch) => {
      if (batch.lastOffset < firstDirtyOffset) return true;
      bytesRead += batch.sizeInBytes;
      // What has no keys, or whose records go anyway, makes nothing else go.
      if (!transactions.isNeedless(batch) && !batch.isControl) {
        const cursor = batch.cursor(MAX_BATCH_PAYLOAD_BYTES);
        while (cursor.next()) {
          if (cursor.keyLength < 0 || cursor.offset < firstDirtyOffset) continue;
          if (map.isFull) {
            isFull = true;
            return false;
          }
          map.put(cursor.bytes, cursor.keyStart, cursor.keyLength, cursor.offset);
        }
      }
      map.latestOffset = batch.lastOffset;
      return true;
    });
    if (isFull) return bytesRead;
    // Offsets that are missing at a segment's end were looked at, too.
    map.latestOffset = (i.segments[index + 1]?.baseOffset ?? i.upperBound) - 1;
  }
  return bytesRead;
}
