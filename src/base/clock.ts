/** Time from outside, so that everything above can be run under a clock that a test turns. */

export interface Clock {
  /** Wall-clock milliseconds since 1970, as record timestamps have them. May jump. */
  now(): number;
  /** Milliseconds that only go forward, for waits and durations. */
  monotonic(): number;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock that stands still until a test moves it. Both readings begin alike. */
export class ManualClock implements Clock {
  private jumpedMs = 0;
  constructor(private current = 1_700_000_000_000) {}
  now(): number {
    return this.current + this.jumpedMs;
  }
  monotonic(): number {
    return this.current;
  }
  /** Lets `ms` pass. */
  advance(ms: number): void {
    this.current += ms;
  }
  /** Sets the wall clock forward or back, as an operator or a time server may; no time passes. */
  jump(ms: number): void {
    this.jumpedMs += ms;
  }
}
