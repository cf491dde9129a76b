/**
 * A copy of a log taking its place. The records are copied as a follower copies them; what a log knows beside its records
 * is taken over here, in one synchronous go with the exchange of the two.
 */

import { assert } from "../../base/assert.ts";
import type { LogState } from "./state.ts";

/**
 * Has `copy`, which has all records of `source`, become what that is: its start, epochs, producers and high watermark. Its
 * records are on the device then, since those of `source` may be. Throws `IoError`. The source must not be used any more
 * if that went well, nor the copy otherwise.
 */
export function takeOver(copy: LogState, source: LogState): void {
  assert(copy.unopened === null && source.unopened === null, "takeOver(): a log is not open");
  assert(copy.endOffset === source.endOffset, "takeOver(): the copy ends elsewhere");
  const { segments } = copy;
  // A log without records begins where its next one goes; only a segment tells a restart.
  if (segments.active === undefined && copy.endOffset > 0) segments.add(copy.endOffset, copy.clock.now());
  for (const segment of segments.list) {
    if (!segment.unsynced) continue;
    segment.log.get().syncNow();
    segment.syncedSize = segment.size;
  }
  if (segments.directoryUnsynced) segments.syncNames();
  copy.startOffset = source.startOffset;
  // It may have been compacted, and not be any more, since the copy was begun.
  copy.wasCompacted ||= !source.isDense;
  copy.epochFile.epochs = source.epochFile.epochs;
  copy.epochFile.changed(true);
  copy.epochFile.write();
  copy.producers = source.producers;
  copy.highWatermark = source.highWatermark;
  copy.flushedOffset = copy.endOffset;
}
