/** WriteShareGroupState (key 85): writes the persisted state of share partitions, between brokers. */
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

export const writeShareGroupState = api({
  key: 85,
  name: "WriteShareGroupState",
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicId: uuid,
      partitions: array({
        partition: int32,
        stateEpoch: int32,
        leaderEpoch: int32,
        startOffset: int64,
        deliveryCompleteCount: int32.since(1).or(-1),
        stateBatches: array({
          firstOffset: int64,
          lastOffset: int64,
          deliveryState: int8,
          deliveryCount: int16,
        }),
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
      }),
    }),
  },
});

export type WriteShareGroupStateRequest = RequestOf<typeof writeShareGroupState>;
export type WriteShareGroupStateResponse = ResponseOf<typeof writeShareGroupState>;
