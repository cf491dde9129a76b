/**
 * The producer snapshots in a partition's directory. There is one at the base of each segment and one where the log
 * was last closed; recovery begins at the latest that fits.
 */

import { type Files, readFile, replaceFile, syncFile } from "../files/files.ts";
import type { Place } from "../files/handles.ts";
import { offsetName, SNAPSHOT_SUFFIX } from "../directory/names.ts";
import { readProducerSnapshot, snapshotProblem, writeProducerSnapshot } from "./producer_snapshot.ts";
import type { ProducerState } from "./producer_state.ts";

export class Snapshots {
  /** Offsets of those written here and not brought to the device. */
  private unsynced = new Set<number>();

  constructor(
    private readonly files: Files,
    private readonly place: Place,
    /** Ascending. */
    private offsets: number[],
  ) {}

  get latest(): number | null {
    return this.offsets.length === 0 ? null : this.offsets[this.offsets.length - 1];
  }

  /** The latest readable snapshot at or below `offset`. Damaged ones are removed, and told of. Throws `IoError`. */
  load(
    offset: number,
    now: number,
    onWarning: (text: string) => void,
  ): { offset: number; state: ProducerState } | null {
    for (let i = this.offsets.length - 1; i >= 0; i--) {
      const at = this.offsets[i];
      if (at > offset) continue;
      const bytes = readFile(this.files, this.path(at));
      const found = bytes === null ? null : snapshotProblem(bytes, at);
      if (bytes !== null && found === null) return { offset: at, state: readProducerSnapshot(bytes, now)! };
      if (found !== null) {
        onWarning(
          `${
            this.path(at)
          } is damaged at position ${found.position} (${found.problem}); removing it, and reading the ` +
            "producers from an older one or from the batches",
        );
      }
      this.remove(at);
    }
    return null;
  }

  /**
   * Writes the state as of `offset`. Of older snapshots, those at one of `segmentBases` stay: recovery may need them
   * when later ones are damaged. Throws `IoError`.
   */
  write(offset: number, state: ProducerState, segmentBases: readonly number[]): void {
    if (this.offsets.includes(offset)) return;
    replaceFile(this.files, this.path(offset), writeProducerSnapshot(state), false);
    this.unsynced.add(offset);
    this.offsets.push(offset);
    this.offsets.sort((a, b) => a - b);
    for (const at of [...this.offsets]) {
      if (at < offset && !segmentBases.includes(at)) this.remove(at);
    }
  }

  /** Brings the latest snapshot to the device, but for its name. Rejects with `IoError`. */
  async syncLatest(): Promise<void> {
    const { latest } = this;
    if (latest === null || !this.unsynced.has(latest)) return;
    await syncFile(this.files, this.path(latest));
    this.unsynced.delete(latest);
  }

  /** Removes the snapshots after `offset`, whose log is gone. */
  removeAfter(offset: number): void {
    for (const at of [...this.offsets]) if (at > offset) this.remove(at);
  }

  /** Removes the snapshots before `offset`. */
  removeBefore(offset: number): void {
    for (const at of [...this.offsets]) if (at < offset) this.remove(at);
  }

  /** Removes those of segments that are there no more, but for the latest. */
  removeAt(bases: readonly number[]): void {
    for (const at of bases) if (at !== this.latest && this.offsets.includes(at)) this.remove(at);
  }

  private remove(offset: number): void {
    this.files.remove(this.path(offset));
    this.offsets = this.offsets.filter((at) => at !== offset);
    this.unsynced.delete(offset);
  }

  private path(offset: number): string {
    return `${this.place.path}/${offsetName(offset, SNAPSHOT_SUFFIX)}`;
  }
}
