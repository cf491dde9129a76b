/**
 * The transaction index of a segment: the transactions whose abort marker is in it, in Kafka's format and in the order of
 * their markers. Most segments have none, and then no file.
 *
 *     entry: version int16 = 0 | producerId int64 | firstOffset int64 | lastOffset int64 | lastStableOffset int64
 *
 * Entries stay in memory until they are on the device, and are in the file at once: the compactor's thread reads it. What
 * is looked up is kept a block at a time, since a reader goes on where it was.
 *
 * A file that was found empty, or that ends inside of an entry, has lost something. It stays as it is, so that the next
 * process knows too, until it is made anew from the batches: {@link TransactionIndex.isSound} asks for that.
 */

import { readInt16, readInt64, writeInt16, writeInt64 } from "../../codec/big_endian.ts";
import { IoError } from "../files/files.ts";
import type { PooledFile } from "../files/handles.ts";

const VERSION = 0;
const PRODUCER_ID_AT = 2, FIRST_OFFSET_AT = 10, LAST_OFFSET_AT = 18, LAST_STABLE_OFFSET_AT = 26;
export const TRANSACTION_ENTRY_BYTES = 34;
/** About 70 KB. */
const BLOCK_ENTRIES = 2048;
const NO_BYTES = new Uint8Array(0);

/** A transaction that was aborted. Its marker is at `lastOffset`. */
export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** The last stable offset when it ended: no later transaction of the index begins before it. */
  readonly lastStableOffset: number;
}

/** The whole entries in the bytes of an index, as far as they are of a version that is known. */
export function readTransactionIndex(bytes: Uint8Array): AbortedTransaction[] {
  const entries: AbortedTransaction[] = [];
  for (let at = 0; at + TRANSACTION_ENTRY_BYTES <= bytes.length; at += TRANSACTION_ENTRY_BYTES) {
    if (readInt16(bytes, at) !== VERSION) break;
    entries.push(entryAt(bytes, at));
  }
  return entries;
}

export function writeTransactionIndex(entries: readonly AbortedTransaction[]): Uint8Array {
  const bytes = new Uint8Array(entries.length * TRANSACTION_ENTRY_BYTES);
  for (const [i, entry] of entries.entries()) writeEntry(bytes, i * TRANSACTION_ENTRY_BYTES, entry);
  return bytes;
}

/** Where the first entry is that cannot be in the index of a segment from `baseOffset` on, and why; null without one. */
export function transactionIndexProblem(
  bytes: Uint8Array,
  baseOffset: number,
): { position: number; problem: string } | null {
  let before = -1;
  for (let at = 0; at + TRANSACTION_ENTRY_BYTES <= bytes.length; at += TRANSACTION_ENTRY_BYTES) {
    const problem = problemAt(bytes, at, baseOffset, before);
    if (problem !== null) return { position: at, problem };
    before = entryAt(bytes, at).lastOffset;
  }
  const rest = bytes.length % TRANSACTION_ENTRY_BYTES;
  if (rest === 0) return null;
  const problem = `the file ends inside of an entry: its size is ${bytes.length}`;
  return { position: bytes.length - rest, problem };
}

/** Why the entry at `at` cannot come after one with a marker at `before`; null when it can. */
function problemAt(bytes: Uint8Array, at: number, baseOffset: number, before: number): string | null {
  const version = readInt16(bytes, at);
  if (version !== VERSION) return `version is ${version}, expected ${VERSION}`;
  const { producerId, firstOffset, lastOffset, lastStableOffset } = entryAt(bytes, at);
  const canBe = producerId >= 0 && firstOffset >= 0 && lastOffset > firstOffset && lastOffset >= baseOffset &&
    lastOffset > before && lastStableOffset >= 0 && lastStableOffset <= lastOffset + 1;
  if (canBe) return null;
  return `an aborted transaction of producer ${producerId} from offset ${firstOffset} to ${lastOffset} after ` +
    `${before}, with ${lastStableOffset} stable`;
}

export class TransactionIndex {
  /** Entries that are on the device as far as is known; -1 until the file was looked at. */
  private synced = -1;
  /** Those after them, `kept` in number, of which `written` are in the file. */
  private tail: Uint8Array = NO_BYTES;
  private kept = 0;
  private written = 0;
  /** Entries of the file from `blockFirst` on, as they were last looked up. */
  private block: Uint8Array = NO_BYTES;
  private blockFirst = 0;
  /** The file may go on behind its entries: a write failed. */
  private isTorn = false;
  /** The file was found in a state in which entries must be missing. */
  private isBroken = false;
  /** How often entries were taken away: a sync that began before says nothing of those there are. */
  private cuts = 0;
  /** What is in the file was looked at, or written here. */
  private isChecked = false;
  /** Whether the block was looked at since {@link rest}. */
  private isUsed = false;

  constructor(readonly file: PooledFile) {}

  /** Notes that there is no file, which is so of nearly all segments: nobody has to look then. */
  noteMissing(): void {
    this.synced = 0;
    this.isChecked = true;
  }

  /**
   * Notes that there is no file, nor one of another index: who has removed those has them made anew, and may have removed this
   * one too, which nothing else would tell. An empty file says so to the next process.
   */
  doubtMissing(): void {
    this.synced = 0;
    this.isBroken = true;
    try {
      this.file.create();
    } catch (error) {
      // Nor will the disk take the other indexes, and they still tell.
      if (!(error instanceof IoError)) throw error;
    }
  }

  /** Throws `IoError`. */
  private open(): void {
    if (this.synced >= 0) return;
    const exists = this.file.exists();
    const size = exists ? this.file.get().size() : 0;
    this.synced = Math.floor(size / TRANSACTION_ENTRY_BYTES);
    this.isBroken = exists && (size === 0 || size % TRANSACTION_ENTRY_BYTES !== 0);
  }

  /** Throws `IoError` when the file has to be looked at first. */
  get count(): number {
    this.open();
    return this.synced + this.kept;
  }

  /** Whether there may be no file yet. */
  get isUnmade(): boolean {
    return this.synced <= 0 && this.written === 0;
  }

  /** Whether an entry is not in the file yet. */
  get isDue(): boolean {
    return this.written < this.kept;
  }

  /** Takes a transaction in whose marker is behind all others; {@link write} has to follow. */
  add(transaction: AbortedTransaction): void {
    const at = this.kept * TRANSACTION_ENTRY_BYTES;
    if (at === this.tail.length) {
      const larger = new Uint8Array(Math.max(4 * TRANSACTION_ENTRY_BYTES, at * 2));
      larger.set(this.tail);
      this.tail = larger;
    }
    writeEntry(this.tail, at, transaction);
    this.kept++;
  }

  /** Writes the entries that are not in the file. Throws `IoError`, and then keeps them for the next time. */
  write(): void {
    if (!this.isDue) return;
    this.open();
    if (this.isBroken) {
      // For the next process, where doubtMissing() could not leave it.
      this.file.create();
      return;
    }
    const from = this.written * TRANSACTION_ENTRY_BYTES;
    const bytes = this.tail.subarray(from, this.kept * TRANSACTION_ENTRY_BYTES);
    const { isTorn } = this;
    this.isTorn = true;
    this.file.create().writeAt(bytes, this.synced * TRANSACTION_ENTRY_BYTES + from);
    this.written = this.kept;
    if (isTorn) this.cut();
    this.isTorn = false;
  }

  /** Cuts off what is behind the entries, on the device. Throws `IoError`. */
  private cut(): void {
    const handle = this.file.get();
    handle.truncate((this.synced + this.written) * TRANSACTION_ENTRY_BYTES);
    // At once: should entries come back behind what is written next, nothing would tell that they are none of its own.
    handle.syncNow();
    this.isTorn = false;
  }

  /** Brings all of it to the device, again what an earlier sync that failed may have lost. Rejects with `IoError`. */
  async sync(): Promise<void> {
    if (this.kept === 0) return;
    this.write();
    if (this.isBroken) return;
    const { kept: covered, cuts } = this;
    try {
      await this.file.sync();
    } catch (error) {
      this.written = 0;
      throw error;
    }
    if (this.cuts !== cuts) return;
    this.tail = this.tail.slice(covered * TRANSACTION_ENTRY_BYTES);
    this.kept -= covered;
    this.written -= covered;
    this.synced += covered;
  }

  /**
   * Gives `found` the transactions with a marker at or after `from` that began before `to`, in the order of their markers.
   * True when no later segment can have one more. Throws `IoError`.
   */
  collect(from: number, to: number, found: (transaction: AbortedTransaction) => void): boolean {
    const { count } = this;
    for (let index = this.firstSince(from, count); index < count; index++) {
      const transaction = this.at(index);
      if (transaction.firstOffset < to) found(transaction);
      if (transaction.lastStableOffset >= to) return true;
    }
    return false;
  }

  /** The first entry with a marker at or after `offset`; `count` when there is none. */
  private firstSince(offset: number, count: number): number {
    let low = 0;
    let high = count;
    const held = this.block.length / TRANSACTION_ENTRY_BYTES;
    // Where the reader before went on, nothing else has to be looked at.
    if (held > 1 && this.blockFirst + held <= count) {
      const last = this.blockFirst + held - 1;
      if (this.at(this.blockFirst).lastOffset < offset && offset <= this.at(last).lastOffset) {
        low = this.blockFirst + 1;
        high = last;
      }
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle).lastOffset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private at(index: number): AbortedTransaction {
    if (index >= this.synced) return entryAt(this.tail, (index - this.synced) * TRANSACTION_ENTRY_BYTES);
    this.isUsed = true;
    let at = (index - this.blockFirst) * TRANSACTION_ENTRY_BYTES;
    if (at < 0 || at >= this.block.length) {
      this.blockFirst = index - index % BLOCK_ENTRIES;
      this.block = this.read(this.blockFirst, Math.min(this.synced, this.blockFirst + BLOCK_ENTRIES));
      at = (index - this.blockFirst) * TRANSACTION_ENTRY_BYTES;
    }
    return entryAt(this.block, at);
  }

  private read(from: number, to: number): Uint8Array {
    const bytes = new Uint8Array((to - from) * TRANSACTION_ENTRY_BYTES);
    const held = this.file.get().readAt(bytes, from * TRANSACTION_ENTRY_BYTES);
    if (held === bytes.length) return bytes;
    throw new IoError("read", this.file.path, `it has ${to} entries no more`);
  }

  /** Lets go of what was looked up, unless it was looked at since the last call. Whether there is something left. */
  rest(): boolean {
    if (!this.isUsed) this.block = NO_BYTES;
    this.isUsed = false;
    return this.block.length > 0;
  }

  /**
   * Whether a file that was found can be right for a segment from `baseOffset` on; looked at once. Else {@link replace} is due.
   * Throws `IoError`.
   */
  isSound(baseOffset: number): boolean {
    if (this.isChecked) return true;
    const { count } = this;
    if (this.isBroken) return false;
    let before = -1;
    for (let index = 0; index < count; index++) {
      const { bytes, at } = this.bytesAt(index);
      if (problemAt(bytes, at, baseOffset, before) !== null) return false;
      before = entryAt(bytes, at).lastOffset;
    }
    this.isChecked = true;
    return true;
  }

  private bytesAt(index: number): { bytes: Uint8Array; at: number } {
    this.at(index);
    return index >= this.synced
      ? { bytes: this.tail, at: (index - this.synced) * TRANSACTION_ENTRY_BYTES }
      : { bytes: this.block, at: (index - this.blockFirst) * TRANSACTION_ENTRY_BYTES };
  }

  /** Puts a file with these entries in the place of the one there is, on the device. Throws `IoError`. */
  replace(entries: readonly AbortedTransaction[]): void {
    if (entries.length === 0) return this.reset();
    this.file.replace(writeTransactionIndex(entries));
    this.forgetEntries(entries.length);
  }

  /** Drops what it says of markers from `offset` on. The file goes where nothing is left. Throws `IoError`. */
  truncateTo(offset: number): void {
    const { count } = this;
    let kept = count;
    while (kept > 0 && this.at(kept - 1).lastOffset >= offset) kept--;
    if (this.isBroken && kept >= this.synced) {
      // Only the batches tell whether what it has lost is cut off.
      this.kept = kept - this.synced;
      return;
    }
    if (kept === count && !this.isTorn) return;
    if (kept === 0) return this.reset();
    this.cuts++;
    this.isTorn ||= this.isBroken || kept < this.synced + this.written;
    this.isBroken = false;
    this.synced = Math.min(this.synced, kept);
    this.kept = kept - this.synced;
    this.written = Math.min(this.written, this.kept);
    this.block = NO_BYTES;
    if (this.isTorn) this.cut();
  }

  /** Forgets all entries, and removes the file. Throws `IoError`. */
  reset(): void {
    if (this.synced !== 0 || this.written > 0 || this.isTorn || this.isBroken) this.file.remove();
    this.forgetEntries(0);
  }

  private forgetEntries(synced: number): void {
    this.synced = synced;
    this.kept = this.written = 0;
    this.tail = this.block = NO_BYTES;
    this.cuts++;
    this.isTorn = this.isBroken = false;
    this.isChecked = true;
  }
}

function entryAt(bytes: Uint8Array, at: number): AbortedTransaction {
  return {
    producerId: readInt64(bytes, at + PRODUCER_ID_AT),
    firstOffset: readInt64(bytes, at + FIRST_OFFSET_AT),
    lastOffset: readInt64(bytes, at + LAST_OFFSET_AT),
    lastStableOffset: readInt64(bytes, at + LAST_STABLE_OFFSET_AT),
  };
}

function writeEntry(bytes: Uint8Array, at: number, entry: AbortedTransaction): void {
  writeInt16(bytes, at, VERSION);
  writeInt64(bytes, at + PRODUCER_ID_AT, entry.producerId);
  writeInt64(bytes, at + FIRST_OFFSET_AT, entry.firstOffset);
  writeInt64(bytes, at + LAST_OFFSET_AT, entry.lastOffset);
  writeInt64(bytes, at + LAST_STABLE_OFFSET_AT, entry.lastStableOffset);
}
