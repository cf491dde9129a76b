/**
 * Keeps one request from holding up all others: a handler that does the same for each of many things takes them in
 * slices, and lets the event loop serve somebody else in between. One whose answer may be far larger than its request
 * has memory for it first.
 */
import type { Clock } from "../base/clock.ts";
import { Slices } from "../base/slices.ts";
import type { RequestContext } from "./context.ts";

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
  let begun: (Out | Promise<Out>)[] = [];
  const end = async () => {
    for (const result of await Promise.all(begun)) results.push(result);
    begun = [];
  };
  const slices = new Slices(clock);
  for (const item of items) {
    if (slices.isOver) {
      await end();
      await slices.next();
    }
    begun.push(each(item));
  }
  await end();
  return results;
}

/** An answer in the making that may be far larger than its request. */
export class LargeAnswer {
  private readonly slices: Slices;

  constructor(private readonly context: RequestContext) {
    this.slices = new Slices(context.services.clock);
  }

  /**
   * To be waited for before each piece, of about so many bytes: others may have the memory, or their turn. False when nobody
   * wants the answer any more: there is no memory for it then, and it is not to be made.
   */
  async goesOn(bytes: number): Promise<boolean> {
    const room = this.context.growAnswer(bytes);
    if (room !== null) await room;
    if (this.slices.isOver) await this.slices.next();
    return !this.context.connection.isOver;
  }
}
