/**
 * A file of fixed-size entries in ascending order: what the offset index and the time index have in common. Entries
 * wait in memory until a block of them is written, or the log is left alone, and older ones are looked up in the file: an
 * index that nobody writes to costs a few hundred bytes of memory, however large. Only what follows the recovery point may
 * be missing after a crash, and recovery makes it anew.
 */

import { assert } from "../../base/assert.ts";
import type { PooledFile } from "../files/handles.ts";

/** Entries wait until this many are there. */
const BLOCK_ENTRIES = 512;
/** A search in the file reads single entries until the range is this small, then the range. */
const RANGE_ENTRIES = 256;
const NO_ENTRIES = new Uint8Array(0);

export abstract class EntryFile {
  /** Entries in the file; -1 until {@link openEntries}. */
  private stored = -1;
  private pending: Uint8Array = NO_ENTRIES;
  private pendingCount = 0;
  private unsynced = false;
  /** The file may be longer than what is stored in it. */
  private untrimmed = false;
  /** What is in the file, if there is one, is nothing to go by: the next write replaces it as a whole. */
  private replaces = false;

  protected constructor(readonly file: PooledFile, private readonly entryBytes: number) {}

  /** Whether the entry at `at` is real. Kafka makes index files at full size; after its crash the rest is zeros. */
  protected abstract isEntry(bytes: Uint8Array, at: number): boolean;

  /** Reads how many entries the file has. Throws `IoError`, of a missing file too. */
  protected openEntries(): void {
    if (this.isOpen) return;
    const handle = this.file.get();
    let low = 0;
    let high = Math.floor(handle.size() / this.entryBytes);
    if (high > 0 && !this.isEntry(this.readEntry(high - 1), 0)) {
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (this.isEntry(this.readEntry(middle), 0)) low = middle + 1;
        else high = middle;
      }
    }
    this.stored = high;
  }

  /** Opens the file if what `isSane` reads of it can be right; else, or when a read fails, it is as closed as before. */
  protected openIf(isSane: () => boolean): boolean {
    let opened = false;
    try {
      this.openEntries();
      opened = isSane();
    } finally {
      if (!opened) this.forgetEntries();
    }
    return opened;
  }

  /** Back to before {@link openEntries}: what was found cannot be right. */
  forgetEntries(): void {
    this.stored = -1;
    this.pendingCount = 0;
    this.replaces = false;
  }

  /**
   * Forgets all entries. The file stays as it is until {@link write} or {@link replace} puts another in its place: half a
   * file could not be told from a whole one.
   */
  protected beginAnew(): void {
    this.stored = 0;
    this.pendingCount = 0;
    this.replaces = true;
  }

  /**
   * Opens the file for what it says of a part that is known to be on the device, whatever else a crash left in it: keeps
   * the entries from the first on that are `sound`. Throws `IoError`.
   */
  protected openSound(sound: (bytes: Uint8Array, at: number) => boolean): void {
    this.forgetEntries();
    this.openEntries();
    const bytes = new Uint8Array(this.stored * this.entryBytes);
    this.file.get().readAt(bytes, 0);
    let count = 0;
    while (count < this.stored && sound(bytes, count * this.entryBytes)) count++;
    this.keepEntries(count);
  }

  /**
   * Makes the file when missing and forgets all entries. What is in it is overwritten, and cut off with the next
   * {@link write}: most often the same entries come again, and cutting takes file systems a thousand times longer.
   */
  protected resetEntries(): void {
    this.file.create();
    this.stored = 0;
    this.pendingCount = 0;
    this.replaces = false;
    this.unsynced = true;
    this.untrimmed = true;
  }

  get isOpen(): boolean {
    return this.stored >= 0;
  }

  get count(): number {
    return this.stored + this.pendingCount;
  }

  /** Whether enough entries wait for a write to be worth its while. */
  get isDue(): boolean {
    return this.pendingCount >= BLOCK_ENTRIES;
  }

  /** Whether {@link write} or {@link sync} has something to do. */
  get isDirty(): boolean {
    return this.pendingCount > 0 || this.unsynced || this.replaces;
  }

  /** Room for one more entry: its bytes are at the returned position of {@link pendingBytes}. */
  protected addEntry(): number {
    assert(this.stored >= 0, "index used before it was opened");
    const at = this.pendingCount * this.entryBytes;
    if (at === this.pending.length) {
      const larger = new Uint8Array(Math.max(8 * this.entryBytes, at * 2));
      larger.set(this.pending);
      this.pending = larger;
    }
    this.pendingCount++;
    return at;
  }

  protected get pendingBytes(): Uint8Array {
    return this.pending;
  }

  /** Writes what waits, and cuts off what a reset left. Throws `IoError`, and then keeps it. */
  write(): void {
    if (this.replaces) return this.replace();
    if (this.pendingCount > 0) {
      const bytes = this.pending.subarray(0, this.pendingCount * this.entryBytes);
      this.file.create().writeAt(bytes, this.stored * this.entryBytes);
      this.stored += this.pendingCount;
      this.dropPending();
      this.unsynced = true;
    }
    if (this.untrimmed) this.trim();
  }

  /**
   * Puts a file with the entries that wait, and no others, in the place of the one there is, and brings it to the device.
   * Throws `IoError`, and then keeps them.
   */
  private replace(): void {
    this.file.replace(this.pending.subarray(0, this.pendingCount * this.entryBytes));
    this.stored = this.pendingCount;
    this.dropPending();
    this.replaces = this.untrimmed = this.unsynced = false;
  }

  private dropPending(): void {
    this.pendingCount = 0;
    this.pending = NO_ENTRIES;
  }

  async sync(): Promise<void> {
    this.write();
    if (!this.unsynced) return;
    this.unsynced = false;
    try {
      await this.file.sync();
    } catch (error) {
      this.unsynced = true;
      throw error;
    }
  }

  /** The block of entry `index` and its place in it. */
  protected entryAt(index: number): { bytes: Uint8Array; at: number } {
    assert(index >= 0 && index < this.count, "index entry out of range");
    return index >= this.stored
      ? { bytes: this.pending, at: (index - this.stored) * this.entryBytes }
      : { bytes: this.readEntry(index), at: 0 };
  }

  /** The last entry whose key is at most `target`; -1 when all are larger. */
  protected floorIndex(target: number, keyOf: (bytes: Uint8Array, at: number) => number): number {
    if (this.pendingCount > 0 && keyOf(this.pending, 0) <= target) {
      return this.stored + floorIn(this.pending, this.pendingCount, this.entryBytes, target, keyOf);
    }
    let low = 0;
    let high = this.stored;
    while (high - low > RANGE_ENTRIES) {
      const middle = (low + high) >>> 1;
      if (keyOf(this.readEntry(middle), 0) <= target) low = middle;
      else high = middle;
    }
    if (low === high) return -1;
    const range = new Uint8Array((high - low) * this.entryBytes);
    this.file.get().readAt(range, low * this.entryBytes);
    return low + floorIn(range, high - low, this.entryBytes, target, keyOf);
  }

  /** Keeps the first `count` entries. */
  protected keepEntries(count: number): void {
    assert(this.stored >= 0, "index truncated before it was opened");
    if (count < this.stored) {
      this.stored = count;
      this.pendingCount = 0;
      this.unsynced = true;
    } else {
      this.pendingCount = Math.min(this.pendingCount, count - this.stored);
    }
    this.trim();
  }

  /** Cuts off what Kafka preallocated, or what a truncation left. */
  trim(): void {
    if (this.replaces) return;
    const handle = this.file.get();
    if (handle.size() !== this.stored * this.entryBytes) handle.truncate(this.stored * this.entryBytes);
    this.untrimmed = false;
  }

  private readEntry(index: number): Uint8Array {
    const bytes = new Uint8Array(this.entryBytes);
    this.file.get().readAt(bytes, index * this.entryBytes);
    return bytes;
  }
}

function floorIn(
  bytes: Uint8Array,
  count: number,
  entryBytes: number,
  target: number,
  keyOf: (bytes: Uint8Array, at: number) => number,
): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(bytes, middle * entryBytes) <= target) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
