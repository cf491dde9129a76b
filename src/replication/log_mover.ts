/**
 * Moves partitions from one data directory to another while they are written to (AlterReplicaLogDirs, KIP-113): a copy
 * is made beside, as a follower makes one; when it has caught up, it takes the partition's place in one turn of the event
 * loop.
 *
 * A crash at any point leaves one log, whole. Until the copy has the partition's name, it is thrown away and made again.
 * From then on until the former directory is renamed there are two, and `storage/moved_logs.ts` tells which goes on.
 */
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { ErrorCode } from "../codec/errors.ts";
import { BatchView } from "../codec/batch.ts";
import { IoError } from "../storage/files/files.ts";
import type { Log } from "../storage/log/log.ts";
import type { LogDirectories } from "../storage/manager/log_directories.ts";
import type { LogManager } from "../storage/manager/log_manager.ts";
import type { Partition } from "./partition.ts";
import type { Replicas } from "./replicas.ts";

export interface LogMoverOptions {
  readonly logs: LogDirectories;
  readonly replicas: Replicas;
  readonly clock: Clock;
  readonly report: (problem: string) => void;
  /** What all moves together may copy in a second (`replica.alter.log.dirs.io.max.bytes.per.second`). */
  readonly bytesPerSecond?: () => number;
  /** Told of each move that is done. */
  readonly onMoved?: (text: string) => void;
}

/** What is copied at once: a millisecond's work. */
const CHUNK_BYTES = 1 << 20;
/**
 * So much may be left for the turn in which the copy takes over; twice as much each time that it was not enough, since
 * whoever writes faster than that would never be caught up with.
 */
const LAST_BYTES = 256 * 1024;
/** Moves at once; more would only have the disks seek more. */
const MOVING_AT_ONCE = 2;
/** How often a move that waits for its turn to copy looks whether it may copy more by now. */
const PAY_EVERY_MS = 500;
/** Before a log that could not be read is read again. */
const RETRY_MS = 1000;

/** What came of copying: "nothing" when the log cannot be read now. */
type Copied = "all" | "some" | "nothing";

interface Move {
  readonly partition: Partition;
  readonly target: LogManager;
  /** Null once it was given up, or has taken over. */
  copy: Log | null;
  cancelled: boolean;
  /** How often too much was left to take over. */
  lagged: number;
}

export class LogMover {
  private readonly moves = new Map<string, Move>();
  private readonly waiting: Move[] = [];
  private readonly running = new Set<Promise<void>>();
  /** When what was copied so far would be, at the speed that is allowed; by the monotonic clock. */
  private paidUntilMs = -Infinity;
  /** Ends each pause before its time. */
  private readonly pauses = new Set<() => void>();
  private closed = false;

  constructor(private readonly o: LogMoverOptions) {}

  /**
   * Begins moving a partition to a directory, unless it is there or on its way; a move elsewhere is given up. Gives an
   * error code.
   */
  move(partition: Partition, target: LogManager): number {
    const { log } = partition;
    const under = this.moves.get(log.name);
    if (under !== undefined && under.partition === partition && under.target === target) {
      return ErrorCode.NONE;
    }
    if (under !== undefined) this.cancel(under);
    const source = this.o.logs.managerOf(log);
    if (source === target) return ErrorCode.NONE;
    if (source === undefined || log.offline !== null || this.closed) return ErrorCode.KAFKA_STORAGE_ERROR;
    const move: Move = { partition, target, copy: null, cancelled: false, lagged: 0 };
    try {
      // What says of the log that it took another's place must not be there when another takes its own.
      source.settle(log);
      // At once, so that a start after this process knows of the move.
      move.copy = newCopy(move);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      this.tellOfFailure(move, error);
      return ErrorCode.KAFKA_STORAGE_ERROR;
    }
    this.moves.set(log.name, move);
    this.waiting.push(move);
    this.startNext();
    return ErrorCode.NONE;
  }

  /** Begins again what the process before did not finish. */
  resume(partitionOf: (topicId: string, index: number) => Partition | undefined): void {
    for (const { topicId, partition, manager } of this.o.logs.takeUnfinished()) {
      const hosted = partitionOf(topicId, partition);
      if (hosted !== undefined) this.move(hosted, manager);
    }
  }

  /** Resolves when no move is under way. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  /** Ends all moves where they are; the next start begins them again. */
  async close(): Promise<void> {
    this.closed = true;
    this.waiting.length = 0;
    for (const end of [...this.pauses]) end();
    await this.idle();
  }

  private cancel(move: Move): void {
    move.cancelled = true;
    const { name } = move.partition.log;
    if (this.moves.get(name) === move) this.moves.delete(name);
    if (move.copy !== null) move.target.futures.drop(move.copy);
    move.copy = null;
  }

  private startNext(): void {
    while (this.running.size < MOVING_AT_ONCE && this.waiting.length > 0) {
      const move = this.waiting.shift()!;
      if (move.cancelled) continue;
      const run: Promise<void> = this.run(move).catch((error) => {
        // A bug: of this move, and not of all that the broker does.
        this.o.report(`The move of ${move.partition.log.name} failed: ${error?.stack ?? error}`);
      }).finally(() => {
        this.running.delete(run);
        this.startNext();
      });
      this.running.add(run);
    }
  }

  private async run(move: Move): Promise<void> {
    const { log } = move.partition;
    const { name } = log;
    // A copy that has a record and never gets its tombstone would have it come back. Kafka holds compaction up, too.
    const letGo = this.o.logs.managerOf(log)?.holdCompaction(log);
    try {
      if (await this.copyAndTakeOver(move)) {
        this.o.onMoved?.(`Moved ${name} to ${move.target.directory}`);
      }
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      if (!move.cancelled) this.tellOfFailure(move, error);
    } finally {
      letGo?.();
      // A stop leaves the copy, by which the next start knows of the move.
      if (!this.closed && !move.cancelled) this.cancel(move);
    }
  }

  /** True when it is done, false when it was cancelled. Rejects with `IoError`. */
  private async copyAndTakeOver(move: Move): Promise<boolean> {
    while (this.goesOn(move)) {
      const { log } = move.partition;
      if (!continues(move.copy!, log)) {
        move.target.futures.drop(move.copy!);
        move.copy = null;
        move.copy = newCopy(move);
      }
      const before = move.copy!.sizeInBytes;
      const copied = await this.copyChunk(move, log);
      if (!this.goesOn(move)) return false;
      await this.payFor(move, move.copy!.sizeInBytes - before);
      if (!this.goesOn(move)) return false;
      if (copied === "all") {
        await move.copy!.flush();
        if (this.goesOn(move) && this.takeOver(move)) return true;
      } else await this.pause(copied === "some" ? 0 : RETRY_MS);
    }
    return false;
  }

  private tellOfFailure({ partition: { log }, target }: Move, error: IoError): void {
    this.o.report(
      `Cannot move ${log.name} to ${target.directory}: ${error.message}; it stays in ${log.path}`,
    );
  }

  private goesOn({ partition, cancelled }: Move): boolean {
    return !this.closed && !cancelled && this.o.replicas.get(partition.topic, partition.index) === partition;
  }

  /** Copies the next records, and tells whether there are more. Rejects with `IoError`. */
  private async copyChunk(move: Move, log: Log): Promise<Copied> {
    const ahead = log.readAhead(move.copy!.nextOffset, CHUNK_BYTES);
    if (ahead !== null) await ahead;
    if (!this.goesOn(move) || log !== move.partition.log || !continues(move.copy!, log)) return "some";
    return this.copyNow(log, move.copy!);
  }

  /** As {@link copyChunk}, at once. Throws `IoError` when the copy cannot be written. */
  private copyNow(log: Log, copy: Log): Copied {
    // Until the next start.
    if (log.offline !== null) throw new IoError("read", log.path, log.offline);
    if (!log.open()) return "nothing";
    if (log.nextOffset === copy.nextOffset) return "all";
    const limits = { maxBytes: CHUNK_BYTES, maxOffset: log.nextOffset, minOneMessage: true };
    const read = log.read(Math.max(copy.nextOffset, log.logStartOffset), limits);
    if (read.errorCode !== ErrorCode.NONE || read.bytes.length === 0) return "nothing";
    const { errorCode, errorText } = copy.appendAsFollower(read.bytes, this.o.clock.now());
    if (errorCode !== ErrorCode.NONE) throw new IoError("write", copy.path, errorText ?? "the disk failed");
    return log.nextOffset > copy.nextOffset ? "some" : "all";
  }

  /**
   * The last records and the exchange, without a wait between. False when there is more to copy first. Throws `IoError`,
   * and then the partition is where it was.
   */
  private takeOver(move: Move): boolean {
    const { partition, target } = move;
    const copy = move.copy!;
    const { log } = partition;
    // A log that nobody used since the start is not open; one whose disk failed is read again before anything else.
    if (!log.open() || !copy.open() || !continues(copy, log)) return false;
    const segments = copy.segmentBaseOffsets.length;
    for (let left = LAST_BYTES << Math.min(move.lagged, 8); log.nextOffset > copy.nextOffset;) {
      const before = copy.sizeInBytes;
      if (left <= 0 || this.copyNow(log, copy) === "nothing") {
        move.lagged++;
        return false;
      }
      left -= copy.sizeInBytes - before;
    }
    // A segment that was begun just now is on its way to the device under the directory's present name.
    if (segments > 0 && copy.segmentBaseOffsets.length !== segments) return false;
    const source = this.o.logs.managerOf(log);
    assert(source !== undefined, `the log of ${log.name} is in no directory`);
    copy.takeOver(log);
    target.promote(copy);
    copy.config = log.config;
    partition.moveTo(copy);
    this.moves.delete(copy.name);
    move.copy = null;
    this.removeFormer(log, source, target, copy);
    // So that a crash need not read all of it.
    void copy.shortenRecovery();
    return true;
  }

  private removeFormer(former: Log, source: LogManager, target: LogManager, copy: Log): void {
    try {
      source.remove(former.topic, former.partition);
      target.settle(copy);
    } catch (error) {
      if (!(error instanceof IoError)) throw error;
      source.disown(former);
      // The mark tells the next start which of the two goes on.
      this.o.report(`Cannot remove what ${copy.path} has taken the place of: ${error.message}`);
    }
  }

  /** Waits until as much time has passed as so many bytes may take. */
  private async payFor(move: Move, bytes: number): Promise<void> {
    const { clock, bytesPerSecond } = this.o;
    const perSecond = bytesPerSecond?.() ?? Infinity;
    if (perSecond === Infinity || bytes <= 0) return;
    this.paidUntilMs = Math.max(this.paidUntilMs, clock.monotonic()) + bytes / Math.max(1, perSecond) * 1000;
    while (this.goesOn(move) && clock.monotonic() < this.paidUntilMs) {
      await this.pause(Math.min(PAY_EVERY_MS, this.paidUntilMs - clock.monotonic()));
      // What was allowed may have been raised meanwhile, or set free.
      if ((bytesPerSecond?.() ?? Infinity) > perSecond) this.paidUntilMs = clock.monotonic();
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.pauses.add(end);
    });
  }
}

/** Throws `IoError`. */
function newCopy({ partition: { log }, target }: Move): Log {
  return target.futures.create(log, firstOffset(log));
}

/** Whether what `copy` has is the beginning of what `log` has, so that it can be gone on with. */
function continues(copy: Log, log: Log): boolean {
  const { nextOffset } = copy;
  if (nextOffset > log.nextOffset) return false;
  return nextOffset >= log.logStartOffset || (copy.sizeInBytes === 0 && nextOffset === firstOffset(log));
}

/** Where the batch begins that holds the first record. */
function firstOffset(log: Log): number {
  const { logStartOffset, nextOffset } = log;
  if (logStartOffset === nextOffset) return logStartOffset;
  const limits = { maxBytes: 1, maxOffset: nextOffset, minOneMessage: true };
  const { errorCode, bytes } = log.read(logStartOffset, limits);
  if (errorCode !== ErrorCode.NONE || bytes.length === 0) return logStartOffset;
  return Math.min(logStartOffset, new BatchView(bytes).baseOffset);
}
