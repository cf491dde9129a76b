/** ListOffsets (key 2): finds offsets by time or by sentinel. Version 0 answers with a list of offsets per partition, later ones with one. */
import { api, array, int16, int32, int64, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const listOffsets = api({
  key: 2,
  name: "ListOffsets",
  versions: [0, 11],
  flexible: 6,
  request: {
    replicaId: int32,
    isolationLevel: int8.since(2),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        currentLeaderEpoch: int32.since(4).or(-1),
        timestamp: int64,
        maxNumOffsets: int32.until(0).or(1),
      }),
    }),
    timeoutMs: int32.since(10),
  },
  response: {
    throttleTimeMs: int32.since(2).or(0),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        oldStyleOffsets: array(int64).until(0),
        timestamp: int64.since(1).or(-1n),
        offset: int64.since(1).or(-1n),
        leaderEpoch: int32.since(4).or(-1),
      }),
    }),
  },
});

export type ListOffsetsRequest = RequestOf<typeof listOffsets>;
export type ListOffsetsResponse = ResponseOf<typeof listOffsets>;
