/** AddPartitionsToTxn (key 24): adds partitions to a transaction. From version 4 for many transactions, between brokers. */
import { api, array, bool, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

const addPartitionsToTxnTopic = {
  name: string,
  partitions: array(int32),
};

const addPartitionsToTxnPartitionResult = {
  partitionIndex: int32,
  partitionErrorCode: int16,
};

const addPartitionsToTxnTopicResult = {
  name: string,
  resultsByPartition: array(addPartitionsToTxnPartitionResult),
};

export const addPartitionsToTxn = api({
  key: 24,
  name: "AddPartitionsToTxn",
  versions: [0, 5],
  flexible: 3,
  request: {
    transactions: array({
      transactionalId: string,
      producerId: int64,
      producerEpoch: int16,
      verifyOnly: bool.or(false),
      topics: array(addPartitionsToTxnTopic),
    }).since(4),
    v3AndBelowTransactionalId: string.until(3),
    v3AndBelowProducerId: int64.until(3),
    v3AndBelowProducerEpoch: int16.until(3),
    v3AndBelowTopics: array(addPartitionsToTxnTopic).until(3),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16.since(4),
    resultsByTransaction: array({
      transactionalId: string,
      topicResults: array(addPartitionsToTxnTopicResult),
    }).since(4),
    resultsByTopicV3AndBelow: array(addPartitionsToTxnTopicResult).until(3),
  },
});

export type AddPartitionsToTxnRequest = RequestOf<typeof addPartitionsToTxn>;
export type AddPartitionsToTxnResponse = ResponseOf<typeof addPartitionsToTxn>;
