/** DescribeShareGroupOffsets (key 90): tells where share groups start to read. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const describeShareGroupOffsets = api({
  key: 90,
  name: "DescribeShareGroupOffsets",
  versions: [0, 1],
  flexible: 0,
  request: {
    groups: array({
      groupId: string,
      topics: array({
        topicName: string,
        partitions: array(int32),
      }).nullable(),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    groups: array({
      groupId: string,
      topics: array({
        topicName: string,
        topicId: uuid,
        partitions: array({
          partitionIndex: int32,
          startOffset: int64,
          leaderEpoch: int32,
          lag: int64.since(1).or(-1n),
          errorCode: int16,
          errorMessage: string.nullable().or(null),
        }),
      }),
      errorCode: int16,
      errorMessage: string.nullable().or(null),
    }),
  },
});

export type DescribeShareGroupOffsetsRequest = RequestOf<typeof describeShareGroupOffsets>;
export type DescribeShareGroupOffsetsResponse = ResponseOf<typeof describeShareGroupOffsets>;
