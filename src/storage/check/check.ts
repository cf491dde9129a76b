/**
 * Looking at a whole data directory, without a broker and without changing a byte: `trackway check`. Findings are handed
 * out as they come; what is kept in memory does not grow with the logs.
 */

import { CannotCheck, type Report, type Severity } from "../../base/finding.ts";
import { checkPartition } from "./partition.ts";
import { lookAtMarker, lookAtMeta, lookAtOffsets, type Looked } from "./small_files.ts";
import {
  BOOT_ID_FILE,
  CLEAN_SHUTDOWN_FILE,
  type CleanShutdown,
  CorruptCheckpoint,
  HIGH_WATERMARK_FILE,
  LOCK_FILE,
  LOG_START_OFFSET_FILE,
  META_PROPERTIES_FILE,
  type MetaProperties,
  readTopicId,
  RECOVERY_POINT_FILE,
} from "../directory/checkpoints.ts";
import { CLEANER_FILE, isStateTopic } from "../log/compacted.ts";
import { type DirectoryEntry, type Files, IoError } from "../files/files.ts";
import { HandlePool } from "../files/handles.ts";
import { mayHavePartitions, readKnownDirectories } from "../directory/known_directories.ts";
import { sumOfCheckpoints } from "../directory/offset_checkpoints.ts";
import {
  DELETED_DIRECTORY_SUFFIX,
  LOG_SUFFIX,
  METADATA_TOPIC,
  MOVED_FROM_FILE,
  offsetOfName,
  parsePartitionDirectory,
  PARTITION_METADATA_FILE,
  partitionDirectory,
  partitionOfFuture,
  STRAY_DIRECTORY_SUFFIX,
} from "../directory/names.ts";

/** What the metadata says of topics, as far as directories have to agree with it. */
export interface KnownTopics {
  readonly clusterId: string | null;
  readonly topics: ReadonlyMap<
    string,
    {
      readonly topicId: string;
      readonly partitions: number;
      /** Of each partition. */
      readonly leaderEpochs: readonly number[];
      readonly compacted: boolean;
    }
  >;
  /** Brokers that partitions are on; empty when there are none. */
  readonly nodeIds: ReadonlySet<number>;
  /** Ids of topics that were deleted and whose directories may still be there. */
  readonly deletions: ReadonlySet<string>;
}

export interface DirectoryCheckInput {
  /** Is only read from. */
  readonly files: Files;
  readonly directory: string;
  /** Null when there is no metadata of Trackway's, or none that can be read. */
  readonly known: KnownTopics | null;
  /** Whether there is a metadata file at all, and what it is called. */
  readonly hasMetadata: boolean;
  readonly metadataFile: string;
  /** The broker's other data directories that are checked along; none without. */
  readonly others?: readonly string[];
  /** The partition directories in the broker's other data directories, with the one that each is in; empty without others. */
  readonly elsewhere?: ReadonlyMap<string, string>;
  /** False: partitions that are nowhere are told of with another directory. */
  readonly tellsOfMissing?: boolean;
  /** Whether to decompress and read every record. */
  readonly deep: boolean;
  readonly report: Report;
  /** Is told, many times a second, how many of the bytes in segments have been looked at. */
  onProgress?(doneBytes: number, allBytes: number): void;
}

export interface DirectoryCheck {
  readonly closed: boolean;
  readonly partitions: number;
  readonly segments: number;
  readonly batches: number;
  /** Of segments. */
  readonly bytes: number;
}

const MAX_OPEN_FILES = 16;
/** Bytes between two words on progress. */
const PROGRESS_BYTES = 8 << 20;

/** Keeps brokers out while `use` looks at the directory. Throws {@link CannotCheck} when one is running on it. */
export async function withDirectoryLocked<T>(
  files: Files,
  directory: string,
  use: () => T | Promise<T>,
): Promise<T> {
  const info = files.stat(directory);
  if (info === null) throw new CannotCheck(`Cannot check ${directory}: there is no such directory`);
  if (!info.isDirectory) throw new CannotCheck(`Cannot check ${directory}: it is no directory`);
  const unlock = files.lock(`${directory}/${LOCK_FILE}`);
  if (unlock === null) {
    throw new CannotCheck(`Cannot check ${directory}: a broker is running on it. Stop it first`);
  }
  try {
    return await use();
  } finally {
    unlock();
  }
}

/**
 * Looks at the directory, which must be locked. Throws {@link CannotCheck} when there is nothing to look at or it must not
 * be read.
 */
export function checkDirectory(i: DirectoryCheckInput): DirectoryCheck {
  return new DirectoryChecker(i).run();
}

class DirectoryChecker {
  private readonly entries: DirectoryEntry[];
  private readonly partitions: ReadonlySet<string>;
  private readonly marker: Looked<CleanShutdown>;
  private readonly closed: boolean;
  private readonly compactedBefore: ReadonlySet<string>;
  private doneBytes = 0;
  private toldBytes = 0;

  constructor(private readonly i: DirectoryCheckInput) {
    this.entries = guarded(i.directory, () => i.files.list(i.directory)).sort((a, b) =>
      a.name < b.name ? -1 : 1
    );
    const partitions = this.entries.filter(({ name, isDirectory }) => {
      const place = isDirectory ? parsePartitionDirectory(name) : null;
      return place !== null && place.topic !== METADATA_TOPIC;
    });
    this.partitions = new Set(partitions.map(({ name }) => name));
    this.marker = guarded(i.directory, () => lookAtMarker(i.files, `${i.directory}/${CLEAN_SHUTDOWN_FILE}`));
    this.closed = this.marker.value !== null;
    if (
      !this.has(META_PROPERTIES_FILE) && this.partitions.size === 0 &&
      !(i.hasMetadata && i.tellsOfMissing !== false)
    ) {
      throw new CannotCheck(
        `Cannot check ${i.directory}: there is neither ${META_PROPERTIES_FILE} nor a partition in it${this.hint()}`,
      );
    }
    this.compactedBefore = this.namesInCleaner();
  }

  /** Where the data directory may be that was meant. */
  private hint(): string {
    const { files, directory } = this.i;
    if (this.entries.some(({ name }) => offsetOfName(name, LOG_SUFFIX) !== null)) {
      return ". It is a partition's directory itself: check the one that it is in";
    }
    const below = this.entries.find(({ name, isDirectory }) =>
      isDirectory && files.stat(`${directory}/${name}/${META_PROPERTIES_FILE}`) !== null
    );
    return below === undefined ? "" : `. There is one in ${directory}/${below.name}: check that`;
  }

  run(): DirectoryCheck {
    this.checkMeta();
    this.checkMarker();
    this.checkDirectories();
    const recoveryPoints = this.checkpoint(RECOVERY_POINT_FILE, "reads every log from its beginning");
    const starts = this.checkpoint(LOG_START_OFFSET_FILE, "may have records there again that were deleted");
    const highWatermarks = this.checkpoint(HIGH_WATERMARK_FILE, "takes each log's end");
    const allBytes = this.sizeOfSegments();
    const pool = new HandlePool(this.i.files, MAX_OPEN_FILES);
    let segments = 0;
    let batches = 0;
    for (const name of this.partitions) {
      const { topic, partition } = parsePartitionDirectory(name)!;
      this.attempt(name, () => {
        const checked = checkPartition({
          files: this.i.files,
          pool,
          path: `${this.i.directory}/${name}`,
          closed: this.closed,
          recoveryPoint: recoveryPoints?.get(name),
          logStartOffset: starts?.get(name),
          highWatermark: highWatermarks?.get(name),
          maxEpoch: this.i.known?.topics.get(topic)?.leaderEpochs[partition] ?? Infinity,
          topicId: this.i.known?.topics.get(topic)?.topicId ?? null,
          compacted: this.isCompacted(topic, name),
          deep: this.i.deep,
          report: this.i.report,
          onBytes: (count) => this.progress(count, allBytes),
        });
        segments += checked.segments;
        batches += checked.batches;
      });
    }
    pool.closeAll();
    for (
      const [file, offsets] of [
        [RECOVERY_POINT_FILE, recoveryPoints],
        [LOG_START_OFFSET_FILE, starts],
        [HIGH_WATERMARK_FILE, highWatermarks],
      ] as const
    ) this.checkNames(file, offsets);
    this.checkMissing(new Map([...recoveryPoints ?? [], ...highWatermarks ?? []]));
    this.i.onProgress?.(allBytes, allBytes);
    return { closed: this.closed, partitions: this.partitions.size, segments, batches, bytes: allBytes };
  }

  /** Whether Kafka was the last to use the directory: then there is no metadata of ours. */
  private get isKafkas(): boolean {
    return this.has(`${METADATA_TOPIC}-0`) || (this.has(CLEANER_FILE) && !this.has(BOOT_ID_FILE));
  }

  private has(name: string): boolean {
    return this.entries.some((entry) => entry.name === name);
  }

  private tell(
    severity: Severity,
    name: string,
    position: number | null,
    problem: string,
    outcome: string,
  ): void {
    this.i.report({ severity, file: `${this.i.directory}/${name}`, position, problem, outcome });
  }

  /** Runs `work`; a disk that fails is a finding, a file that must not be read ends the check. */
  private attempt(name: string, work: () => void): void {
    try {
      guarded(`${this.i.directory}/${name}`, work);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      const outcome = "cannot use it either, and answers KAFKA_STORAGE_ERROR for what needs it";
      this.i.report({
        severity: "damage",
        file: error.path,
        position: null,
        problem: error.message,
        outcome,
      });
    }
  }

  private progress(count: number, allBytes: number): void {
    this.doneBytes += count;
    if (this.doneBytes - this.toldBytes < PROGRESS_BYTES) return;
    this.toldBytes = this.doneBytes;
    this.i.onProgress?.(this.doneBytes, allBytes);
  }

  // ----------------------------------------------------------------------------------------- whose directory it is

  private checkMeta(): void {
    const { files, directory, known } = this.i;
    this.attempt(META_PROPERTIES_FILE, () => {
      const looked = lookAtMeta(files, `${directory}/${META_PROPERTIES_FILE}`);
      const meta: MetaProperties | null = looked.value;
      if (looked.problem !== null) {
        const outcome = meta === null ? "does not start until it is put right" : "does not look at that";
        this.tell("damage", META_PROPERTIES_FILE, looked.position, looked.problem, outcome);
      } else if (meta === null) {
        const outcome = known?.clusterId
          ? "makes it anew, with the cluster id of the metadata"
          : "makes it anew, with a new cluster id";
        this.tell("damage", META_PROPERTIES_FILE, null, "it is missing", outcome);
      }
      if (meta !== null && known !== null && known.nodeIds.size > 0 && !known.nodeIds.has(meta.nodeId)) {
        const text = `the node is ${meta.nodeId}, the partitions are on ${[...known.nodeIds].join(", ")}`;
        this.tell(
          "damage",
          META_PROPERTIES_FILE,
          null,
          text,
          "does not start unless its node.id is that one",
        );
      }
      if (meta !== null && known?.clusterId && known.clusterId !== meta.clusterId) {
        const text = `the cluster id is ${meta.clusterId}, the metadata belongs to ${known.clusterId}`;
        this.tell(
          "damage",
          META_PROPERTIES_FILE,
          null,
          text,
          "does not start until the right one is in its place",
        );
      }
    });
  }

  private checkMarker(): void {
    const { problem, value } = this.marker;
    if (value !== null && value.checkpointsSum !== null) this.checkSum(value.checkpointsSum);
    if (problem === null) return;
    this.tell(
      "damage",
      CLEAN_SHUTDOWN_FILE,
      0,
      problem,
      "does not believe it, and reads the logs as after a crash",
    );
  }

  private checkSum(expected: number): void {
    this.attempt(CLEAN_SHUTDOWN_FILE, () => {
      if (sumOfCheckpoints(this.i.files, this.i.directory) === expected) return;
      const text = "the checkpoints of offsets are not those that it was left with";
      this.tell("damage", CLEAN_SHUTDOWN_FILE, null, text, "looks into every log for its end");
    });
  }

  /** The offsets in a checkpoint; null when there is none that can be read. */
  private checkpoint(file: string, without: string): Map<string, number> | null {
    let offsets: Map<string, number> | null = null;
    this.attempt(file, () => {
      const looked = lookAtOffsets(this.i.files, `${this.i.directory}/${file}`, this.closed);
      offsets = looked.value;
      if (looked.problem !== null) {
        this.tell("damage", file, looked.position, looked.problem, `goes on without it, and ${without}`);
      } else if (offsets === null && this.closed) {
        this.tell("damage", file, null, "it is missing, although all was closed in order", without);
      }
    });
    return offsets;
  }

  private namesInCleaner(): Set<string> {
    if (!this.has(CLEANER_FILE)) return new Set();
    let names = new Set<string>();
    this.attempt(CLEANER_FILE, () => {
      const looked = lookAtOffsets(this.i.files, `${this.i.directory}/${CLEANER_FILE}`, false);
      names = new Set(looked.value?.keys());
      if (looked.problem === null) return;
      const outcome =
        "compacts logs from their beginning again, and takes what is missing in those whose topics are " +
        "not compacted any more for lost";
      this.tell("damage", CLEANER_FILE, looked.position, looked.problem, outcome);
    });
    return names;
  }

  // --------------------------------------------------------------------------------------------------- directories

  private checkDirectories(): void {
    for (const { name, isDirectory } of this.entries) {
      if (!isDirectory) {
        if (name.endsWith(".tmp")) this.tell("note", name, null, "it was not finished", "leaves it alone");
      } else if (name.endsWith(DELETED_DIRECTORY_SUFFIX)) {
        this.tell("note", name, null, "its partition was deleted", "removes it");
      } else if (partitionOfFuture(name) !== null) {
        this.tell("note", name, null, "it is a copy that was not finished", "makes it again");
      } else if (name.endsWith(STRAY_DIRECTORY_SUFFIX)) {
        this.tell("note", name, null, "it was set aside earlier", "leaves it alone");
      }
    }
    for (const name of this.partitions) this.checkTwin(name);
    const { known, hasMetadata, metadataFile, tellsOfMissing } = this.i;
    if (tellsOfMissing !== false && !hasMetadata && !this.isKafkas) {
      const outcome = "takes the topics over that it finds by their directories, without their settings";
      this.tell("note", metadataFile, null, "it is missing", outcome);
    }
    if (known === null) return;
    for (const name of this.partitions) {
      const { topic, partition } = parsePartitionDirectory(name)!;
      if (partition < (known.topics.get(topic)?.partitions ?? 0)) continue;
      const topicId = this.topicIdOf(name);
      if (topicId !== null && known.deletions.has(topicId)) {
        this.tell("note", name, null, "its topic was deleted", "finishes the deletion");
      } else {
        this.tell("damage", name, null, "the metadata does not know it", "sets it aside and keeps it");
      }
    }
  }

  /** A partition that is in another directory too: of one that moved, the copy is told of, and of any other both are. */
  private checkTwin(name: string): void {
    const { files, directory, elsewhere } = this.i;
    const other = elsewhere?.get(name);
    if (other === undefined) return;
    const isMoved = (path: string) => files.stat(`${path}/${name}/${MOVED_FROM_FILE}`) !== null;
    if (isMoved(directory)) {
      const outcome = "goes on with this one, unless the other was written to since";
      this.tell("note", name, null, `it has taken the place of the one in ${other}`, outcome);
    } else if (!isMoved(other)) {
      const outcome = "goes on with the longer one, and keeps the other under another name";
      this.tell("damage", name, null, `it is in ${other}, too`, outcome);
    }
  }

  /** Null where the file cannot tell; the partition's own check says why. */
  private topicIdOf(name: string): string | null {
    try {
      return readTopicId(this.i.files, `${this.i.directory}/${name}/${PARTITION_METADATA_FILE}`);
    } catch (error) {
      if (!(error instanceof IoError) && !(error instanceof CorruptCheckpoint)) throw error;
      return null;
    }
  }

  /** Partitions that a checkpoint names and that are not there. After a crash the checkpoints may be older than that. */
  private checkNames(file: string, offsets: ReadonlyMap<string, number> | null): void {
    if (!this.closed && file !== LOG_START_OFFSET_FILE) return;
    for (const name of offsets?.keys() ?? []) {
      const isThere = this.partitions.has(name) || this.i.elsewhere?.has(name) || this.isBeingDeleted(name);
      if (isThere || name.startsWith(`${METADATA_TOPIC}-`)) continue;
      this.tell(
        this.closed ? "damage" : "note",
        file,
        null,
        `it names ${name}, which is not there`,
        "does not use that",
      );
    }
  }

  private isBeingDeleted(name: string): boolean {
    return this.entries.some((entry) =>
      entry.name.startsWith(`${name}.`) && entry.name.endsWith(DELETED_DIRECTORY_SUFFIX)
    );
  }

  private checkMissing(reached: ReadonlyMap<string, number>): void {
    const [unchecked] = this.unchecked();
    const outcome = unchecked === undefined
      ? "makes it anew, empty"
      : `keeps it offline, as it may be in ${unchecked}, which was not checked along`;
    for (const [topic, { partitions }] of this.i.known?.topics ?? []) {
      for (let partition = 0; partition < partitions; partition++) {
        const name = partitionDirectory(topic, partition);
        if (this.partitions.has(name) || this.i.elsewhere?.has(name)) continue;
        const had = reached.get(name) ?? 0;
        if (had === 0 && this.i.tellsOfMissing === false) continue;
        const wasThere = this.closed || had > 0;
        const text = had > 0 ? `it is missing: it had reached offset ${had}` : "it is missing";
        this.tell(wasThere ? "damage" : "note", name, null, text, outcome);
      }
    }
  }

  /** Directories that the broker had beside those that are checked, and which it would not begin anew without. */
  private unchecked(): string[] {
    const { files, directory, others = [] } = this.i;
    const idOf = (path: string) => lookAtMeta(files, `${path}/${META_PROPERTIES_FILE}`).value?.directoryId;
    // By their ids: the paths that were noted need not be spelled as those that are checked.
    const ids = new Set([directory, ...others].map(idOf));
    return [...readKnownDirectories(files, directory)]
      .filter(([path, id]) => !ids.has(id) && mayHavePartitions(files, path))
      .map(([path]) => path);
  }

  private isCompacted(topic: string, name: string): boolean {
    return isStateTopic(topic) || this.compactedBefore.has(name) ||
      (this.i.known?.topics.get(topic)?.compacted ?? false);
  }

  private sizeOfSegments(): number {
    const { files, directory } = this.i;
    let bytes = 0;
    for (const name of this.partitions) {
      this.attempt(name, () => {
        for (const file of files.list(`${directory}/${name}`)) {
          if (!file.name.endsWith(LOG_SUFFIX)) continue;
          bytes += files.stat(`${directory}/${name}/${file.name}`)?.size ?? 0;
        }
      });
    }
    return bytes;
  }
}

/** The names of the partition directories in a data directory; none where it cannot be read. */
export function partitionsIn(files: Files, directory: string): string[] {
  try {
    return files.list(directory).map(({ name }) => name).filter((name) =>
      parsePartitionDirectory(name) !== null
    );
  } catch (error) {
    // Its own check tells.
    if (!(error instanceof IoError)) throw error;
    return [];
  }
}

/** Runs `work`; what this user may not read is no damage. */
function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof IoError && (error.code === "EACCES" || error.code === "EPERM")) {
      throw new CannotCheck(
        `Cannot check ${path}: ${error.message}. Run the check as a user who may read it`,
      );
    }
    throw error;
  }
}
