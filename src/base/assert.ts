/** Assertions: a false one is a bug in Trackway, never bad input. Bad input is answered with an error code. */

/** Thrown when an assertion does not hold. Nothing catches it on purpose but the process's last line of defence. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

/** Throws {@link AssertionError} with `text` unless `condition` holds. */
export function assert(condition: unknown, text: string): asserts condition {
  if (!condition) throw new AssertionError(text);
}

/** Marks a place that no input can reach; the argument makes the compiler prove it. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
