/**
 * Which leader epoch began at which offset (KIP-101): how a follower or a consumer finds where its history parts from
 * the leader's. Epochs and start offsets both rise. Pure; the log keeps it in `leader-epoch-checkpoint`.
 */

import type { EpochEntry } from "../directory/checkpoints.ts";

/** "No such epoch", and its end offset, in answers. */
const NO_EPOCH = -1;
const NO_OFFSET = -1;

export class LeaderEpochs {
  private entries: EpochEntry[];

  constructor(entries: readonly EpochEntry[] = []) {
    this.entries = [...entries].sort((a, b) => a.epoch - b.epoch);
  }

  get all(): readonly EpochEntry[] {
    return this.entries;
  }

  /** The latest epoch, or -1. */
  get latest(): number {
    return this.entries.length === 0 ? NO_EPOCH : this.entries[this.entries.length - 1].epoch;
  }

  /**
   * Notes that `epoch` begins at `startOffset`, unless it is the current one already. Entries that contradict it, of
   * a later epoch or beginning later, go. True when something changed.
   */
  assign(epoch: number, startOffset: number): boolean {
    const last = this.entries[this.entries.length - 1];
    if (last !== undefined && last.epoch === epoch && last.startOffset <= startOffset) return false;
    this.entries = this.entries.filter((entry) => entry.epoch < epoch && entry.startOffset < startOffset);
    this.entries.push({ epoch, startOffset });
    return true;
  }

  /** The epoch under which the record at `offset` was written; -1 before the first known. */
  at(offset: number): number {
    let found = NO_EPOCH;
    for (const { epoch, startOffset } of this.entries) {
      if (startOffset > offset) break;
      found = epoch;
    }
    return found;
  }

  /**
   * Where `requested`, or the latest epoch before it, ended (OffsetForLeaderEpoch, KIP-279). The current epoch ends
   * at `endOffset`; an epoch older than any known ends where the first known begins; a future one is (-1, -1).
   */
  endOffset(
    requested: number,
    currentEpoch: number,
    endOffset: number,
  ): { leaderEpoch: number; endOffset: number } {
    if (requested === NO_EPOCH) return { leaderEpoch: NO_EPOCH, endOffset: NO_OFFSET };
    if (requested === currentEpoch || requested === this.latest) return { leaderEpoch: requested, endOffset };
    const next = this.entries.findIndex((entry) => entry.epoch > requested);
    if (next < 0) return { leaderEpoch: NO_EPOCH, endOffset: NO_OFFSET };
    const leaderEpoch = next === 0 ? requested : this.entries[next - 1].epoch;
    return { leaderEpoch, endOffset: this.entries[next].startOffset };
  }

  /** Forgets epochs that begin at `offset` or later. True when something changed. */
  truncateFromEnd(offset: number): boolean {
    const kept = this.entries.filter((entry) => entry.startOffset < offset);
    const changed = kept.length !== this.entries.length;
    this.entries = kept;
    return changed;
  }

  /** Forgets epochs that ended by `offset`; the one in force there now begins there. True when something changed. */
  truncateFromStart(offset: number): boolean {
    let inForce = -1;
    while (inForce + 1 < this.entries.length && this.entries[inForce + 1].startOffset <= offset) inForce++;
    if (inForce < 0 || (inForce === 0 && this.entries[0].startOffset === offset)) return false;
    const { epoch } = this.entries[inForce];
    this.entries = [{ epoch, startOffset: offset }, ...this.entries.slice(inForce + 1)];
    return true;
  }
}

/**
 * Takes the epochs of batches in as they come. No checksum covers a batch's epoch: one that the batch after it falls back
 * from was never there.
 */
export class RisingEpochs {
  private held: EpochEntry | null = null;

  constructor(
    readonly epochs: LeaderEpochs,
    /** Is told of an epoch that was not believed. */
    private readonly onOdd: (odd: EpochEntry) => void = () => {},
  ) {}

  /** The epoch of the next batch, -1 for none, and the batch's first offset. */
  note(epoch: number, startOffset: number): void {
    const { held } = this;
    if (held !== null) {
      if (epoch >= held.epoch) this.finish();
      else if (epoch >= 0) {
        this.held = null;
        this.onOdd(held);
      }
    }
    if (this.held === null && epoch > this.epochs.latest) this.held = { epoch, startOffset };
  }

  /** After the last batch. */
  finish(): void {
    if (this.held !== null) this.epochs.assign(this.held.epoch, this.held.startOffset);
    this.held = null;
  }
}
