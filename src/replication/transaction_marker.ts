/** The end of a producer's transaction in one partition, as its coordinator has it written there. */
export interface TransactionMarker {
  readonly producerId: number;
  readonly producerEpoch: number;
  /** The leader epoch of the coordinator's partition: an older one is fenced. */
  readonly coordinatorEpoch: number;
  readonly isCommit: boolean;
  /** At least 2: the epoch was raised for this end, so that it has to be a new one here (KIP-890). */
  readonly transactionVersion: number;
}
