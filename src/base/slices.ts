/**
 * Long work in slices, so that the one event loop gets to everybody else in between. However much of it there is at a
 * time, one piece of work has a slice in a turn of the loop; a hundred slices in one turn would hold up everybody too.
 */
import type { Clock } from "./clock.ts";

/** What others may be kept waiting for. */
const SLICE_MS = 10;
/** What is done at once while other work waits for its turn: small work need not wait behind large. */
const FIRST_MS = 1;

/** Those that wait for their next slice, the oldest first. */
const waiting: (() => void)[] = [];

function giveSlice(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setTimeout(giveSlice, 0);
}

/** To be asked after each piece of the work: `if (slices.isOver) await slices.next()`. After the `await`, look again. */
export class Slices {
  private endsMs: number;

  constructor(private readonly clock: Clock, private readonly sliceMs = SLICE_MS) {
    this.endsMs = clock.monotonic() + (waiting.length > 0 ? Math.min(FIRST_MS, sliceMs) : sliceMs);
  }

  get isOver(): boolean {
    return this.clock.monotonic() >= this.endsMs;
  }

  /** Resolves when the loop has been round, and those that waited before have had a slice. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setTimeout(giveSlice, 0);
    });
    this.endsMs = this.clock.monotonic() + this.sliceMs;
  }
}
