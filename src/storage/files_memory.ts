/**
 * {@link Files} in memory, for tests, with a crash that a test chooses: a killed process loses nothing, a power
 * failure loses what was not synced (or, with a generator, some of it: writes reach a disk in no promised amount).
 */

import { assert } from "../base/assert.ts";
import {
  type DirectoryEntry,
  type FileHandle,
  type FileInfo,
  type Files,
  IoError,
  parentOf,
  type Unlock,
} from "./files.ts";

/** A write or a truncation since the last sync. */
type Change = { position: number; bytes: Uint8Array } | { size: number };

class FileNode {
  bytes = new Uint8Array(256);
  size = 0;
  modifiedMs = 0;
  /** What the device holds, as of the last sync. */
  durable = new Uint8Array(0);
  /** In order, what came after. */
  unsynced: Change[] = [];

  apply(change: Change): void {
    if ("size" in change) {
      if (change.size < this.size) this.bytes.fill(0, change.size, this.size);
      this.grow(change.size);
      this.size = change.size;
    } else {
      const end = change.position + change.bytes.length;
      this.grow(end);
      this.bytes.set(change.bytes, change.position);
      this.size = Math.max(this.size, end);
    }
  }

  private grow(size: number): void {
    if (size <= this.bytes.length) return;
    const bytes = new Uint8Array(Math.max(size, this.bytes.length * 2));
    bytes.set(this.bytes.subarray(0, this.size));
    this.bytes = bytes;
  }

  sync(): void {
    this.durable = this.bytes.slice(0, this.size);
    this.unsynced = [];
  }
}

class DirectoryNode {
  entries = new Map<string, FileNode | DirectoryNode>();
  durable = new Map<string, FileNode | DirectoryNode>();
}

/** How much of the unsynced survives: all of it, nothing, or for each file a random prefix of its writes. */
export type Crash = "killed" | "power" | (() => number);

export class MemoryFiles implements Files {
  private root = new DirectoryNode();
  private locks = new Set<string>();

  /** `now` stamps modification times. */
  constructor(private readonly now: () => number = () => 0) {}

  open(path: string, create: boolean): FileHandle {
    const directory = this.directory(parentOf(path), create ? "create" : "open", path);
    let node = directory.entries.get(nameOf(path));
    if (node instanceof DirectoryNode) throw new IoError("open", path, "EISDIR");
    if (node === undefined) {
      if (!create) throw new IoError("open", path, "ENOENT");
      node = new FileNode();
      node.modifiedMs = this.now();
      directory.entries.set(nameOf(path), node);
    }
    return this.handle(node);
  }

  private handle(node: FileNode): FileHandle {
    let open = true;
    const change = (what: Change) => {
      assert(open, "file used after close");
      node.apply(what);
      node.unsynced.push(what);
      node.modifiedMs = this.now();
    };
    return {
      readAt(into, position) {
        assert(open, "file used after close");
        const from = node.bytes.subarray(
          Math.min(position, node.size),
          Math.min(position + into.length, node.size),
        );
        into.set(from);
        return from.length;
      },
      writeAt: (bytes, position) => change({ position, bytes: bytes.slice() }),
      truncate: (size) => change({ size }),
      size: () => node.size,
      sync: async () => {
        await Promise.resolve();
        node.sync();
      },
      syncNow: () => node.sync(),
      close: () => {
        assert(open, "file closed twice");
        open = false;
      },
    };
  }

  stat(path: string): FileInfo | null {
    const node = this.find(path);
    if (node === undefined) return null;
    if (node instanceof DirectoryNode) return { size: 0, modifiedMs: 0, isDirectory: true };
    return { size: node.size, modifiedMs: node.modifiedMs, isDirectory: false };
  }

  list(path: string): DirectoryEntry[] {
    return [...this.directory(path, "list", path).entries].map(([name, node]) => ({
      name,
      isDirectory: node instanceof DirectoryNode,
    }));
  }

  makeDirectory(path: string): void {
    let at = this.root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      let next = at.entries.get(name);
      if (next instanceof FileNode) throw new IoError("create directory", path, "ENOTDIR");
      if (next === undefined) at.entries.set(name, next = new DirectoryNode());
      at = next;
    }
  }

  rename(from: string, to: string): void {
    const source = this.directory(parentOf(from), "rename", from);
    const node = source.entries.get(nameOf(from));
    if (node === undefined) throw new IoError("rename", from, "ENOENT");
    this.directory(parentOf(to), "rename", to).entries.set(nameOf(to), node);
    source.entries.delete(nameOf(from));
  }

  remove(path: string): void {
    const directory = this.find(parentOf(path));
    if (directory instanceof DirectoryNode) directory.entries.delete(nameOf(path));
  }

  removeDirectory(path: string): void {
    this.remove(path);
  }

  async syncDirectory(path: string): Promise<void> {
    await Promise.resolve();
    this.syncDirectoryNow(path);
  }

  syncDirectoryNow(path: string): void {
    const directory = this.directory(path, "sync directory", path);
    directory.durable = new Map(directory.entries);
  }

  lock(path: string): Unlock | null {
    if (this.locks.has(path)) return null;
    if (this.find(path) === undefined) this.open(path, true).close();
    this.locks.add(path);
    return () => void this.locks.delete(path);
  }

  /** The file system as a new process finds it after a crash. This one must not be used any more. */
  crashed(how: Crash): MemoryFiles {
    const after = new MemoryFiles(this.now);
    const files = new Map<FileNode, FileNode>();
    const copy = (from: DirectoryNode): DirectoryNode => {
      const to = new DirectoryNode();
      for (const [name, node] of how === "power" ? from.durable : from.entries) {
        if (node instanceof DirectoryNode) {
          to.entries.set(name, copy(node));
        } else {
          if (!files.has(node)) files.set(node, survivor(node, how));
          to.entries.set(name, files.get(node)!);
        }
      }
      to.durable = new Map(to.entries);
      return to;
    };
    after.root = copy(this.root);
    return after;
  }

  private find(path: string): FileNode | DirectoryNode | undefined {
    let at: FileNode | DirectoryNode | undefined = this.root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      if (!(at instanceof DirectoryNode)) return undefined;
      at = at.entries.get(name);
    }
    return at;
  }

  private directory(path: string, operation: string, of: string): DirectoryNode {
    const node = this.find(path);
    if (!(node instanceof DirectoryNode)) throw new IoError(operation, of, "ENOENT");
    return node;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function survivor(node: FileNode, how: Crash): FileNode {
  const after = new FileNode();
  after.modifiedMs = node.modifiedMs;
  after.apply({ position: 0, bytes: node.durable });
  if (how !== "power") {
    const kept = how === "killed" ? node.unsynced.length : Math.floor(how() * (node.unsynced.length + 1));
    for (const change of node.unsynced.slice(0, kept)) after.apply(change);
    const torn = node.unsynced[kept];
    if (how !== "killed" && torn !== undefined && "bytes" in torn) {
      after.apply({
        position: torn.position,
        bytes: torn.bytes.subarray(0, Math.floor(how() * torn.bytes.length)),
      });
    }
  }
  after.sync();
  return after;
}
