/**
 * Gives memory back when a broker falls quiet. V8 collects when something is allocated, so that a broker that nobody
 * uses any more would keep the garbage of its last busy minute for as long as it idles. A collection costs some ten
 * milliseconds and comes once for each time of work.
 */
import { openGlibc } from "../base/glibc.ts";

/** Fewer requests than this in {@link QUIET_TICKS} ticks are no work: heartbeats, a look at the metadata. */
const QUIET_REQUESTS = 200;
const QUIET_TICKS = 3;
/** So much work since the last collection is worth another one. */
const WORTH_REQUESTS = 1000;

export class IdleMemory {
  /** Requests answered until each of the last ticks. */
  private readonly recent: number[] = [];
  /** Starting is work too. */
  private atLastCollection = -WORTH_REQUESTS;

  /** `release` lets go of what is kept for the next request, and has the garbage collected. */
  constructor(private readonly requests: () => number, private readonly release: () => void) {}

  /** To be called once a second or so. */
  tick(): void {
    const now = this.requests();
    this.recent.push(now);
    if (this.recent.length <= QUIET_TICKS) return;
    const before = this.recent.shift()!;
    if (now - before >= QUIET_REQUESTS || now - this.atLastCollection < WORTH_REQUESTS) return;
    this.atLastCollection = now;
    this.release();
  }
}

/** Collects all garbage; does nothing unless V8 runs with `--expose-gc`, as a broker's does. */
export function collectGarbage(): void {
  const { gc } = globalThis as { gc?: (options: { type: "major"; flavor: "last-resort" }) => void };
  gc?.({ type: "major", flavor: "last-resort" });
}

/** Below this there is nothing to win that the call would not cost. */
const TRIMMED_FROM_BYTES = 128 * 1024 * 1024;

/**
 * Has the C library give back what was freed: glibc keeps the room of buffers between others, 80 MB after a thousand busy
 * connections. Does nothing with another C library, or where foreign functions are not allowed.
 */
export function trimHeap(): void {
  if (Deno.memoryUsage().rss < TRIMMED_FROM_BYTES) return;
  const glibc = openGlibc({ malloc_trim: { parameters: ["usize"], result: "i32" } });
  glibc?.symbols.malloc_trim(0n);
  glibc?.close();
}
