/** Timers that only a test lets run, and the clock that goes with them. Those of no delay are the system's own. */
import { turn } from "../server/fakes.ts";

export class FakeTime implements Disposable {
  #nowMs = 0;
  #nextId = 1e6;
  readonly #pending = new Map<number, { atMs: number; run: () => void }>();
  readonly #setTimeout = globalThis.setTimeout;
  readonly #clearTimeout = globalThis.clearTimeout;

  constructor() {
    const set = (run: () => void, ms = 0): number => {
      if (ms === 0) return this.#setTimeout(run, 0) as unknown as number;
      this.#pending.set(++this.#nextId, { atMs: this.#nowMs + ms, run });
      return this.#nextId;
    };
    const clear = (id: number) => this.#pending.delete(id) || this.#clearTimeout(id);
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  }

  readonly now = (): number => this.#nowMs;

  /** How many timers wait. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Lets `ms` pass, with everything that is due by then. */
  async pass(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const [id, { atMs, run }] of [...this.#pending]) {
      if (atMs > this.#nowMs) continue;
      this.#pending.delete(id);
      run();
    }
    for (let i = 0; i < 5; i++) await turn();
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, { setTimeout: this.#setTimeout, clearTimeout: this.#clearTimeout });
  }
}
