/**
 * Tokens that come at a steady rate and are taken in lumps (KIP-599): who has saved some may take many at once, and be in
 * debt afterwards. Changes of topics are counted so, since one request may stand for hundreds of partitions.
 */
import type { Windows } from "./rate.ts";

export class TokenBucket {
  #tokens = 0;
  #lastMs: number | null = null;

  /** Takes `count` tokens, whether they are there or not. `limit` is the number that come in a second. */
  take(windows: Windows, limit: number, count: number, now: number): void {
    const tokens = this.tokens(windows, limit, now);
    this.#tokens = Math.min(capacity(windows, limit), tokens - count);
  }

  /** How many there are at `now`; below 0 for a debt. A bucket is full at first. */
  tokens(windows: Windows, limit: number, now: number): number {
    const full = capacity(windows, limit);
    const come = this.#lastMs === null ? full : limit * (now - this.#lastMs) / 1000;
    this.#tokens = Math.min(full, this.#tokens + come);
    this.#lastMs = now;
    return this.#tokens;
  }
}

/** As many as come in all samples together. */
function capacity({ samples, sampleMs }: Windows, limit: number): number {
  return samples * sampleMs / 1000 * limit;
}
