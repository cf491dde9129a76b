/**
 * The leader epochs of a log together with their file. A change reaches the file with {@link EpochFile.write} and the
 * device with {@link EpochFile.flush}; until then the batches themselves, which carry their epochs, stand in for it.
 */

import { writeEpochs } from "../directory/checkpoints.ts";
import { syncFile } from "../files/files.ts";
import { LeaderEpochs } from "./leader_epochs.ts";
import type { LogSegments } from "../log/segments.ts";
import { LEADER_EPOCH_FILE } from "../directory/names.ts";

export class EpochFile {
  epochs = new LeaderEpochs();
  private dirty = false;
  private unsynced = false;

  constructor(private readonly segments: LogSegments) {}

  /**
   * Takes the epochs of a log that was opened; `changed` when the file says something else, `unsynced` when nobody knows
   * whether the file is on the device.
   */
  open(epochs: LeaderEpochs, changed: boolean, unsynced: boolean): void {
    this.epochs = epochs;
    this.dirty = changed;
    // Without epochs there may be no file.
    this.unsynced = unsynced && epochs.all.length > 0;
  }

  /** Notes the outcome of a change to {@link epochs}. */
  changed(really: boolean): void {
    if (really) this.dirty = true;
  }

  /** Throws `IoError`, and then remembers that the file is behind. */
  write(): void {
    if (!this.dirty) return;
    writeEpochs(this.segments.files, this.segments.pathOf(LEADER_EPOCH_FILE), this.epochs.all);
    this.dirty = false;
    this.unsynced = true;
    this.segments.directoryUnsynced = true;
  }

  /** Rejects with `IoError`. */
  async flush(): Promise<void> {
    this.write();
    if (!this.unsynced) return;
    this.unsynced = false;
    try {
      await syncFile(this.segments.files, this.segments.pathOf(LEADER_EPOCH_FILE));
    } catch (error) {
      // The next sync of this file would say nothing of what this one has dropped.
      this.dirty = true;
      throw error;
    }
  }
}
