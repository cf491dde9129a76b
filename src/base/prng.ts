/**
 * A small deterministic random number generator (xoshiro128**, seeded through splitmix32), for simulations, mutation
 * tests and jitter that must be repeatable. Not for secrets. The same seed gives the same run on every machine.
 */

import { assert } from "./assert.ts";

export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** Any number will do as `seed`; only its low 32 bits count. */
  constructor(readonly seed: number) {
    let state = seed | 0;
    const next = () => {
      state = (state + 0x9e3779b9) | 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return z ^ (z >>> 16);
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next();
  }

  /** 32 random bits as an unsigned number. */
  nextU32(): number {
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** A number in [0, 1) with 53 random bits. */
  float(): number {
    return (this.nextU32() * 0x200000 + (this.nextU32() >>> 11)) / 0x20000000000000;
  }

  /** An integer in [0, boundExclusive). */
  int(boundExclusive: number): number {
    assert(
      Number.isSafeInteger(boundExclusive) && boundExclusive > 0,
      `Prng.int() of bound ${boundExclusive}`,
    );
    return Math.floor(this.float() * boundExclusive);
  }

  /** An integer in [first, last]. */
  between(first: number, last: number): number {
    return first + this.int(last - first + 1);
  }

  /** True with the given probability, one half if none is given. */
  chance(probability = 0.5): boolean {
    return this.float() < probability;
  }

  /** One element of a list that is not empty. */
  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)];
  }

  /** `length` random bytes. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(length);
    for (let i = 0; i < length; i++) out[i] = this.nextU32() >>> 24;
    return out;
  }

  /** Puts a list into random order, in place, and gives it back. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.int(i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
    return items;
  }

  /** A generator of its own, whose numbers do not depend on how many this one gives out later. */
  fork(): Prng {
    return new Prng(this.nextU32());
  }
}
