/** Holding a partition's `leader-epoch-checkpoint` against the epochs in its batches, as a scan comes by them. */

import type { SeenBatch } from "./segment.ts";
import type { EpochEntry } from "../directory/checkpoints.ts";

export class EpochCheck {
  private index = -1;
  /** Of the batch before. */
  private latest = -1;

  /** There were batches with an epoch before the first that the file knows: what that means is not to be told from the batch. */
  hasEarlier = false;

  constructor(
    private readonly entries: readonly EpochEntry[],
    /** Records before it are not in the log, although a batch may hold some. */
    private readonly logStartOffset: number,
    /** From here on the file may not know of epochs yet: the offset up to which all was flushed. */
    private readonly knownUpTo: number,
    /** No leader had a later one. */
    private readonly maxEpoch: number,
  ) {}

  /** Why the batch and the file do not agree; null when they do. */
  batch({ baseOffset, lastOffset, leaderEpoch }: SeenBatch): string | null {
    const { entries } = this;
    const before = this.latest;
    if (leaderEpoch >= 0) this.latest = leaderEpoch;
    if (leaderEpoch >= 0 && leaderEpoch < before) {
      return `leader epoch is ${leaderEpoch}, but the batch before has ${before}: one of them cannot be`;
    }
    if (leaderEpoch > this.maxEpoch) {
      return `leader epoch is ${leaderEpoch}, but the metadata says that there was none after ${this.maxEpoch}`;
    }
    while (this.index + 1 < entries.length && entries[this.index + 1].startOffset <= lastOffset) this.index++;
    if (lastOffset < this.logStartOffset) return null;
    if (entries.length > 0 && Math.max(baseOffset, this.logStartOffset) < entries[0].startOffset) {
      this.hasEarlier ||= leaderEpoch >= 0;
      if (this.index < 0) return null;
    }
    const noted = this.index < 0 ? -1 : entries[this.index].epoch;
    // The first begins with the log, which may begin inside of a batch.
    const since = this.index < 1 ? -1 : entries[this.index].startOffset;
    if (since > baseOffset && noted === leaderEpoch) {
      return `it begins at offset ${baseOffset}, the checkpoint of epochs has its epoch from ${since} on`;
    }
    if (noted === leaderEpoch) return null;
    const isLatest = this.index === entries.length - 1;
    if (isLatest && leaderEpoch > noted && lastOffset >= this.knownUpTo) return null;
    return `leader epoch is ${leaderEpoch}, the checkpoint of epochs says ${noted} for offset ${lastOffset}`;
  }
}
