/**
 * What goes into the transactions' machine and what comes out: plain objects with the field names of the protocol's
 * messages, so that handlers convert by copying.
 */

/** A partition by its topic's name. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Who asks on behalf of a transactional id. */
export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface InitProducerIdRequest {
  /** Null: a producer that is idempotent only. */
  readonly transactionalId: string | null;
  readonly transactionTimeoutMs: number;
  /** -1: a producer that has no id yet. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly enable2Pc: boolean;
  readonly keepPreparedTxn: boolean;
}

export interface InitProducerIdReply {
  readonly errorCode: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly ongoingTxnProducerId: number;
  readonly ongoingTxnProducerEpoch: number;
}

/** `verifyOnly`: asks whether they are part of the transaction, and adds none. */
export interface AddPartitionsRequest extends TransactionalProducer {
  readonly partitions: readonly TopicPartition[];
  readonly verifyOnly: boolean;
}

/** An error code for each partition of the request, in its order. */
export interface AddPartitionsReply {
  readonly errorCodes: readonly number[];
}

export interface EndTxnRequest extends TransactionalProducer {
  readonly isCommit: boolean;
  /** 2 when the client knows that the epoch is raised at each end (EndTxn from version 5 on), else less. */
  readonly clientTransactionVersion: number;
}

/** Of version 2 the ids that the producer goes on with; -1 otherwise. */
export interface EndTxnReply {
  readonly errorCode: number;
  readonly producerId: number;
  readonly producerEpoch: number;
}
