/**
 * Partitions that are found in two data directories: a process that was killed while one took the other's place
 * (`log_mover.ts`), or somebody who copied directories. Nothing in this file changes anything.
 */

import { ZERO_UUID } from "../../codec/uuid.ts";
import { readText } from "../files/files.ts";
import type { Files } from "../files/files.ts";
import type { Log } from "../log/log.ts";
import { MOVED_FROM_FILE } from "../directory/names.ts";

export interface Choice {
  readonly keeps: Log;
  readonly other: Log;
  /** `other` is what `keeps` was copied from, to the last record, and can be thrown away. */
  readonly isMoved: boolean;
}

/** Whether two directories say that they are of one topic; one that lost its id, or has a damaged one, does not deny it. */
export function isSameTopic(topicId: string, other: string): boolean {
  return topicId === other || topicId === ZERO_UUID || other === ZERO_UUID || isMisread(topicId, other);
}

/** Whether two ids differ in one character. Ids are random: two topics have none that are so close. */
function isMisread(found: string, topicId: string): boolean {
  const differing = [...topicId].filter((character, at) => character !== found[at]);
  return found.length === topicId.length && differing.length === 1;
}

/**
 * Which of two logs of a partition goes on, `first` being of the directory that is configured first. A copy that was to
 * take the other's place does, unless the other was written to since: then the copy's directory was away for a while.
 */
export function whichGoesOn(files: Files, first: Log, second: Log): Choice {
  const [firstIsCopy, secondIsCopy] = [first, second].map((log) =>
    log.offline === null && readText(files, `${log.path}/${MOVED_FROM_FILE}`) !== null
  );
  if (secondIsCopy && !firstIsCopy && second.nextOffset >= first.nextOffset) {
    return { keeps: second, other: first, isMoved: true };
  }
  if (firstIsCopy && !secondIsCopy && first.nextOffset >= second.nextOffset) {
    return { keeps: first, other: second, isMoved: true };
  }
  return second.nextOffset > first.nextOffset
    ? { keeps: second, other: first, isMoved: false }
    : { keeps: first, other: second, isMoved: false };
}
