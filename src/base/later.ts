/**
 * A value that comes later, handed on in the very call that brings it. A promise hands on some turns after that, which is
 * what a request that waits for another one would notice most. It has one listener, and can be awaited like a promise.
 */
import { assert } from "./assert.ts";

export class Later<T> implements PromiseLike<T> {
  private outcome: { value: T } | { error: unknown } | null = null;
  private listener: ((outcome: { value: T } | { error: unknown }) => void) | null = null;

  settle(value: T): void {
    this.end({ value });
  }

  fail(error: unknown): void {
    this.end({ error });
  }

  /** Settles with what `give` gives, or fails with what it throws. */
  settleWith(give: () => T): void {
    let value: T;
    try {
      value = give();
    } catch (error) {
      return this.fail(error);
    }
    this.settle(value);
  }

  /** Like a promise's, except that the callbacks are called at once: now, if the value is there already. */
  then<A = T, B = never>(
    onValue?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Later<A | B> {
    assert(this.listener === null, "a later value has one listener");
    const next = new Later<A | B>();
    this.listener = (outcome) => {
      let given: unknown;
      try {
        if ("value" in outcome) given = onValue ? onValue(outcome.value) : outcome.value;
        else if (onError) given = onError(outcome.error);
        else throw outcome.error;
      } catch (error) {
        return next.fail(error);
      }
      if (isPromiseLike<A | B>(given)) given.then((value) => next.settle(value), (error) => next.fail(error));
      else next.settle(given as A | B);
    };
    if (this.outcome !== null) this.listener(this.outcome);
    return next;
  }

  private end(outcome: { value: T } | { error: unknown }): void {
    assert(this.outcome === null, "a later value comes once");
    this.outcome = outcome;
    this.listener?.(outcome);
  }
}

/** Whether `value` is a promise, a {@link Later} or the like. */
export function isPromiseLike<T>(value: unknown): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
