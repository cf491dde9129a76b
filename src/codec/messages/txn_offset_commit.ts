/** TxnOffsetCommit (key 28): stores offsets that become visible when a transaction commits. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const txnOffsetCommit = api({
  key: 28,
  name: "TxnOffsetCommit",
  versions: [0, 6],
  flexible: 3,
  request: {
    transactionalId: string,
    groupId: string,
    producerId: int64,
    producerEpoch: int16,
    generationIdOrMemberEpoch: int32.since(3).or(-1),
    memberId: string.since(3).or(""),
    groupInstanceId: string.since(3).nullable().or(null),
    topics: array({
      name: string.until(5),
      topicId: uuid.since(6),
      partitions: array({
        partitionIndex: int32,
        committedOffset: int64,
        committedLeaderEpoch: int32.since(2).or(-1),
        committedMetadata: string.nullable(),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    topics: array({
      name: string.until(5),
      topicId: uuid.since(6),
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
      }),
    }),
  },
});

export type TxnOffsetCommitRequest = RequestOf<typeof txnOffsetCommit>;
export type TxnOffsetCommitResponse = ResponseOf<typeof txnOffsetCommit>;
