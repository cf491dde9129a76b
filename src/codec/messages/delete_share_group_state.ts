/** DeleteShareGroupState (key 86): deletes the persisted state of share partitions, between brokers. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const deleteShareGroupState = api({
  key: 86,
  name: "DeleteShareGroupState",
  versions: [0, 0],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicId: uuid,
      partitions: array({
        partition: int32,
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

export type DeleteShareGroupStateRequest = RequestOf<typeof deleteShareGroupState>;
export type DeleteShareGroupStateResponse = ResponseOf<typeof deleteShareGroupState>;
