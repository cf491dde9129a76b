/**
 * The metadata file itself: its tables, and that nothing in it is believed that was not written by Trackway. SQLite checks
 * its structure; the values in it have a sum of their own, since a flipped bit in one is no fault to SQLite.
 */
import { DatabaseSync } from "node:sqlite";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { StartupError } from "../base/startup_error.ts";
import { crc32c } from "../codec/crc32c.ts";
import { findWalFault, type WalFault } from "./sqlite_wal.ts";

/** The file's name in the data directory. */
export const METADATA_FILE = "trackway-metadata.sqlite";

/** In the header of every file that Trackway made ("TRWY"), so that no other program's database is taken for ours. */
const APPLICATION_ID = 0x54525759;

/** Raise it with every change to the tables, and make `prepare` bring older files along. Rows of format 1 had no sums. */
const SCHEMA_VERSION = 2;

const COLUMNS: Readonly<Record<string, string>> = {
  entries: "key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL",
  store: "only INTEGER PRIMARY KEY CHECK (only = 1), revision INTEGER NOT NULL",
};
const SUM = ", sum INTEGER NOT NULL";
const ADDED_SUM = ", sum INTEGER NOT NULL DEFAULT 0";

/** What the file may say of a table: as it is made now, as it was brought along from format 1, and format 1. */
function definitions(table: string): string[] {
  return [SUM, ADDED_SUM, ""].map((sum) => `CREATE TABLE ${table} (${COLUMNS[table]}${sum}) STRICT`);
}

const encoder = new TextEncoder();

/** The sum of a row; of the store's revision with key and value "". */
export function rowSum(key: string, value: string, revision: number): number {
  // A key has no line break, so no two rows give the same text.
  return crc32c(encoder.encode(`${key}\n${revision}\n${value}`));
}

/**
 * Opens the file in `directory`, making it when it is missing, and gives what `use` makes of it. Throws
 * {@link StartupError}, whose text says which file it is about and what to do.
 */
export function openMetadataFile<T>(
  directory: string,
  report: (problem: string) => void,
  use: (database: DatabaseSync, path: string) => T,
): T {
  const path = join(directory, METADATA_FILE);
  checkSize(path);
  checkWal(path, report);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    prepare(database, path);
    const problem = findDamage(database);
    if (problem !== null) throw new StartupError(damaged(path, problem));
    return use(database, path);
  } catch (error) {
    // A file that is no database can be opened all right, but reading fails, and closing may fail in the same way.
    closeQuietly(database);
    throw isSqliteError(error) ? startupError(path, error) : error;
  }
}

/** What is wrong with the write-ahead log of the file at `path`; null also when there is none. Throws what `node:fs` does. */
export function walFaultOf(path: string): (WalFault & { path: string }) | null {
  const wal = `${path}-wal`;
  const size = sizeOf(wal);
  if (size === null || size === 0) return null;
  // SQLite would throw it away.
  if ((sizeOf(path) ?? 0) === 0) {
    return {
      path: wal,
      position: 0,
      problem: "the file that it belongs to is missing or empty",
      isDamage: true,
    };
  }
  const fault = findWalFault(readFileSync(wal));
  return fault === null ? null : { path: wal, ...fault };
}

/** SQLite takes a file that is shorter than any page for a new one. Throws {@link StartupError}. */
export function checkSize(path: string): void {
  const size = sizeOf(path) ?? 0;
  if (size > 0 && size < MIN_PAGE_BYTES) throw new StartupError(damaged(path, `it has ${size} bytes`));
}

const MIN_PAGE_BYTES = 512;

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

function checkWal(path: string, report: (problem: string) => void): void {
  let fault: ReturnType<typeof walFaultOf>;
  try {
    fault = walFaultOf(path);
  } catch (error) {
    // SQLite has a word for it too, unless the file can be read by then.
    throw new StartupError(`Cannot read ${path}-wal: ${(error as Error).message}`, { cause: error });
  }
  if (fault === null) return;
  const where = `${fault.path} at position ${fault.position}: ${fault.problem}`;
  if (fault.isDamage) {
    throw new StartupError(
      `Cannot use ${path}: commits that were made after the last checkpoint are damaged (${where}). Put back a copy of both ` +
        `files. Or move away ${fault.path}, which loses the latest changes of topics and settings; or both, and the broker ` +
        "finds its topics again by their directories, but not their settings.",
    );
  }
  report(
    `${where}: a last change of topics or settings that was not finished when the machine stopped is left out`,
  );
}

/** Makes the connection safe and the tables present. */
function prepare(database: DatabaseSync, path: string): void {
  // First of all, so that not even the shared-memory file of the write-ahead log is made.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  const { version, fresh } = checkFormat(database, path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  if (fresh) inTransaction(database, () => makeTables(database));
  else if (version < SCHEMA_VERSION) inTransaction(database, () => addSums(database));
}

/** Whose file it is and of which format. Throws {@link StartupError} when we must not touch it, and SQLite's errors. */
export function checkFormat(database: DatabaseSync, path: string): { version: number; fresh: boolean } {
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
  if (version > SCHEMA_VERSION || (!fresh && version < 1)) {
    throw new StartupError(
      `Cannot use ${path}: its format is ${version}, and this release of Trackway knows formats up to ${SCHEMA_VERSION}. ` +
        "Start the release that wrote it, or a newer one.",
    );
  }
  return { version, fresh };
}

function makeTables(database: DatabaseSync): void {
  for (const table of Object.keys(COLUMNS)) database.exec(definitions(table)[0]);
  database.prepare("INSERT INTO store VALUES (1, 0, ?)").run(rowSum("", "", 0));
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function addSums(database: DatabaseSync): void {
  const rows = database.prepare("SELECT key, value, revision FROM entries").all();
  const { revision } = database.prepare("SELECT revision FROM store").get()!;
  for (const table of Object.keys(COLUMNS)) {
    database.exec(`ALTER TABLE ${table} ADD COLUMN ${ADDED_SUM.slice(2)}`);
  }
  const set = database.prepare("UPDATE entries SET sum = ? WHERE key = ?");
  for (const { key, value, revision } of rows) {
    set.run(rowSum(String(key), String(value), Number(revision)), String(key));
  }
  database.prepare("UPDATE store SET sum = ?").run(rowSum("", "", Number(revision)));
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * What in the tables is not as it was written; null when nothing is. A file of format 1 has no sums to go by, one without
 * tables is as good as none. Costs 10 ms for ten thousand topics. Throws SQLite's errors, which mean damage as well.
 */
export function findDamage(database: DatabaseSync): string | null {
  const [verdict] = Object.values(database.prepare("PRAGMA integrity_check (1)").get()!);
  if (verdict !== "ok") return inOneLine(String(verdict));
  const odd = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").all().find((
    { name, sql },
  ) => !definitions(String(name)).includes(String(sql)));
  if (odd !== undefined) return `the table ${odd.name} is not defined as it was written`;
  if (pragma(database, "user_version") < 2) return null;
  const store = database.prepare("SELECT only, revision, sum FROM store").get();
  if (store === undefined || Number(store.only) !== 1) return "the revision is missing";
  if (Number(store.sum) !== rowSum("", "", Number(store.revision))) {
    return `the revision ${store.revision} is not what was written`;
  }
  for (const { key, value, revision, sum } of database.prepare("SELECT * FROM entries").iterate()) {
    if (Number(sum) === rowSum(String(key), String(value), Number(revision))) continue;
    return `the entry ${JSON.stringify(key)} is not what was written`;
  }
  return null;
}

/** SQLite's verdict has a line for each fault, below one that names the database, of which there is one only. */
export function inOneLine(verdict: string): string {
  const lines = verdict.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("***")).join("; ");
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
/** What is not the file's fault: no permission, read-only, a failing disk, a full one, no such directory, locked. */
const OUTSIDE = [3, 6, 7, 8, 10, 13, 14];

export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && (error as Partial<SqliteError>).code === "ERR_SQLITE_ERROR";
}

function startupError(path: string, error: SqliteError): StartupError {
  const options = { cause: error };
  // The higher bytes tell more than anybody has to know.
  const result = error.errcode === undefined ? undefined : error.errcode & 0xff;
  if (result === SQLITE_BUSY) {
    return new StartupError(
      `Cannot open ${path}: another process holds it. Stop that broker, or give this one another data directory ` +
        "(log.dirs).",
      options,
    );
  }
  if (result === undefined || OUTSIDE.includes(result)) {
    return new StartupError(
      `Cannot open ${path}: ${error.message}. The data directory must exist, be writable and have space.`,
      options,
    );
  }
  return new StartupError(damaged(path, error.message), options);
}

/** What to say about a metadata file whose content cannot be read. */
function damaged(path: string, problem: string): string {
  return `Cannot use ${path}: the file is damaged (${problem}). Put back a copy of it; or move it away, with the files ` +
    "beside it whose names start alike: the broker then finds its topics again by their directories, but not their settings.";
}
