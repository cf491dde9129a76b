/**
 * {@link Files} that fail on demand: the n-th operation from now on, once or until healed, or whatever a test decides
 * when it is shown the operation. A failing write may tear, leaving a prefix of its bytes behind, as a full disk does.
 */

import { type FileHandle, type Files, IoError, type Unlock } from "./files.ts";

export type OperationKind =
  | "open"
  | "create"
  | "read"
  | "write"
  | "truncate"
  | "size"
  | "sync"
  | "stat"
  | "list"
  | "create directory"
  | "rename"
  | "set time"
  | "remove"
  | "remove directory"
  | "sync directory"
  | "lock";

/** An operation that is about to be done. */
export interface Operation {
  /** 1 for the first. */
  number: number;
  kind: OperationKind;
  path: string;
  /** Of reads, writes; of a truncation the size. */
  position?: number;
  /** Of a write. */
  bytes?: Uint8Array;
  /** Of a rename. */
  to?: string;
}

/** In one line. */
export function describe({ kind, path, position, bytes, to }: Operation): string {
  const size = bytes === undefined ? "" : ` ${bytes.length} bytes`;
  const at = position === undefined ? "" : kind === "truncate" ? ` to ${position}` : ` at ${position}`;
  return `${kind} ${path}${size}${at}${to === undefined ? "" : ` to ${to}`}`;
}

/** How an operation fails. */
export interface Fault {
  code: string;
  /** So much of it (0–1) is done before: of a write, so many of its bytes; of any other, all of it from 1 on. */
  done?: number;
}

/** Is shown each operation before it is done; what it gives makes it fail. May throw, and then nothing is done. */
export type Judge = (operation: Operation) => Fault | null;

export class FaultyFiles implements Files {
  /** Operations seen so far. */
  operations = 0;
  private failAt = Infinity;
  private failUntil = -Infinity;
  private tornShare = 0;

  constructor(private readonly inner: Files, private readonly judge: Judge = () => null) {}

  /**
   * Fails the `nth` operation from now on (1 is the next) and `times` in all. Of a failing write, `tornShare` (0–1)
   * of the bytes still reach the file.
   */
  fail(nth: number, times = 1, tornShare = 0): void {
    this.failAt = this.operations + nth;
    this.failUntil = this.failAt + times - 1;
    this.tornShare = tornShare;
  }

  heal(): void {
    this.failAt = Infinity;
    this.failUntil = -Infinity;
  }

  /** Counts the operation. Throws when it is to fail, after as much of it as the fault says. */
  private begin(
    kind: OperationKind,
    path: string,
    detail: Pick<Operation, "position" | "bytes" | "to">,
    perform: (done: number) => void,
  ): void {
    const number = ++this.operations;
    const failing = number >= this.failAt && number <= this.failUntil;
    const fault = failing
      ? { code: "EIO", done: kind === "write" ? this.tornShare : 0 }
      : this.judge({ number, kind, path, ...detail });
    if (fault === null) return;
    perform(fault.done ?? 0);
    throw new IoError(kind, path, fault.code);
  }

  /** An operation that is done all at once. */
  private whole<T>(
    kind: OperationKind,
    path: string,
    work: () => T,
    detail: Pick<Operation, "position" | "to"> = {},
  ): T {
    this.begin(kind, path, detail, (done) => {
      if (done >= 1) work();
    });
    return work();
  }

  open(path: string, create: boolean): FileHandle {
    this.begin(create ? "create" : "open", path, {}, (done) => {
      if (done >= 1) this.inner.open(path, create).close();
    });
    const handle = this.inner.open(path, create);
    return {
      readAt: (into, position) => this.whole("read", path, () => handle.readAt(into, position), { position }),
      readAhead: async (position, bytes) => {
        this.begin("read", path, { position }, () => {});
        await handle.readAhead(position, bytes);
      },
      writeAt: (bytes, position) => {
        this.begin("write", path, { position, bytes }, (done) => {
          const kept = Math.floor(bytes.length * done);
          if (kept > 0) handle.writeAt(bytes.subarray(0, kept), position);
        });
        handle.writeAt(bytes, position);
      },
      truncate: (size) => this.whole("truncate", path, () => handle.truncate(size), { position: size }),
      size: () => this.whole("size", path, () => handle.size()),
      sync: async () => {
        this.begin("sync", path, {}, () => {});
        await handle.sync();
      },
      syncNow: () => {
        this.begin("sync", path, {}, () => {});
        handle.syncNow();
      },
      // Closing frees the descriptor whatever it reports, so it is never made to fail.
      close: () => handle.close(),
    };
  }

  stat(path: string) {
    return this.whole("stat", path, () => this.inner.stat(path));
  }
  list(path: string) {
    return this.whole("list", path, () => this.inner.list(path));
  }
  makeDirectory(path: string): void {
    this.whole("create directory", path, () => this.inner.makeDirectory(path));
  }
  rename(from: string, to: string): void {
    this.whole("rename", from, () => this.inner.rename(from, to), { to });
  }
  setModified(path: string, ms: number): void {
    this.whole("set time", path, () => this.inner.setModified(path, ms));
  }
  remove(path: string): void {
    this.whole("remove", path, () => this.inner.remove(path));
  }
  removeDirectory(path: string): void {
    this.whole("remove directory", path, () => this.inner.removeDirectory(path));
  }
  async removeTree(path: string): Promise<void> {
    await this.whole("remove", path, () => this.inner.removeTree(path));
  }
  async syncDirectory(path: string): Promise<void> {
    this.begin("sync directory", path, {}, () => {});
    await this.inner.syncDirectory(path);
  }
  syncDirectoryNow(path: string): void {
    this.begin("sync directory", path, {}, () => {});
    this.inner.syncDirectoryNow(path);
  }
  spaceAt(path: string) {
    return this.whole("stat", path, () => this.inner.spaceAt(path));
  }
  lock(path: string): Unlock | null {
    this.begin("lock", path, {}, () => {});
    return this.inner.lock(path);
  }
}
