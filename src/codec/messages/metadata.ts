/** Metadata (key 3): tells which brokers lead which partitions, and creates topics when allowed to. */
import { api, array, bool, int16, int32, type RequestOf, type ResponseOf, string, uuid } from "../schema.ts";

export const metadata = api({
  key: 3,
  name: "Metadata",
  versions: [0, 13],
  flexible: 9,
  request: {
    topics: array({
      topicId: uuid.since(10),
      name: string.nullable(10),
    }).nullable(1),
    allowAutoTopicCreation: bool.since(4).or(true),
    includeClusterAuthorizedOperations: bool.since(8).until(10),
    includeTopicAuthorizedOperations: bool.since(8),
  },
  response: {
    throttleTimeMs: int32.since(3).or(0),
    brokers: array({
      nodeId: int32,
      host: string,
      port: int32,
      rack: string.since(1).nullable().or(null),
    }),
    clusterId: string.since(2).nullable().or(null),
    controllerId: int32.since(1).or(-1),
    topics: array({
      errorCode: int16,
      name: string.nullable(12),
      topicId: uuid.since(10),
      isInternal: bool.since(1).or(false),
      partitions: array({
        errorCode: int16,
        partitionIndex: int32,
        leaderId: int32,
        leaderEpoch: int32.since(7).or(-1),
        replicaNodes: array(int32),
        isrNodes: array(int32),
        offlineReplicas: array(int32).since(5),
      }),
      topicAuthorizedOperations: int32.since(8).or(-(2 ** 31)),
    }),
    clusterAuthorizedOperations: int32.since(8).until(10).or(-(2 ** 31)),
    errorCode: int16.since(13),
  },
});

export type MetadataRequest = RequestOf<typeof metadata>;
export type MetadataResponse = ResponseOf<typeof metadata>;
