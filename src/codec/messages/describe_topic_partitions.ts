/** DescribeTopicPartitions (key 75): tells the partitions of topics in pages with a cursor (KIP-966). */
import {
  api,
  array,
  bool,
  int16,
  int32,
  type RequestOf,
  type ResponseOf,
  string,
  struct,
  uuid,
} from "../schema.ts";

export const describeTopicPartitions = api({
  key: 75,
  name: "DescribeTopicPartitions",
  versions: [0, 0],
  flexible: 0,
  request: {
    topics: array({
      name: string,
    }),
    responsePartitionLimit: int32.or(2000),
    cursor: struct({
      topicName: string,
      partitionIndex: int32,
    }).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.or(0),
    topics: array({
      errorCode: int16,
      name: string.nullable(),
      topicId: uuid,
      isInternal: bool.or(false),
      partitions: array({
        errorCode: int16,
        partitionIndex: int32,
        leaderId: int32,
        leaderEpoch: int32.or(-1),
        replicaNodes: array(int32),
        isrNodes: array(int32),
        eligibleLeaderReplicas: array(int32).nullable().or(null),
        lastKnownElr: array(int32).nullable().or(null),
        offlineReplicas: array(int32),
      }),
      topicAuthorizedOperations: int32.or(-(2 ** 31)),
    }),
    nextCursor: struct({
      topicName: string,
      partitionIndex: int32,
    }).nullable().or(null),
  },
});

export type DescribeTopicPartitionsRequest = RequestOf<typeof describeTopicPartitions>;
export type DescribeTopicPartitionsResponse = ResponseOf<typeof describeTopicPartitions>;
