/** Requests that are held until something happens or their time is over; a broker that stops answers them all. */

export class HeldRequests {
  private readonly ends = new Set<() => void>();

  get count(): number {
    return this.ends.size;
  }

  /** Holds one; `end` answers it with what there is. Gives the function that takes it off the list. */
  add(end: () => void): () => void {
    this.ends.add(end);
    return () => this.ends.delete(end);
  }

  /** Answers every held request now. */
  endAll(): void {
    for (const end of [...this.ends]) end();
  }
}
