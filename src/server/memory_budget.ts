/**
 * The bound on memory for requests in flight in the whole broker (`queued.max.request.bytes`). A connection asks
 * before it makes room for a large frame and waits, its socket unread, until others have given theirs back.
 */
import { assert } from "../base/assert.ts";

export class MemoryBudget {
  private used = 0;
  private readonly waiting: { bytes: number; go: () => void }[] = [];

  constructor(readonly capacityBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** Whether somebody waits for memory that others have. */
  get isShort(): boolean {
    return this.waiting.length > 0;
  }

  /**
   * Takes `bytes`, at once (null) or when the promise resolves. First come, first served, so that a large frame is
   * not overtaken for ever. A frame larger than the whole budget is let in when nothing else is.
   */
  take(bytes: number): Promise<void> | null {
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.used += bytes;
      return null;
    }
    return new Promise((resolve) => {
      this.waiting.push({
        bytes,
        go: () => {
          this.used += bytes;
          resolve();
        },
      });
    });
  }

  /** Gives `bytes` back. */
  give(bytes: number): void {
    this.used -= bytes;
    assert(this.used >= 0, "more memory given back than was taken");
    while (this.waiting.length > 0 && this.fits(this.waiting[0].bytes)) this.waiting.shift()!.go();
  }

  private fits(bytes: number): boolean {
    return this.used === 0 || this.used + bytes <= this.capacityBytes;
  }
}
