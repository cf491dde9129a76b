/** DescribeProducers (key 61): tells the state of the producers of partitions. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeProducers = api({
  key: 61,
  name: "DescribeProducers",
  versions: [0, 0],
  flexible: 0,
  request: {
    topics: array({
      name: string,
      partitionIndexes: array(int32),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
        activeProducers: array({
          producerId: int64,
          producerEpoch: int32,
          lastSequence: int32.or(-1),
          lastTimestamp: int64.or(-1n),
          coordinatorEpoch: int32,
          currentTxnStartOffset: int64.or(-1n),
        }),
      }),
    }),
  },
});

export type DescribeProducersRequest = RequestOf<typeof describeProducers>;
export type DescribeProducersResponse = ResponseOf<typeof describeProducers>;
