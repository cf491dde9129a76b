/** AlterShareGroupOffsets (key 91): moves where share groups start to read. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const alterShareGroupOffsets = api({
  key: 91,
  name: "AlterShareGroupOffsets",
  versions: [0, 0],
  flexible: 0,
  request: {
    groupId: string,
    topics: array({
      topicName: string,
      partitions: array({
        partitionIndex: int32,
        startOffset: int64,
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    responses: array({
      topicName: string,
      topicId: uuid,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
      }),
    }),
  },
});

export type AlterShareGroupOffsetsRequest = RequestOf<typeof alterShareGroupOffsets>;
export type AlterShareGroupOffsetsResponse = ResponseOf<typeof alterShareGroupOffsets>;
