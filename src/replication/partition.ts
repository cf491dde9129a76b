/**
 * A partition as its leader sees it: the log, the leader epoch, who is in sync, and the high watermark up to which
 * records may be read. Alone, a broker is its own ISR, and what is appended is committed.
 */
import { ErrorCode } from "../codec/errors.ts";
import { BatchView } from "../codec/batch.ts";
import { buildEndMarker } from "../codec/end_marker.ts";
import type { Verification } from "../storage/producers/producer_state.ts";
import type { TransactionMarker } from "./transaction_marker.ts";
import type { AppendOptions, AppendResult, Log, ReadResult, SliceRead } from "../storage/log/log.ts";
import { type VerificationGuard, Verifications } from "./verifications.ts";

/** Is told how many bytes were committed in a partition that it waits for; Infinity when the partition goes away. */
export interface AppendWaiter {
  appended(partition: Partition, bytes: number): void;
}

/** What became of an append, and when it is committed; null says that it is, or that there is nothing to commit. */
export interface PartitionAppend extends AppendResult {
  readonly committed: Promise<number> | null;
}

/** What an append may cost where the batch has to be opened, and what the producer's coordinator has said. */
export type AppendTerms = Pick<AppendOptions, "allowance" | "maxDecompressedBytes" | "verification">;

/** For producers whose coordinator is not to be asked (`transaction.partition.verification.enable`). */
export const UNVERIFIED: Verification = { lowestSequence: Infinity, beginsAtZero: false };

/** What a reader must know of the leader for its fetch to be answered (KIP-320). */
export type EpochCheck =
  | typeof ErrorCode.NONE
  | typeof ErrorCode.FENCED_LEADER_EPOCH
  | typeof ErrorCode.UNKNOWN_LEADER_EPOCH;

export class Partition {
  /** What acks=all asks for: `min.insync.replicas` of the topic, but not more than there are replicas. */
  minInsyncReplicas = 1;
  private readonly waiters = new Set<AppendWaiter>();
  private readonly verifications = new Verifications();

  constructor(
    private currentLog: Log,
    readonly topicId: string,
    readonly leader: number,
    readonly leaderEpoch: number,
    readonly isr: readonly number[],
  ) {
    // What the log had noted may be older than its end, and retention goes by it.
    currentLog.highWatermark = currentLog.nextOffset;
  }

  /** To be asked for anew after a wait: the partition may have moved to another directory. */
  get log(): Log {
    return this.currentLog;
  }

  /** Goes on with a log that has taken the place of the present one. */
  moveTo(log: Log): void {
    this.currentLog = log;
  }

  /** The end of what is committed: consumers read below it. */
  get highWatermark(): number {
    return this.log.highWatermark;
  }

  get topic(): string {
    return this.log.topic;
  }
  get index(): number {
    return this.log.partition;
  }

  /** The end of what read_committed may see: open transactions hold it back. Throws `IoError`. */
  get lastStableOffset(): number {
    return this.log.lastStableOffset;
  }

  /** The end of what a reader may see. Throws `IoError`. */
  readableEnd(isReadCommitted: boolean): number {
    return isReadCommitted ? this.lastStableOffset : this.highWatermark;
  }

  /** Holds a client's idea of the leader epoch against the truth; -1 says that the client has none. */
  checkLeaderEpoch(currentLeaderEpoch: number): EpochCheck {
    if (currentLeaderEpoch === -1 || currentLeaderEpoch === this.leaderEpoch) return ErrorCode.NONE;
    return currentLeaderEpoch < this.leaderEpoch
      ? ErrorCode.FENCED_LEADER_EPOCH
      : ErrorCode.UNKNOWN_LEADER_EPOCH;
  }

  /**
   * Appends a batch as leader. Base offset and leader epoch are set in `bytes` itself. What is appended is committed at
   * once, or, where `flush.messages` asks for it, when `committed` has resolved: to an error code, for a disk may fail.
   */
  append(
    bytes: Uint8Array,
    origin: "client" | "coordinator",
    now: number,
    terms: AppendTerms = {},
  ): PartitionAppend {
    const options: AppendOptions = { leaderEpoch: this.leaderEpoch, origin, now, ...terms };
    const isPlain = this.verifications.isEmpty && terms.verification === undefined;
    const result = isPlain ? this.log.append(bytes, options) : this.appendVerified(bytes, options);
    return this.appended(result, bytes.length);
  }

  /** Appends where producers are verified: a guard counts if it still stands, and not for longer than this. */
  private appendVerified(bytes: Uint8Array, options: AppendOptions): AppendResult {
    const { verifications } = this;
    const { verification = null } = options;
    const counts = verification === UNVERIFIED ||
      (verification !== null && verifications.holds(verification));
    const result = this.log.append(bytes, { ...options, verification: counts ? verification : null });
    if (result.errorCode !== ErrorCode.NONE || result.duplicate) return result;
    const { producerId, isTransactional } = new BatchView(bytes);
    if (isTransactional) verifications.end(producerId);
    return result;
  }

  private appended(result: AppendResult, bytes: number): PartitionAppend {
    if (result.errorCode !== ErrorCode.NONE) return { ...result, committed: null };
    // Of a batch that was sent again the first copy may still be on its way to the disk.
    const end = result.lastOffset + 1;
    if (!result.mustFlush) {
      this.commit(end, bytes);
      return { ...result, committed: null };
    }
    const committed = this.log.flush().then(() => {
      this.commit(end, bytes);
      return ErrorCode.NONE;
    }, () => ErrorCode.KAFKA_STORAGE_ERROR);
    return { ...result, committed };
  }

  /** Tries once more to bring to the device, and to commit, what an append could not. Gives an error code. */
  recommit(): Promise<number> {
    const { log } = this;
    const end = log.nextOffset;
    // Nothing that has to be there is missing.
    if (end - log.flushedOffset < log.config.flushMessages) return Promise.resolve(ErrorCode.NONE);
    return log.flush().then(() => {
      this.commit(end, 0);
      return ErrorCode.NONE;
    }, () => ErrorCode.KAFKA_STORAGE_ERROR);
  }

  /**
   * The guard that the first batch of a producer's transaction here has to bring along as its `verification`, once the
   * coordinator has said that the partition is in the transaction; null when it is under way here already, "fenced" where a
   * newer epoch of the producer was seen. A marker that comes meanwhile takes the guard's worth from it. Throws `IoError`.
   */
  beginVerification(
    producerId: number,
    producerEpoch: number,
    sequence: number,
    beginsAtZero: boolean,
  ): VerificationGuard | "fenced" | null {
    const known = this.log.producer(producerId);
    if (known !== undefined) {
      if (producerEpoch < known.producerEpoch) return "fenced";
      if (producerEpoch === known.producerEpoch && known.currentTxnFirstOffset >= 0) return null;
    }
    return this.verifications.begin(producerId, producerEpoch, sequence, beginsAtZero);
  }

  /** Ends a producer's transaction here. */
  appendMarker(marker: TransactionMarker, now: number): PartitionAppend {
    const { transactionVersion } = marker;
    const options = {
      leaderEpoch: this.leaderEpoch,
      origin: "coordinator",
      now,
      transactionVersion,
    } as const;
    const bytes = buildEndMarker(marker, now);
    const result = this.log.append(bytes, options);
    if (result.errorCode === ErrorCode.NONE) this.verifications.end(marker.producerId);
    return this.appended(result, bytes.length);
  }

  /** Moves the high watermark and wakes who waits for it. */
  private commit(end: number, bytes: number): void {
    if (end <= this.highWatermark) return;
    this.log.highWatermark = end;
    for (const waiter of this.waiters) waiter.appended(this, bytes);
  }

  /** Reads batches from `fetchOffset` on, below `maxOffset`, which is the high watermark; see {@link Log.read}. */
  read(
    fetchOffset: number,
    maxBytes: number,
    minOneMessage: boolean,
    allocate?: (bytes: number) => Uint8Array,
    maxOffset: number = this.highWatermark,
  ): ReadResult {
    return this.log.read(fetchOffset, { maxBytes, maxOffset, minOneMessage, allocate });
  }

  /** What of {@link read} can be sent from the file as it is; null when it has to be read. See {@link Log.slice}. */
  slice(
    fetchOffset: number,
    minBytes: number,
    maxBytes: number,
    maxOffset: number = this.highWatermark,
  ): SliceRead | null {
    return this.log.slice(fetchOffset, { minBytes, maxBytes, maxOffset });
  }

  addWaiter(waiter: AppendWaiter): void {
    this.waiters.add(waiter);
  }
  removeWaiter(waiter: AppendWaiter): void {
    this.waiters.delete(waiter);
  }

  /** Wakes who waits here although nothing came: the partition goes away. */
  wakeAll(): void {
    for (const waiter of [...this.waiters]) waiter.appended(this, Infinity);
  }
}
