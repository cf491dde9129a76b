/** ReadShareGroupState (key 84): reads the persisted state of share partitions, between brokers. */
import {
  api,
  array,
  int16,
  int32,
  int64,
  int8,
  type RequestOf,
  type ResponseOf,
  string,
  uuid,
} from "../schema.ts";

export const readShareGroupState = api({
  key: 84,
  name: "ReadShareGroupState",
  versions: [0, 0],
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
        startOffset: int64,
        stateBatches: array({
          firstOffset: int64,
          lastOffset: int64,
          deliveryState: int8,
          deliveryCount: int16,
        }),
      }),
    }),
  },
});

export type ReadShareGroupStateRequest = RequestOf<typeof readShareGroupState>;
export type ReadShareGroupStateResponse = ResponseOf<typeof readShareGroupState>;
