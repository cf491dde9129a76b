/**
 * What a coordinator does without being asked: deadlines that pass, markers that are written. However much of it comes at
 * once, and from however many shards, the event loop goes round after each slice, and all of it gets on side by side.
 */
import type { Clock } from "../base/clock.ts";
import type { Timers } from "./shard.ts";

/** What requests may be kept waiting for. */
const SLICE_MS = 10;

/** Does a small piece of the work, and says whether there is more. */
export type Work = () => boolean;

export class BackgroundWork {
  /** What gets its turn in this round, from `at` on, and what comes in the next. */
  private round: Work[] = [];
  private at = 0;
  private next: Work[] = [];
  private leftMs = SLICE_MS;
  private isWorking = false;
  /** Set while the slice is used up and the loop goes round. */
  private cancelTimer: (() => void) | null = null;

  constructor(private readonly clock: Clock, private readonly timers: Timers) {}

  /** Has the work done: before this returns if that is little, and else a piece now and then. */
  begin(work: Work): void {
    this.next.push(work);
    if (!this.isWorking && this.cancelTimer === null) this.go();
  }

  /** Leaves what is not done. */
  close(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
    [this.round, this.next] = [[], []];
  }

  private go(): void {
    this.isWorking = true;
    try {
      while (this.leftMs > 0 && this.doOne());
    } finally {
      this.isWorking = false;
    }
    // Also when there is no more: what comes while the loop has not been round would make the slice longer.
    if (this.leftMs > 0) return;
    this.cancelTimer = this.timers.set(0, () => {
      this.cancelTimer = null;
      this.leftMs = SLICE_MS;
      this.go();
    });
  }

  /** False when there is nothing to do. */
  private doOne(): boolean {
    if (this.at >= this.round.length) {
      [this.round, this.next, this.at] = [this.next, [], 0];
      if (this.round.length === 0) return false;
    }
    const beganMs = this.clock.monotonic();
    const work = this.round[this.at++];
    if (work()) this.next.push(work);
    this.leftMs -= this.clock.monotonic() - beganMs;
    return true;
  }
}
