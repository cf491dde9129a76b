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

/** Matches whole texts; null when the pattern is none. */
export function wholePattern(pattern: string): RegExp | null {
  try {
    return new RegExp(`^(?:${pattern})$`, LINEAR);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}
