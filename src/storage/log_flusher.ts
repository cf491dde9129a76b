/**
 * Bringing a log to the device, for many who wait at once: a flush under way serves those who asked before it began,
 * and all who come meanwhile share the next one.
 */

import { parentOf } from "./files.ts";
import type { LogSegments } from "./log_segments.ts";
import { PARTITION_METADATA_FILE } from "./names.ts";

export class LogFlusher {
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;

  constructor(
    private readonly segments: LogSegments,
    /** Whether the partition's directory itself may not be on the device yet. */
    private isNew: boolean,
    /** Called first; what it gives, when all that was written before is on the device. */
    private readonly begin: () => () => void,
    /** Writes what is kept in other files. */
    private readonly flushRest: () => void,
  ) {}

  /** Rejects with `IoError`. */
  flush(): Promise<void> {
    if (this.running === null) {
      this.running = this.flushOnce().finally(() => {
        this.running = null;
      });
      return this.running;
    }
    // What the running one fails at, the next one tries again and reports.
    return this.next ??= this.running.then(() => {}, () => {}).then(() => {
      this.next = null;
      return this.flush();
    });
  }

  private async flushOnce(): Promise<void> {
    const done = this.begin();
    for (const segment of [...this.segments.list]) {
      if (!segment.unsynced) continue;
      segment.unsynced = false;
      try {
        await segment.log.sync();
        // The active segment's indexes are not synced: recovery finds their last sound entry and goes on from there.
        if (segment !== this.segments.active && this.segments.list.includes(segment)) {
          await segment.offsets.sync();
          await segment.times.sync();
        }
      } catch (error) {
        // Deleted meanwhile: there is nothing left to be kept.
        if (!this.segments.list.includes(segment)) continue;
        segment.unsynced = true;
        throw error;
      }
    }
    if (this.segments.gone) return;
    this.flushRest();
    this.syncDirectory();
    done();
  }

  private syncDirectory(): void {
    const { files, place } = this.segments;
    if (this.isNew) {
      const metadata = files.open(this.segments.pathOf(PARTITION_METADATA_FILE), false);
      try {
        metadata.syncNow();
      } finally {
        metadata.close();
      }
      files.syncDirectory(parentOf(place.path));
      this.isNew = false;
      this.segments.directoryUnsynced = true;
    }
    if (!this.segments.directoryUnsynced) return;
    files.syncDirectory(place.path);
    this.segments.directoryUnsynced = false;
  }
}
