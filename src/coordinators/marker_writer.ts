/**
 * Writes the end of a transaction into a partition of this broker. Partitions of `__consumer_offsets` belong to the
 * group coordinator, which makes the transaction's offsets count or forgets them; all others are logs and no more.
 */
import { OFFSETS_TOPIC } from "../cluster/topic_names.ts";
import { ErrorCode } from "../codec/errors.ts";
import type { TransactionMarker } from "../replication/transaction_marker.ts";

/** A partition that a marker can be appended to. */
export interface MarkedPartition {
  /** `committed` resolves to an error code when the marker is safe, or will not be; null says that it already is. */
  appendMarker(
    marker: TransactionMarker,
    nowMs: number,
  ): { readonly errorCode: number; readonly committed: Promise<number> | null };
}

export interface MarkerWriterPorts {
  /** The partition if this broker hosts it. */
  readonly partition: (topic: string, index: number) => MarkedPartition | undefined;
  /** Ends a transaction in a partition of the offsets topic, which this broker hosts. */
  readonly endInGroups: (index: number, marker: TransactionMarker) => Promise<number>;
}

export class MarkerWriter {
  private isClosed = false;

  constructor(private readonly ports: MarkerWriterPorts) {}

  /**
   * Writes the marker; gives the error code once it is committed. UNKNOWN_TOPIC_OR_PARTITION where this broker has no
   * such partition, NOT_LEADER_OR_FOLLOWER while its groups are not loaded and once it is closed, both to be tried again as long as the
   * partition exists; TRANSACTION_COORDINATOR_FENCED and INVALID_PRODUCER_EPOCH when somebody else has gone on since.
   */
  writeMarker(
    topic: string,
    partition: number,
    marker: TransactionMarker,
    nowMs: number,
  ): number | Promise<number> {
    if (this.isClosed) return ErrorCode.NOT_LEADER_OR_FOLLOWER;
    const log = this.ports.partition(topic, partition);
    if (log === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    if (topic === OFFSETS_TOPIC) return this.ports.endInGroups(partition, marker).then(asLeadership);
    const { errorCode, committed } = log.appendMarker(marker, nowMs);
    return errorCode === ErrorCode.NONE && committed !== null ? committed : errorCode;
  }

  /** Writes no more, whoever asks: the logs are about to be closed. */
  close(): void {
    this.isClosed = true;
  }
}

/** Whoever sends markers knows leaders of partitions, not coordinators. */
function asLeadership(errorCode: number): number {
  switch (errorCode) {
    case ErrorCode.COORDINATOR_NOT_AVAILABLE:
    case ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
    case ErrorCode.NOT_COORDINATOR:
      return ErrorCode.NOT_LEADER_OR_FOLLOWER;
    default:
      return errorCode;
  }
}
