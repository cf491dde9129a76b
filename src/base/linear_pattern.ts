/**
 * Regular expressions of clients. They run on V8's engine that never goes back, where the broker was started with it
 * (`scripts/lib/v8_flags.ts`): the usual one takes for ever over `(a+)+b` and thirty letters, with all that the broker
 * has to do.
 */

const LINEAR = isKnownFlag("l") ? "l" : "";

function isKnownFlag(flag: string): boolean {
  try {
    return new RegExp("", flag).flags === flag;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return false;
  }
}

/** Of a pattern: even in linear time 20 KB of it and 30 KB of text take minutes, and gigabytes. */
export const MAX_PATTERN_LENGTH = 255;
/** What one text may cost, its length times the pattern's: some 40 ms. */
const MAX_STEPS = 1 << 20;
/** The engine writes out what is repeated by number, and takes no pattern that this makes longer by more. */
const MAX_REPETITION = 16;

/** Flags that stand before a pattern in Java's and Google's way of writing, where JavaScript has them behind it. */
const LEADING_FLAGS = /^\(\?([ims]+)\)/;

/** Matches whole texts; null when the pattern is none, or too long. */
export function wholePattern(pattern: string): RegExp | null {
  if (pattern.length > MAX_PATTERN_LENGTH) return null;
  const [leading = "", flags = ""] = LEADING_FLAGS.exec(pattern) ?? [];
  try {
    return new RegExp(`^(?:${pattern.slice(leading.length)})$`, LINEAR + [...new Set(flags)].join(""));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

/** The length of the longest text that may be held against a pattern, since that keeps everybody else waiting. */
export function longestMatched(pattern: string): number {
  let repetition = 1;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    repetition *= Math.max(1, Number(least), Number(most || 0));
  }
  return Math.floor(MAX_STEPS / (pattern.length * Math.min(repetition, MAX_REPETITION)));
}
