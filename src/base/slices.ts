/** Long work in slices, so that the one event loop gets to everybody else in between. */

import type { Clock } from "./clock.ts";

/** What others may be kept waiting for. */
const SLICE_MS = 10;

/** To be asked after each piece of the work: `if (slices.isOver) await slices.next()`. After the `await`, look again. */
export class Slices {
  private endsMs: number;

  constructor(private readonly clock: Clock, private readonly sliceMs = SLICE_MS) {
    this.endsMs = clock.monotonic() + sliceMs;
  }

  get isOver(): boolean {
    return this.clock.monotonic() >= this.endsMs;
  }

  /** Resolves when the loop has been round. */
  async next(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.endsMs = this.clock.monotonic() + this.sliceMs;
  }
}
