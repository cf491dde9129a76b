/** AlterPartitionReassignments (key 45): starts or cancels the move of partitions to other brokers (KIP-455). */
import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const alterPartitionReassignments = api({
  key: 45,
  name: "AlterPartitionReassignments",
  versions: [0, 1],
  flexible: 0,
  request: {
    timeoutMs: int32.or(60000),
    allowReplicationFactorChange: bool.since(1).or(true),
    topics: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        replicas: array(int32).nullable().or(null),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32.or(0),
    allowReplicationFactorChange: bool.since(1).or(true),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    responses: array({
      name: string,
      partitions: array({
        partitionIndex: int32,
        errorCode: int16,
        errorMessage: string.nullable().or(null),
      }),
    }),
  },
});

export type AlterPartitionReassignmentsRequest = RequestOf<typeof alterPartitionReassignments>;
export type AlterPartitionReassignmentsResponse = ResponseOf<typeof alterPartitionReassignments>;
