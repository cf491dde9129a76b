/**
 * The metadata store of a broker that is alone: one SQLite file in its data directory. A commit is on the disk when it
 * returns (write-ahead log, synced each time). The file is held exclusively while it is open, so two brokers cannot
 * share it.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { join } from "node:path";
import { StartupError } from "../base/startup_error.ts";
import { ChangeFeed } from "./change_feed.ts";
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

/** The file's name in the data directory. */
export const METADATA_FILE = "trackway-metadata.sqlite";

/** In the header of every file that Trackway made ("TRWY"), so that no other program's database is taken for ours. */
const APPLICATION_ID = 0x54525759;

/** Raise it with every change to the tables, and make `prepare` bring older files along. */
const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
  CREATE TABLE store (only INTEGER PRIMARY KEY CHECK (only = 1), revision INTEGER NOT NULL) STRICT;
  INSERT INTO store VALUES (1, 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

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
      "INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision",
    );
    this.#delete = database.prepare("DELETE FROM entries WHERE key = ?");
    this.#setRevision = database.prepare("UPDATE store SET revision = ?");
    this.#revision = Number(database.prepare("SELECT revision FROM store").get()!.revision);
    this.#feed = new ChangeFeed(this.#revision);
  }

  /**
   * Opens the store in `directory`, which must exist, and makes it when it is not there. Throws {@link StartupError} when
   * the file is damaged, belongs to another program or a newer release, or is in use.
   */
  static open(directory: string): SqliteStore {
    const path = join(directory, METADATA_FILE);
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path);
      prepare(database, path);
      return new SqliteStore(path, database);
    } catch (error) {
      // A file that is no database can be opened all right, but reading fails, and closing may fail in the same way.
      closeQuietly(database);
      throw isSqliteError(error) ? startupError(path, error) : error;
    }
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
      for (const { key, value } of transaction.put) this.#put.run(key, value, revision);
      this.#setRevision.run(revision);
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

/** Makes the connection safe and the tables present. */
function prepare(database: DatabaseSync, path: string): void {
  // First of all, so that not even the shared-memory file of the write-ahead log is made.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  const applicationId = pragma(database, "application_id");
  const version = pragma(database, "user_version");
  const tables = Number(database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()!.n);
  const fresh = applicationId === 0 && version === 0 && tables === 0;
  if (!fresh && applicationId !== APPLICATION_ID) {
    throw new StartupError(
      `Cannot use ${path}: it is a database, but not one that Trackway made. ` +
        "Move it away, or give the broker another data directory (log.dirs).",
    );
  }
  if (version > SCHEMA_VERSION) {
    throw new StartupError(
      `Cannot use ${path}: its format is ${version}, and this release of Trackway knows formats up to ${SCHEMA_VERSION}. ` +
        "Start the release that wrote it, or a newer one.",
    );
  }
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  if (fresh) database.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()![name]);
}

function closeQuietly(database: DatabaseSync | undefined): void {
  try {
    database?.close();
  } catch {
    // The error that led here says more.
  }
}

interface SqliteError extends Error {
  readonly code: "ERR_SQLITE_ERROR";
  /** SQLite's result code; not there when the file could not be opened at all. */
  readonly errcode?: number;
}

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && (error as Partial<SqliteError>).code === "ERR_SQLITE_ERROR";
}

function startupError(path: string, error: SqliteError): StartupError {
  const options = { cause: error };
  switch (error.errcode) {
    case SQLITE_BUSY:
      return new StartupError(
        `Cannot open ${path}: another process holds it. Stop that broker, or give this one another data directory ` +
          "(log.dirs).",
        options,
      );
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return new StartupError(damaged(path, error.message), options);
    default:
      return new StartupError(
        `Cannot open ${path}: ${error.message}. The data directory must exist, be writable and have space.`,
        options,
      );
  }
}

/** What to say about a metadata file whose content cannot be read. */
function damaged(path: string, problem: string): string {
  return `Cannot use ${path}: the file is damaged (${problem}). Put back a copy of it; or move it away, with the files ` +
    "beside it whose names start alike: the broker then finds its topics again by their directories, but not their settings.";
}

/** The least text that sorts after every text with this prefix. */
function endOfPrefix(prefix: string): string {
  if (prefix === "") return "\u{10ffff}";
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
