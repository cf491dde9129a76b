/**
 * The metadata store of a broker that is alone: one SQLite file in its data directory. A commit is on the disk when it
 * returns (write-ahead log, synced each time). The file is held exclusively while it is open, so two brokers cannot
 * share it.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ChangeFeed } from "./change_feed.ts";
import { isSqliteError, openMetadataFile, rowSum } from "./sqlite_file.ts";
import {
  ABSENT,
  type ChangeBatch,
  type CommitResult,
  type Listing,
  type MetadataStore,
  StoreFailure,
  type Transaction,
  type Watch,
} from "./store.ts";

export { METADATA_FILE } from "./sqlite_file.ts";

export class SqliteStore implements MetadataStore {
  readonly #database: DatabaseSync;
  readonly #feed: ChangeFeed;
  readonly #selectPrefix: StatementSync;
  readonly #selectRevision: StatementSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #setRevision: StatementSync;
  #revision: number;

  private constructor(readonly location: string, database: DatabaseSync) {
    this.#database = database;
    this.#selectPrefix = database.prepare(
      "SELECT key, value, revision FROM entries WHERE key >= ? AND key < ? ORDER BY key",
    );
    this.#selectRevision = database.prepare("SELECT revision FROM entries WHERE key = ?");
    this.#put = database.prepare(
      "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, " +
        "revision = excluded.revision, sum = excluded.sum",
    );
    this.#delete = database.prepare("DELETE FROM entries WHERE key = ?");
    this.#setRevision = database.prepare("UPDATE store SET revision = ?, sum = ?");
    this.#revision = Number(database.prepare("SELECT revision FROM store").get()!.revision);
    this.#feed = new ChangeFeed(this.#revision);
  }

  /**
   * Opens the store in `directory`, which must exist, and makes it when it is not there. `report` is told of a last commit
   * that was cut short. Throws `StartupError` when the file is damaged, belongs to another program or a newer
   * release, or is in use.
   */
  static open(directory: string, report: (problem: string) => void = () => {}): SqliteStore {
    return openMetadataFile(directory, report, (database, path) => new SqliteStore(path, database));
  }

  list(prefix: string): Promise<Listing> {
    return this.#attempt("read", () => {
      const rows = this.#selectPrefix.all(prefix, endOfPrefix(prefix));
      const entries = rows.map((row) => ({
        key: String(row.key),
        value: String(row.value),
        revision: Number(row.revision),
      }));
      return { revision: this.#revision, entries };
    });
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    return this.#attempt("write", () => {
      for (const { key, revision } of transaction.compare) {
        const found = this.#selectRevision.get(key)?.revision ?? ABSENT;
        if (Number(found) !== revision) return { ok: false, revision: this.#revision };
      }
      const revision = this.#revision + 1;
      this.#write(transaction, revision);
      this.#revision = revision;
      this.#feed.publish({ revision, put: transaction.put, delete: transaction.delete });
      return { ok: true, revision };
    });
  }

  watch(fromRevision: number, listener: (batch: ChangeBatch) => void): Watch {
    return this.#feed.watch(fromRevision, listener);
  }

  close(): Promise<void> {
    return this.#attempt("close", () => this.#database.close());
  }

  /** Bounds the size of the file in pages of 4 KiB, so that tests can see a full disk. */
  limitPages(count: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${count}`);
  }

  #write(transaction: Transaction, revision: number): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      for (const key of transaction.delete) this.#delete.run(key);
      for (const { key, value } of transaction.put) {
        this.#put.run(key, value, revision, rowSum(key, value, revision));
      }
      this.#setRevision.run(revision, rowSum("", "", revision));
      this.#database.exec("COMMIT");
    } catch (error) {
      // After some errors, a full disk among them, SQLite has rolled back by itself.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #attempt<T>(verb: string, work: () => T): Promise<T> {
    try {
      return Promise.resolve(work());
    } catch (error) {
      // Anything else is a bug, in here or in a watcher, and must look like one.
      if (!isSqliteError(error)) return Promise.reject(error);
      const failure = new StoreFailure(`Cannot ${verb} ${this.location}: ${error.message}`, { cause: error });
      return Promise.reject(failure);
    }
  }
}

/** The least text that sorts after every text with this prefix. */
function endOfPrefix(prefix: string): string {
  if (prefix === "") return "\u{10ffff}";
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
