/**
 * The bound on memory for requests in flight in the whole broker (`queued.max.request.bytes`). A connection has a
 * claim for each large frame, which grows in steps while the frame's bytes come: what a client announces costs
 * nothing, only what it sent does. Who finds no room waits, its socket unread, until others have given theirs back.
 */
import { assert } from "../base/assert.ts";

/** A step that waits for room. */
interface Step {
  readonly claim: Claim;
  readonly toBytes: number;
  granted: boolean;
  wake: (() => void) | null;
}

export class MemoryBudget {
  private used = 0;
  /** By the age of their claims, oldest first. */
  private readonly waiting: Step[] = [];
  /** Claims that have memory and do not wait for more: they will give it back in time. */
  private advancing = 0;
  private claims = 0;

  constructor(readonly capacityBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** Whether somebody waits for memory that others have. */
  get isShort(): boolean {
    return this.waiting.length > 0;
  }

  /** A claim of nothing yet. Older claims go first, so that a large frame is not overtaken for ever. */
  claim(): Claim {
    return new Claim(this, this.claims++);
  }

  /** For {@link Claim.grow}. */
  grow(claim: Claim, toBytes: number): Promise<void> | null {
    if (claim.bytes > 0) this.advancing--;
    const step: Step = { claim, toBytes, granted: false, wake: null };
    const behind = this.waiting.findIndex((other) => other.claim.age > claim.age);
    this.waiting.splice(behind < 0 ? this.waiting.length : behind, 0, step);
    this.admit();
    return step.granted ? null : new Promise((resolve) => step.wake = resolve);
  }

  /** For {@link Claim.release}. */
  release(claim: Claim): void {
    const at = this.waiting.findIndex((step) => step.claim === claim);
    const [step] = at < 0 ? [] : this.waiting.splice(at, 1);
    if (step === undefined && claim.bytes > 0) this.advancing--;
    this.used -= claim.bytes;
    assert(this.used >= 0 && this.advancing >= 0, "more memory given back than was taken");
    claim.bytes = 0;
    step?.wake?.();
    this.admit();
  }

  private admit(): void {
    for (let step = this.waiting[0]; step !== undefined; step = this.waiting[0]) {
      const more = step.toBytes - step.claim.bytes;
      // When all wait for each other, the oldest goes beyond the bound; the others wait for it. So does a frame that
      // is larger than the whole budget.
      if (this.used + more > this.capacityBytes && this.advancing > 0) return;
      this.waiting.shift();
      this.used += more;
      this.advancing++;
      step.claim.bytes = step.toBytes;
      step.granted = true;
      step.wake?.();
    }
  }
}

/** What one frame has of the budget. */
export class Claim {
  bytes = 0;

  constructor(private readonly budget: MemoryBudget, readonly age: number) {}

  /** Has `toBytes` in all, at once (null) or when the promise resolves, which it also does when it is released. */
  grow(toBytes: number): Promise<void> | null {
    assert(toBytes > this.bytes, "a claim can only grow");
    return this.budget.grow(this, toBytes);
  }

  /** Gives everything back. Safe to call twice. */
  release(): void {
    this.budget.release(this);
  }
}
