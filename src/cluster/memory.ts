/** A metadata store that forgets everything when the process ends, for tests and for brokers that are thrown away. */
import { ChangeFeed } from "./change_feed.ts";
import {
  ABSENT,
  type ChangeBatch,
  type CommitResult,
  type Entry,
  type Listing,
  type MetadataStore,
  type Transaction,
  type Watch,
} from "./store.ts";

export class MemoryStore implements MetadataStore {
  readonly location = "memory";
  readonly #entries = new Map<string, Entry>();
  readonly #feed = new ChangeFeed(0);
  #revision = 0;

  list(prefix: string): Promise<Listing> {
    const entries = [...this.#entries.values()].filter((entry) => entry.key.startsWith(prefix));
    entries.sort((a, b) => a.key < b.key ? -1 : 1);
    return Promise.resolve({ revision: this.#revision, entries });
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    for (const { key, revision } of transaction.compare) {
      if ((this.#entries.get(key)?.revision ?? ABSENT) !== revision) {
        return Promise.resolve({ ok: false, revision: this.#revision });
      }
    }
    const revision = ++this.#revision;
    for (const key of transaction.delete) this.#entries.delete(key);
    for (const { key, value } of transaction.put) this.#entries.set(key, { key, value, revision });
    this.#feed.publish({ revision, put: transaction.put, delete: transaction.delete });
    return Promise.resolve({ ok: true, revision });
  }

  watch(fromRevision: number, listener: (batch: ChangeBatch) => void): Watch {
    return this.#feed.watch(fromRevision, listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
