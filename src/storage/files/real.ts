/** {@link Files} over the machine's file system. `node:fs` rather than Deno's own calls, for reads and writes at a position. */

import * as fs from "node:fs";
import {
  type DeviceSpace,
  type DirectoryEntry,
  type FileHandle,
  type FileInfo,
  type Files,
  IoError,
  type Unlock,
} from "./files.ts";
import { PageCache } from "./page_cache.ts";

function failed(operation: string, path: string, cause: unknown): IoError {
  const code = (cause as { code?: unknown }).code;
  return new IoError(operation, path, typeof code === "string" ? code : String(cause), { cause });
}

/**
 * What {@link RealFile.readAhead} reads into and nobody looks at, where the page cache cannot be filled without. Who finds
 * none waits for one.
 */
class Scratch {
  private readonly waiting: ((buffer: Uint8Array) => void)[] = [];
  private readonly free: Uint8Array[] = [];
  private made = 0;

  constructor(private readonly bufferBytes: number, private readonly atMost: number) {}

  take(): Uint8Array | Promise<Uint8Array> {
    const buffer = this.free.pop();
    if (buffer !== undefined) return buffer;
    if (this.made === this.atMost) return new Promise((resolve) => this.waiting.push(resolve));
    this.made++;
    return new Uint8Array(this.bufferBytes);
  }

  give(buffer: Uint8Array): void {
    const next = this.waiting.shift();
    if (next !== undefined) next(buffer);
    else this.free.push(buffer);
  }
}
/** What one thread brings into memory before another file has its turn. */
const BROUGHT_AT_ONCE_BYTES = 1024 * 1024;
/** More at once would only make a disk seek more; the operating system reads ahead of each by itself. */
const scratch = new Scratch(256 * 1024, 4);

/** Null where there is none; undefined until it is needed. */
let pageCache: PageCache | null | undefined;

class RealFile implements FileHandle {
  constructor(readonly descriptor: number, private readonly path: string) {}

  readAt(into: Uint8Array, position: number): number {
    let done = 0;
    try {
      while (done < into.length) {
        const count = fs.readSync(this.descriptor, into, done, into.length - done, position + done);
        if (count === 0) break;
        done += count;
      }
    } catch (error) {
      throw failed("read", this.path, error);
    }
    return done;
  }

  async readAhead(position: number, bytes: number): Promise<void> {
    const into = await scratch.take();
    try {
      for (let done = 0; done < bytes;) {
        const at = position + done, left = bytes - done;
        if (pageCache === undefined) pageCache = PageCache.open();
        const brought = await pageCache?.bring(this.descriptor, at, Math.min(BROUGHT_AT_ONCE_BYTES, left)) ||
          await this.readOnThread(into, Math.min(into.length, left), at);
        if (brought === 0) break;
        done += brought;
      }
    } finally {
      scratch.give(into);
    }
  }

  private readOnThread(into: Uint8Array, bytes: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(
        this.descriptor,
        into,
        0,
        bytes,
        position,
        (error, count) => error ? reject(failed("read", this.path, error)) : resolve(count),
      );
    });
  }

  writeAt(bytes: Uint8Array, position: number): void {
    let done = 0;
    try {
      while (done < bytes.length) {
        done += fs.writeSync(this.descriptor, bytes, done, bytes.length - done, position + done);
      }
    } catch (error) {
      throw failed("write", this.path, error);
    }
  }

  truncate(size: number): void {
    try {
      fs.ftruncateSync(this.descriptor, size);
    } catch (error) {
      throw failed("truncate", this.path, error);
    }
  }

  size(): number {
    try {
      return fs.fstatSync(this.descriptor).size;
    } catch (error) {
      throw failed("stat", this.path, error);
    }
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fsync(this.descriptor, (error) => error ? reject(failed("sync", this.path, error)) : resolve());
    });
  }

  syncNow(): void {
    try {
      fs.fsyncSync(this.descriptor);
    } catch (error) {
      throw failed("sync", this.path, error);
    }
  }

  close(): void {
    try {
      fs.closeSync(this.descriptor);
    } catch (error) {
      throw failed("close", this.path, error);
    }
  }
}

/**
 * A name for the time since the machine started; null where the system has none. Containers on a machine share it, as they
 * share the page cache, whose end it tells.
 */
export function machineBootId(): string | null {
  try {
    return fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch (error) {
    // Not Linux, or nothing of it may be read: then the logs are taken for what a killed process leaves.
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
}

/** Windows cannot open a directory, and needs no such sync. */
const directoriesSync = Deno.build.os !== "windows";

function openDirectory(path: string): FileHandle {
  try {
    return new RealFile(fs.openSync(path, "r"), path);
  } catch (error) {
    throw failed("open directory", path, error);
  }
}

/** The real thing. Stateless: one instance serves all. */
export const realFiles: Files = {
  open(path: string, create: boolean): FileHandle {
    try {
      const flags = fs.constants.O_RDWR | (create ? fs.constants.O_CREAT : 0);
      return new RealFile(fs.openSync(path, flags, 0o644), path);
    } catch (error) {
      throw failed(create ? "create" : "open", path, error);
    }
  },

  stat(path: string): FileInfo | null {
    try {
      // Deno's own call: a third of the time, and start-up makes one per segment.
      const info = Deno.statSync(path);
      return { size: info.size, modifiedMs: info.mtime?.getTime() ?? 0, isDirectory: info.isDirectory };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw failed("stat", path, error);
    }
  },

  list(directory: string): DirectoryEntry[] {
    try {
      const entries: DirectoryEntry[] = [];
      for (const entry of Deno.readDirSync(directory)) {
        entries.push({ name: entry.name, isDirectory: entry.isDirectory });
      }
      return entries;
    } catch (error) {
      throw failed("list", directory, error);
    }
  },

  makeDirectory(path: string): void {
    try {
      fs.mkdirSync(path, { recursive: true });
    } catch (error) {
      throw failed("create directory", path, error);
    }
  },

  rename(from: string, to: string): void {
    try {
      fs.renameSync(from, to);
    } catch (error) {
      throw failed(`rename to ${to}`, from, error);
    }
  },

  setModified(path: string, ms: number): void {
    try {
      Deno.utimeSync(path, ms / 1000, ms / 1000);
    } catch (error) {
      throw failed("set the time of", path, error);
    }
  },

  remove(path: string): void {
    try {
      fs.rmSync(path, { force: true });
    } catch (error) {
      throw failed("remove", path, error);
    }
  },

  removeDirectory(path: string): void {
    try {
      fs.rmSync(path, { recursive: true, force: true });
    } catch (error) {
      throw failed("remove directory", path, error);
    }
  },

  async removeTree(path: string): Promise<void> {
    try {
      await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw failed("remove", path, error);
    }
  },

  async syncDirectory(path: string): Promise<void> {
    if (!directoriesSync) return;
    const directory = openDirectory(path);
    try {
      await directory.sync();
    } finally {
      directory.close();
    }
  },

  syncDirectoryNow(path: string): void {
    if (!directoriesSync) return;
    const directory = openDirectory(path);
    try {
      directory.syncNow();
    } finally {
      directory.close();
    }
  },

  spaceAt(path: string): DeviceSpace {
    try {
      const { bsize, blocks, bavail } = fs.statfsSync(path);
      return { totalBytes: blocks * bsize, usableBytes: bavail * bsize };
    } catch (error) {
      throw failed("look at the device of", path, error);
    }
  },

  bytesFromDevices(): number | null {
    try {
      const bytes = Number(/^read_bytes: (\d+)$/m.exec(fs.readFileSync("/proc/self/io", "utf8"))?.[1]);
      return Number.isNaN(bytes) ? null : bytes;
    } catch (error) {
      // Not Linux, or nothing of it may be read.
      if (error instanceof Error && "code" in error) return null;
      throw error;
    }
  },

  lock(path: string): Unlock | null {
    try {
      const file = Deno.openSync(path, { read: true, write: true, create: true });
      if (!file.tryLockSync(true)) {
        file.close();
        return null;
      }
      return () => {
        file.unlockSync();
        file.close();
      };
    } catch (error) {
      throw failed("lock", path, error);
    }
  },
};
