/** Waiting for a condition by being told of changes, with a deadline that names what did not happen. */

/** A place where waiters are told that something changed. */
export class Changes {
  #waiters = new Set<() => void>();

  /** Tells every waiter to look again. */
  notify(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  /**
   * Resolves once `condition` holds, looking again at each change. Throws after `timeoutMs` with what was waited
   * for, and at once when `condition` throws.
   */
  async until(condition: () => boolean, timeoutMs: number, what: () => string): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!condition()) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error(`waited ${timeoutMs} ms for ${what()}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiters.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, leftMs);
        this.#waiters.add(wake);
      });
    }
  }
}

/** The last `count` lines of a text. */
export function tail(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}
