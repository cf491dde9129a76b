/**
 * Copies of partitions that come to a data directory from another one (AlterReplicaLogDirs, KIP-113). Until a copy takes
 * its partition's place nobody reads it, and none of the checkpoints names it: a copy that a stopped process has left is
 * thrown away, and made again.
 */

import { ZERO_UUID } from "../../codec/uuid.ts";
import { attempt, type Files, replaceFile } from "../files/files.ts";
import type { Log, LogOptions } from "../log/log.ts";
import {
  DELETED_DIRECTORY_SUFFIX,
  FUTURE_DIRECTORY_SUFFIX,
  futureDirectory,
  MOVED_FROM_FILE,
  partitionDirectory,
  partitionOfFuture,
  uniquePart,
} from "../directory/names.ts";
import type { Trash } from "../directory/trash.ts";

interface FutureLogsOptions {
  readonly files: Files;
  readonly directory: string;
  readonly trash: Trash;
  onWarning(text: string): void;
  /** Makes the directory of a partition. Throws `IoError`. */
  makeDirectory(path: string, topicId: string): void;
  load(
    topic: string,
    partition: number,
    found: Pick<
      LogOptions,
      "topicId" | "directoryName" | "recoveryPoint" | "logStartOffset" | "origin" | "wasCompacted"
    >,
  ): Log;
}

/** A copy that was not finished, by what its directory tells. */
export interface UnfinishedCopy {
  readonly topicId: string;
  readonly partition: number;
}

export class FutureLogs {
  private readonly logs = new Map<string, Log>();
  private unfinished: UnfinishedCopy[] = [];

  constructor(private readonly o: FutureLogsOptions) {}

  get count(): number {
    return this.logs.size;
  }

  all(): Iterable<Log> {
    return this.logs.values();
  }

  get(topic: string, partition: number): Log | undefined {
    return this.logs.get(partitionDirectory(topic, partition));
  }

  /** Makes the copy of `source`, empty, which begins at `startOffset`. Throws `IoError`. */
  create(source: Log, startOffset: number): Log {
    const { topic, partition, topicId } = source;
    const directoryName = futureDirectory(topic, partition, uniquePart());
    const path = `${this.o.directory}/${directoryName}`;
    this.o.makeDirectory(path, topicId);
    try {
      replaceFile(this.o.files, `${path}/${MOVED_FROM_FILE}`, source.path, true);
      const log = this.o.load(topic, partition, {
        topicId,
        directoryName,
        recoveryPoint: undefined,
        logStartOffset: startOffset,
        origin: "new",
        wasCompacted: source.mayHaveGaps,
      });
      log.config = source.config;
      this.logs.set(log.name, log);
      return log;
    } catch (error) {
      this.throwAway(path);
      throw error;
    }
  }

  /** Throws a copy away. */
  drop(log: Log): void {
    const { path } = log;
    log.letGo(`The copy of ${log.name} was given up`);
    this.forget(log);
    this.throwAway(path);
  }

  /** Under a name that says so: the next start must not take it for one that is wanted. */
  private throwAway(path: string): void {
    const deleted = path.slice(0, -FUTURE_DIRECTORY_SUFFIX.length) + DELETED_DIRECTORY_SUFFIX;
    const renamed = attempt(`rename ${path}`, () => this.o.files.rename(path, deleted), this.o.onWarning);
    this.o.trash.add(renamed ? deleted : path, 0);
  }

  /** It is the partition's own log from here on. */
  forget(log: Log): void {
    if (this.logs.get(log.name) === log) this.logs.delete(log.name);
  }

  /** At start: whether a directory is a copy, which is thrown away then. */
  found(name: string, topicId: () => string): boolean {
    const partition = partitionOfFuture(name);
    if (partition === null) return false;
    const id = topicId();
    // One that was not even begun tells nothing.
    if (id !== ZERO_UUID) this.unfinished.push({ topicId: id, partition });
    this.throwAway(`${this.o.directory}/${name}`);
    return true;
  }

  /** The copies that the process before did not finish, once. */
  takeUnfinished(): UnfinishedCopy[] {
    const taken = this.unfinished;
    this.unfinished = [];
    return taken;
  }
}
