/** DeleteRecords (key 21): moves a partition's log start forward. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const deleteRecords = api({
  key: 21,
  name: "DeleteRecords",
  versions: [0, 2],
  flexible: 2,
  request: {
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        offset: int64,
      }),
    }),
    timeoutMs: int32,
  },
  response: {
    throttleTimeMs: int32.or(0),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        lowWatermark: int64,
        errorCode: int16,
      }),
    }),
  },
});

export type DeleteRecordsRequest = RequestOf<typeof deleteRecords>;
export type DeleteRecordsResponse = ResponseOf<typeof deleteRecords>;
