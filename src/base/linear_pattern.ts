/**
 * Regular expressions of clients, in the dialect of RE2 and by its engine, which never goes back: the usual one takes for
 * ever over `(a+)+b` and thirty letters, with all that the broker has to do. Kafka's brokers use the same one.
 */
import { RE2JS, RE2JSException } from "re2js";

/** Of a pattern. Even in linear time a long one takes seconds. */
const MAX_PATTERN_LENGTH = 255;
/** What is repeated by number is written out by the engine: so often, for all of a pattern, that it is done in no time. */
const MAX_REPETITIONS = 500;
/** What one text may cost, its length times that of the pattern's program: some 40 ms at worst. */
const MAX_STEPS = 1 << 19;

/** A pattern that matches whole texts. */
export interface WholePattern {
  /** Whether it matches. The text is no longer than {@link longestText}, or everybody else has to wait. */
  test(text: string): boolean;
  readonly longestText: number;
}

/** The pattern; null when it is none, or would cost too much. */
export function wholePattern(pattern: string): WholePattern | null {
  if (pattern.length > MAX_PATTERN_LENGTH || repetitionsIn(pattern) > MAX_REPETITIONS) return null;
  try {
    const compiled = RE2JS.compile(pattern);
    return {
      test: (text) => compiled.testExact(text),
      longestText: Math.floor(MAX_STEPS / compiled.programSize()),
    };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return null;
  }
}

/** The sum of all numbers that something may be repeated by. */
function repetitionsIn(pattern: string): number {
  let sum = 0;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    sum += Math.max(Number(least), Number(most || 0));
  }
  return sum;
}
