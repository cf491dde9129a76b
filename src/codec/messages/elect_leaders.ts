/** ElectLeaders (key 43): starts leader elections for partitions. */
import { api, array, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const electLeaders = api({
  key: 43,
  name: "ElectLeaders",
  versions: [0, 2],
  flexible: 2,
  request: {
    electionType: int8.since(1),
    topicPartitions: array({
      topic: string,
      partitions: array(int32),
    }).nullable(),
    timeoutMs: int32.or(60000),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16.since(1),
    replicaElectionResults: array({
      topic: string,
      partitionResult: array({
        partitionId: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
      }),
    }),
  },
});

export type ElectLeadersRequest = RequestOf<typeof electLeaders>;
export type ElectLeadersResponse = ResponseOf<typeof electLeaders>;
