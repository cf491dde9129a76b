/**
 * Transactions whose end is decided and whose markers are being written. This is memory only: after a restart all of
 * the markers are written again, which changes nothing where they are already.
 */
import type { TopicPartition } from "./requests.ts";
import type { PartitionSet } from "./types.ts";

interface Ending {
  readonly left: Map<string, Set<number>>;
  /** Steady time at which what is left is asked for again. */
  retryAt: number;
}

export class EndingTransactions {
  private readonly byId = new Map<string, Ending>();
  /** No `retryAt` is earlier. */
  private earliest = Infinity;

  /** The steady time at which {@link due} may have something. */
  get wakeAt(): number {
    return this.earliest;
  }

  /** Markers are asked for; those that are not written by `retryAt` will be again. */
  asked(transactionalId: string, partitions: PartitionSet, retryAt: number): void {
    const ending = this.byId.get(transactionalId);
    if (ending !== undefined) ending.retryAt = retryAt;
    else {
      const left = new Map([...partitions].map(([topic, indexes]) => [topic, new Set(indexes)]));
      this.byId.set(transactionalId, { left, retryAt });
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
    let missing = 0;
    for (const indexes of ending.left.values()) missing += indexes.size;
    return missing ===
      written.filter(({ topic, partition }) => ending.left.get(topic)?.has(partition)).length;
  }

  written(transactionalId: string, partitions: readonly TopicPartition[]): void {
    const left = this.byId.get(transactionalId)?.left;
    for (const { topic, partition } of partitions) {
      left?.get(topic)?.delete(partition);
      if (left?.get(topic)?.size === 0) left.delete(topic);
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
