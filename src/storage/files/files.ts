/**
 * The port between storage and the file system: a dozen verbs, synchronous where state changes. Every failure is an
 * {@link IoError}, so that the log can tell a failing disk (a partition's problem) from a bug (everyone's problem).
 */

/** What the system's codes mean, for people who do not know them by heart. */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EDQUOT: "the disk quota is used up",
  EIO: "the device failed",
  EMFILE: "this process has too many files open",
  ENFILE: "the machine has too many files open",
  ENOENT: "there is no such file or directory",
  ENOSPC: "no space left on the device",
  EPERM: "the operation is not permitted",
  EROFS: "the file system is read-only",
};

/** A code of the system with what it means: `no space left on the device (ENOSPC)`. Other texts as they are. */
function inWords(code: string): string {
  return Object.hasOwn(MEANINGS, code) ? `${MEANINGS[code]} (${code})` : code;
}

/** What a file operation could not do. `notFound` tells a missing file from a failing disk. */
export class IoError extends Error {
  override name = "IoError";
  constructor(
    readonly operation: string,
    readonly path: string,
    readonly code: string,
    options?: ErrorOptions,
  ) {
    super(`Cannot ${operation} ${path}: ${inWords(code)}`, options);
  }

  get notFound(): boolean {
    return this.code === "ENOENT";
  }

  /** There is no room, or no more for this user: it is over once something is removed. */
  get isFull(): boolean {
    return this.code === "ENOSPC" || this.code === "EDQUOT";
  }
}

/** An open file. Positions are bytes from its start. */
export interface FileHandle {
  /** The system's number for it, where there is one. */
  readonly descriptor?: number;
  /** Fills `into` from `position` on and gives the number of bytes read: fewer only at the end of the file. */
  readAt(into: Uint8Array, position: number): number;
  /**
   * Reads up to `bytes` bytes from `position` on for nobody, so that {@link readAt} finds them in memory. Does not hold up
   * the event loop. Rejects with `IoError`.
   */
  readAhead(position: number, bytes: number): Promise<void>;
  /** Writes all of `bytes` or throws; after a throw any prefix of them may be in the file. */
  writeAt(bytes: Uint8Array, position: number): void;
  truncate(size: number): void;
  size(): number;
  /** Resolves when everything written so far is on the device. Does not hold up the event loop. */
  sync(): Promise<void>;
  /** The same, blocking: for shutdown and for small files. */
  syncNow(): void;
  close(): void;
}

export interface FileInfo {
  size: number;
  modifiedMs: number;
  isDirectory: boolean;
}

/** How much room there is on a device. */
export interface DeviceSpace {
  readonly totalBytes: number;
  /** What this process may still take of it. */
  readonly usableBytes: number;
}

export interface DirectoryEntry {
  name: string;
  isDirectory: boolean;
}

/** Releases what {@link Files.lock} took. */
export type Unlock = () => void;

export interface Files {
  /** Opens for reading and writing; with `create`, makes the file when it is missing. */
  open(path: string, create: boolean): FileHandle;
  /** Null when there is nothing of this name. */
  stat(path: string): FileInfo | null;
  /** In no particular order. */
  list(directory: string): DirectoryEntry[];
  /** Makes the directory and those above it; content when it exists. */
  makeDirectory(path: string): void;
  /** Replaces a file at `to`, atomically. */
  rename(from: string, to: string): void;
  /** Has the file at `path` look as if it was last written to at `ms`. */
  setModified(path: string, ms: number): void;
  /** Removes a file; content when it is not there. */
  remove(path: string): void;
  /** Removes a directory and what is in it, which should be little; content when it is not there. */
  removeDirectory(path: string): void;
  /**
   * Removes a file, or a directory and what is in it; content when it is not there. Does not hold up the event loop: to
   * free a gigabyte takes a file system a quarter of a second.
   */
  removeTree(path: string): Promise<void>;
  /** Resolves when the names in the directory (files made, renamed, removed) are on the device. */
  syncDirectory(path: string): Promise<void>;
  /** The same, blocking. */
  syncDirectoryNow(path: string): void;
  /** Takes an exclusive lock that dies with the process, making the file when it is missing; null when another holds it. */
  lock(path: string): Unlock | null;
  /** The room on the device of what is at `path`. */
  spaceAt(path: string): DeviceSpace;
  /** How many bytes this process has had read from devices, as opposed to memory; null where the system does not tell. */
  bytesFromDevices?(): number | null;
}

/** The whole file, or null when there is none. For small files: checkpoints, snapshots. */
export function readFile(files: Files, path: string): Uint8Array | null {
  let handle: FileHandle;
  try {
    handle = files.open(path, false);
  } catch (error) {
    if (error instanceof IoError && error.notFound) return null;
    throw error;
  }
  try {
    const bytes = new Uint8Array(handle.size());
    return bytes.subarray(0, handle.readAt(bytes, 0));
  } finally {
    handle.close();
  }
}

/** As {@link readFile}, decoded as UTF-8. */
export function readText(files: Files, path: string): string | null {
  const bytes = readFile(files, path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/**
 * Replaces a small file so that a reader, or a start after a crash, sees the old content or the new, never a mixture.
 * With `sync` the new content is on the device when this returns.
 */
export function replaceFile(files: Files, path: string, content: Uint8Array | string, sync: boolean): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const temporary = `${path}.tmp`;
  const handle = files.open(temporary, true);
  try {
    handle.writeAt(bytes, 0);
    if (handle.size() > bytes.length) handle.truncate(bytes.length);
    if (sync) handle.syncNow();
  } finally {
    handle.close();
  }
  files.rename(temporary, path);
  if (sync) files.syncDirectoryNow(parentOf(path));
}

/**
 * As {@link replaceFile} with `sync`, without holding up the event loop. Two of one file must not be under way, and whoever
 * replaces it meanwhile makes `isWanted` false: then it stays as it is. Gives whether it was replaced.
 */
export async function replaceFileBeside(
  files: Files,
  path: string,
  content: string,
  isWanted: () => boolean,
): Promise<boolean> {
  const bytes = new TextEncoder().encode(content);
  const temporary = `${path}.new.tmp`;
  const handle = files.open(temporary, true);
  try {
    handle.writeAt(bytes, 0);
    if (handle.size() > bytes.length) handle.truncate(bytes.length);
    await handle.sync();
  } finally {
    handle.close();
  }
  if (!isWanted()) return false;
  files.rename(temporary, path);
  await files.syncDirectory(parentOf(path));
  return true;
}

/** False, and a warning that tells what `action` could not be done, when the disk fails. */
export function attempt(action: string, work: () => void, onWarning: (text: string) => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!(error instanceof IoError)) throw error;
    onWarning(`Cannot ${action}: ${error.message}`);
    return false;
  }
}

/** Resolves when the content of the file at `path` is on the device. */
export async function syncFile(files: Files, path: string): Promise<void> {
  const handle = files.open(path, false);
  try {
    await handle.sync();
  } finally {
    handle.close();
  }
}

/** The directory that `path` is in. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}
