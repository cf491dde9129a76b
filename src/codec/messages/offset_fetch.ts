/** OffsetFetch (key 9): reads the offsets that groups have committed. From version 8 for many groups at once. */
import {
  api,
  array,
  bool,
  int16,
  int32,
  int64,
  type RequestOf,
  type ResponseOf,
  string,
  uuid,
} from "../schema.ts";

export const offsetFetch = api({
  key: 9,
  name: "OffsetFetch",
  versions: [0, 10],
  flexible: 6,
  request: {
    groupId: string.until(7),
    topics: array({
      name: string,
      partitionIndexes: array(int32),
    }).until(7).nullable(2),
    groups: array({
      groupId: string,
      memberId: string.since(9).nullable().or(null),
      memberEpoch: int32.since(9).or(-1),
      topics: array({
        name: string.until(9),
        topicId: uuid.since(10),
        partitionIndexes: array(int32),
      }).nullable(),
    }).since(8),
    requireStable: bool.since(7).or(false),
  },
  response: {
    throttleTimeMs: int32.since(3).or(0),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        committedOffset: int64,
        committedLeaderEpoch: int32.since(5).or(-1),
        metadata: string.nullable(),
        errorCode: int16,
      }),
    }).until(7),
    errorCode: int16.since(2).until(7).or(0),
    groups: array({
      groupId: string,
      topics: array({
        name: string.until(9),
        topicId: uuid.since(10),
        partitions: array({
          partitionIndex: int32,
          committedOffset: int64,
          committedLeaderEpoch: int32.or(-1),
          metadata: string.nullable(),
          errorCode: int16,
        }),
      }),
      errorCode: int16.or(0),
    }).since(8),
  },
});

export type OffsetFetchRequest = RequestOf<typeof offsetFetch>;
export type OffsetFetchResponse = ResponseOf<typeof offsetFetch>;
