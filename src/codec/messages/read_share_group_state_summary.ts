/** ReadShareGroupStateSummary (key 87): reads the start of the persisted state of share partitions, between brokers. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const readShareGroupStateSummary = api({
  key: 87,
  name: "ReadShareGroupStateSummary",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicId: uuid,
      partitions: array({
        partition: int32,
        leaderEpoch: int32,
      }),
    }),
  },
  response: {
    results: array({
      topicId: uuid,
      partitions: array({
        partition: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
        stateEpoch: int32,
        leaderEpoch: int32,
        startOffset: int64,
        deliveryCompleteCount: int32.since(1).or(-1),
      }),
    }),
  },
});

export type ReadShareGroupStateSummaryRequest = RequestOf<typeof readShareGroupStateSummary>;
export type ReadShareGroupStateSummaryResponse = ResponseOf<typeof readShareGroupStateSummary>;
