/**
 * Has the end markers of transactions written, and tells the machine which are there. What could not be written is left
 * to the machine, which asks for it again.
 */
import type { Clock } from "../../base/clock.ts";
import { ErrorCode } from "../../codec/errors.ts";
import type { TransactionMarker } from "../../replication/transaction_marker.ts";
import type { BackgroundWork } from "../background_work.ts";
import type { TopicPartition, WriteMarkers } from "./requests.ts";

export interface MarkerSenderPorts {
  /** Writes one marker; gives the error code once that is committed. */
  readonly writeMarker: (
    topic: string,
    partition: number,
    marker: TransactionMarker,
  ) => number | Promise<number>;
  /** Whether the partition exists, wherever it is. */
  readonly exists: (topic: string, partition: number) => boolean;
  readonly clock: Clock;
}

/** After so long another end gets its turn: a small one is not to wait until a large one is done. */
const PIECE_MS = 1;

export class MarkerSender {
  /** Ends whose markers have not all had their turn. */
  private readonly queued = new Set<string>();
  /** Markers that are written and not committed yet. */
  private readonly uncommitted = new Set<string>();

  constructor(private readonly ports: MarkerSenderPorts, private readonly background: BackgroundWork) {}

  /** Writes the markers of one end; `written` hears of those that are there, of many at a time where that is possible. */
  send(
    { producerId, producerEpoch, isCommit, transactionVersion, partitions }: WriteMarkers,
    coordinatorEpoch: number,
    written: (partitions: readonly TopicPartition[]) => void,
  ): void {
    const marker = { producerId, producerEpoch, coordinatorEpoch, isCommit, transactionVersion };
    const end = nameOf(marker);
    // Asked for again: what is missing is among what waits already.
    if (this.queued.has(end)) return;
    this.queued.add(end);
    let at = 0;
    this.background.begin(() => {
      const endsMs = this.ports.clock.monotonic() + PIECE_MS;
      const atOnce: TopicPartition[] = [];
      while (at < partitions.length) {
        const place = partitions[at++];
        if (this.sendOne(marker, place, written)) atOnce.push(place);
        if (this.ports.clock.monotonic() >= endsMs) break;
      }
      const isDone = at >= partitions.length;
      if (isDone) this.queued.delete(end);
      if (atOnce.length > 0) written(atOnce);
      return !isDone;
    });
  }

  /** Whether the marker is there already; if it is later, `written` hears of it. */
  private sendOne(
    marker: TransactionMarker,
    place: TopicPartition,
    written: (partitions: readonly TopicPartition[]) => void,
  ): boolean {
    const isUncommitted = this.uncommitted.size > 0 && this.uncommitted.has(nameOf(marker, place));
    if (isUncommitted) return false;
    const outcome = this.ports.writeMarker(place.topic, place.partition, marker);
    if (typeof outcome === "number") return this.isThere(outcome, place);
    const name = nameOf(marker, place);
    this.uncommitted.add(name);
    outcome.then((errorCode) => {
      this.uncommitted.delete(name);
      if (this.isThere(errorCode, place)) written([place]);
    });
    return false;
  }

  private isThere(errorCode: number, { topic, partition }: TopicPartition): boolean {
    switch (errorCode) {
      case ErrorCode.NONE:
      // The partition has heard of an epoch that was given out only after this end was complete: it was written before.
      case ErrorCode.INVALID_PRODUCER_EPOCH:
        return true;
      case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        // With the topic went the records, and nobody waits for their end.
        return !this.ports.exists(topic, partition);
      default:
        return false;
    }
  }
}

/** Of an end, or of its marker in one place. */
function nameOf({ producerId, producerEpoch }: TransactionMarker, place?: TopicPartition): string {
  const end = `${producerId} ${producerEpoch}`;
  return place === undefined ? end : `${end} ${place.partition} ${place.topic}`;
}
