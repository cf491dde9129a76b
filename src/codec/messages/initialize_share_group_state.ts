/** InitializeShareGroupState (key 83): starts the persisted state of share partitions, between brokers. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const initializeShareGroupState = api({
  key: 83,
  name: "InitializeShareGroupState",
  versions: [0, 0],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicId: uuid,
      partitions: array({
        partition: int32,
        stateEpoch: int32,
        startOffset: int64,
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

export type InitializeShareGroupStateRequest = RequestOf<typeof initializeShareGroupState>;
export type InitializeShareGroupStateResponse = ResponseOf<typeof initializeShareGroupState>;
