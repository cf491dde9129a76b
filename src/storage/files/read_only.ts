/**
 * {@link Files} that cannot change anything: what would is a bug and asserts. Files are opened for reading only, so that a
 * data directory can be looked at which is mounted read-only or belongs to another user.
 */

import * as fs from "node:fs";
import { assert } from "../../base/assert.ts";
import { type FileHandle, type Files, IoError, type Unlock } from "./files.ts";
import { realFiles } from "./real.ts";

/** `inner` without the verbs that change something; `inner.open` is never asked to make a file. */
export function readOnly(inner: Files): Files {
  return {
    open(path, create) {
      assert(!create, `${path} was to be made by who may only read`);
      return readOnlyHandle(inner.open(path, false), path);
    },
    stat: (path) => inner.stat(path),
    list: (directory) => inner.list(directory),
    spaceAt: (path) => inner.spaceAt(path),
    lock: (path) => inner.lock(path),
    makeDirectory: refuse,
    rename: refuse,
    setModified: refuse,
    remove: refuse,
    removeDirectory: refuse,
    removeTree: refuse,
    syncDirectory: refuse,
    syncDirectoryNow: refuse,
  };
}

function refuse(path: string): never {
  assert(false, `${path} was to be changed by who may only read`);
}

function readOnlyHandle(inner: FileHandle, path: string): FileHandle {
  return {
    readAt: (into, position) => inner.readAt(into, position),
    readAhead: (position, bytes) => inner.readAhead(position, bytes),
    size: () => inner.size(),
    close: () => inner.close(),
    writeAt: () => refuse(path),
    truncate: () => refuse(path),
    sync: () => refuse(path),
    syncNow: () => refuse(path),
  };
}

/** The real file system, for reading. */
export const realFilesReadOnly: Files = readOnly({ ...realFiles, open: openForReading, lock: lockShared });

function openForReading(path: string): FileHandle {
  const descriptor = attempt("open", path, () => fs.openSync(path, "r"));
  return {
    readAt(into, position) {
      for (let done = 0;;) {
        const count = attempt(
          "read",
          path,
          () => fs.readSync(descriptor, into, done, into.length - done, position + done),
        );
        done += count;
        if (count === 0 || done === into.length) return done;
      }
    },
    readAhead: () => Promise.resolve(), // nobody else is held up here
    size: () => attempt("stat", path, () => fs.fstatSync(descriptor).size),
    close: () => attempt("close", path, () => fs.closeSync(descriptor)),
    writeAt: () => refuse(path),
    truncate: () => refuse(path),
    sync: () => refuse(path),
    syncNow: () => refuse(path),
  };
}

function attempt<T>(operation: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw new IoError(operation, path, typeof code === "string" ? code : String(error), { cause: error });
  }
}

/**
 * Shares the lock with others who only read, and keeps brokers out. No file, no lock: a broker makes it first of all.
 * Null also when somebody has locked it in the other way that Unix knows, as Kafka does.
 */
function lockShared(path: string): Unlock | null {
  if (realFiles.stat(path) === null) return () => {};
  return attempt("lock", path, () => {
    const file = Deno.openSync(path, { read: true });
    if (!file.tryLockSync(false) || hasRecordLock(file.statSync().ino)) {
      file.close();
      return null;
    }
    return () => {
      file.unlockSync();
      file.close();
    };
  });
}

/** Whether a process holds a POSIX lock on the file; false where the system does not tell, which is all but Linux. */
function hasRecordLock(inode: number | null): boolean {
  if (realFiles.stat("/proc/locks") === null) return false;
  return fs.readFileSync("/proc/locks", "utf8").split("\n").some((line) => {
    const [, kind, , , , file] = line.trim().split(/\s+/);
    return (kind === "POSIX" || kind === "OFDLCK") && file?.endsWith(`:${inode}`);
  });
}
