/** What is due at some time, earliest first. Anything can be taken out again: a heap that knows the place of each. */

/** Something that is due; `place` is for {@link Deadlines}, and -1 while it is not in there. */
export interface Due {
  readonly dueMs: number;
  place: number;
}

export class Deadlines<T extends Due> {
  private readonly heap: T[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** What is due first, if anything is. */
  get first(): T | undefined {
    return this.heap[0];
  }

  /** Everything, in no order. */
  all(): T[] {
    return [...this.heap];
  }

  add(item: T): void {
    this.heap.push(item);
    this.up(item, this.heap.length - 1);
  }

  /** Takes `item` out, if it is in there. */
  remove(item: T): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.heap.pop()!;
    if (last === item) return;
    this.up(last, place);
    this.down(last, last.place);
  }

  /** Puts `item` where it belongs, at `place` or nearer to the top. */
  private up(item: T, place: number): void {
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = this.heap[above];
      if (other.dueMs <= item.dueMs) break;
      this.put(other, place);
      place = above;
    }
    this.put(item, place);
  }

  /** Puts `item` where it belongs, at `place` or further down. */
  private down(item: T, place: number): void {
    const { heap } = this;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1].dueMs < heap[below].dueMs) below++;
      if (heap[below].dueMs >= item.dueMs) break;
      this.put(heap[below], place);
      place = below;
    }
    this.put(item, place);
  }

  private put(item: T, place: number): void {
    this.heap[place] = item;
    item.place = place;
  }
}
