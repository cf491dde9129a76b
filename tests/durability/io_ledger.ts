/**
 * What a workload knows of each partition that it made: which batches were written in which order, which of them were
 * acknowledged, and what is promised of them after which end. A partition that is deleted and made again under its name
 * is another one, told apart by its topic id.
 */

import { BatchView } from "../../src/codec/batch.ts";

/** A promise that was broken. */
export class Violation extends Error {
  override name = "Violation";
}

export function must(holds: boolean, claim: string): asserts holds {
  if (!holds) throw new Violation(claim);
}

/** How a run ended. "power" lost all that was not synced, "chance" any part of it. */
export type End = "killed" | "power" | "chance";

/** A batch as it lies in the log, or may lie there. Entries are shared between copies of a ledger. */
export interface Entry {
  baseOffset: number;
  lastOffset: number;
  maxTimestamp: number;
  bytes: Uint8Array;
  /** What it was written behind: bytes that come after something else are no log. */
  before: Entry | null;
}

export function entryOf(bytes: Uint8Array, before: Entry | null): Entry {
  const { baseOffset, lastOffset, maxTimestamp } = new BatchView(bytes);
  return { baseOffset, lastOffset, maxTimestamp, bytes, before };
}

export class Ledger {
  /** All that was written, in order, what retention took since among them. */
  written: Entry[] = [];
  /** Batches that were refused because the disk failed, or cut off again: any of them may be at the end all the same. */
  doubtful: Entry[] = [];
  /** Everything before it was acknowledged. */
  acknowledgedEnd = 0;
  /** Everything before it was in the log when a flush began that succeeded. */
  flushedEnd = 0;
  /** The log's start as far as anyone was told. */
  start = 0;
  /** The largest that it ever was: a power failure may take it back. */
  highestStart = 0;
  /** The start as of the last checkpoint of it. */
  checkpointedStart = 0;
  /** Whether the directory is there for sure, may be there, or must not be there after a kill. */
  /** A sync failed, no note of it could be left, and the process was killed. */
  isDoubted = false;
  state: "making" | "there" | "removing" | "removed" = "making";

  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly topicId: string,
    /** Whether it is acknowledged only after a sync. */
    readonly syncs: boolean,
    /** What its records may be deleted by. */
    readonly retentionMs: number,
    readonly retentionBytes: number,
  ) {}

  get name(): string {
    return `${this.topic}-${this.partition}`;
  }

  get last(): Entry | null {
    return this.written.at(-1) ?? null;
  }

  get end(): number {
    return this.last === null ? 0 : this.last.lastOffset + 1;
  }

  /** All before it must be there after such an end. */
  promisedEnd(end: End): number {
    if (this.state !== "there") return 0;
    return end === "killed" ? this.acknowledgedEnd : this.flushedEnd;
  }

  /** Forgets the promises on `offset` and after; what is there may stay for now. */
  cut(offset: number): void {
    this.doubtful.push(...this.written.filter((entry) => entry.lastOffset >= offset));
    this.written = this.written.filter((entry) => entry.lastOffset < offset);
    this.acknowledgedEnd = Math.min(this.acknowledgedEnd, offset);
    this.flushedEnd = Math.min(this.flushedEnd, offset);
    this.start = Math.min(this.start, offset);
    this.checkpointedStart = Math.min(this.checkpointedStart, offset);
  }

  copy(): Ledger {
    const copy = new Ledger(
      this.topic,
      this.partition,
      this.topicId,
      this.syncs,
      this.retentionMs,
      this.retentionBytes,
    );
    copy.written = [...this.written];
    copy.doubtful = [...this.doubtful];
    copy.acknowledgedEnd = this.acknowledgedEnd;
    copy.flushedEnd = this.flushedEnd;
    copy.start = this.start;
    copy.highestStart = this.highestStart;
    copy.checkpointedStart = this.checkpointedStart;
    copy.state = this.state;
    copy.isDoubted = this.isDoubted;
    return copy;
  }
}

/** Producers' last five batches by id, as the batches in the log tell: what any other way to know them must agree with. */
export interface ExpectedProducer {
  epoch: number;
  batches: { lastSequence: number; lastOffset: number; offsetDelta: number; timestamp: number }[];
}

export function producersOf(entries: readonly Entry[]): Map<number, ExpectedProducer> {
  const producers = new Map<number, ExpectedProducer>();
  for (const { bytes } of entries) {
    const batch = new BatchView(bytes);
    if (!batch.hasProducerId) continue;
    let producer = producers.get(batch.producerId);
    if (producer === undefined || producer.epoch !== batch.producerEpoch) {
      producers.set(batch.producerId, producer = { epoch: batch.producerEpoch, batches: [] });
    }
    // The end of a transaction, which has no sequence numbers.
    if (batch.isControl) continue;
    producer.batches.push({
      lastSequence: batch.lastSequence,
      lastOffset: batch.lastOffset,
      offsetDelta: batch.lastOffsetDelta,
      timestamp: batch.maxTimestamp,
    });
    producer.batches = producer.batches.slice(-5);
  }
  return producers;
}
