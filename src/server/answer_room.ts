/**
 * What one connection has of the memory for large answers: of the one that is being made, and of those that its client
 * has not taken yet. A request of a few bytes may make a hundred megabytes, so many at once would take gigabytes: who
 * finds no room waits until others have given theirs back.
 */
import type { Claim, MemoryBudget } from "./memory_budget.ts";

/** An answer up to this size is not counted, as a frame is not. */
const UNCOUNTED_BYTES = 64 * 1024;
/** Memory is taken in steps, so that not each piece of an answer costs one. */
const STEP_BYTES = 256 * 1024;

export class AnswerRoom {
  /** Of the answer in the making, and how much that needs so far. */
  private claim: Claim | null = null;
  private bytes = 0;
  private readonly unsent = new Set<Claim>();
  /** Since when it has had some, and since when it has been waiting for more; the latter is null while it is not. */
  private heldSinceMs = 0;
  private waitsSinceMs: number | null = null;

  constructor(private readonly budget: MemoryBudget, private readonly monotonic: () => number) {}

  /** Counts more of the answer in the making; a promise resolves when there is memory for it, or all is given back. */
  grow(bytes: number): Promise<void> | null {
    this.bytes += bytes;
    if (this.bytes <= Math.max(UNCOUNTED_BYTES, this.claim?.bytes ?? 0)) return null;
    if (!this.hasSome) this.heldSinceMs = this.monotonic();
    this.claim ??= this.budget.claim();
    const wait = this.claim.grow(this.bytes + STEP_BYTES);
    if (wait === null) return null;
    this.waitsSinceMs = this.monotonic();
    return wait.then(() => {
      this.waitsSinceMs = null;
      // The wait is not held against it.
      this.heldSinceMs = this.monotonic();
    });
  }

  /** The answer is made: its memory goes when it is `sent`, of which the caller is told as well. */
  untilSent(sent: (() => void) | undefined): (() => void) | undefined {
    const { claim } = this;
    this.claim = null;
    this.bytes = 0;
    if (claim === null) return sent;
    this.unsent.add(claim);
    return () => {
      sent?.();
      this.unsent.delete(claim);
      claim.release();
    };
  }

  private get hasSome(): boolean {
    return this.unsent.size > 0 || (this.claim?.bytes ?? 0) > 0;
  }

  /** How long it has had memory without waiting for more. */
  heldMs(now: number): number {
    return this.hasSome && this.waitsSinceMs === null ? now - this.heldSinceMs : 0;
  }

  /** How long it has been waiting for some. */
  waitMs(now: number): number {
    return this.waitsSinceMs === null ? 0 : now - this.waitsSinceMs;
  }

  /** Gives everything back. */
  close(): void {
    this.claim?.release();
    for (const claim of this.unsent) claim.release();
  }
}
