/** DescribeQuorum (key 55): tells the state of the metadata quorum. */
import {
  api,
  array,
  int16,
  int32,
  int64,
  type RequestOf,
  type ResponseOf,
  string,
  uint16,
  uuid,
} from "../schema.ts";

const replicaState = {
  replicaId: int32,
  replicaDirectoryId: uuid.since(2),
  logEndOffset: int64,
  lastFetchTimestamp: int64.since(1).or(-1n),
  lastCaughtUpTimestamp: int64.since(1).or(-1n),
};

export const describeQuorum = api({
  key: 55,
  name: "DescribeQuorum",
  versions: [0, 2],
  flexible: 0,
  request: {
    topics: array({
      topicName: string,
      partitions: array({
        partitionIndex: int32,
      }),
    }),
  },
  response: {
    errorCode: int16,
    errorMessage: string.since(2).nullable().or(null),
    topics: array({
      topicName: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.since(2).nullable().or(null),
        leaderId: int32,
        leaderEpoch: int32,
        highWatermark: int64,
        currentVoters: array(replicaState),
        observers: array(replicaState),
      }),
    }),
    nodes: array({
      nodeId: int32,
      listeners: array({
        name: string,
        host: string,
        port: uint16,
      }),
    }).since(2),
  },
});

export type DescribeQuorumRequest = RequestOf<typeof describeQuorum>;
export type DescribeQuorumResponse = ResponseOf<typeof describeQuorum>;
