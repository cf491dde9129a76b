/**
 * Bringing a log to the device, for many who wait at once: a flush under way serves those who asked before it began,
 * and all who come meanwhile share the next one.
 *
 * After a sync that failed the system takes the pages for written, and the next sync says nothing of them. So whatever
 * the last good sync did not cover is then read back, checked, and written again before the log is synced anew. A note in
 * the directory says so to the next process, should this one be killed before.
 */

import { isIntact, scanBatches } from "../segment/batch_scan.ts";
import { IoError, parentOf, syncFile } from "../files/files.ts";
import type { LogSegments } from "./segments.ts";
import { PARTITION_METADATA_FILE } from "../directory/names.ts";
import type { Segment } from "../segment/segment.ts";

/** Written again in one go: about 10 ms, which others have to wait. */
const REWRITTEN_AT_ONCE = 8 << 20;

export interface FlusherOptions {
  segments: LogSegments;
  /** Whether the partition's directory and what is always in it may not be on the device yet. */
  isNew: boolean;
  /** Called first; what it gives, when all that was written before is on the device, and with `indexed` its indexes too. */
  begin(): (indexed: boolean) => void;
  /** Brings to the device what is kept in other files. */
  flushRest(): Promise<void>;
  /** Something that was written is not in its file any more: what there is has to be found out. */
  onLost(): void;
  indexIntervalBytes(): number;
}

export class LogFlusher {
  private running: Promise<void> | null = null;
  /** The running one has looked at what there is to flush. */
  private hasBegun = false;
  private next: Promise<void> | null = null;
  private indexesWanted = false;
  private isNew: boolean;

  constructor(private readonly o: FlusherOptions) {
    this.isNew = o.isNew;
  }

  /** Rejects with `IoError`. */
  flush(): Promise<void> {
    if (this.running === null) {
      // Not at once: what else is appended in this turn is served by it too.
      this.running = Promise.resolve().then(() => this.flushOnce()).finally(() => {
        this.running = null;
        this.hasBegun = false;
      });
    }
    if (!this.hasBegun) return this.running;
    // What the running one fails at, the next one tries again and reports.
    return this.next ??= this.running.then(() => {}, () => {}).then(() => {
      this.next = null;
      return this.flush();
    });
  }

  /** As {@link flush}, and the indexes of the active segment with it: without them a crash has to read it again. */
  flushWithIndexes(): Promise<void> {
    this.indexesWanted = true;
    return this.flush();
  }

  private async flushOnce(): Promise<void> {
    const { segments } = this.o;
    this.hasBegun = true;
    const done = this.o.begin();
    const indexed = this.indexesWanted;
    this.indexesWanted = false;
    const { active } = segments;
    for (const segment of [...segments.list]) {
      const wantsIndexes = indexed && segment === active;
      if (!segment.unsynced && !wantsIndexes) continue;
      const needsLog = segment.unsynced;
      segment.unsynced = false;
      try {
        if (needsLog) await this.syncLog(segment);
        // Else they are not synced: recovery finds what is sound of the active segment's, and goes on from there.
        if (segments.list.includes(segment) && (wantsIndexes || segment !== segments.active)) {
          await this.syncIndexes(segment);
        }
      } catch (error) {
        // Deleted meanwhile: there is nothing left to be kept.
        if (!segments.list.includes(segment)) continue;
        segment.unsynced = true;
        throw error;
      }
    }
    if (segments.gone) return;
    await this.o.flushRest();
    await this.syncDirectories();
    segments.noteSynced();
    done(indexed);
  }

  private async syncLog(segment: Segment): Promise<void> {
    if (segment.mustRewrite) await this.rewrite(segment);
    const { size } = segment;
    try {
      await segment.log.sync();
    } catch (error) {
      segment.mustRewrite = true;
      if (this.o.segments.list.includes(segment)) this.o.segments.noteSyncFailed();
      throw error;
    }
    // It may have been cut off meanwhile.
    segment.syncedSize = Math.min(size, segment.size);
  }

  /** Writes again what no sync has covered. Throws `IoError` when it is not what was written any more. */
  private async rewrite(segment: Segment): Promise<void> {
    for (let at = segment.syncedSize, atOnce = REWRITTEN_AT_ONCE; at < segment.size;) {
      const to = Math.min(at + atOnce, segment.size);
      const end = scanBatches(segment.log, at, to, (bytes, from, size, position) => {
        if (!isIntact(bytes, from, size)) return false;
        segment.log.get().writeAt(bytes.subarray(from, from + size), position);
        return true;
      });
      if (end === at && to === segment.size) {
        this.o.onLost();
        throw new IoError(
          "sync",
          segment.log.path,
          `what was written at position ${at} is not there any more`,
        );
      }
      // A batch may be larger than what is written at once.
      atOnce = end === at ? atOnce * 2 : REWRITTEN_AT_ONCE;
      at = end;
      if (at < segment.size) await new Promise((resolve) => setTimeout(resolve, 0));
      if (!this.o.segments.list.includes(segment)) return;
    }
    segment.mustRewrite = false;
  }

  private async syncIndexes(segment: Segment): Promise<void> {
    // What a failed sync has left of them, nobody knows.
    if (segment.indexesDoubtful) segment.rebuildIndexes(this.o.indexIntervalBytes());
    // With the largest time so far: an entry that is made later must not be of what lies before the recovery point, where
    // entries are believed.
    segment.finishIndexes();
    segment.indexesDoubtful = true;
    await segment.offsets.sync();
    await segment.times.sync();
    await segment.transactions.sync();
    segment.indexesDoubtful = false;
  }

  private async syncDirectories(): Promise<void> {
    const { segments } = this.o;
    const { files, place } = segments;
    if (this.isNew) {
      await syncFile(files, segments.pathOf(PARTITION_METADATA_FILE));
      await files.syncDirectory(parentOf(place.path));
      this.isNew = false;
    }
    if (!segments.directoryUnsynced) return;
    segments.directoryUnsynced = false;
    try {
      // Should this fail, the file system's journal has: it takes no more changes until it is checked.
      await files.syncDirectory(place.path);
    } catch (error) {
      segments.directoryUnsynced = true;
      throw error;
    }
  }
}
