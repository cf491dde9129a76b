/**
 * {@link Files} that fail on demand: the n-th operation from now on, once or until healed. A failing write may tear,
 * leaving a prefix of its bytes behind, as a full disk does.
 */

import { type FileHandle, type Files, IoError } from "./files.ts";

export class FaultyFiles implements Files {
  /** Operations seen so far. */
  operations = 0;
  private failAt = Infinity;
  private failUntil = -Infinity;
  private tornShare = 0;

  constructor(private readonly inner: Files) {}

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

  private failsNow(): boolean {
    this.operations++;
    return this.operations >= this.failAt && this.operations <= this.failUntil;
  }

  private check(operation: string, path: string): void {
    if (this.failsNow()) throw new IoError(operation, path, "EIO");
  }

  open(path: string, create: boolean): FileHandle {
    this.check("open", path);
    const handle = this.inner.open(path, create);
    return {
      readAt: (into, position) => {
        this.check("read", path);
        return handle.readAt(into, position);
      },
      writeAt: (bytes, position) => {
        if (this.failsNow()) {
          const kept = Math.floor(bytes.length * this.tornShare);
          if (kept > 0) handle.writeAt(bytes.subarray(0, kept), position);
          throw new IoError("write", path, "EIO");
        }
        handle.writeAt(bytes, position);
      },
      truncate: (size) => {
        this.check("truncate", path);
        handle.truncate(size);
      },
      size: () => {
        this.check("stat", path);
        return handle.size();
      },
      sync: async () => {
        this.check("sync", path);
        await handle.sync();
      },
      syncNow: () => {
        this.check("sync", path);
        handle.syncNow();
      },
      // Closing frees the descriptor whatever it reports, so it is never made to fail.
      close: () => handle.close(),
    };
  }

  stat(path: string) {
    this.check("stat", path);
    return this.inner.stat(path);
  }
  list(path: string) {
    this.check("list", path);
    return this.inner.list(path);
  }
  makeDirectory(path: string): void {
    this.check("create directory", path);
    this.inner.makeDirectory(path);
  }
  rename(from: string, to: string): void {
    this.check("rename", from);
    this.inner.rename(from, to);
  }
  remove(path: string): void {
    this.check("remove", path);
    this.inner.remove(path);
  }
  removeDirectory(path: string): void {
    this.check("remove directory", path);
    this.inner.removeDirectory(path);
  }
  async syncDirectory(path: string): Promise<void> {
    this.check("sync directory", path);
    await this.inner.syncDirectory(path);
  }
  syncDirectoryNow(path: string): void {
    this.check("sync directory", path);
    this.inner.syncDirectoryNow(path);
  }
  lock(path: string) {
    this.check("lock", path);
    return this.inner.lock(path);
  }
}
