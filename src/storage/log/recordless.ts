/**
 * Stretches of a log that have no records, but markers only: known from readers who were led over them, so that who asks
 * again need not be. Several readers may be on their way in several of them.
 */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** So many are remembered; the one that was longest of no use makes way. */
const MAX_STRETCHES = 16;

export class RecordlessStretches {
  /** The last one used last. */
  private stretches: Stretch[] = [];
  private truncations = 0;

  /** The stretch that `offset` lies in, its end included. They hold as long as nothing was cut off the log's end. */
  at(offset: number, truncations: number): Stretch | null {
    if (truncations !== this.truncations) this.stretches = [];
    this.truncations = truncations;
    const found = this.stretches.findIndex(({ from, to }) => from <= offset && offset <= to);
    if (found < 0) return null;
    const [stretch] = this.stretches.splice(found, 1);
    this.stretches.push(stretch);
    return stretch;
  }

  /** Remembers one, in the place of those that lie in it. Call {@link at} first. */
  add(stretch: Stretch): void {
    this.stretches = this.stretches.filter(({ from, to }) => from < stretch.from || to > stretch.to);
    this.stretches.push(stretch);
    if (this.stretches.length > MAX_STRETCHES) this.stretches.shift();
  }
}
