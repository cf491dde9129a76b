/**
 * Keeps one request from holding up all others: a handler that does the same for each of many things takes them in
 * slices, and lets the event loop serve somebody else in between.
 */
import type { Clock } from "../base/clock.ts";

/** How long a handler may go on, more or less: longer than most requests take as a whole. */
const SLICE_MS = 10;

/**
 * What `each` gives for every one of `items`, in order. Within a slice all that `each` begins is waited for together.
 * Between slices other requests are served, which see what was done so far.
 */
export async function inSlices<In, Out>(
  items: Iterable<In>,
  clock: Clock,
  each: (item: In) => Out | Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  let slice: (Out | Promise<Out>)[] = [];
  let began = clock.monotonic();
  const end = async () => {
    for (const result of await Promise.all(slice)) results.push(result);
    slice = [];
  };
  for (const item of items) {
    if (clock.monotonic() - began > SLICE_MS) {
      await end();
      await new Promise<void>((resolve) => setTimeout(resolve));
      began = clock.monotonic();
    }
    slice.push(each(item));
  }
  await end();
  return results;
}
