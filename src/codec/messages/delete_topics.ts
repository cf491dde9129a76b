/** DeleteTopics (key 20): deletes topics by name, or from version 6 by id. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const deleteTopics = api({
  key: 20,
  name: "DeleteTopics",
  versions: [0, 6],
  flexible: 4,
  request: {
    topics: array({
      name: string.nullable().or(null),
      topicId: uuid,
    }).since(6),
    topicNames: array(string).until(5),
    timeoutMs: int32,
  },
  response: {
    throttleTimeMs: int32.since(1).or(0),
    responses: array({
      name: string.nullable(6),
      topicId: uuid.since(6),
      errorCode: int16,
      errorMessage: string.since(5).nullable().or(null),
    }),
  },
});

export type DeleteTopicsRequest = RequestOf<typeof deleteTopics>;
export type DeleteTopicsResponse = ResponseOf<typeof deleteTopics>;
