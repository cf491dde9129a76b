/**
 * Reads of one log that would go to the disk. A read that waits for the disk holds up every client, since requests have
 * one thread; so once a read was slow, the next ones are preceded by another, on a thread of its own and for nobody,
 * after which the bytes are in the operating system's page cache. Time tells where bytes are: while reads are fast, and
 * at the end of the log, there is no such detour. A read may take long for another reason, above all where many wait for
 * the one thread; so where the system counts what comes from devices, the disk is to blame only if something did.
 */

import type { Clock } from "../../base/clock.ts";
import { IoError } from "../files/files.ts";
import type { PooledFile } from "../files/handles.ts";

/** A megabyte from the page cache takes a tenth of this. */
const SLOW_MS = 2;
/** No thread is kept from running for so long: it was the disk, although its file system may count nothing (FUSE does not). */
const STUCK_MS = 20;
/** So many reads in a row must turn out to be fast before there is no detour any more. */
const READS_AFTER_SLOW = 16;

export class ReadAhead {
  private readsLeft = 0;
  /** Where the count was at the last slow read. */
  private deviceBytes = -1;

  /** `bytesFromDevices` counts what this process has had read from devices; null where the system does not tell. */
  constructor(private readonly clock: Clock, private readonly bytesFromDevices: () => number | null) {}

  /** Whether the next read may be slow. */
  get isDue(): boolean {
    return this.readsLeft > 0;
  }

  /** Does a read that holds everything up, and notes whether it was slow. */
  timed<T>(read: () => T): T {
    const began = this.clock.monotonic();
    const result = read();
    if (this.clock.monotonic() - began > STUCK_MS || this.diskWasSlow(began)) {
      this.readsLeft = READS_AFTER_SLOW;
    }
    return result;
  }

  /** Resolves when `bytes` bytes from `position` on are in the page cache, or cannot be read. Never rejects because of the disk. */
  async bring(file: PooledFile, position: number, bytes: number): Promise<void> {
    const began = this.clock.monotonic();
    try {
      await file.readAhead(position, bytes);
    } catch (error) {
      // The read that follows meets the same failure, and answers it.
      if (!(error instanceof IoError)) throw error;
    }
    if (this.diskWasSlow(began)) this.readsLeft = READS_AFTER_SLOW;
    else this.readsLeft--;
  }

  private diskWasSlow(beganMs: number): boolean {
    if (this.clock.monotonic() - beganMs <= SLOW_MS) return false;
    const bytes = this.bytesFromDevices();
    if (bytes !== null && bytes === this.deviceBytes) return false;
    this.deviceBytes = bytes ?? -1;
    return true;
  }
}
