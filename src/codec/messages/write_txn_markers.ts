/** WriteTxnMarkers (key 27): writes the end of a transaction into its partitions, between brokers. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
} from "../schema.ts";

export const writeTxnMarkers = api({
  key: 27,
  name: "WriteTxnMarkers",
  versions: [0, 2],
  flexible: 1,
  request: {
    markers: array({
      producerId: int64,
      producerEpoch: int16,
      transactionResult: bool,
      topics: array({
        name: string,
        partitionIndexes: array(int32),
      }),
      coordinatorEpoch: int32,
      transactionVersion: int8.since(2).or(0),
    }),
  },
  response: {
    markers: array({
      producerId: int64,
      topics: array({
        name: string,
        partitions: array({
          partitionIndex: int32,
          errorCode: int16,
        }),
      }),
    }),
  },
});

export type WriteTxnMarkersRequest = RequestOf<typeof writeTxnMarkers>;
export type WriteTxnMarkersResponse = ResponseOf<typeof writeTxnMarkers>;
