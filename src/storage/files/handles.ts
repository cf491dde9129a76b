/**
 * A bounded set of open files. A {@link PooledFile} opens when it is used and may be closed behind its user's back at
 * any time between two calls; positions are explicit, so nothing is lost by it. Eviction gives a second chance: a file
 * used since the last look stays.
 */

import { assert } from "../../base/assert.ts";
import { type FileHandle, type Files, IoError, replaceFile } from "./files.ts";

/** Where a partition's files are. One object shared by all of them, because deleting a topic renames the directory. */
export interface Place {
  path: string;
}

export class PooledFile {
  /** Set on use, cleared by the pool's looks. */
  touched = false;
  handle: FileHandle | null = null;
  private gone = false;
  /** Syncs and the like under way, by descriptor: one that is let go meanwhile is closed when the last of them ends. */
  private uses: Map<FileHandle, number> | null = null;

  constructor(private readonly pool: HandlePool, readonly place: Place, public name: string) {}

  get path(): string {
    return `${this.place.path}/${this.name}`;
  }

  /** The open file. Use it at once: the next call into the pool may close it. Throws `IoError`. */
  get(): FileHandle {
    this.touched = true;
    return this.handle ?? this.pool.open(this, false);
  }

  /** As {@link get}, making the file when it is missing. */
  create(): FileHandle {
    this.touched = true;
    return this.handle ?? this.pool.open(this, true);
  }

  /** Puts a file of this content in its place, whole and on the device, or leaves it as it is: throws `IoError` then. */
  replace(content: Uint8Array): void {
    this.close();
    replaceFile(this.pool.files, this.path, content, true);
  }

  /** Closes and removes it; nothing when it is not there. Throws `IoError`. */
  remove(): void {
    this.close();
    this.pool.files.remove(this.path);
  }

  exists(): boolean {
    return this.handle !== null || this.pool.files.stat(this.path) !== null;
  }

  sync(): Promise<void> {
    return this.use((handle) => handle.sync());
  }

  /** See {@link FileHandle.readAhead}. */
  readAhead(position: number, bytes: number): Promise<void> {
    return this.use((handle) => handle.readAhead(position, bytes));
  }

  private async use(work: (handle: FileHandle) => Promise<void>): Promise<void> {
    const handle = this.get();
    const uses = this.uses ??= new Map();
    uses.set(handle, (uses.get(handle) ?? 0) + 1);
    try {
      await work(handle);
    } finally {
      const left = uses.get(handle)! - 1;
      if (left > 0) {
        uses.set(handle, left);
      } else {
        uses.delete(handle);
        if (this.handle !== handle) handle.close();
      }
    }
  }

  /** Whether a sync or the like of the open descriptor is under way. */
  get inUse(): boolean {
    return this.handle !== null && this.uses !== null && this.uses.has(this.handle);
  }

  /** Closes it for good: under its name may soon be another file, which who still refers to this one must not get. */
  retire(): void {
    this.close();
    this.gone = true;
  }

  get isGone(): boolean {
    return this.gone;
  }

  /** Closes it if it is open. A sync under way keeps the descriptor until it ends. */
  close(): void {
    this.pool.close(this);
  }
}

export class HandlePool {
  private openFiles: PooledFile[] = [];
  private hand = 0;

  constructor(readonly files: Files, readonly capacity: number) {}

  get openCount(): number {
    return this.openFiles.length;
  }

  open(file: PooledFile, create: boolean): FileHandle {
    assert(file.handle === null, "pooled file opened twice");
    if (file.isGone) throw new IoError("open", file.path, "it was removed from its log meanwhile");
    if (this.openFiles.length >= this.capacity) this.evictOne();
    file.handle = this.files.open(file.path, create);
    this.openFiles.push(file);
    return file.handle;
  }

  close(file: PooledFile): void {
    if (file.handle === null) return;
    const index = this.openFiles.indexOf(file);
    assert(index >= 0, "open file missing in its pool");
    this.release(index);
  }

  /** Closes what was not used since the last call. */
  closeIdle(): void {
    for (let i = this.openFiles.length - 1; i >= 0; i--) {
      const file = this.openFiles[i];
      if (file.touched || file.inUse) file.touched = false;
      else this.release(i);
    }
  }

  closeAll(): void {
    for (let i = this.openFiles.length - 1; i >= 0; i--) this.release(i);
  }

  // Two rounds at most: the first clears the marks, the second finds a file, unless all are in use; then the
  // bound gives way, because a write that cannot open its file would fail for no fault of the disk.
  private evictOne(): void {
    for (let looked = 0; looked < 2 * this.openFiles.length; looked++) {
      if (this.hand >= this.openFiles.length) this.hand = 0;
      const file = this.openFiles[this.hand];
      if (file.touched || file.inUse) {
        file.touched = false;
        this.hand++;
        continue;
      }
      this.release(this.hand);
      return;
    }
  }

  private release(index: number): void {
    const file = this.openFiles[index];
    const handle = file.handle;
    assert(handle !== null, "pool holds a closed file");
    const last = this.openFiles.pop()!;
    if (last !== file) this.openFiles[index] = last;
    const inUse = file.inUse;
    file.handle = null;
    if (!inUse) handle.close();
  }
}
