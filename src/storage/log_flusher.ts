/**
 * Bringing a log to the device, for many who wait at once: a flush under way serves those who asked before it began,
 * and all who come meanwhile share the next one.
 */

import { parentOf, syncFile } from "./files.ts";
import type { LogSegments } from "./log_segments.ts";
import { PARTITION_METADATA_FILE } from "./names.ts";

export class LogFlusher {
  private running: Promise<void> | null = null;
  private next: Promise<void> | null = null;

  constructor(
    private readonly segments: LogSegments,
    /** Whether the partition's directory and what is always in it may not be on the device yet. */
    private isNew: boolean,
    /** Called first; what it gives, when all that was written before is on the device. */
    private readonly begin: () => () => void,
    /** Brings to the device what is kept in other files. */
    private readonly flushRest: () => Promise<void>,
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
    await this.flushRest();
    await this.syncDirectories();
    done();
  }

  private async syncDirectories(): Promise<void> {
    const { files, place } = this.segments;
    if (this.isNew) {
      await syncFile(files, this.segments.pathOf(PARTITION_METADATA_FILE));
      await files.syncDirectory(parentOf(place.path));
      this.isNew = false;
    }
    if (!this.segments.directoryUnsynced) return;
    this.segments.directoryUnsynced = false;
    try {
      await files.syncDirectory(place.path);
    } catch (error) {
      this.segments.directoryUnsynced = true;
      throw error;
    }
  }
}
