/** Which segments become one: neighbours that fit into a segment together, as Kafka groups them. Pure. */

import { MAX_RELATIVE_OFFSET } from "../segment/segment.ts";
import type { CleaningJob } from "./job.ts";

/** Files are renamed on the event loop: those of so many segments take it some two milliseconds. */
const MAX_SEGMENTS = 16;

export interface Groupable {
  readonly baseOffset: number;
  /** After all that is in it. */
  readonly endOffset: number;
  readonly size: number;
  /** Of its larger index. */
  readonly indexBytes: number;
}

/** The segments in groups, none of which is empty, in the same order. */
export function groupSegments<S extends Groupable>(
  segments: readonly S[],
  { segmentBytes, segmentIndexBytes }: Pick<CleaningJob, "segmentBytes" | "segmentIndexBytes">,
): S[][] {
  const groups: S[][] = [];
  let size = 0;
  let indexBytes = 0;
  for (const segment of segments) {
    const group = groups.at(-1);
    const fits = group !== undefined && group.length < MAX_SEGMENTS && size + segment.size <= segmentBytes &&
      indexBytes + segment.indexBytes <= segmentIndexBytes &&
      segment.endOffset - 1 - group[0].baseOffset <= MAX_RELATIVE_OFFSET;
    if (fits) group.push(segment);
    else groups.push([segment]);
    size = segment.size + (fits ? size : 0);
    indexBytes = segment.indexBytes + (fits ? indexBytes : 0);
  }
  return groups;
}
