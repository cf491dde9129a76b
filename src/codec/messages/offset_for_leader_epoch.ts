/** OffsetForLeaderEpoch (key 23): tells where a leader epoch ended (KIP-101), so that a reader can see whether the log was cut behind it. */
import { api, array, int16, int32, int64, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const offsetForLeaderEpoch = api({
  key: 23,
  name: "OffsetForLeaderEpoch",
  versions: [0, 4],
  flexible: 4,
  request: {
    replicaId: int32.since(3).or(-2),
    topics: array({
      topic: string,
      partitions: array({
        partition: int32,
        currentLeaderEpoch: int32.since(2).or(-1),
        leaderEpoch: int32,
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.since(2).or(0),
    topics: array({
      topic: string,
      partitions: array({
        errorCode: int16,
        partition: int32,
        leaderEpoch: int32.since(1).or(-1),
        endOffset: int64.or(-1n),
      }),
    }),
  },
});

export type OffsetForLeaderEpochRequest = RequestOf<typeof offsetForLeaderEpoch>;
export type OffsetForLeaderEpochResponse = ResponseOf<typeof offsetForLeaderEpoch>;
