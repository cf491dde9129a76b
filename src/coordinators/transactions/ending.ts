/**
 * Transactions whose end is decided and whose markers are being written. This is memory only: after a restart all of
 * the markers are written again, which changes nothing where they are already.
 */
import type { TopicPartition } from "./requests.ts";
import type { PartitionSet } from "./types.ts";

interface Ending {
  readonly left: Map<string, Set<number>>;
  /** How many partitions are left. */
  missing: number;
  /** Steady time at which what is left is asked for again. */
  retryAt: number;
  /** How often that was done. */
  retries: number;
}

/** A marker that could not be written is tried again after this time, which doubles: a disk may be full, a log not open yet. */
const FIRST_RETRY_MS = 500;
/** At most so long: what is over is noticed within as long as it has lasted, and what is not costs little. */
const MAX_RETRY_MS = 30_000;

export class EndingTransactions {
  private readonly byId = new Map<string, Ending>();
  /** No `retryAt` is earlier. */
  private earliest = Infinity;

  /** The steady time at which {@link due} may have something. */
  get wakeAt(): number {
    return this.earliest;
  }

  /** How long to wait for the markers that are asked for now before they are asked for again. */
  retryMs(transactionalId: string): number {
    const ending = this.byId.get(transactionalId);
    return ending === undefined
      ? FIRST_RETRY_MS
      : Math.min(FIRST_RETRY_MS * 2 ** (ending.retries + 1), MAX_RETRY_MS);
  }

  /** Markers are asked for; those that are not written by `retryAt` will be again. */
  asked(transactionalId: string, partitions: PartitionSet, retryAt: number): void {
    const ending = this.byId.get(transactionalId);
    if (ending !== undefined) {
      ending.retryAt = retryAt;
      ending.retries++;
    } else {
      const left = new Map([...partitions].map(([topic, indexes]) => [topic, new Set(indexes)]));
      let missing = 0;
      for (const indexes of left.values()) missing += indexes.size;
      this.byId.set(transactionalId, { left, missing, retryAt, retries: 0 });
    }
    this.earliest = Math.min(this.earliest, retryAt);
  }

  /** Where markers are still missing; undefined when the transaction is not ending. */
  left(transactionalId: string): PartitionSet | undefined {
    return this.byId.get(transactionalId)?.left;
  }

  /** Whether no marker would be missing any more once these are written. */
  isLast(transactionalId: string, written: readonly TopicPartition[]): boolean {
    const ending = this.byId.get(transactionalId);
    if (ending === undefined) return false;
    return ending.missing ===
      written.filter(({ topic, partition }) => ending.left.get(topic)?.has(partition)).length;
  }

  written(transactionalId: string, partitions: readonly TopicPartition[]): void {
    const ending = this.byId.get(transactionalId);
    if (ending === undefined) return;
    for (const { topic, partition } of partitions) {
      const indexes = ending.left.get(topic);
      if (!indexes?.delete(partition)) continue;
      ending.missing--;
      if (indexes.size === 0) ending.left.delete(topic);
    }
  }

  ended(transactionalId: string): void {
    this.byId.delete(transactionalId);
    if (this.byId.size === 0) this.earliest = Infinity;
  }

  /** The ids whose missing markers are to be asked for again by now. */
  due(steadyMs: number): string[] {
    if (this.earliest > steadyMs) return [];
    return [...this.byId].filter(([, { retryAt }]) => retryAt <= steadyMs).map(([transactionalId]) =>
      transactionalId
    );
  }

  /** Finds out when something is due next. */
  findNext(): void {
    this.earliest = Infinity;
    for (const { retryAt } of this.byId.values()) this.earliest = Math.min(this.earliest, retryAt);
  }
}
