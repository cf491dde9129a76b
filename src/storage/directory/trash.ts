/**
 * Files and directories that have a name which says that they are deleted, and go for good when `file.delete.delay.ms`
 * is over. Beside everything else and one at a time: a file system takes a quarter of a second to free a gigabyte.
 */

import type { Clock } from "../../base/clock.ts";
import { type Files, IoError } from "../files/files.ts";

/** Who empties the trash has other things to do, too. */
const EMPTYING_MS = 500;

interface Doomed {
  readonly path: string;
  /** By the monotonic clock: a wall clock that is set must neither hurry this nor hold it up. */
  readonly dueMs: number;
  /** That it could not be deleted was told. */
  told: boolean;
}

export class Trash {
  private readonly doomed = new Set<Doomed>();

  constructor(
    private readonly files: Files,
    private readonly clock: Clock,
    private readonly onWarning: (text: string) => void,
  ) {}

  /** Has what is at `path` deleted `delayMs` from now. What is not there by then was somebody else's to delete. */
  add(path: string, delayMs: number): void {
    this.doomed.add({ path, dueMs: this.clock.monotonic() + delayMs, told: false });
  }

  /**
   * Deletes what is due, as far as that goes in half a second. What cannot be deleted is told once and tried again the
   * next time. Never rejects because of the disk.
   */
  async empty(): Promise<void> {
    const now = this.clock.monotonic();
    for (const one of [...this.doomed]) {
      if (one.dueMs > now) continue;
      if (this.clock.monotonic() - now >= EMPTYING_MS) return;
      try {
        await this.files.removeTree(one.path);
        this.doomed.delete(one);
      } catch (error) {
        if (!(error instanceof IoError)) throw error;
        if (!one.told) this.onWarning(`Cannot delete ${one.path} yet: ${error.message}`);
        one.told = true;
      }
    }
  }
}
