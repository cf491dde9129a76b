/** Waiting for what happens in a process or a connection, always with a bound: a test that hangs tells nobody why. */

/** Bound on every wait of these tests: far beyond what a loaded machine needs, far below what a CI job bears. */
export const PATIENCE_MS = 30_000;

/** What `promise` gives; throws with `what` when that takes longer than `ms`. */
export async function within<T>(promise: Promise<T>, what: string, ms = PATIENCE_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) =>
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms)
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How often {@link until} looks. */
const LOOK_EVERY_MS = 5;

/** Looks again and again, for what nobody tells of, until `holds`. */
export async function until(holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !holds();) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms in vain until ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
