/**
 * {@link Files} in memory, for tests, with a crash that a test chooses: a killed process loses nothing, a power
 * failure loses what was not synced (or, with a generator, some of it: sectors reach a disk in no promised order).
 */

import { assert } from "../../base/assert.ts";
import {
  type DeviceSpace,
  type DirectoryEntry,
  type FileHandle,
  type FileInfo,
  type Files,
  IoError,
  parentOf,
  type Unlock,
} from "./files.ts";

/** A write or a truncation. Never changed once made: copies of the file system share it. */
type Change = { position: number; bytes: Uint8Array } | { size: number };

/** What a file holds, in the cache or on the device. */
class Content {
  constructor(public bytes = new Uint8Array(64), public size = 0) {}

  copy(): Content {
    return new Content(this.bytes.slice(0, this.size), this.size);
  }

  apply(change: Change): void {
    if ("size" in change) this.resize(change.size);
    else this.write(change.bytes, change.position);
  }

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    if (end > this.size) this.resize(end);
    this.bytes.set(bytes, position);
  }

  /** What is new reads as zeros. */
  resize(size: number): void {
    if (size < this.size) {
      this.bytes.fill(0, size, this.size);
    } else if (size > this.bytes.length) {
      const bytes = new Uint8Array(Math.max(size, this.bytes.length * 2));
      bytes.set(this.bytes.subarray(0, this.size));
      this.bytes = bytes;
    }
    this.size = size;
  }
}

class FileNode {
  modifiedMs = 0;
  constructor(
    /** What the process sees. */
    readonly cached = new Content(),
    /** What the device holds. */
    public durable = new Content(),
    /** In order, what the device has yet to get. */
    public unsynced: Change[] = [],
  ) {}

  change(change: Change): void {
    this.cached.apply(change);
    this.unsynced.push(change);
  }

  /** Brings `changes` to the device, unless a failed sync has dropped them meanwhile. */
  sync(changes: readonly Change[]): void {
    for (const change of changes) {
      if (this.unsynced[0] !== change) continue;
      this.durable.apply(change);
      this.unsynced.shift();
    }
  }
}

class DirectoryNode {
  entries = new Map<string, FileNode | DirectoryNode>();
  durable = new Map<string, FileNode | DirectoryNode>();
  /** In order, what the device does not know of yet. A rename is one step: names and what they now lead to. */
  unsynced: [string, FileNode | DirectoryNode | null][][] = [];

  change(...steps: [string, FileNode | DirectoryNode | null][]): void {
    applySteps(this.entries, steps);
    this.unsynced.push(steps);
  }
}

function applySteps(
  entries: Map<string, FileNode | DirectoryNode>,
  steps: readonly [string, FileNode | DirectoryNode | null][],
): void {
  for (const [name, node] of steps) {
    if (node === null) entries.delete(name);
    else entries.set(name, node);
  }
}

/**
 * What survives. "killed": everything, and it is as unsynced as before. "power": only what was synced. A generator: of
 * each file every sector has a state that it once had since the last sync, and of each directory the first few changes
 * are there.
 */
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
      directory.change([nameOf(path), node]);
    }
    return this.handle(node);
  }

  private handle(node: FileNode): FileHandle {
    let open = true;
    const change = (what: Change) => {
      assert(open, "file used after close");
      node.change(what);
      node.modifiedMs = this.now();
    };
    return {
      readAt(into, position) {
        assert(open, "file used after close");
        const { bytes, size } = node.cached;
        const from = bytes.subarray(Math.min(position, size), Math.min(position + into.length, size));
        into.set(from);
        return from.length;
      },
      readAhead: async () => {
        assert(open, "file used after close");
        await Promise.resolve();
        assert(open, "file closed while it is read");
      },
      writeAt: (bytes, position) => change({ position, bytes: bytes.slice() }),
      truncate: (size) => change({ size }),
      size: () => node.cached.size,
      sync: async () => {
        // What is written while this is under way is promised to nobody.
        const covered = [...node.unsynced];
        await Promise.resolve();
        node.sync(covered);
      },
      syncNow: () => node.sync([...node.unsynced]),
      close: () => {
        assert(open, "file closed twice");
        open = false;
      },
    };
  }

  /**
   * What a failed sync leaves on Linux: the device got some of the changes, and the others are taken for written from now
   * on. The cache still has them, or (`evicted`) is read from the device again.
   */
  failSync(path: string, chance: () => number, evicted: boolean): void {
    const node = this.find(path);
    if (!(node instanceof FileNode)) return;
    node.durable = survivingContent(node, chance);
    node.unsynced = [];
    if (!evicted) return;
    node.cached.resize(0);
    node.cached.write(node.durable.bytes.subarray(0, node.durable.size), 0);
  }

  stat(path: string): FileInfo | null {
    const node = this.find(path);
    if (node === undefined) return null;
    if (node instanceof DirectoryNode) return { size: 0, modifiedMs: 0, isDirectory: true };
    return { size: node.cached.size, modifiedMs: node.modifiedMs, isDirectory: false };
  }

  /** As of any time of a file, the device is taken to know it. */
  setModified(path: string, ms: number): void {
    const node = this.find(path);
    if (node === undefined) throw new IoError("set the time of", path, "ENOENT");
    if (node instanceof FileNode) node.modifiedMs = ms;
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
      if (next === undefined) at.change([name, next = new DirectoryNode()]);
      at = next;
    }
  }

  rename(from: string, to: string): void {
    const source = this.directory(parentOf(from), "rename", from);
    const target = this.directory(parentOf(to), "rename", to);
    const node = source.entries.get(nameOf(from));
    if (node === undefined) throw new IoError("rename", from, "ENOENT");
    assert(source === target, "files move within their directory only");
    source.change([nameOf(from), null], [nameOf(to), node]);
  }

  remove(path: string): void {
    const directory = this.find(parentOf(path));
    if (!(directory instanceof DirectoryNode) || !directory.entries.has(nameOf(path))) return;
    directory.change([nameOf(path), null]);
  }

  removeDirectory(path: string): void {
    this.remove(path);
  }

  removeTree(path: string): Promise<void> {
    this.remove(path);
    return Promise.resolve();
  }

  async syncDirectory(path: string): Promise<void> {
    const directory = this.directory(path, "sync directory", path);
    const covered = directory.unsynced.length;
    await Promise.resolve();
    for (const steps of directory.unsynced.splice(0, covered)) applySteps(directory.durable, steps);
  }

  syncDirectoryNow(path: string): void {
    const directory = this.directory(path, "sync directory", path);
    directory.durable = new Map(directory.entries);
    directory.unsynced = [];
  }

  /** As large as memory that nobody has counted. */
  spaceAt(path: string): DeviceSpace {
    if (this.find(path) === undefined) throw new IoError("look at the device of", path, "ENOENT");
    return { totalBytes: Number.MAX_SAFE_INTEGER, usableBytes: Number.MAX_SAFE_INTEGER };
  }

  lock(path: string): Unlock | null {
    if (this.locks.has(path)) return null;
    if (this.find(path) === undefined) this.open(path, true).close();
    this.locks.add(path);
    return () => void this.locks.delete(path);
  }

  /** The file system as a new process finds it after a crash: a copy, with which the two go separate ways. */
  crashed(how: Crash): MemoryFiles {
    const after = new MemoryFiles(this.now);
    const copies = new Map<FileNode | DirectoryNode, FileNode | DirectoryNode>();
    const copyOf = (node: FileNode | DirectoryNode): FileNode | DirectoryNode => {
      let copy = copies.get(node);
      if (copy !== undefined) return copy;
      copy = node instanceof FileNode ? survivor(node, how) : new DirectoryNode();
      copies.set(node, copy);
      if (node instanceof DirectoryNode) copyDirectory(node, copy as DirectoryNode);
      return copy;
    };
    const copyDirectory = (from: DirectoryNode, to: DirectoryNode) => {
      for (const [name, node] of from.durable) to.durable.set(name, copyOf(node));
      const kept = typeof how === "function"
        ? Math.floor(how() * (from.unsynced.length + 1))
        : how === "killed"
        ? from.unsynced.length
        : 0;
      to.entries = new Map(to.durable);
      for (const steps of from.unsynced.slice(0, kept)) {
        to.change(
          ...steps.map(([name, node]): [string, FileNode | DirectoryNode | null] => [
            name,
            node === null ? null : copyOf(node),
          ]),
        );
      }
      if (how !== "killed") {
        to.durable = new Map(to.entries);
        to.unsynced = [];
      }
    };
    copyDirectory(this.root, after.root);
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
  let after: FileNode;
  if (how === "killed") {
    after = new FileNode(node.cached.copy(), node.durable.copy(), [...node.unsynced]);
  } else {
    const content = how === "power" ? node.durable.copy() : survivingContent(node, how);
    after = new FileNode(content, content.copy());
  }
  after.modifiedMs = node.modifiedMs;
  return after;
}

/** Small beside a test's writes, and like what disks have. */
const SECTOR_BYTES = [64, 512, 4096];

/**
 * What the device may hold after its power went. A cache writes whole sectors, each as it is at some time, in any order:
 * a sector has one of the states that it went through, and the file one of its sizes.
 */
function survivingContent(node: FileNode, chance: () => number): Content {
  const content = node.durable.copy();
  const { unsynced } = node;
  if (unsynced.length === 0) return content;
  const reach = chance();
  if (reach < 0.4) {
    // In order, and the last of them torn.
    const kept = Math.floor(chance() * (unsynced.length + 1));
    for (const change of unsynced.slice(0, kept)) content.apply(change);
    const torn = unsynced[kept];
    if (torn !== undefined && "bytes" in torn) {
      content.write(torn.bytes.subarray(0, Math.floor(chance() * torn.bytes.length)), torn.position);
    }
    return content;
  }
  const sectorBytes = SECTOR_BYTES[Math.floor(chance() * SECTOR_BYTES.length)];
  const sizes = [content.size];
  let size = content.size;
  for (const change of unsynced) {
    size = "size" in change ? change.size : Math.max(size, change.position + change.bytes.length);
    sizes.push(size);
  }
  // Most of it, or hardly anything, or whatever comes.
  const latest = reach < 0.6 ? 0.9 : reach < 0.8 ? 0.1 : 0.5;
  const version = () => chance() < latest ? unsynced.length : Math.floor(chance() * (unsynced.length + 1));
  const result = new Content();
  result.resize(sizes[version()]);
  for (let from = 0; from < result.size; from += sectorBytes) {
    const to = Math.min(from + sectorBytes, result.size);
    result.write(sectorAt(content, unsynced.slice(0, version()), from, to), from);
  }
  return result;
}

/** Bytes [from, to) after `changes` to `before`. */
function sectorAt(before: Content, changes: readonly Change[], from: number, to: number): Uint8Array {
  const sector = new Uint8Array(to - from);
  if (from < before.size) sector.set(before.bytes.subarray(from, Math.min(to, before.size)));
  for (const change of changes) {
    if ("size" in change) {
      if (change.size < to) sector.fill(0, Math.max(change.size - from, 0));
      continue;
    }
    const { position, bytes } = change;
    const begin = Math.max(position, from);
    const end = Math.min(position + bytes.length, to);
    if (begin < end) sector.set(bytes.subarray(begin - position, end - position), begin - from);
  }
  return sector;
}
