/** DescribeCluster (key 60): tells the brokers, the controller and the id of the cluster. */
import { api, array, bool, int16, int32, int8, type RequestOf, type ResponseOf, string } from "../schema.ts";

export const describeCluster = api({
  key: 60,
  name: "DescribeCluster",
  versions: [0, 2],
  flexible: 0,
  request: {
    includeClusterAuthorizedOperations: bool,
    endpointType: int8.since(1).or(1),
    includeFencedBrokers: bool.since(2),
  },
  response: {
    throttleTimeMs: int32.or(0),
    errorCode: int16,
    errorMessage: string.nullable().or(null),
    endpointType: int8.since(1).or(1),
    clusterId: string,
    controllerId: int32.or(-1),
    brokers: array({
      brokerId: int32,
      host: string,
      port: int32,
      rack: string.nullable().or(null),
      isFenced: bool.since(2),
    }),
    clusterAuthorizedOperations: int32.or(-(2 ** 31)),
  },
});

export type DescribeClusterRequest = RequestOf<typeof describeCluster>;
export type DescribeClusterResponse = ResponseOf<typeof describeCluster>;
