/**
 * Has the end markers of transactions written, and tells the machine which are there. What could not be written is left
 * to the machine, which asks for it again.
 */
import { ErrorCode } from "../../codec/errors.ts";
import type { TransactionMarker } from "../../replication/transaction_marker.ts";
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
}

export class MarkerSender {
  /** Markers that were asked for and are not committed yet. */
  private readonly underWay = new Set<string>();

  constructor(private readonly ports: MarkerSenderPorts) {}

  /** Writes the markers of one end; `written` hears of those that are there, of all at once where that is possible. */
  send(
    markers: WriteMarkers,
    coordinatorEpoch: number,
    written: (partitions: readonly TopicPartition[]) => void,
  ): void {
    const { producerId, producerEpoch, isCommit, transactionVersion } = markers;
    const marker = { producerId, producerEpoch, coordinatorEpoch, isCommit, transactionVersion };
    const atOnce: TopicPartition[] = [];
    for (const place of markers.partitions) {
      const { topic, partition } = place;
      const name = `${producerId} ${producerEpoch} ${partition} ${topic}`;
      if (this.underWay.has(name)) continue;
      const outcome = this.ports.writeMarker(topic, partition, marker);
      if (typeof outcome === "number") {
        if (this.isThere(outcome, place)) atOnce.push(place);
        continue;
      }
      this.underWay.add(name);
      outcome.then((errorCode) => {
        this.underWay.delete(name);
        if (this.isThere(errorCode, place)) written([place]);
      });
    }
    if (atOnce.length > 0) written(atOnce);
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
