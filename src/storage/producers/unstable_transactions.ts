/**
 * The transactions of a log that readers of committed records must not pass: those under way, and those that have ended
 * where the marker is not committed yet. Where the first of each began is asked for in every fetch, so both are queues
 * that cost the same whatever their length.
 */

interface Ended {
  readonly firstOffset: number;
  /** Of the marker. */
  readonly lastOffset: number;
}

export class UnstableTransactions {
  private readonly open = new Set<number>();
  /** First offsets of those under way, ascending, and of some that are over, from `head` on. */
  private order: number[] = [];
  private head = 0;
  private isSorted = true;
  /**
   * By marker, and by first offset too: one that began before others that ended earlier holds readers back for at least as
   * long as they do, so those are dropped.
   */
  private ended: Ended[] = [];
  private endedHead = 0;

  /** A transaction has begun; mostly behind all others, but not when they come from a snapshot. */
  begin(firstOffset: number): void {
    this.open.add(firstOffset);
    const { order } = this;
    if (order.length > this.head && order[order.length - 1] > firstOffset) this.isSorted = false;
    order.push(firstOffset);
  }

  /** The one that began at `firstOffset` has got its marker. */
  end(firstOffset: number, lastOffset: number): void {
    this.forget(firstOffset);
    const { ended } = this;
    while (ended.length > this.endedHead && ended[ended.length - 1].firstOffset >= firstOffset) ended.pop();
    ended.push({ firstOffset, lastOffset });
  }

  /** It is not under way any more. */
  private forget(firstOffset: number): void {
    const { open } = this;
    open.delete(firstOffset);
    if (open.size === 0) return this.restart([]);
    const { order } = this;
    // Behind one that hangs those that are over would pile up.
    if (order.length > 1000 && order.length > open.size * 2) return this.sort();
    if (!this.isSorted) return;
    while (!open.has(order[this.head])) this.head++;
  }

  /** Markers below `highWatermark` are committed. */
  committedTo(highWatermark: number): void {
    const { ended } = this;
    while (this.endedHead < ended.length && ended[this.endedHead].lastOffset < highWatermark) {
      this.endedHead++;
    }
    if (this.endedHead === ended.length) {
      if (this.endedHead > 0) this.ended = [];
      this.endedHead = 0;
    } else if (this.endedHead > 1000 && this.endedHead * 2 > ended.length) {
      this.ended = ended.slice(this.endedHead);
      this.endedHead = 0;
    }
  }

  /** Where the first one under way began; null without one. */
  get firstOpen(): number | null {
    if (this.open.size === 0) return null;
    if (!this.isSorted) this.sort();
    return this.order[this.head];
  }

  private sort(): void {
    this.restart([...this.open].sort((a, b) => a - b));
  }

  private restart(order: number[]): void {
    this.order = order;
    this.head = 0;
    this.isSorted = true;
  }

  /** The first offset that is not stable as long as no more is committed; null when all are. */
  get first(): number | null {
    const { firstOpen } = this;
    const firstEnded = this.ended[this.endedHead]?.firstOffset;
    if (firstEnded === undefined) return firstOpen;
    return firstOpen === null ? firstEnded : Math.min(firstOpen, firstEnded);
  }
}
