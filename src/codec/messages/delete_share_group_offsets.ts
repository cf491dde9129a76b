/** DeleteShareGroupOffsets (key 92): forgets where share groups start to read. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const deleteShareGroupOffsets = api({
  key: 92,
  name: "DeleteShareGroupOffsets",
  versions: [0, 0],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicName: string,
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    responses: array({
      topicName: string,
      topicId: uuid,
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }),
  },
});

export type DeleteShareGroupOffsetsRequest = RequestOf<typeof deleteShareGroupOffsets>;
export type DeleteShareGroupOffsetsResponse = ResponseOf<typeof deleteShareGroupOffsets>;
