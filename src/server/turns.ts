/**
 * Shares out what is sent in one turn of the event loop. To send is synchronous, and a fast client takes megabytes at
 * once: fifty of them would keep everybody else waiting for as long as hundreds of megabytes take.
 */

import { setImmediate } from "node:timers";

/** A millisecond or two. */
const TURN_BYTES = 2 * 1024 * 1024;

export class Turns {
  /** Of this turn; what is sent beyond it is one piece. */
  private left = TURN_BYTES;
  private readonly waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  private isUnderWay = false;

  /** Takes room for `bytes` in this turn or, when the promise resolves, a later one; first come, first served. */
  take(bytes: number): Promise<void> | void {
    this.begin();
    if (this.left > 0) {
      this.left -= bytes;
      return;
    }
    return new Promise((begin) => this.waiting.push({ bytes, begin }));
  }

  /** Gives back what was taken in this turn and not needed. */
  giveBack(bytes: number): void {
    this.left += bytes;
  }

  private begin(): void {
    if (this.isUnderWay) return;
    this.isUnderWay = true;
    setImmediate(() => this.next());
  }

  private next(): void {
    this.isUnderWay = false;
    this.left = TURN_BYTES;
    if (this.waiting.length > 0) this.begin();
    while (this.left > 0 && this.waiting.length > 0) {
      const { bytes, begin } = this.waiting.shift()!;
      this.left -= bytes;
      begin();
    }
  }
}
