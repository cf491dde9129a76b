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

/** Flags that stand before a pattern in Java's and Google's way of writing, where JavaScript has them behind it. */
const LEADING_FLAGS = /^\(\?([ims]+)\)/;

/** Matches whole texts; null when the pattern is none. */
export function wholePattern(pattern: string): RegExp | null {
  const [leading = "", flags = ""] = LEADING_FLAGS.exec(pattern) ?? [];
  try {
    return new RegExp(`^(?:${pattern.slice(leading.length)})$`, LINEAR + [...new Set(flags)].join(""));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}
