/**
 * Asks the transaction coordinator before a producer commits offsets in a transaction: the partition of the offsets
 * topic has to be part of it, or no marker would ever end what is pending (KIP-890). Between the answer and the commit
 * the transaction may have ended, which is found out here too.
 */
import { ErrorCode } from "../../codec/errors.ts";
import { OFFSETS_TOPIC } from "../../cluster/topic_names.ts";
import type { AddPartitionsReply, AddPartitionsRequest } from "../transactions/requests.ts";
import type { TransactionalCommitRequest } from "./requests.ts";

/** From here on (transaction protocol 2) the commit itself makes the partition part of the transaction. */
const addsPartition = 5;
/** From here on producers know TRANSACTION_ABORTABLE. */
const knowsAbortable = 4;

export interface ProducerCheckPorts {
  readonly addPartitions: (
    request: AddPartitionsRequest,
  ) => AddPartitionsReply | PromiseLike<AddPartitionsReply>;
  /** `transaction.partition.verification.enable`; adding is not optional. */
  readonly verifiesPartitions: () => boolean;
}

interface Question {
  readonly partition: number;
  readonly producerId: number;
  isOutdated: boolean;
}

export class ProducerCheck {
  /** The questions that are being answered. */
  private readonly open = new Set<Question>();

  constructor(private readonly ports: ProducerCheckPorts) {}

  /** Calls `commit` if the producer may write to this partition of the offsets topic, else `fail`, with the error. */
  ask<T>(
    partition: number,
    request: TransactionalCommitRequest,
    commit: () => T | PromiseLike<T>,
    fail: (errorCode: number) => T,
  ): Promise<T> {
    const { transactionalId, transaction, apiVersion } = request;
    const verifyOnly = apiVersion < addsPartition;
    if (verifyOnly && !this.ports.verifiesPartitions()) {
      // The coordinator knows no such producer. Whatever it left pending no marker could end.
      const isNobody = transaction.producerId < 0 || transaction.producerEpoch < 0;
      return Promise.resolve(isNobody ? fail(ErrorCode.INVALID_PRODUCER_ID_MAPPING) : commit());
    }
    const question: Question = { partition, producerId: transaction.producerId, isOutdated: false };
    this.open.add(question);
    const asked = this.ports.addPartitions({
      transactionalId,
      ...transaction,
      partitions: [{ topic: OFFSETS_TOPIC, partition }],
      verifyOnly,
    });
    return Promise.resolve(asked).then(({ errorCodes }) => {
      this.open.delete(question);
      const errorCode = errorFor(errorCodes[0], apiVersion);
      if (errorCode !== ErrorCode.NONE) return fail(errorCode);
      return question.isOutdated ? fail(ErrorCode.INVALID_TXN_STATE) : commit();
    });
  }

  /** A transaction of the producer has ended there: what is said of it from now on is about the next one. */
  ended(partition: number, producerId: number): void {
    for (const question of this.open) {
      if (question.partition === partition && question.producerId === producerId) question.isOutdated = true;
    }
  }
}

/** The coordinator's error as the version knows it. A fenced producer hears of it as from any other partition. */
function errorFor(errorCode: number, apiVersion: number): number {
  if (errorCode === ErrorCode.PRODUCER_FENCED) return ErrorCode.INVALID_PRODUCER_EPOCH;
  if (errorCode === ErrorCode.TRANSACTION_ABORTABLE && apiVersion < knowsAbortable) {
    return ErrorCode.INVALID_TXN_STATE;
  }
  return errorCode;
}
