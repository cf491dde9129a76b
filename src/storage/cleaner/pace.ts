/**
 * How fast a cleaning goes, and whether it goes on. It runs on a thread of its own and never yields there, so this is what
 * it asks between two batches; waiting is done by the thread that it blocks.
 */

/** Somebody wants the cleaning to end. */
export class Interrupted extends Error {
  override name = "Interrupted";
}

export interface Pace {
  /** To be told of bytes that were read or written. May wait; throws {@link Interrupted} when it is to end. */
  moved(bytes: number): void;
}

/** Bytes between two looks: a look costs a call, and a wait for less is shorter than a thread can wait. */
const LOOK_EVERY_BYTES = 256 * 1024;

export class Throttle implements Pace {
  private pending = 0;
  /** When what was moved so far may be. */
  private dueMs: number;

  constructor(
    private readonly bytesPerSecond: number,
    private readonly o: {
      now(): number;
      isInterrupted(): boolean;
      /** Blocks, or comes back earlier when it is interrupted. */
      wait(ms: number): void;
    },
  ) {
    this.dueMs = o.now();
  }

  moved(bytes: number): void {
    this.pending += bytes;
    if (this.pending < LOOK_EVERY_BYTES) return;
    const now = this.o.now();
    // Time in which nothing was moved is no credit for a burst.
    this.dueMs = Math.max(this.dueMs, now) + this.pending / this.bytesPerSecond * 1000;
    this.pending = 0;
    const early = this.dueMs - now;
    if (early > 1 && !this.o.isInterrupted()) this.o.wait(early);
    if (this.o.isInterrupted()) throw new Interrupted("The cleaning is to end");
  }
}
