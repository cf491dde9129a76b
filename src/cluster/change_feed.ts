/**
 * The commits of an embedded store, for its watchers. A bounded number of them is kept, so that a watch can start from
 * the revision of a listing although commits came in between.
 */
import { assert } from "../base/assert.ts";
import type { ChangeBatch, Watch } from "./store.ts";

/** Between a listing and the watch that follows it there is at most a turn or two of the event loop. */
const REMEMBERED_BATCHES = 256;

export class ChangeFeed {
  readonly #recent: ChangeBatch[] = [];
  readonly #listeners = new Set<(batch: ChangeBatch) => void>();

  /** `revision` is the store's when it was opened. */
  constructor(private revision: number) {}

  /** Tells every watcher. */
  publish(batch: ChangeBatch): void {
    assert(batch.revision === this.revision + 1, `revision ${batch.revision} after ${this.revision}`);
    this.revision = batch.revision;
    this.#recent.push(batch);
    if (this.#recent.length > REMEMBERED_BATCHES) this.#recent.shift();
    for (const listener of this.#listeners) listener(batch);
  }

  /** See `MetadataStore.watch`. */
  watch(fromRevision: number, listener: (batch: ChangeBatch) => void): Watch {
    const oldest = this.revision - this.#recent.length;
    if (fromRevision < oldest || fromRevision > this.revision) {
      throw new RangeError(
        `Cannot watch from revision ${fromRevision}: ${oldest} to ${this.revision} are known`,
      );
    }
    for (const batch of this.#recent.slice(fromRevision - oldest)) listener(batch);
    this.#listeners.add(listener);
    return { close: () => void this.#listeners.delete(listener) };
  }
}
