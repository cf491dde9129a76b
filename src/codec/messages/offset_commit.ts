/** OffsetCommit (key 8): stores the offsets that a group has consumed to. Version 1 has a time per partition, 2 to 4 a retention for all. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const offsetCommit = api({
  key: 8,
  name: "OffsetCommit",
  versions: [0, 10],
  flexible: 8,
  request: {
    groupId: string,
    generationIdOrMemberEpoch: int32.since(1).or(-1),
    memberId: string.since(1),
    groupInstanceId: string.since(7).nullable().or(null),
    retentionTimeMs: int64.since(2).until(4).or(-1n),
    topics: array({
      name: string.until(9),
      topicId: uuid.since(10),
      partitions: array({
        partitionIndex: int32,
        committedOffset: int64,
        committedLeaderEpoch: int32.since(6).or(-1),
        commitTimestamp: int64.since(1).until(1).or(-1n),
        committedMetadata: string.nullable(),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.since(3).or(0),
    topics: array({
      name: string.until(9),
      topicId: uuid.since(10),
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
      }),
    }),
  },
});

export type OffsetCommitRequest = RequestOf<typeof offsetCommit>;
export type OffsetCommitResponse = ResponseOf<typeof offsetCommit>;
