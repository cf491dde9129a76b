/**
 * The bound on memory for requests in flight in the whole broker (`queued.max.request.bytes`). A connection has a
 * claim for each large frame, which grows in steps while the frame's bytes come: what a client announces costs
 * nothing, only what it sent does. Who finds no room waits, its socket unread, until others have given theirs back.
 *
 * Ordinary frames do not wait behind large ones: a part of the memory is kept for them, so that a few clients with
 * large frames that hardly come cannot stop everybody's requests.
 */
import { assert } from "../base/assert.ts";

/** A frame up to this size is an ordinary one: all that clients send with default settings, record batches of 1 MiB included. */
export const ORDINARY_FRAME_BYTES = 1024 * 1024 + 64 * 1024;
/** What is kept for ordinary frames: this part of the whole, but no more than {@link MOST_RESERVED_BYTES}. */
const RESERVED_SHARE = 1 / 4;
const MOST_RESERVED_BYTES = 64 * 1024 * 1024;

/** A step that waits for room. */
interface Step {
  readonly claim: Claim;
  readonly toBytes: number;
  granted: boolean;
  wake: (() => void) | null;
}

/** The claims for ordinary frames, or those for large ones. */
interface Group {
  used: number;
  /** By the age of their claims, oldest first. */
  readonly waiting: Step[];
  /** Claims that have memory and do not wait for more: they will give it back in time. */
  advancing: number;
}

export class MemoryBudget {
  private readonly ordinary: Group = { used: 0, waiting: [], advancing: 0 };
  private readonly large: Group = { used: 0, waiting: [], advancing: 0 };
  private readonly reservedBytes: number;
  private claims = 0;

  constructor(readonly capacityBytes: number) {
    this.reservedBytes = Math.min(MOST_RESERVED_BYTES, capacityBytes * RESERVED_SHARE);
  }

  get usedBytes(): number {
    return this.ordinary.used + this.large.used;
  }

  /** Whether somebody waits for memory that others have. */
  get isShort(): boolean {
    return this.ordinary.waiting.length > 0 || this.large.waiting.length > 0;
  }

  /**
   * A claim of nothing yet, for a frame that will have `frameBytes` in the end. Older claims of its kind go first, so
   * that a large frame is not overtaken for ever.
   */
  claim(frameBytes = 0): Claim {
    return new Claim(this, this.claims++, frameBytes <= ORDINARY_FRAME_BYTES);
  }

  /** For {@link Claim.grow}. */
  grow(claim: Claim, toBytes: number): Promise<void> | null {
    const group = this.groupOf(claim);
    if (claim.bytes > 0) group.advancing--;
    const step: Step = { claim, toBytes, granted: false, wake: null };
    const behind = group.waiting.findIndex((other) => other.claim.age > claim.age);
    group.waiting.splice(behind < 0 ? group.waiting.length : behind, 0, step);
    this.admit();
    return step.granted ? null : new Promise((resolve) => step.wake = resolve);
  }

  /** For {@link Claim.release}. */
  release(claim: Claim): void {
    const group = this.groupOf(claim);
    const at = group.waiting.findIndex((step) => step.claim === claim);
    const [step] = at < 0 ? [] : group.waiting.splice(at, 1);
    if (step === undefined && claim.bytes > 0) group.advancing--;
    group.used -= claim.bytes;
    assert(group.used >= 0 && group.advancing >= 0, "more memory given back than was taken");
    claim.bytes = 0;
    step?.wake?.();
    this.admit();
  }

  private groupOf(claim: Claim): Group {
    return claim.isOrdinary ? this.ordinary : this.large;
  }

  private admit(): void {
    const { ordinary, large } = this;
    while (this.ordinaryMayGrow()) this.grant(ordinary);
    // What it takes may keep ordinary ones from growing, never let them.
    while (this.largeMayGrow()) this.grant(large);
  }

  private ordinaryMayGrow(): boolean {
    const { ordinary, large } = this;
    const step = ordinary.waiting.at(0);
    if (step === undefined) return false;
    const more = step.toBytes - step.claim.bytes;
    if (ordinary.used + more <= this.reservedBytes) return true;
    // When all wait for each other, the oldest goes beyond the bound; the others wait for it.
    if (ordinary.advancing === 0) return true;
    // Beyond what is kept for them they do not overtake: or else a large frame would wait as long as they keep coming.
    const isBehind = large.waiting.length > 0 && large.waiting[0].claim.age < step.claim.age;
    return !isBehind && this.usedBytes + more <= this.capacityBytes;
  }

  private largeMayGrow(): boolean {
    const { ordinary, large } = this;
    const step = large.waiting.at(0);
    if (step === undefined) return false;
    const more = step.toBytes - step.claim.bytes;
    if (large.advancing > 0) {
      return large.used + more <= this.capacityBytes - this.reservedBytes &&
        this.usedBytes + more <= this.capacityBytes;
    }
    // As above, and so does a frame that is larger than the whole budget. What is kept for others may be in use.
    return ordinary.used <= this.reservedBytes || this.usedBytes + more <= this.capacityBytes ||
      ordinary.advancing === 0;
  }

  private grant(group: Group): void {
    const step = group.waiting.shift()!;
    group.used += step.toBytes - step.claim.bytes;
    group.advancing++;
    step.claim.bytes = step.toBytes;
    step.granted = true;
    step.wake?.();
  }
}

/** What one frame has of the budget. */
export class Claim {
  bytes = 0;

  constructor(private readonly budget: MemoryBudget, readonly age: number, readonly isOrdinary: boolean) {}

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
