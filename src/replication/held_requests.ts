/**
 * Requests that are held until something happens or their time is over. What wakes one answers it at the end of the same
 * turn: all that one read from a socket brought is in the answer, and the answer is on its way before that of whoever
 * brought it. One timer serves them all, since starting and stopping one for each costs as much as reading a batch.
 */
import { assert } from "../base/assert.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { Deadlines, type Due } from "../base/deadlines.ts";

export class HeldRequests {
  private readonly due = new Deadlines<HeldRequest>();
  private woken: HeldRequest[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer goes off; Infinity while there is none. */
  private timerMs = Infinity;

  constructor(private readonly clock: Clock = systemClock) {}

  get count(): number {
    let count = this.due.size;
    for (const request of this.woken) if (request.isHeld) count++;
    return count;
  }

  /** Holds a request for `waitMs` at most. `answer` answers it with what there is; it is called once and must not throw. */
  hold(waitMs: number, answer: () => void): HeldRequest {
    const request = new HeldRequest(this, this.clock.monotonic() + waitMs, answer);
    this.due.add(request);
    if (request.dueMs < this.timerMs) this.setTimer(waitMs);
    return request;
  }

  /**
   * Answers requests that were woken, as many as `max`; the others are answered when this turn is over. To be called at
   * the end of a turn in which something was appended, before anything is sent.
   */
  answerWoken(max = Infinity): void {
    if (this.woken.length === 0) return;
    const first = this.woken.length <= max ? this.woken : this.woken.slice(0, max);
    this.woken = this.woken.slice(first.length);
    for (const request of first) request.answerNow();
  }

  /** Answers every request that is held now. */
  endAll(): void {
    clearTimeout(this.timer);
    this.timerMs = Infinity;
    const all = [...this.woken, ...this.due.all()];
    this.woken = [];
    for (const request of all) {
      this.due.remove(request);
      request.answerNow();
    }
  }

  /** For {@link HeldRequest.wake}. */
  wake(request: HeldRequest): void {
    this.due.remove(request);
    // Appends that no read brought (a sync that is over, a coordinator's) have nobody who says when their turn ends.
    if (this.woken.length === 0) queueMicrotask(() => this.answerWoken());
    this.woken.push(request);
  }

  /** For {@link HeldRequest.release}. */
  forget(request: HeldRequest): void {
    this.due.remove(request);
  }

  private setTimer(waitMs: number): void {
    clearTimeout(this.timer);
    this.timerMs = this.clock.monotonic() + waitMs;
    this.timer = setTimeout(() => this.timeIsOver(), Math.ceil(waitMs));
  }

  private timeIsOver(): void {
    this.timerMs = Infinity;
    const now = this.clock.monotonic();
    for (let first = this.due.first; first !== undefined && first.dueMs <= now; first = this.due.first) {
      this.due.remove(first);
      first.answerNow();
    }
    // Most of those that were here when it was set have been answered since, and their time is over too.
    if (this.due.first !== undefined) this.setTimer(this.due.first.dueMs - now);
  }
}

/** One request that is held. */
export class HeldRequest implements Due {
  place = -1;
  /** Null when it was answered, or is not to be answered any more. */
  private answer: (() => void) | null;
  private isWoken = false;

  constructor(private readonly owner: HeldRequests, readonly dueMs: number, answer: () => void) {
    this.answer = answer;
  }

  get isHeld(): boolean {
    return this.answer !== null;
  }

  /** Has it answered at the end of this turn. */
  wake(): void {
    if (this.isWoken || this.answer === null) return;
    this.isWoken = true;
    this.owner.wake(this);
  }

  /** Has it forgotten unanswered. Safe to call at any time. */
  release(): void {
    this.answer = null;
    this.owner.forget(this);
  }

  /** For its owner, which has taken it off its list. */
  answerNow(): void {
    assert(this.place < 0, "an answered request is still held");
    const { answer } = this;
    this.answer = null;
    answer?.();
  }
}
