/**
 * Where cleanings run: a thread of its own, made when there is something to clean and ended when there is nothing more, so
 * that a broker which compacts nothing pays nothing. {@link CleanerThread} is the port; in tests there is no thread behind.
 */

import type { CleanedGroup, CleaningJob, CleaningOutcome } from "./job.ts";

export interface CleanerThread {
  /**
   * Cleans, reading and writing so many bytes a second at most. Each group is shown to `replace` when its files are
   * complete. One at a time. Rejects when the thread itself fails: it is of no use then.
   */
  run(
    job: CleaningJob,
    bytesPerSecond: number,
    replace: (group: CleanedGroup) => Promise<boolean>,
  ): Promise<CleaningOutcome>;
  /** Has the present cleaning end soon. */
  interrupt(): void;
  /** Lets go of the thread, which must not be cleaning. */
  end(): void;
}

/** To the thread. */
export type Order =
  | {
    readonly kind: "clean";
    readonly job: CleaningJob;
    readonly bytesPerSecond: number;
    readonly flags: Int32Array;
  }
  | { readonly kind: "replaced"; readonly done: boolean };

/** From it. */
export type Report =
  | { readonly kind: "group"; readonly group: CleanedGroup }
  | { readonly kind: "outcome"; readonly outcome: CleaningOutcome };

/** In the shared flags: not 0 has the cleaning end. */
export const INTERRUPTED = 0;

/** Beside this module, or beside the bundle that `deno task pack` has made of it and all others. */
function threadModule(here: string): URL {
  return new URL(here.endsWith("/thread.ts") ? "./thread_main.ts" : "./cleaner_thread.js", here);
}

export class WorkerThread implements CleanerThread {
  private readonly worker = new Worker(threadModule(import.meta.url), { type: "module", name: "compaction" });
  private readonly flags = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Why it does nothing any more. */
  private failure: Error | null = null;
  private onFailed: ((error: Error) => void) | null = null;

  constructor() {
    // From the beginning, for it may fail to load. Else the whole process ends with it.
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.failure = new Error(`The thread of compaction failed: ${event.message}`);
      this.onFailed?.(this.failure);
    };
  }

  run(
    job: CleaningJob,
    bytesPerSecond: number,
    replace: (group: CleanedGroup) => Promise<boolean>,
  ): Promise<CleaningOutcome> {
    const { worker, flags } = this;
    Atomics.store(flags, INTERRUPTED, 0);
    return new Promise((resolve, reject) => {
      if (this.failure !== null) return reject(this.failure);
      this.onFailed = reject;
      worker.onmessage = ({ data }: MessageEvent<Report>) => {
        if (data.kind === "outcome") return resolve(data.outcome);
        replace(data.group).then((done) => this.send({ kind: "replaced", done }), reject);
      };
      this.send({ kind: "clean", job, bytesPerSecond, flags });
    });
  }

  private send(order: Order): void {
    this.worker.postMessage(order);
  }

  interrupt(): void {
    Atomics.store(this.flags, INTERRUPTED, 1);
    Atomics.notify(this.flags, INTERRUPTED);
  }

  end(): void {
    this.worker.terminate();
  }
}
