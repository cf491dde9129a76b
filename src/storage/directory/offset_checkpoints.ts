/**
 * The three files of a data directory that have an offset for each partition: recovery points, log starts, high
 * watermarks. Each names all partitions, so it is written as a whole, and only when something in it has moved: most of
 * the time nothing has, and the disk may sleep.
 */

import { extendCrc32c } from "../../codec/crc32c.ts";
import {
  CorruptCheckpoint,
  formatOffsets,
  HIGH_WATERMARK_FILE,
  LOG_START_OFFSET_FILE,
  type PartitionOffset,
  readOffsets,
  RECOVERY_POINT_FILE,
  writeOffsets,
} from "./checkpoints.ts";
import { DataDirectoryError } from "./data_directory.ts";
import { type Files, IoError, readFile, replaceFileBeside } from "../files/files.ts";
import type { Log } from "../log/log.ts";

/** A file: what of a log is in it (null: nothing), and what is lost with one that the operator moves away. */
interface Checkpoint {
  readonly file: string;
  offsetOf(log: Log): number | null;
  readonly without: string;
}

export const recoveryPoints: Checkpoint = {
  file: RECOVERY_POINT_FILE,
  offsetOf: (log) => log.recoveryPoint,
  without: "every log is then read from its beginning",
};

export const logStarts: Checkpoint = {
  file: LOG_START_OFFSET_FILE,
  offsetOf: (log) => log.startIsInsideSegment ? log.logStartOffset : null,
  without: "records that were deleted by DeleteRecords may then be there again",
};

export const highWatermarks: Checkpoint = {
  file: HIGH_WATERMARK_FILE,
  offsetOf: (log) => log.highWatermark,
  without: "nothing is lost with it",
};

const all = [recoveryPoints, logStarts, highWatermarks];

export interface CheckpointPlace {
  readonly files: Files;
  readonly directory: string;
  /** Gets one line for people about each thing that went wrong. */
  onWarning(text: string): void;
}

/** A checksum over the files in `directory` as they are now. Throws `IoError`. */
export function sumOfCheckpoints(files: Files, directory: string): number {
  return all.reduce((sum, { file }) => {
    const bytes = readFile(files, `${directory}/${file}`) ?? new Uint8Array(0);
    // The length, too, lest what moves from one file into the next goes unseen.
    const length = new TextEncoder().encode(`${bytes.length}\n`);
    return extendCrc32c(extendCrc32c(sum, length, 0, length.length), bytes, 0, bytes.length);
  }, 0);
}

export class OffsetCheckpoints {
  /** What the files hold, by partition directory. */
  private readonly known: Map<Checkpoint, ReadonlyMap<string, number>>;
  /** What the device has of them at least, or nothing that could be read. */
  private readonly synced = new Map<Checkpoint, ReadonlyMap<string, number>>();

  /** Reads them. Throws {@link DataDirectoryError} when one cannot be read at all: that may pass, or be somebody's mistake. */
  constructor(private readonly place: CheckpointPlace, private readonly logs: ReadonlyMap<string, Log>) {
    this.known = new Map(all.map((checkpoint) => [
      checkpoint,
      readOffsetFile(place, checkpoint.file, checkpoint.without),
    ]));
  }

  /** A checksum over the files as they are now. Throws `IoError`. */
  get sum(): number {
    return sumOfCheckpoints(this.place.files, this.place.directory);
  }

  /** The offsets in the file, by partition directory. */
  of(checkpoint: Checkpoint): ReadonlyMap<string, number> {
    return this.known.get(checkpoint)!;
  }

  /**
   * Writes one of them to the device without holding up the event loop. What is written of it meanwhile counts instead.
   * Rejects with `IoError`.
   */
  async writeBeside(checkpoint: Checkpoint): Promise<void> {
    const { known } = this;
    const before = known.get(checkpoint);
    const { offsets, byName } = this.offsets(checkpoint);
    const path = `${this.place.directory}/${checkpoint.file}`;
    const isWanted = () => {
      if (known.get(checkpoint) !== before) return false;
      known.set(checkpoint, byName);
      return true;
    };
    try {
      const done = await replaceFileBeside(this.place.files, path, formatOffsets(offsets), isWanted);
      if (done) this.synced.set(checkpoint, byName);
    } catch (error) {
      // Nobody knows which of the two it is.
      if (before !== undefined && known.get(checkpoint) === byName) known.set(checkpoint, before);
      throw error;
    }
  }

  /** Writes what has moved since the last time; with `sync` always, and it is on the device then. Throws `IoError`. */
  write(checkpoint: Checkpoint, sync: boolean): void {
    if (!sync && !this.hasMoved(checkpoint)) return;
    const { offsets, byName } = this.offsets(checkpoint);
    writeOffsets(this.place.files, `${this.place.directory}/${checkpoint.file}`, offsets, sync);
    this.known.set(checkpoint, byName);
    if (sync) this.synced.set(checkpoint, byName);
  }

  /** The offsets that a stop of the machine leaves at least, by partition directory. */
  onDevice(checkpoint: Checkpoint): ReadonlyMap<string, number> {
    return this.synced.get(checkpoint) ?? new Map();
  }

  private offsets(checkpoint: Checkpoint): { offsets: PartitionOffset[]; byName: Map<string, number> } {
    const offsets: PartitionOffset[] = [];
    const byName = new Map<string, number>();
    for (const [name, log] of this.logs) {
      const offset = checkpoint.offsetOf(log);
      if (offset === null) continue;
      offsets.push({ topic: log.topic, partition: log.partition, offset });
      byName.set(name, offset);
    }
    return { offsets, byName };
  }

  /** {@link write} of all of them, to the device. */
  writeAll(): void {
    for (const checkpoint of all) this.write(checkpoint, true);
  }

  private hasMoved(checkpoint: Checkpoint): boolean {
    const known = this.of(checkpoint);
    let count = 0;
    for (const [name, log] of this.logs) {
      const offset = checkpoint.offsetOf(log);
      if (offset === null) continue;
      if (known.get(name) !== offset) return true;
      count++;
    }
    return count !== known.size;
  }
}

/**
 * Offsets by partition directory. A damaged file holds none, and an offset that cannot be one is left out: both are told.
 * Throws {@link DataDirectoryError} when the file cannot be read at all; `without` tells what is lost with one that is
 * moved away.
 */
export function readOffsetFile(
  { files, directory, onWarning }: CheckpointPlace,
  file: string,
  without: string,
): Map<string, number> {
  const path = `${directory}/${file}`;
  try {
    const offsets = readOffsets(files, path);
    for (const [name, offset] of offsets) {
      if (offset >= 0) continue;
      onWarning(`${path}: ${name} has offset ${offset}, which cannot be; going on without it`);
      offsets.delete(name);
    }
    return offsets;
  } catch (error) {
    if (error instanceof IoError) {
      throw new DataDirectoryError(
        "unusable",
        `Cannot use data directory ${directory}: ${error.message}. Make ${file} a file that this user may read and ` +
          `write, or move it away: ${without}`,
        { cause: error },
      );
    }
    if (!(error instanceof CorruptCheckpoint)) throw error;
    onWarning(`${error.message}; going on without it`);
    return new Map();
  }
}
