/**
 * Wall time for deciding what is old enough to be deleted. A wall clock that jumps forward is not believed before the
 * jump has lasted: set a year ahead for a second, by a mistake or a bad time server, it must not take all data along.
 * Backward jumps are believed at once, since they only keep things longer.
 */

/** Clocks drift, and are slewed; less than this is no jump. */
const JUMP_MS = 60_000;
/** How long a jump has to last. */
const SETTLED_AFTER_MS = 60_000;

export class SettledTime {
  /** Wall time minus steady time, as it is believed to be. */
  private skewMs: number;
  /** A jump that has not lasted yet, and since when it is known. */
  private jump: { skewMs: number; sinceMs: number } | null = null;

  /** Believes the wall clock as it is now: a process knows of no time before its own. */
  constructor(wallMs: number, steadyMs: number) {
    this.skewMs = wallMs - steadyMs;
  }

  /** The wall time at this moment of both clocks, without a jump that is not settled. To be asked now and then. */
  at(wallMs: number, steadyMs: number): number {
    const skewMs = wallMs - steadyMs;
    const isSame = this.jump !== null && Math.abs(skewMs - this.jump.skewMs) < JUMP_MS;
    if (skewMs - this.skewMs < JUMP_MS || (isSame && steadyMs - this.jump!.sinceMs >= SETTLED_AFTER_MS)) {
      this.skewMs = skewMs;
      this.jump = null;
    } else if (!isSame) this.jump = { skewMs, sinceMs: steadyMs };
    return steadyMs + this.skewMs;
  }
}
