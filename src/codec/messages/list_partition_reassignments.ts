/** ListPartitionReassignments (key 46): lists the moves of partitions that are under way. */
import { api, array, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const listPartitionReassignments = api({
  key: 46,
  name: "ListPartitionReassignments",
  versions: [0, 0],
  flexible: 0,
  request: {
    timeoutMs: int32.or(60000),
    topics: array({
      name: string,
      partitionIndexes: array(int32),
    }).nullable().or(null),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        replicas: array(int32),
        addingReplicas: array(int32),
        removingReplicas: array(int32),
      }),
    }),
  },
});

export type ListPartitionReassignmentsRequest = RequestOf<typeof listPartitionReassignments>;
export type ListPartitionReassignmentsResponse = ResponseOf<typeof listPartitionReassignments>;
