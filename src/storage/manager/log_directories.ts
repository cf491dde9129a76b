/**
 * The data directories of a broker (`log.dirs`), each with a {@link LogManager} of its own: its own lock, checkpoints and
 * marker of a clean stop. One that cannot be used at start is offline with all that is in it, and the others go on.
 *
 * A partition is in one directory. While a directory is offline nobody can tell what is in it, so a partition that is
 * found nowhere must not be begun anew then ({@link LogDirectories.isPartlyOffline}).
 */

import { assert } from "../../base/assert.ts";
import type { MetaProperties } from "../directory/checkpoints.ts";
import { DataDirectoryError, unusable } from "../directory/data_directory.ts";
import { attempt, IoError } from "../files/files.ts";
import type { UnfinishedCopy } from "./future_logs.ts";
import {
  clusterOf,
  KNOWN_DIRECTORIES_FILE,
  mayHavePartitions,
  readKnownDirectories,
  refuseEmptied,
  writeKnownDirectories,
} from "../directory/known_directories.ts";
import type { Log } from "../log/log.ts";
import { DEFAULT_MAX_OPEN_FILES, LogManager, type LogManagerOptions } from "./log_manager.ts";
import { isSameTopic, whichGoesOn } from "./moved_logs.ts";
import { partitionDirectory } from "../directory/names.ts";

export interface LogDirectoriesOptions extends Omit<LogManagerOptions, "directory"> {
  /** At least one. Clients call them by these paths. */
  directories: readonly string[];
  /** The one that has the metadata, without which nothing goes. */
  metadataDirectory: string;
  /** Whether a directory is to get no new partitions (`cordoned.log.dirs`). */
  isCordoned?(path: string): boolean;
}

/** A directory as it was configured. */
export interface LogDirectory {
  readonly path: string;
  /** Null: it is offline until the next start. */
  readonly manager: LogManager | null;
}

/** For so many partitions that do not exist yet it is kept where they are to be. */
const MAX_PREFERRED = 10_000;

export class LogDirectories {
  /** Where partitions are to be made that do not exist yet, by name. */
  private readonly preferred = new Map<string, LogManager>();

  private constructor(
    private readonly o: LogDirectoriesOptions,
    /** In the order in which they are configured. */
    readonly directories: readonly LogDirectory[],
    /** Whose directories they are. */
    readonly meta: MetaProperties,
  ) {}

  /**
   * Takes hold of all directories. Throws `DataDirectoryError` when one of them is another broker's or another cluster's,
   * or the metadata's cannot be used.
   */
  static async open(o: LogDirectoriesOptions): Promise<LogDirectories> {
    const { directories, metadataDirectory } = o;
    assert(directories.includes(metadataDirectory), "the metadata is in none of the directories");
    const managers = new Map<string, LogManager>();
    try {
      const first = await openShare(o, metadataDirectory, {
        clusterId: o.clusterId ?? clusterOf(o.files, directories),
        storedClusterId: o.storedClusterId,
      });
      managers.set(metadataDirectory, first);
      const known = readKnownDirectories(o.files, metadataDirectory);
      for (const directory of directories) {
        if (directory === metadataDirectory) continue;
        const manager = await openUnlessBroken(o, directory, first.meta.clusterId, known.get(directory));
        if (manager !== null) managers.set(directory, manager);
      }
      const all: LogDirectory[] = directories.map((path) => ({ path, manager: managers.get(path) ?? null }));
      all.push(...forgotten(o, known).map((path) => ({ path, manager: null })));
      const opened = new LogDirectories(o, all, first.meta);
      opened.chooseBetweenTwins();
      opened.noteDirectories(known);
      return opened;
    } catch (error) {
      for (const manager of managers.values()) await manager.close();
      throw error;
    }
  }

  // ---------------------------------------------------------------------------------------------- the partitions' logs

  get(topic: string, partition: number): Log | undefined {
    for (const manager of this.managers()) {
      const log = manager.get(topic, partition);
      if (log !== undefined) return log;
    }
    return undefined;
  }

  *all(): Iterable<Log> {
    for (const manager of this.managers()) yield* manager.all();
  }

  /** The directory that a log is in; undefined once it was deleted. */
  managerOf(log: Log): LogManager | undefined {
    for (const manager of this.managers()) if (manager.get(log.topic, log.partition) === log) return manager;
    return undefined;
  }

  /** Some directory is offline, and may have any partition that the others have not. */
  get isPartlyOffline(): boolean {
    return this.directories.some(({ manager }) => manager === null);
  }

  /**
   * Makes the log of a new partition: where it was asked for, or else in the directory that has the fewest, and where that
   * fails in the next. Throws `IoError` when all fail.
   */
  create(topic: string, partition: number, topicId: string): Log {
    const name = partitionDirectory(topic, partition);
    const preferred = this.preferred.get(name);
    this.preferred.delete(name);
    const candidates = this.emptiestFirst();
    if (preferred !== undefined) candidates.unshift(preferred);
    let failure: IoError | null = null;
    for (const manager of candidates) {
      try {
        return manager.create(topic, partition, topicId);
      } catch (error) {
        if (!(error instanceof IoError)) throw error;
        failure ??= error;
      }
    }
    throw failure!;
  }

  /** Has a partition that does not exist yet made in a directory, when its time comes. */
  prefer(topic: string, partition: number, manager: LogManager): void {
    const name = partitionDirectory(topic, partition);
    this.preferred.delete(name);
    this.preferred.set(name, manager);
    if (this.preferred.size > MAX_PREFERRED) this.preferred.delete(this.preferred.keys().next().value!);
  }

  /** Those that take new partitions, or all of them where none does. */
  private emptiestFirst(): LogManager[] {
    const all = [...this.managers()];
    const open = all.filter(({ directory }) => this.o.isCordoned?.(directory) !== true);
    return (open.length > 0 ? open : all).sort((a, b) => a.count - b.count);
  }

  isCordoned(path: string): boolean {
    return this.o.isCordoned?.(path) === true;
  }

  /** See {@link LogManager.reachedBefore}. */
  reachedBefore(topic: string, partition: number): number | null {
    const reached = [...this.managers()].map((manager) => manager.reachedBefore(topic, partition));
    return reached.reduce((a, b) => a === null || (b !== null && b > a) ? b : a, null);
  }

  /** See {@link LogManager.remove}. Throws `IoError`. */
  remove(topic: string, partition: number): void {
    const log = this.get(topic, partition);
    if (log !== undefined) this.managerOf(log)!.remove(topic, partition);
  }

  /** See {@link LogManager.setAside}. Throws `IoError`. */
  setAside(log: Log): string {
    return this.owner(log).setAside(log);
  }

  /** See {@link LogManager.setTopicId}. Throws `IoError`. */
  setTopicId(log: Log, topicId: string): void {
    this.owner(log).setTopicId(log, topicId);
  }

  /** See {@link LogManager.deleteRecordsBefore}. */
  deleteRecordsBefore(log: Log, offset: number): number {
    return this.owner(log).deleteRecordsBefore(log, offset);
  }

  /** See {@link LogManager.truncate}. */
  truncate(log: Log, offset: number): number {
    return this.owner(log).truncate(log, offset);
  }

  private owner(log: Log): LogManager {
    const manager = this.managerOf(log);
    assert(manager !== undefined, `the log of ${log.name} is in no directory`);
    return manager;
  }

  /** Copies that the process before did not finish, with where they were to go. */
  takeUnfinished(): (UnfinishedCopy & { readonly manager: LogManager })[] {
    return [...this.managers()].flatMap((manager) =>
      manager.futures.takeUnfinished().map((copy) => ({ ...copy, manager }))
    );
  }

  // -------------------------------------------------------------------------------------------- all directories at once

  /** See {@link LogManager.commitStarts}: false when one of them could not. */
  commitStarts(): boolean {
    // Each of them, whatever the others do.
    return [...this.managers()].map((manager) => manager.commitStarts()).every((done) => done);
  }

  /** See {@link LogManager.syncDirectory}. Rejects with `IoError`. */
  async syncDirectory(): Promise<void> {
    await Promise.all([...this.managers()].map((manager) => manager.syncDirectory()));
  }

  /** See {@link LogManager.tick}. */
  async tick(): Promise<void> {
    await Promise.all([...this.managers()].map((manager) => manager.tick()));
  }

  /** See {@link LogManager.close}. */
  async close(): Promise<void> {
    for (const manager of this.managers()) await manager.close();
  }

  private *managers(): Iterable<LogManager> {
    for (const { manager } of this.directories) if (manager !== null) yield manager;
  }

  // ------------------------------------------------------------------------------------------------------------ at start

  /** Leaves one log of each partition. */
  private chooseBetweenTwins(): void {
    if (this.directories.length === 1) return;
    const seen = new Map<string, LogManager>();
    for (const manager of this.managers()) {
      for (const log of [...manager.all()]) {
        const other = seen.get(log.name);
        if (other === undefined) {
          seen.set(log.name, manager);
          continue;
        }
        const twin = other.get(log.topic, log.partition)!;
        // Of a topic that was deleted and made again while a directory was away: which one is wanted, the metadata tells.
        if (!isSameTopic(twin.topicId, log.topicId)) continue;
        const choice = whichGoesOn(this.o.files, twin, log);
        if (choice.keeps === log) seen.set(log.name, manager);
        this.takeAway(choice.other, choice.keeps, choice.isMoved);
      }
    }
  }

  private takeAway(log: Log, kept: Log, isMoved: boolean): void {
    const manager = this.owner(log);
    const { path } = log;
    const ends = `${kept.path} (up to offset ${kept.nextOffset}) and ${path} (up to ${log.nextOffset})`;
    attempt(`take away ${path}, which ${kept.path} takes the place of`, () => {
      if (isMoved) manager.remove(log.topic, log.partition);
      else {
        const name = manager.setAside(log);
        this.o.onWarning(
          `The partition ${log.name} is in two directories: ${ends}. The first goes on; the other is kept as ${name}`,
        );
      }
    }, this.o.onWarning);
  }

  /** Notes the directories for the next start, where there are several. */
  private noteDirectories(known: ReadonlyMap<string, string>): void {
    if (this.directories.length === 1 && known.size === 0) return;
    const now = new Map<string, string>();
    for (const { path, manager } of this.directories) {
      const id = manager === null ? known.get(path) : manager.meta.directoryId ?? "unknown";
      if (id !== undefined) now.set(path, id);
    }
    if (now.size === known.size && [...now].every(([path, id]) => known.get(path) === id)) return;
    const { files, metadataDirectory, onWarning } = this.o;
    attempt(
      "note the data directories",
      () => writeKnownDirectories(files, metadataDirectory, now),
      onWarning,
    );
  }
}

/** A manager that has its share of what is bounded for all of them. */
function openShare(
  o: LogDirectoriesOptions,
  directory: string,
  claim: Pick<LogManagerOptions, "clusterId" | "storedClusterId">,
): Promise<LogManager> {
  const { length } = o.directories;
  return LogManager.open({
    ...o,
    ...claim,
    directory,
    maxOpenFiles: Math.max(1, Math.floor((o.maxOpenFiles ?? DEFAULT_MAX_OPEN_FILES) / length)),
    recoveryBytesMax: o.recoveryBytesMax === undefined ? undefined : o.recoveryBytesMax / length,
  });
}

/** Null, told of, when the directory cannot be used. Throws `DataDirectoryError` when it is not ours to use. */
async function openUnlessBroken(
  o: LogDirectoriesOptions,
  directory: string,
  clusterId: string,
  knownId: string | undefined,
): Promise<LogManager | null> {
  try {
    if (knownId !== undefined) refuseEmptied(o.files, directory, o.metadataDirectory, knownId);
    return await openShare(o, directory, { clusterId, storedClusterId: undefined });
  } catch (error) {
    const told = unusable(directory, error);
    if (!(told instanceof DataDirectoryError && told.kind === "unusable")) throw told;
    o.onWarning(`${told.message}. Its partitions are offline until the next start`);
    return null;
  }
}

/** Directories that are not configured any more and have partitions, which would else be begun anew, empty. */
function forgotten(o: LogDirectoriesOptions, known: ReadonlyMap<string, string>): string[] {
  const paths = [...known.keys()].filter((path) =>
    !o.directories.includes(path) && mayHavePartitions(o.files, path)
  );
  for (const path of paths) {
    o.onWarning(
      `log.dirs does not name ${path} any more, which has partitions: they are offline. Name it again and move them to ` +
        `another directory first; or, if they are lost for good, take its line out of ` +
        `${o.metadataDirectory}/${KNOWN_DIRECTORIES_FILE}, and they begin anew, empty`,
    );
  }
  return paths;
}
