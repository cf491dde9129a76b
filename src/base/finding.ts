/**
 * What looking at stored data found. A finding is one line for people and one object for programs: which file, where in
 * it, what is wrong, and what the broker will do about it. Whoever looks hands findings on one by one and keeps none.
 */

/**
 * "damage": something that was whole is so no longer. "note": what a process leaves that was stopped in the middle of its
 * work, and what the broker clears up without a loss.
 */
export type Severity = "damage" | "note";

export interface Finding {
  readonly severity: Severity;
  /** The path of the file or directory. */
  readonly file: string;
  /** Bytes from the file's start; null when it is about the file as a whole. */
  readonly position: number | null;
  readonly problem: string;
  /** What the broker does about it, as the end of a sentence that begins with "the broker". */
  readonly outcome: string;
}

export type Report = (finding: Finding) => void;

/** Nothing could be found out. The text says why, and the way out. */
export class CannotCheck extends Error {
  override name = "CannotCheck";
}
