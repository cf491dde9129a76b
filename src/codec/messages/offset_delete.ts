/** OffsetDelete (key 47): deletes committed offsets of a group. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const offsetDelete = api({
  key: 47,
  name: "OffsetDelete",
  versions: [0, 0],
  flexible: null,
  request: {
    groupId: string,
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
      }),
    }),
  },
  response: {
    errorCode: int16,
    throttleTimeMs: int32.or(0),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
      }),
    }),
  },
});

export type OffsetDeleteRequest = RequestOf<typeof offsetDelete>;
export type OffsetDeleteResponse = ResponseOf<typeof offsetDelete>;
